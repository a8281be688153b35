//! Reading and writing XML.

use allod_face_restconf::codec::{self, ChunkBuffer, DataWriter, Dialect, Encoding};
use allod_face_restconf::error::ErrorTag;
use allod_face_restconf::tree::{DataNode, LeafValue, NodeSource};

use crate::pure::fixture::{SCHEMA, id, shown, tree, written, xml};

fn as_xml(source: &dyn NodeSource) -> String {
    written(source, Encoding::Xml, Dialect::Rfc8040)
}

#[test]
fn namespaces_are_declared_where_they_change() {
    let tree = tree(
        r#"{"toy:top":{"item":[{"name":"a<&>","kind":"red","flag":[null],"tag":["x","y"],"present":{},"options":{},
        "more:extra":"e","more:added":{"deep":{"deepest":"d"}},"where":"/toy:top/item[name='a:b']/more:extra"}]}}"#,
    );
    assert_eq!(
        as_xml(&tree),
        concat!(
            r#"<top xmlns="urn:example:toy"><item><name>a&lt;&amp;&gt;</name>"#,
            r#"<kind xmlns:toy="urn:example:toy">toy:red</kind><flag/><tag>x</tag><tag>y</tag><present/>"#,
            r#"<extra xmlns="urn:example:more">e</extra>"#,
            r#"<added xmlns="urn:example:more"><deep><deepest>d</deepest></deep></added>"#,
            r#"<where xmlns:toy="urn:example:toy" xmlns:more="urn:example:more">"#,
            r#"/toy:top/item[name='a:b']/more:extra</where></item></top>"#
        )
    );
}

#[test]
fn wrappers_are_written() {
    let mut writer =
        DataWriter::new(&SCHEMA, Encoding::Xml, Dialect::Rfc8040, ChunkBuffer::whole());
    writer.open_wrapper("notification").unwrap();
    writer.wrapper_leaf("eventTime", "now").unwrap();
    DataNode::inner(id("/toy:happened"), Vec::new()).walk(&mut writer).unwrap();
    writer.close_wrapper().unwrap();
    assert_eq!(
        String::from_utf8(writer.finish().unwrap()).unwrap(),
        concat!(
            r#"<notification xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf"><eventTime>now</eventTime>"#,
            r#"<happened xmlns="urn:example:toy"/></notification>"#
        )
    );
}

#[test]
fn any_prefix_is_accepted() {
    let text = r#"<?xml version="1.0"?><!-- hello --><p:top xmlns:p="urn:example:toy" xmlns:q="urn:example:more">
        <p:item> <q:extra>&#65;&#x42;&lt;&amp;&apos;<![CDATA[<&]]></q:extra> <p:size> 5 </p:size><p:name>a</p:name>
        <p:kind xmlns="urn:example:toy">red</p:kind></p:item>
        <pair xmlns="urn:example:toy"><b>1</b><a/></pair>
        <item xmlns="urn:example:toy"><name>b</name></item></p:top>"#;
    let nodes = xml(text).unwrap();
    assert_eq!(
        shown(&nodes),
        concat!(
            r#"{"toy:top":{"item":[{"name":"a","more:extra":"AB<&'<&","size":5,"kind":"toy:red"},{"name":"b"}],"#,
            r#""pair":[{"a":"","b":1}]}}"#
        ),
        "entries stand together, keys first"
    );
}

#[test]
fn invalid_elements_are_refused() {
    let table = [
        "",
        "text",
        "<top",
        "<top>",
        "<top/>",
        "</top>",
        r#"<top xmlns="urn:example:toy">"#,
        r#"<top xmlns="urn:example:toy"></bottom>"#,
        r#"<top xmlns="urn:example:toy"/><top xmlns="urn:example:toy"/>"#,
        r#"<top xmlns="urn:example:toy"/>x"#,
        r#"<top xmlns="urn:example:none"/>"#,
        r#"<p:top xmlns="urn:example:toy"/>"#,
        r#"<bottom xmlns="urn:example:toy"/>"#,
        r#"<act xmlns="urn:example:toy"/>"#,
        r#"<top xmlns="urn:example:toy">text</top>"#,
        r#"<top xmlns="urn:example:toy"><item/></top>"#,
        r#"<top xmlns="urn:example:toy"><item><name>a</name><name>b</name></item></top>"#,
        r#"<top xmlns="urn:example:toy"><item><name>a<b/></name></item></top>"#,
        r#"<top xmlns="urn:example:toy"><item><name>&unknown;</name></item></top>"#,
        r#"<top xmlns="urn:example:toy"><item><name>&#0;</name></item></top>"#,
        r#"<top xmlns="urn:example:toy"><item><name>a</name><size>x</size></item></top>"#,
        r#"<top xmlns="urn:example:toy"><item><name>a</name><kind>x:red</kind></item></top>"#,
        r#"<top xmlns="urn:example:toy"><item><name>a</name><extra>e</extra></item></top>"#,
        r#"<!DOCTYPE top><top xmlns="urn:example:toy"/>"#,
    ];
    for text in table {
        let error = xml(text).unwrap_err();
        assert_eq!(error.tag, ErrorTag::MalformedMessage, "{text}");
        assert!(error.message.starts_with("Error parsing input: "), "{text}: {}", error.message);
    }
    assert!(codec::read(&SCHEMA, None, Encoding::Xml, b"<top\xff/>").is_err());
}

/// None of these may take much time, memory or stack.
#[test]
fn hostile_documents_are_refused() {
    let laughs = concat!(
        r#"<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>"#,
        r#"<top xmlns="urn:example:toy"><item><name>&c;</name></item></top>"#
    );
    let deep = "<a>".repeat(100_000);
    let deep_known = r#"<top xmlns="urn:example:toy">"#.repeat(10_000);
    let attributes: String =
        (0..10_000).map(|number| format!(" xmlns:a{number}=\"urn:{number}\"")).collect();
    let attributes = format!("<top xmlns=\"urn:example:toy\"{attributes}><x/></top>");
    for text in [laughs, &deep, &deep_known, &attributes] {
        assert_eq!(xml(text).unwrap_err().tag, ErrorTag::MalformedMessage);
    }
    let long = format!(r#"<data xmlns="{}">{}"#, "x".repeat(1_000_000), "<a>".repeat(100_000));
    assert_eq!(xml(&long).unwrap_err().message, "Error parsing input: a namespace is too long");
    let patch = r#"<yang-patch xmlns="urn:ietf:params:xml:ns:yang:ietf-yang-patch"><edit><value>"#
        .to_owned()
        + &deep;
    let base = allod_face_restconf::model::InstancePath::default();
    assert!(
        allod_face_restconf::edit::patch::read(
            &SCHEMA,
            &base,
            Encoding::Xml,
            patch.as_bytes(),
            allod_face_restconf::edit::patch::EDITS_MAX
        )
        .is_err()
    );
}

#[test]
fn datastore_children_may_be_wrapped_in_data() {
    let top = r#"<top xmlns="urn:example:toy"><item><name>a</name></item></top>"#;
    let wrapped =
        format!(r#"<data xmlns="urn:ietf:params:xml:ns:yang:ietf-restconf">{top}</data>"#);
    assert_eq!(xml(&wrapped).unwrap(), xml(top).unwrap());
}

#[test]
fn inputs_are_read() {
    let read =
        |text: &str| codec::read_input(&SCHEMA, id("/toy:act"), Encoding::Xml, text.as_bytes());
    let x = vec![DataNode::leaf(id("/toy:act/input/x"), LeafValue::Uint(5))];
    assert_eq!(read(r#"<input xmlns="urn:example:toy"><x>5</x></input>"#).unwrap(), x);
    assert_eq!(read("").unwrap(), []);
    assert_eq!(read(r#"<input xmlns="urn:example:toy"/>"#).unwrap(), []);
    for text in [
        r#"<input><x>5</x></input>"#,
        r#"<input xmlns="urn:example:more"/>"#,
        r#"<output xmlns="urn:example:toy"/>"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}
