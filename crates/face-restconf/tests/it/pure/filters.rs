//! The filters of a read: content, depth, fields, defaults.

use allod_face_restconf::codec::{ChunkBuffer, DataWriter, Dialect, Encoding};
use allod_face_restconf::query::{RequestKind, RestconfParams};
use allod_face_restconf::tree::{DataNode, NodeSource, TreeBuilder};

use crate::pure::fixture::{SCHEMA, shown, target, tree};

const TREE: &str = r#"{"toy:top":{"item":[
    {"name":"a","size":7,"options":{"a":"x","b":"bee"},"state":{"used":3,"hit":[{"at":1}]},"more:added":{"deep":{"deepest":"d"}}},
    {"name":"b","tag":["t"]}],"pair":[{"a":"x","b":1,"v":"w"}]}}"#;

/// The reply to a read with these parameters. `path` is only the node that `fields` is relative to.
fn filtered(source: &dyn NodeSource, path: &str, parameters: &str) -> String {
    let query = RestconfParams::parse(parameters, RequestKind::Read).unwrap();
    let view = query.read_filters(&SCHEMA, &target(path)).unwrap();
    let mut writer =
        DataWriter::new(&SCHEMA, Encoding::Json, Dialect::Rfc8040, ChunkBuffer::whole());
    view.walk(&SCHEMA, source, &mut writer).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn check(parameters: &str, expected: &str) {
    assert_eq!(
        filtered(&tree(TREE), "/toy:top", parameters),
        expected.replace('\n', "").replace("    ", ""),
        "{parameters}"
    );
}

#[test]
fn depth_limits_the_levels() {
    check("depth=1", r#"{"toy:top":{}}"#);
    check(
        "depth=2",
        r#"{"toy:top":{"item":[{"name":"a"},{"name":"b"}],"pair":[{"a":"x","b":1}]}}"#,
    );
    check(
        "depth=3",
        r#"{"toy:top":{"item":[{"name":"a","size":7,"options":{},"state":{},"more:added":{}},{"name":"b","tag":["t"]}],
    "pair":[{"a":"x","b":1,"v":"w"}]}}"#,
    );
    assert_eq!(filtered(&tree(TREE), "/toy:top", "depth=unbounded"), shown(&tree(TREE)));
}

#[test]
fn depth_counts_the_datastore() {
    let query = |text: &str| {
        RestconfParams::parse(text, RequestKind::Read)
            .unwrap()
            .read_filters(&SCHEMA, &target(""))
            .unwrap()
    };
    let reply = |text: &str| {
        let mut builder = TreeBuilder::new();
        query(text).walk(&SCHEMA, &tree(TREE), &mut builder).unwrap();
        builder.finish()
    };
    assert_eq!(reply("depth=1"), []);
    assert_eq!(shown(&reply("depth=2")), r#"{"toy:top":{}}"#);
    assert_eq!(
        shown(&reply("fields=toy:top/pair")),
        r#"{"toy:top":{"pair":[{"a":"x","b":1,"v":"w"}]}}"#
    );
}

#[test]
fn content_selects_configuration_or_state() {
    check(
        "content=nonconfig",
        r#"{"toy:top":{"item":[{"name":"a","state":{"used":3,"hit":[{"at":1}]}}]}}"#,
    );
    check(
        "content=config",
        r#"{"toy:top":{"item":[{"name":"a","size":7,"options":{"a":"x","b":"bee"},"more:added":{"deep":{"deepest":"d"}}},
    {"name":"b","tag":["t"]}],"pair":[{"a":"x","b":1,"v":"w"}]}}"#,
    );
    check("content=nonconfig&depth=2", r#"{"toy:top":{"item":[{"name":"a"}]}}"#);
    check("content=nonconfig&fields=pair", r#"{"toy:top":{}}"#);
}

#[test]
fn fields_selects_nodes() {
    check("fields=item/size", r#"{"toy:top":{"item":[{"name":"a","size":7},{"name":"b"}]}}"#);
    check(
        "fields=pair/v;item(size;state/used;options(b))",
        r#"{"toy:top":{"item":[{"name":"a","size":7,"options":{"b":"bee"},"state":{"used":3}},{"name":"b"}],
    "pair":[{"a":"x","b":1,"v":"w"}]}}"#,
    );
    check(
        "fields=item/options/a;item/options/b;item/more:added/deep",
        r#"{"toy:top":{"item":[{"name":"a","options":{"a":"x","b":"bee"},"more:added":{"deep":{"deepest":"d"}}},
    {"name":"b"}]}}"#,
    );
    check("fields=pair;pair/v", r#"{"toy:top":{"pair":[{"a":"x","b":1,"v":"w"}]}}"#);
    let deep = format!("fields={}", "item(".repeat(1000));
    for bad in [
        "fields=none",
        "fields=",
        "fields=item(",
        "fields=item)",
        "fields=item(size",
        "fields=item;;pair",
        "fields=/item",
        &deep,
    ] {
        let query = RestconfParams::parse(bad, RequestKind::Read).unwrap();
        assert!(query.read_filters(&SCHEMA, &target("/toy:top")).is_err(), "{bad}");
    }
}

#[test]
fn with_defaults_adds_or_removes_default_values() {
    let entry: DataNode = tree(TREE).children()[0].clone();
    let reply = |parameters: &str| filtered(&entry, "/toy:top/item=a", parameters);
    assert!(reply("with-defaults=trim").contains(r#"[{"name":"a","options":{"a":"x"},"state""#));
    assert!(reply("with-defaults=explicit").contains(r#""size":7"#));
    let all = reply("with-defaults=report-all");
    assert!(all.contains(r#""share":50"#) && all.contains(r#""plain":1"#), "{all}");
    assert_eq!(all.matches("size").count(), 1, "a present value is not added again");

    let round = tree(r#"{"toy:top":{"item":[{"name":"a","round":[null]}]}}"#);
    let all = filtered(&round, "/toy:top", "with-defaults=report-all");
    assert!(!all.contains("plain"), "another case was chosen: {all}");
    assert!(
        all.contains(r#""options":{"b":"bee"}"#),
        "within a container that is not there: {all}"
    );
}

#[test]
fn other_filters_apply_to_added_defaults() {
    let all = "with-defaults=report-all";
    check(
        &format!("{all}&fields=item/share"),
        r#"{"toy:top":{"item":[{"name":"a","share":50},{"name":"b","share":50}]}}"#,
    );
    check(
        &format!("{all}&content=nonconfig"),
        r#"{"toy:top":{"item":[{"name":"a","state":{"used":3,"hit":[{"at":1}]}}]}}"#,
    );
    check(&format!("{all}&depth=2&fields=pair"), r#"{"toy:top":{"pair":[{"a":"x","b":1}]}}"#);
    check(
        "with-defaults=trim&fields=item(size;options)",
        r#"{"toy:top":{"item":[{"name":"a","options":{"a":"x"}},{"name":"b"}]}}"#,
    );
}
