//! What of a tree is told: content, depth, fields, defaults.

use allod_face_restconf::codec::{Chunks, Dialect, Format, Writer};
use allod_face_restconf::query::{Query, Use};
use allod_face_restconf::tree::{Builder, Node, Source};

use crate::pure::fixture::{SCHEMA, shown, target, tree};

const TREE: &str = r#"{"toy:top":{"item":[
    {"name":"a","size":7,"options":{"a":"x","b":"bee"},"state":{"used":3,"hit":[{"at":1}]},"more:added":{"deep":{"deepest":"d"}}},
    {"name":"b","tag":["t"]}],"pair":[{"a":"x","b":1,"v":"w"}]}}"#;

/// The tree as a request with these parameters is answered. The path is only the node that fields start at.
fn view(source: &dyn Source, path: &str, parameters: &str) -> String {
    let query = Query::parse(parameters, Use::Read).unwrap();
    let view = query.view(&SCHEMA, &target(path)).unwrap();
    let mut writer = Writer::new(&SCHEMA, Format::Json, Dialect::Rfc8040, Chunks::whole());
    view.walk(&SCHEMA, source, &mut writer).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn check(parameters: &str, expected: &str) {
    assert_eq!(
        view(&tree(TREE), "/toy:top", parameters),
        expected.replace('\n', "").replace("    ", ""),
        "{parameters}"
    );
}

#[test]
fn depth() {
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
    assert_eq!(view(&tree(TREE), "/toy:top", "depth=unbounded"), shown(&tree(TREE)));
}

#[test]
fn depth_counts_the_datastore() {
    let query =
        |text: &str| Query::parse(text, Use::Read).unwrap().view(&SCHEMA, &target("")).unwrap();
    let told = |text: &str| {
        let mut builder = Builder::new();
        query(text).walk(&SCHEMA, &tree(TREE), &mut builder).unwrap();
        builder.finish()
    };
    assert_eq!(told("depth=1"), []);
    assert_eq!(shown(&told("depth=2")), r#"{"toy:top":{}}"#);
    assert_eq!(
        shown(&told("fields=toy:top/pair")),
        r#"{"toy:top":{"pair":[{"a":"x","b":1,"v":"w"}]}}"#
    );
}

#[test]
fn content() {
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
fn fields() {
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
        let query = Query::parse(bad, Use::Read).unwrap();
        assert!(query.view(&SCHEMA, &target("/toy:top")).is_err(), "{bad}");
    }
}

#[test]
fn defaults() {
    let entry: Node = tree(TREE).children()[0].clone();
    let told = |parameters: &str| view(&entry, "/toy:top/item=a", parameters);
    assert!(told("with-defaults=trim").contains(r#"[{"name":"a","options":{"a":"x"},"state""#));
    assert!(told("with-defaults=explicit").contains(r#""size":7"#));
    let all = told("with-defaults=report-all");
    assert!(all.contains(r#""share":50"#) && all.contains(r#""plain":1"#), "{all}");
    assert_eq!(all.matches("size").count(), 1, "what is there is not told twice");

    let round = tree(r#"{"toy:top":{"item":[{"name":"a","round":[null]}]}}"#);
    let all = view(&round, "/toy:top", "with-defaults=report-all");
    assert!(!all.contains("plain"), "another case was chosen: {all}");
    assert!(
        all.contains(r#""options":{"b":"bee"}"#),
        "within a container that is not there: {all}"
    );
}

#[test]
fn defaults_are_looked_at_like_everything_else() {
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
