//! What is written is read again as the same.

use allod_face_restconf::codec::{self, Dialect, Format};
use allod_face_restconf::model::{Step, Target};
use allod_face_restconf::path;
use allod_face_restconf::tree::{Node, Value};
use proptest::prelude::*;

use crate::pure::fixture::{SCHEMA, id, json, written, xml};

/// Texts that try what quoting and encoding are for. XML cannot have control characters, so that they are left out.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,8}", "[ -~]{1,20}", "[\\t\\n\\r<>&\"'/%,=;:\\\\é☃😀 ]{1,12}",]
}

/// A leaf of an item, with values of its type.
fn leaf() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        (1..=100u64).prop_map(|number| ("size", Value::Uint(number))),
        any::<i8>().prop_map(|number| ("small", Value::Int(number.into()))),
        any::<i64>().prop_map(|number| ("big", Value::Int(number))),
        any::<u64>().prop_map(|number| ("wide", Value::Uint(number))),
        (any::<i16>(), 0..100u8).prop_map(|(whole, part)| {
            let part = format!("{part:02}");
            let part = part.trim_end_matches('0');
            ("ratio", Value::text(format!("{whole}.{}", if part.is_empty() { "0" } else { part })))
        }),
        Just(("flag", Value::Empty)),
        any::<bool>().prop_map(|on| ("on", Value::Bool(on))),
        Just(("mode", Value::text("slow"))),
        Just(("caps", Value::text("read write"))),
        Just(("kind", Value::text("toy:dark-red"))),
        any::<u32>().prop_map(|bits| (
            "address",
            Value::text(std::net::Ipv4Addr::from_bits(bits).to_string())
        )),
        any::<u128>().prop_map(|bits| (
            "address",
            Value::text(std::net::Ipv6Addr::from_bits(bits).to_string())
        )),
        any::<u8>().prop_map(|number| ("either", Value::Uint(number.into()))),
        (256..i64::MAX).prop_map(|number| ("either", Value::Int(number))),
        Just(("where", Value::text("/toy:top/item[name='x:y']/more:extra"))),
        text().prop_map(|text| ("more:extra", Value::text(text))),
        text().prop_map(|text| ("options/a", Value::text(text))),
        text().prop_map(|text| ("present/c", Value::text(text))),
        text().prop_map(|text| ("more:added/deep/deepest", Value::text(text))),
    ]
}

/// The leaf within the containers that lead to it.
fn within(path: &str, value: Value) -> Node {
    let mut ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    let node = |path: &str| id(&format!("/toy:top/item/{path}"));
    let mut tree = Node::leaf(node(path), value);
    while let Some(end) = ends.pop() {
        tree = Node::inner(node(&path[..end]), vec![tree]);
    }
    tree
}

fn item() -> impl Strategy<Value = Node> {
    let tags = proptest::collection::btree_set(text(), 0..4);
    let leaves = proptest::collection::btree_map("[a-z]", leaf(), 0..8);
    (text(), leaves, tags).prop_map(|(name, leaves, tags)| {
        let name: String = name.chars().take(20).collect();
        let mut children = vec![Node::leaf(id("/toy:top/item/name"), Value::text(name))];
        for (path, value) in leaves.into_values() {
            let leaf = within(path, value);
            if children.iter().all(|other| other.schema != leaf.schema) {
                children.push(leaf);
            }
        }
        children.extend(
            tags.into_iter().map(|tag| Node::leaf(id("/toy:top/item/tag"), Value::text(tag))),
        );
        Node::inner(id("/toy:top/item"), children)
    })
}

fn top() -> impl Strategy<Value = Node> {
    proptest::collection::vec(item(), 0..5).prop_map(|mut items| {
        items.sort_by_key(|item| item.keys(&SCHEMA));
        items.dedup_by_key(|item| item.keys(&SCHEMA));
        Node::inner(id("/toy:top"), items)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees(tree in top()) {
        for dialect in [Dialect::Rfc8040, Dialect::Draft02] {
            let text = written(&tree, Format::Json, dialect);
            prop_assert_eq!(json(&text).unwrap(), [tree.clone()], "{}", text);
        }
        let text = written(&tree, Format::Xml, Dialect::Rfc8040);
        prop_assert_eq!(xml(&text).unwrap(), [tree], "{}", text);
    }

    #[test]
    fn paths(name in text(), tag in text(), a in text(), b in any::<u8>()) {
        let name: String = name.chars().take(20).collect();
        let step = |path: &str, keys: Vec<Value>| Step { node: id(path), keys };
        let targets = [
            vec![step("/toy:top", vec![]), step("/toy:top/item", vec![Value::text(name)]), step("/toy:top/item/tag", vec![Value::text(tag)])],
            vec![step("/toy:top", vec![]), step("/toy:top/pair", vec![Value::text(a), Value::Uint(b.into())]), step("/toy:top/pair/v", vec![])],
        ];
        for steps in targets {
            let target = Target { steps };
            for dialect in [Dialect::Rfc8040, Dialect::Draft02] {
                let text = path::location(&SCHEMA, dialect, &target);
                prop_assert_eq!(path::parse(&SCHEMA, dialect, &text).unwrap(), target.clone(), "{}", text);
            }
        }
    }

    /// A document with some bytes changed is refused, or is a tree that is written and read again as the same.
    #[test]
    fn damaged(tree in top(), damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..4)) {
        for format in [Format::Json, Format::Xml] {
            let mut bytes = written(&tree, format, Dialect::Rfc8040).into_bytes();
            for (at, byte, how) in &damage {
                let at = at.index(bytes.len());
                match how {
                    0 => bytes[at] = *byte,
                    1 => bytes.insert(at, *byte),
                    _ => drop(bytes.remove(at)),
                }
            }
            let Ok(nodes) = codec::read(&SCHEMA, None, format, &bytes) else { continue };
            for format in [Format::Json, Format::Xml].into_iter().filter(|_| nodes.len() == 1) {
                let again = written(&nodes, format, Dialect::Rfc8040);
                prop_assert_eq!(codec::read(&SCHEMA, None, format, again.as_bytes()).unwrap(), nodes.clone(), "{}", again);
            }
        }
    }

    /// Nothing that is sent may do more than be refused.
    #[test]
    fn anything(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "[<>/=\"'{}\\[\\]:,&;!a-c %\\n]{0,60}") {
        for bytes in [bytes.as_slice(), text.as_bytes()] {
            for format in [Format::Json, Format::Xml] {
                let _ = codec::read(&SCHEMA, None, format, bytes);
                let _ = codec::read_input(&SCHEMA, id("/toy:act"), format, bytes);
                let _ = allod_face_restconf::edit::patch::read(&SCHEMA, &Target::default(), format, bytes);
            }
        }
        let _ = path::parse(&SCHEMA, Dialect::Rfc8040, &text);
        let _ = path::parse(&SCHEMA, Dialect::Draft02, &text);
        let _ = allod_face_restconf::yang::Schema::compile(&[("a.yang", &text)]);
    }
}
