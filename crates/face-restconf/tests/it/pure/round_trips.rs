//! Whatever is written is read back unchanged.

use allod_face_restconf::codec::{self, Dialect, Encoding};
use allod_face_restconf::model::{InstancePath, PathStep};
use allod_face_restconf::path;
use allod_face_restconf::tree::{DataNode, LeafValue};
use proptest::prelude::*;

use crate::pure::fixture::{SCHEMA, id, json, written, xml};

/// Texts that exercise quoting and encoding, without the control characters that XML does not allow.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "[ -~]{1,20}", "[\\t\\n\\r<>&\"'/%,=;:\\\\é☃😀 ]{1,12}",]
}

/// A leaf of an item, with a value of its type.
fn leaf() -> impl Strategy<Value = (&'static str, LeafValue)> {
    prop_oneof![
        (1..=100u64).prop_map(|number| ("size", LeafValue::Uint(number))),
        any::<i8>().prop_map(|number| ("small", LeafValue::Int(number.into()))),
        any::<i64>().prop_map(|number| ("big", LeafValue::Int(number))),
        any::<u64>().prop_map(|number| ("wide", LeafValue::Uint(number))),
        (any::<i16>(), 0..100u8).prop_map(|(whole, part)| {
            let part = format!("{part:02}");
            let part = part.trim_end_matches('0');
            (
                "ratio",
                LeafValue::text(format!("{whole}.{}", if part.is_empty() { "0" } else { part })),
            )
        }),
        Just(("flag", LeafValue::Empty)),
        any::<bool>().prop_map(|on| ("on", LeafValue::Bool(on))),
        Just(("mode", LeafValue::text("slow"))),
        Just(("caps", LeafValue::text("read write"))),
        Just(("kind", LeafValue::text("toy:dark-red"))),
        any::<u32>().prop_map(|bits| (
            "address",
            LeafValue::text(std::net::Ipv4Addr::from_bits(bits).to_string())
        )),
        any::<u128>().prop_map(|bits| (
            "address",
            LeafValue::text(std::net::Ipv6Addr::from_bits(bits).to_string())
        )),
        any::<u8>().prop_map(|number| ("either", LeafValue::Uint(number.into()))),
        (256..i64::MAX).prop_map(|number| ("either", LeafValue::Int(number))),
        Just(("where", LeafValue::text("/toy:top/item[name='x:y']/more:extra"))),
        text().prop_map(|text| ("more:extra", LeafValue::text(text))),
        text().prop_map(|text| ("options/a", LeafValue::text(text))),
        text().prop_map(|text| ("present/c", LeafValue::text(text))),
        text().prop_map(|text| ("more:added/deep/deepest", LeafValue::text(text))),
    ]
}

/// The leaf within its containers.
fn within(path: &str, value: LeafValue) -> DataNode {
    let mut ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    let node = |path: &str| id(&format!("/toy:top/item/{path}"));
    let mut tree = DataNode::leaf(node(path), value);
    while let Some(end) = ends.pop() {
        tree = DataNode::inner(node(&path[..end]), vec![tree]);
    }
    tree
}

fn item() -> impl Strategy<Value = DataNode> {
    let tags = proptest::collection::btree_set(text(), 0..4);
    let leaves = proptest::collection::btree_map("[a-z]", leaf(), 0..8);
    (text(), leaves, tags).prop_map(|(name, leaves, tags)| {
        let name: String = name.chars().take(20).collect();
        let mut children = vec![DataNode::leaf(id("/toy:top/item/name"), LeafValue::text(name))];
        for (path, value) in leaves.into_values() {
            let leaf = within(path, value);
            if children.iter().all(|other| other.schema != leaf.schema) {
                children.push(leaf);
            }
        }
        children.extend(
            tags.into_iter()
                .map(|tag| DataNode::leaf(id("/toy:top/item/tag"), LeafValue::text(tag))),
        );
        DataNode::inner(id("/toy:top/item"), children)
    })
}

fn top() -> impl Strategy<Value = DataNode> {
    proptest::collection::vec(item(), 0..5).prop_map(|mut items| {
        items.sort_by_key(|item| item.keys(&SCHEMA));
        items.dedup_by_key(|item| item.keys(&SCHEMA));
        DataNode::inner(id("/toy:top"), items)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_round_trip(tree in top()) {
        for dialect in [Dialect::Rfc8040, Dialect::Draft02] {
            let text = written(&tree, Encoding::Json, dialect);
            prop_assert_eq!(json(&text).unwrap(), [tree.clone()], "{}", text);
        }
        let text = written(&tree, Encoding::Xml, Dialect::Rfc8040);
        prop_assert_eq!(xml(&text).unwrap(), [tree], "{}", text);
    }

    #[test]
    fn paths_round_trip(name in text(), tag in text(), a in text(), b in any::<u8>()) {
        let name: String = name.chars().take(20).collect();
        let step = |path: &str, keys: Vec<LeafValue>| PathStep { node: id(path), keys };
        let targets = [
            vec![step("/toy:top", vec![]), step("/toy:top/item", vec![LeafValue::text(name)]), step("/toy:top/item/tag", vec![LeafValue::text(tag)])],
            vec![step("/toy:top", vec![]), step("/toy:top/pair", vec![LeafValue::text(a), LeafValue::Uint(b.into())]), step("/toy:top/pair/v", vec![])],
        ];
        for steps in targets {
            let target = InstancePath { steps };
            for dialect in [Dialect::Rfc8040, Dialect::Draft02] {
                let text = path::location(&SCHEMA, dialect, &target);
                prop_assert_eq!(path::parse(&SCHEMA, dialect, &text).unwrap(), target.clone(), "{}", text);
            }
        }
    }

    /// A document with changed bytes is either refused, or read to a tree that round-trips.
    #[test]
    fn damaged_documents_are_refused_or_round_trip(tree in top(), damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..4)) {
        for encoding in [Encoding::Json, Encoding::Xml] {
            let mut bytes = written(&tree, encoding, Dialect::Rfc8040).into_bytes();
            for (at, byte, how) in &damage {
                let at = at.index(bytes.len());
                match how {
                    0 => bytes[at] = *byte,
                    1 => bytes.insert(at, *byte),
                    _ => drop(bytes.remove(at)),
                }
            }
            let Ok(nodes) = codec::read(&SCHEMA, None, encoding, &bytes) else { continue };
            for encoding in [Encoding::Json, Encoding::Xml].into_iter().filter(|_| nodes.len() == 1) {
                let again = written(&nodes, encoding, Dialect::Rfc8040);
                prop_assert_eq!(codec::read(&SCHEMA, None, encoding, again.as_bytes()).unwrap(), nodes.clone(), "{}", again);
            }
        }
    }

    /// Arbitrary input does nothing worse than being refused.
    #[test]
    fn arbitrary_input_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[<>/=\"'{}\\[\\]:,&;!a-c %\\n]{0,60}") {
        for bytes in [bytes.as_slice(), text.as_bytes()] {
            for encoding in [Encoding::Json, Encoding::Xml] {
                let _ = codec::read(&SCHEMA, None, encoding, bytes);
                let _ = codec::read_input(&SCHEMA, id("/toy:act"), encoding, bytes);
                let _ = allod_face_restconf::edit::patch::read(&SCHEMA, &InstancePath::default(), encoding, bytes, allod_face_restconf::edit::patch::EDITS_MAX);
            }
        }
        let _ = path::parse(&SCHEMA, Dialect::Rfc8040, &text);
        let _ = path::parse(&SCHEMA, Dialect::Draft02, &text);
        let _ = allod_face_restconf::yang::Schema::compile(&[("a.yang", &text)]);
    }
}
