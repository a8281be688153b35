//! Applying edits to a tree.

use allod_face_restconf::codec::{self, Encoding};
use allod_face_restconf::edit::{self, InsertAt};
use allod_face_restconf::error::{ErrorTag, RestconfError};
use allod_face_restconf::model::{Edit, EditOp};
use allod_face_restconf::tree::{DataNode, LeafValue};

use crate::pure::fixture::{SCHEMA, shown, target, tree};

/// An edit of the node at the path; `data` is the body.
fn edit(op: EditOp, path: &str, data: &str) -> Edit {
    let target = target(path);
    let parent = target.steps.last().and_then(|step| SCHEMA.node(step.node).parent);
    let data = match data {
        "" => None,
        data => codec::read(&SCHEMA, parent, Encoding::Json, data.as_bytes()).unwrap().pop(),
    };
    Edit { op, target, data, insert_at: None }
}

fn apply(before: &str, edit: &Edit) -> Result<Option<DataNode>, RestconfError> {
    let before =
        if before.is_empty() { None } else { Some(tree(&format!(r#"{{"toy:top":{before}}}"#))) };
    edit::apply(&SCHEMA, before, 0, edit)
}

/// `before` and `after` are the content of `top`, empty, or an error tag.
fn check(before: &str, op: EditOp, path: &str, data: &str, after: &str) {
    let got = match apply(before, &edit(op, path, data)) {
        Ok(None) => String::new(),
        Ok(Some(node)) => {
            shown(&node).replacen(r#"{"toy:top":"#, "", 1).trim_end_matches('}').to_owned()
        }
        Err(error) => format!("{:?}", error.tag),
    };
    assert_eq!(got, after.trim_end_matches('}'), "{op:?} {path} {data} on {before}");
}

#[test]
fn operations_on_a_list_entry() {
    let a = r#"{"item":[{"name":"a","size":1}]}"#;
    let b = r#"{"item":[{"name":"b"}]}"#;
    let (path, data) = ("/toy:top/item=a", r#"{"item":[{"name":"a","mode":"fast"}]}"#);
    let replaced = r#"{"item":[{"name":"a","mode":"fast"}]}"#;
    let both = r#"{"item":[{"name":"b"},{"name":"a","mode":"fast"}]}"#;
    let table = [
        (a, EditOp::Create, data, "DataExists"),
        (b, EditOp::Create, data, both),
        ("", EditOp::Create, data, replaced),
        (a, EditOp::Merge, data, r#"{"item":[{"name":"a","size":1,"mode":"fast"}]}"#),
        (b, EditOp::Merge, data, both),
        (a, EditOp::Replace, data, replaced),
        (b, EditOp::Replace, data, both),
        ("", EditOp::Replace, data, replaced),
        (a, EditOp::Delete, "", "{}"),
        (b, EditOp::Delete, "", "DataMissing"),
        ("", EditOp::Delete, "", "DataMissing"),
        (a, EditOp::Remove, "", "{}"),
        (b, EditOp::Remove, "", b),
        ("", EditOp::Remove, "", ""),
    ];
    for (before, op, data, after) in table {
        check(before, op, path, data, after);
    }
}

#[test]
fn operations_at_any_depth() {
    let a = r#"{"item":[{"name":"a","options":{"a":"x"},"tag":["t"]}]}"#;
    check(a, EditOp::Replace, "/toy:top", r#"{"toy:top":{}}"#, "{}");
    check(a, EditOp::Delete, "/toy:top", "", "");
    check(
        a,
        EditOp::Merge,
        "/toy:top/item=a/options/a",
        r#"{"a":"y"}"#,
        r#"{"item":[{"name":"a","options":{"a":"y"},"tag":["t"]}]}"#,
    );
    check(
        a,
        EditOp::Delete,
        "/toy:top/item=a/options/a",
        "",
        r#"{"item":[{"name":"a","tag":["t"]}]}"#,
    );
    check(
        a,
        EditOp::Create,
        "/toy:top/item=a/tag=u",
        r#"{"tag":["u"]}"#,
        r#"{"item":[{"name":"a","options":{"a":"x"},"tag":["t","u"]}]}"#,
    );
    check(a, EditOp::Create, "/toy:top/item=a/tag=t", r#"{"tag":["t"]}"#, "DataExists");
    check(
        a,
        EditOp::Delete,
        "/toy:top/item=a/tag=t",
        "",
        r#"{"item":[{"name":"a","options":{"a":"x"}}]}"#,
    );
    check(a, EditOp::Delete, "/toy:top/item", "", "{}");
    check("{}", EditOp::Delete, "/toy:top/item", "", "DataMissing");
    check(
        r#"{"item":[{"name":"a"}]}"#,
        EditOp::Create,
        "/toy:top/item=a/more:added/deep/deepest",
        r#"{"more:deepest":"d"}"#,
        r#"{"item":[{"name":"a","more:added":{"deep":{"deepest":"d"}}}]}"#,
    );
    check("{}", EditOp::Create, "/toy:top/item=a/size", r#"{"size":1}"#, "DataMissing");
    check(
        r#"{"item":[{"name":"a"}]}"#,
        EditOp::Create,
        "/toy:top/item=a/present/c",
        r#"{"c":"c"}"#,
        "DataMissing",
    );
}

#[test]
fn merge_is_recursive() {
    check(
        r#"{"item":[{"name":"a","options":{"a":"x"},"tag":["t"]},{"name":"b"}],"pair":[{"a":"x","b":1}]}"#,
        EditOp::Merge,
        "/toy:top",
        r#"{"toy:top":{"pair":[{"a":"x","b":1,"v":"w"},{"a":"y","b":1}],"item":[{"name":"c"},{"name":"a","options":{"b":"y"},"tag":["t","u"]}]}}"#,
        r#"{"item":[{"name":"a","options":{"a":"x","b":"y"},"tag":["t","u"]},{"name":"b"},{"name":"c"}],"pair":[{"a":"x","b":1,"v":"w"},{"a":"y","b":1}]}"#,
    );
}

#[test]
fn a_node_of_another_case_replaces_the_present_case() {
    let a = r#"{"item":[{"name":"a","round":[null],"turns":3}]}"#;
    let third = r#"{"item":[{"name":"a","more:third":3}]}"#;
    check(
        a,
        EditOp::Merge,
        "/toy:top",
        r#"{"toy:top":{"item":[{"name":"a","more:third":3}]}}"#,
        third,
    );
    check(a, EditOp::Replace, "/toy:top/item=a/more:third", r#"{"more:third":3}"#, third);
    check(
        a,
        EditOp::Merge,
        "/toy:top/item=a/turns",
        r#"{"turns":4}"#,
        r#"{"item":[{"name":"a","round":[null],"turns":4}]}"#,
    );
}

#[test]
fn merging_a_long_list_is_fast() {
    let entries = |from: u32| -> String {
        let entries: Vec<String> =
            (from..from + 50_000).map(|n| format!(r#"{{"name":"{n}"}}"#)).collect();
        format!(r#"{{"item":[{}]}}"#, entries.join(","))
    };
    let edit = edit(EditOp::Merge, "/toy:top", &format!(r#"{{"toy:top":{}}}"#, entries(25_000)));
    let after = apply(&entries(0), &edit).unwrap().unwrap();
    assert_eq!(after.children().len(), 75_000);
}

#[test]
fn the_body_must_match_the_path() {
    let other = edit(EditOp::Replace, "/toy:top/item=a", r#"{"item":[{"name":"b"}]}"#);
    assert_eq!(apply("{}", &other).unwrap_err().tag, ErrorTag::InvalidValue);
    let kind = edit(EditOp::Replace, "/toy:top/item=a", r#"{"pair":[{"a":"b","b":1}]}"#);
    assert_eq!(apply("{}", &kind).unwrap_err().tag, ErrorTag::InvalidValue);
    assert!(apply("{}", &edit(EditOp::Create, "/toy:top/item=a", "")).is_err());
    assert!(
        apply("{}", &edit(EditOp::Merge, "/toy:top/item", r#"{"item":[{"name":"b"}]}"#)).is_err()
    );
}

#[test]
fn insert_positions_in_a_list() {
    let before = r#"{"pair":[{"a":"x","b":1},{"a":"y","b":1}],"yes":[null]}"#;
    let keys = |name: &str| vec![LeafValue::text(name), LeafValue::Uint(1)];
    let table = [
        (None, "xyz"),
        (Some(InsertAt::First), "zxy"),
        (Some(InsertAt::Last), "xyz"),
        (Some(InsertAt::Before(keys("y"))), "xzy"),
        (Some(InsertAt::After(keys("x"))), "xzy"),
        (Some(InsertAt::After(keys("y"))), "xyz"),
    ];
    let order = |node: &DataNode| -> String {
        let name = |entry: &DataNode| match &entry.children().first()?.value()? {
            LeafValue::Text(name) => Some(name.to_string()),
            _ => None,
        };
        node.children().iter().filter_map(name).collect()
    };
    for (insert_at, after) in table {
        let mut insert = edit(EditOp::Create, "/toy:top/pair=z,1", r#"{"pair":[{"a":"z","b":1}]}"#);
        insert.insert_at = insert_at.clone();
        assert_eq!(order(&apply(before, &insert).unwrap().unwrap()), after, "{insert_at:?}");
    }
    let mut nowhere = edit(EditOp::Create, "/toy:top/pair=z,1", r#"{"pair":[{"a":"z","b":1}]}"#);
    nowhere.insert_at = Some(InsertAt::Before(keys("w")));
    assert_eq!(apply(before, &nowhere).unwrap_err().tag, ErrorTag::BadAttribute);
    let replace =
        edit(EditOp::Replace, "/toy:top/pair=x,1", r#"{"pair":[{"a":"x","b":1,"v":"new"}]}"#);
    assert_eq!(order(&apply(before, &replace).unwrap().unwrap()), "xy", "it stays where it was");
}

#[test]
fn an_edit_applies_to_a_subtree() {
    let entry = tree(r#"{"toy:top":{"item":[{"name":"a"}]}}"#).children()[0].clone();
    let edit = edit(EditOp::Merge, "/toy:top/item=a/options/a", r#"{"a":"x"}"#);
    let after = edit::apply(&SCHEMA, Some(entry), 1, &edit).unwrap().unwrap();
    assert_eq!(shown(&after), r#"{"toy:item":[{"name":"a","options":{"a":"x"}}]}"#);
    let found = edit::find(&SCHEMA, &after, 1, &edit.target).unwrap();
    assert_eq!(found.value(), Some(&LeafValue::text("x")));
    assert!(edit::find(&SCHEMA, &after, 1, &target("/toy:top/item=a/options/b")).is_none());
}

#[test]
fn edit_errors_have_a_path() {
    let error = apply("{}", &edit(EditOp::Delete, "/toy:top/item=a", "")).unwrap_err();
    assert_eq!(error.message, "Data specified for delete doesn't exist.");
    assert_eq!(error.path.as_deref(), Some("/toy:top/item[name='a']"));
}
