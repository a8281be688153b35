//! What an edit does to a tree.

use allod_face_restconf::codec::{self, Format};
use allod_face_restconf::edit::{self, Place};
use allod_face_restconf::fault::{Fault, Tag};
use allod_face_restconf::model::{Edit, Op};
use allod_face_restconf::tree::{Node, Value};

use crate::pure::fixture::{SCHEMA, shown, target, tree};

/// An edit of what is at the path; the data is what a body would be.
fn edit(op: Op, path: &str, data: &str) -> Edit {
    let target = target(path);
    let parent = target.steps.last().and_then(|step| SCHEMA.node(step.node).parent);
    let data = match data {
        "" => None,
        data => codec::read(&SCHEMA, parent, Format::Json, data.as_bytes()).unwrap().pop(),
    };
    Edit { op, target, data, place: None }
}

fn apply(before: &str, edit: &Edit) -> Result<Option<Node>, Fault> {
    let before =
        if before.is_empty() { None } else { Some(tree(&format!(r#"{{"toy:top":{before}}}"#))) };
    edit::apply(&SCHEMA, before, 0, edit)
}

/// Before and after are the top, nothing, or the tag of a fault.
fn check(before: &str, op: Op, path: &str, data: &str, after: &str) {
    let got = match apply(before, &edit(op, path, data)) {
        Ok(None) => String::new(),
        Ok(Some(node)) => {
            shown(&node).replacen(r#"{"toy:top":"#, "", 1).trim_end_matches('}').to_owned()
        }
        Err(fault) => format!("{:?}", fault.tag),
    };
    assert_eq!(got, after.trim_end_matches('}'), "{op:?} {path} {data} on {before}");
}

#[test]
fn operations_on_an_entry() {
    let a = r#"{"item":[{"name":"a","size":1}]}"#;
    let b = r#"{"item":[{"name":"b"}]}"#;
    let (path, data) = ("/toy:top/item=a", r#"{"item":[{"name":"a","mode":"fast"}]}"#);
    let replaced = r#"{"item":[{"name":"a","mode":"fast"}]}"#;
    let both = r#"{"item":[{"name":"b"},{"name":"a","mode":"fast"}]}"#;
    let table = [
        (a, Op::Create, data, "DataExists"),
        (b, Op::Create, data, both),
        ("", Op::Create, data, replaced),
        (a, Op::Merge, data, r#"{"item":[{"name":"a","size":1,"mode":"fast"}]}"#),
        (b, Op::Merge, data, both),
        (a, Op::Replace, data, replaced),
        (b, Op::Replace, data, both),
        ("", Op::Replace, data, replaced),
        (a, Op::Delete, "", "{}"),
        (b, Op::Delete, "", "DataMissing"),
        ("", Op::Delete, "", "DataMissing"),
        (a, Op::Remove, "", "{}"),
        (b, Op::Remove, "", b),
        ("", Op::Remove, "", ""),
    ];
    for (before, op, data, after) in table {
        check(before, op, path, data, after);
    }
}

#[test]
fn operations_at_any_depth() {
    let a = r#"{"item":[{"name":"a","options":{"a":"x"},"tag":["t"]}]}"#;
    check(a, Op::Replace, "/toy:top", r#"{"toy:top":{}}"#, "{}");
    check(a, Op::Delete, "/toy:top", "", "");
    check(
        a,
        Op::Merge,
        "/toy:top/item=a/options/a",
        r#"{"a":"y"}"#,
        r#"{"item":[{"name":"a","options":{"a":"y"},"tag":["t"]}]}"#,
    );
    check(a, Op::Delete, "/toy:top/item=a/options/a", "", r#"{"item":[{"name":"a","tag":["t"]}]}"#);
    check(
        a,
        Op::Create,
        "/toy:top/item=a/tag=u",
        r#"{"tag":["u"]}"#,
        r#"{"item":[{"name":"a","options":{"a":"x"},"tag":["t","u"]}]}"#,
    );
    check(a, Op::Create, "/toy:top/item=a/tag=t", r#"{"tag":["t"]}"#, "DataExists");
    check(
        a,
        Op::Delete,
        "/toy:top/item=a/tag=t",
        "",
        r#"{"item":[{"name":"a","options":{"a":"x"}}]}"#,
    );
    check(a, Op::Delete, "/toy:top/item", "", "{}");
    check("{}", Op::Delete, "/toy:top/item", "", "DataMissing");
    check(
        r#"{"item":[{"name":"a"}]}"#,
        Op::Create,
        "/toy:top/item=a/more:added/deep/deepest",
        r#"{"more:deepest":"d"}"#,
        r#"{"item":[{"name":"a","more:added":{"deep":{"deepest":"d"}}}]}"#,
    );
    check("{}", Op::Create, "/toy:top/item=a/size", r#"{"size":1}"#, "DataMissing");
    check(
        r#"{"item":[{"name":"a"}]}"#,
        Op::Create,
        "/toy:top/item=a/present/c",
        r#"{"c":"c"}"#,
        "DataMissing",
    );
}

#[test]
fn merging_goes_all_the_way_down() {
    check(
        r#"{"item":[{"name":"a","options":{"a":"x"},"tag":["t"]},{"name":"b"}],"pair":[{"a":"x","b":1}]}"#,
        Op::Merge,
        "/toy:top",
        r#"{"toy:top":{"pair":[{"a":"x","b":1,"v":"w"},{"a":"y","b":1}],"item":[{"name":"c"},{"name":"a","options":{"b":"y"},"tag":["t","u"]}]}}"#,
        r#"{"item":[{"name":"a","options":{"a":"x","b":"y"},"tag":["t","u"]},{"name":"b"},{"name":"c"}],"pair":[{"a":"x","b":1,"v":"w"},{"a":"y","b":1}]}"#,
    );
}

#[test]
fn another_case_takes_the_place_of_the_first() {
    let a = r#"{"item":[{"name":"a","round":[null],"turns":3}]}"#;
    let third = r#"{"item":[{"name":"a","more:third":3}]}"#;
    check(a, Op::Merge, "/toy:top", r#"{"toy:top":{"item":[{"name":"a","more:third":3}]}}"#, third);
    check(a, Op::Replace, "/toy:top/item=a/more:third", r#"{"more:third":3}"#, third);
    check(
        a,
        Op::Merge,
        "/toy:top/item=a/turns",
        r#"{"turns":4}"#,
        r#"{"item":[{"name":"a","round":[null],"turns":4}]}"#,
    );
}

#[test]
fn a_long_list_is_merged_in_no_time() {
    let entries = |from: u32| -> String {
        let entries: Vec<String> =
            (from..from + 50_000).map(|n| format!(r#"{{"name":"{n}"}}"#)).collect();
        format!(r#"{{"item":[{}]}}"#, entries.join(","))
    };
    let edit = edit(Op::Merge, "/toy:top", &format!(r#"{{"toy:top":{}}}"#, entries(25_000)));
    let after = apply(&entries(0), &edit).unwrap().unwrap();
    assert_eq!(after.children().len(), 75_000);
}

#[test]
fn the_body_is_what_the_path_names() {
    let other = edit(Op::Replace, "/toy:top/item=a", r#"{"item":[{"name":"b"}]}"#);
    assert_eq!(apply("{}", &other).unwrap_err().tag, Tag::InvalidValue);
    let kind = edit(Op::Replace, "/toy:top/item=a", r#"{"pair":[{"a":"b","b":1}]}"#);
    assert_eq!(apply("{}", &kind).unwrap_err().tag, Tag::InvalidValue);
    assert!(apply("{}", &edit(Op::Create, "/toy:top/item=a", "")).is_err());
    assert!(apply("{}", &edit(Op::Merge, "/toy:top/item", r#"{"item":[{"name":"b"}]}"#)).is_err());
}

#[test]
fn places_in_a_list() {
    let before = r#"{"pair":[{"a":"x","b":1},{"a":"y","b":1}],"yes":[null]}"#;
    let keys = |name: &str| vec![Value::text(name), Value::Uint(1)];
    let table = [
        (None, "xyz"),
        (Some(Place::First), "zxy"),
        (Some(Place::Last), "xyz"),
        (Some(Place::Before(keys("y"))), "xzy"),
        (Some(Place::After(keys("x"))), "xzy"),
        (Some(Place::After(keys("y"))), "xyz"),
    ];
    let order = |node: &Node| -> String {
        let name = |entry: &Node| match &entry.children().first()?.value()? {
            Value::Text(name) => Some(name.to_string()),
            _ => None,
        };
        node.children().iter().filter_map(name).collect()
    };
    for (place, after) in table {
        let mut insert = edit(Op::Create, "/toy:top/pair=z,1", r#"{"pair":[{"a":"z","b":1}]}"#);
        insert.place = place.clone();
        assert_eq!(order(&apply(before, &insert).unwrap().unwrap()), after, "{place:?}");
    }
    let mut nowhere = edit(Op::Create, "/toy:top/pair=z,1", r#"{"pair":[{"a":"z","b":1}]}"#);
    nowhere.place = Some(Place::Before(keys("w")));
    assert_eq!(apply(before, &nowhere).unwrap_err().tag, Tag::BadAttribute);
    let replace = edit(Op::Replace, "/toy:top/pair=x,1", r#"{"pair":[{"a":"x","b":1,"v":"new"}]}"#);
    assert_eq!(order(&apply(before, &replace).unwrap().unwrap()), "xy", "it stays where it was");
}

#[test]
fn an_edit_starts_where_the_model_has_the_tree() {
    let entry = tree(r#"{"toy:top":{"item":[{"name":"a"}]}}"#).children()[0].clone();
    let edit = edit(Op::Merge, "/toy:top/item=a/options/a", r#"{"a":"x"}"#);
    let after = edit::apply(&SCHEMA, Some(entry), 1, &edit).unwrap().unwrap();
    assert_eq!(shown(&after), r#"{"toy:item":[{"name":"a","options":{"a":"x"}}]}"#);
    let found = edit::find(&SCHEMA, &after, 1, &edit.target).unwrap();
    assert_eq!(found.value(), Some(&Value::text("x")));
    assert!(edit::find(&SCHEMA, &after, 1, &target("/toy:top/item=a/options/b")).is_none());
}

#[test]
fn faults_say_where() {
    let fault = apply("{}", &edit(Op::Delete, "/toy:top/item=a", "")).unwrap_err();
    assert_eq!(fault.message, "Data specified for delete doesn't exist.");
    assert_eq!(fault.path.as_deref(), Some("/toy:top/item[name='a']"));
}
