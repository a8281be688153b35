//! YANG Patch.

use allod_face_restconf::codec::Encoding;
use allod_face_restconf::edit::patch::{self, PatchOp, PatchStatus, YangPatch, write_status};
use allod_face_restconf::edit::{InsertAt, apply, find};
use allod_face_restconf::error::{ErrorTag, RestconfError};
use allod_face_restconf::model::InstancePath;
use allod_face_restconf::tree::LeafValue;

use crate::pure::fixture::{SCHEMA, shown, target, tree};

fn json(edits: &str) -> Result<YangPatch, RestconfError> {
    let text = format!(
        r#"{{"ietf-yang-patch:yang-patch":{{"patch-id":"p","comment":"c","edit":[{edits}]}}}}"#
    );
    patch::read(&SCHEMA, &target("/toy:top"), Encoding::Json, text.as_bytes(), patch::EDITS_MAX)
}

fn xml(edits: &str) -> Result<YangPatch, RestconfError> {
    let text = format!(
        r#"<yang-patch xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-patch" xmlns:t="urn:example:toy"> <patch-id>p</patch-id>{edits}</yang-patch>"#
    );
    patch::read(&SCHEMA, &target("/toy:top"), Encoding::Xml, text.as_bytes(), patch::EDITS_MAX)
}

const JSON: &str = r#"
    {"edit-id":"1","operation":"create","value":{"toy:pair":[{"b":1,"a":"z"}]},"target":"/pair=z,1"},
    {"edit-id":"2","operation":"insert","target":"/toy:pair=w,1","where":"before","point":"/pair=y,1","value":{"pair":[{"a":"w","b":1}]}},
    {"edit-id":"3","operation":"move","target":"/pair=z,1","where":"first"},
    {"edit-id":"4","operation":"merge","target":"/item=a","value":{"toy:item":[{"name":"a","kind":"red"}]}},
    {"edit-id":"5","operation":"delete","target":"/pair=x,1"},
    {"edit-id":"6","operation":"remove","target":"/pair=none,1"},
    {"edit-id":"7","operation":"replace","target":"/pair=y,1/v","value":{"toy:v":"new"}}"#;

const XML: &str = r#"
    <edit><edit-id>1</edit-id><operation>create</operation><value><t:pair><t:b>1</t:b><t:a>z</t:a></t:pair></value>
        <target>/pair=z,1</target></edit>
    <edit><edit-id>2</edit-id><operation>insert</operation><target>/toy:pair=w,1</target><where>before</where>
        <point>/pair=y,1</point><value><pair xmlns="urn:example:toy"><a>w</a><b>1</b></pair></value></edit>
    <edit><edit-id>3</edit-id><operation>move</operation><target>/pair=z,1</target><where>first</where></edit>
    <edit><edit-id>4</edit-id><operation>merge</operation><target>/item=a</target>
        <value><t:item><t:name>a</t:name><t:kind>t:red</t:kind></t:item></value></edit>
    <edit><edit-id>5</edit-id><operation>delete</operation><target>/pair=x,1</target></edit>
    <edit><edit-id>6</edit-id><operation>remove</operation><target>/pair=none,1</target></edit>
    <edit><edit-id>7</edit-id><operation>replace</operation><target>/pair=y,1/v</target><value><t:v>new</t:v></value></edit>"#;

#[test]
fn json_and_xml_give_the_same_patch() {
    let patch = json(JSON).unwrap();
    assert_eq!(xml(XML).unwrap(), patch);
    assert_eq!(patch.id, "p");
    assert_eq!(patch.edits[1].op, PatchOp::Insert);
    assert_eq!(
        patch.edits[1].insert_at,
        Some(InsertAt::Before(vec![LeafValue::text("y"), LeafValue::Uint(1)]))
    );
    assert_eq!(patch.edits[2].edit(), None);
    assert_eq!(patch.edits[4].target, target("/toy:top/pair=x,1"));
}

#[test]
fn edits_are_applied_in_order() {
    let mut node = Some(tree(r#"{"toy:top":{"pair":[{"a":"x","b":1},{"a":"y","b":1}]}}"#));
    for edit in json(JSON).unwrap().edits {
        let found = node.as_ref().and_then(|node| find(&SCHEMA, node, 0, &edit.target)).cloned();
        let edit = edit.edit().unwrap_or_else(|| edit.moving(found.expect("a node to move")));
        node = apply(&SCHEMA, node, 0, &edit).unwrap();
    }
    assert_eq!(
        shown(&node.unwrap()),
        concat!(
            r#"{"toy:top":{"pair":[{"a":"z","b":1},{"a":"w","b":1},{"a":"y","b":1,"v":"new"}],"#,
            r#""item":[{"name":"a","kind":"toy:red"}]}}"#
        )
    );
}

#[test]
fn invalid_patches_are_refused() {
    let table = [
        r#"{"operation":"delete","target":"/pair=x,1"}"#,
        r#"{"edit-id":"1","target":"/pair=x,1"}"#,
        r#"{"edit-id":"1","operation":"delete"}"#,
        r#"{"edit-id":"1","operation":"destroy","target":"/pair=x,1"}"#,
        r#"{"edit-id":"1","operation":"delete","target":"/none"}"#,
        r#"{"edit-id":"1","operation":"create","target":"/pair=x,1"}"#,
        r#"{"edit-id":"1","operation":"create","target":"/pair=x,1","value":{}}"#,
        r#"{"edit-id":"1","operation":"create","target":"/pair=x,1","value":{"toy:none":1}}"#,
        r#"{"edit-id":"1","operation":"delete","target":"/pair=x,1","value":{"pair":[{"a":"x","b":1}]}}"#,
        r#"{"edit-id":"1","operation":"delete","target":"/pair=x,1","where":"first"}"#,
        r#"{"edit-id":"1","operation":"move","target":"/item=a","where":"first"}"#,
        r#"{"edit-id":"1","operation":"move","target":"/pair=x,1","where":"before"}"#,
        r#"{"edit-id":"1","operation":"move","target":"/pair=x,1","where":"before","point":"/item=a"}"#,
        r#"{"edit-id":"1","operation":"move","target":"/pair=x,1","where":"before","point":"/pair"}"#,
        r#"{"edit-id":"1","operation":"move","target":"/pair=x,1","where":"between"}"#,
        r#"{"edit-id":"1","operation":"delete","target":"/pair=x,1","other":1}"#,
        r#"{"edit-id":"1","operation":"remove","target":"/pair=x,1"},{"edit-id":"1","operation":"remove","target":"/pair=x,1"}"#,
        r#"{"edit-id":1,"operation":"remove","target":"/pair=x,1"}"#,
    ];
    for edits in table {
        assert!(json(edits).is_err(), "{edits}");
    }
    let base = InstancePath::default();
    for text in [
        "",
        "{}",
        "[]",
        r#"{"yang-patch":{}}"#,
        r#"{"toy:top":{}}"#,
        r#"{"yang-patch":{"patch-id":"p"},"other":1}"#,
        r#"{"yang-patch":{"patch-id":"p"},"ietf-yang-patch:yang-patch":{"patch-id":"q"}}"#,
        r#"{"other:yang-patch":{"patch-id":"p"}}"#,
        r#"{"yang-patch":{"patch-id":"p","edit":{}}}"#,
    ] {
        assert!(
            patch::read(&SCHEMA, &base, Encoding::Json, text.as_bytes(), patch::EDITS_MAX).is_err(),
            "{text}"
        );
    }
    for text in [
        "<edit/>",
        "<other/>",
        "text",
        "<edit><edit-id>1</edit-id><operation>remove</operation></edit>",
    ] {
        assert!(xml(text).is_err(), "{text}");
    }
    let whole = r#"{"yang-patch":{"patch-id":"p","edit":[{"edit-id":"1","operation":"remove","target":"/"}]}}"#;
    assert!(
        patch::read(&SCHEMA, &base, Encoding::Json, whole.as_bytes(), patch::EDITS_MAX).is_err(),
        "the datastore cannot go"
    );
    let empty = patch::read(
        &SCHEMA,
        &base,
        Encoding::Json,
        br#"{"yang-patch":{"patch-id":"p"}}"#,
        patch::EDITS_MAX,
    )
    .unwrap();
    assert_eq!(empty.edits, []);
}

#[test]
fn patch_statuses_are_written() {
    let error = RestconfError::protocol(ErrorTag::DataExists, "there already");
    let write =
        |encoding, status| String::from_utf8(write_status(encoding, "p", &status, true)).unwrap();
    let failed = || PatchStatus::EditFailed("a\"<", &error);
    assert_eq!(
        write(Encoding::Json, PatchStatus::Ok),
        r#"{"ietf-yang-patch:yang-patch-status":{"patch-id":"p","ok":[null]}}"#
    );
    assert_eq!(
        write(Encoding::Xml, PatchStatus::Ok),
        r#"<yang-patch-status xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-patch"><patch-id>p</patch-id><ok/></yang-patch-status>"#
    );
    assert_eq!(
        write(Encoding::Json, failed()),
        concat!(
            r#"{"ietf-yang-patch:yang-patch-status":{"patch-id":"p","edit-status":{"edit":[{"edit-id":"a\"<","#,
            r#""errors":{"error":[{"error-type":"protocol","error-tag":"data-exists","error-message":"there already"}]}}]}}}"#
        )
    );
    assert_eq!(
        write(Encoding::Xml, failed()),
        concat!(
            r#"<yang-patch-status xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-patch"><patch-id>p</patch-id><edit-status>"#,
            r#"<edit><edit-id>a&quot;&lt;</edit-id><errors><error><error-type>protocol</error-type><error-tag>data-exists</error-tag>"#,
            r#"<error-message>there already</error-message></error></errors></edit></edit-status></yang-patch-status>"#
        )
    );
    assert_eq!(
        write(Encoding::Json, PatchStatus::Failed(&error)),
        concat!(
            r#"{"ietf-yang-patch:yang-patch-status":{"patch-id":"p","errors":{"error":["#,
            r#"{"error-type":"protocol","error-tag":"data-exists","error-message":"there already"}]}}}"#
        )
    );
}
