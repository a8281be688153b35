//! Reading and writing JSON.

use allod_face_restconf::codec::{self, ChunkBuffer, DataWriter, Dialect, Encoding};
use allod_face_restconf::error::{ErrorTag, RestconfError};
use allod_face_restconf::tree::{DataNode, LeafValue, NodeSink, NodeSource, Siblings, WalkStopped};

use crate::pure::fixture::{SCHEMA, id, json, shown, tree, written, xml};

/// Parses a document with one item that has these members.
fn item(members: &str) -> Result<Vec<DataNode>, RestconfError> {
    json(&format!(r#"{{"toy:top":{{"item":[{{"name":"a",{members}}}]}}}}"#))
}

#[test]
fn both_dialects_are_written() {
    let text = r#"{"top":{"item":[{"big":"-1","wide":7,"ratio":"1.50","flag":[null],"name":"a","on":true,
        "tag":["y","x"],"kind":"red","more:extra":"e","more:added":{"deep":{"deepest":"d"}},"either":5}]}}"#;
    let tree = tree(text);
    assert_eq!(
        written(&tree, Encoding::Json, Dialect::Rfc8040),
        concat!(
            r#"{"toy:top":{"item":[{"name":"a","big":"-1","wide":"7","ratio":"1.5","flag":[null],"on":true,"#,
            r#""tag":["y","x"],"kind":"toy:red","more:extra":"e","more:added":{"deep":{"deepest":"d"}},"either":5}]}}"#
        )
    );
    assert_eq!(
        written(&tree, Encoding::Json, Dialect::Draft02),
        concat!(
            r#"{"top":{"item":[{"name":"a","big":-1,"wide":7,"ratio":1.5,"flag":[null],"on":true,"#,
            r#""tag":["y","x"],"kind":"toy:red","more:extra":"e","more:added":{"deep":{"deepest":"d"}},"either":5}]}}"#
        )
    );
}

#[test]
fn an_inner_node_is_written_as_a_top_level_member() {
    let tree = tree(r#"{"toy:top":{"item":[{"name":"a","more:added":{"deep":{"deepest":"d"}}}]}}"#);
    let entry = &tree.children()[0];
    assert_eq!(
        shown(entry),
        r#"{"toy:item":[{"name":"a","more:added":{"deep":{"deepest":"d"}}}]}"#
    );
    let added = entry.child(id("/toy:top/item/more:added")).unwrap();
    assert_eq!(shown(added), r#"{"more:added":{"deep":{"deepest":"d"}}}"#);
    let draft = written(added, Encoding::Json, Dialect::Draft02);
    assert_eq!(draft, r#"{"added":{"deep":{"deepest":"d"}}}"#);
    let read =
        codec::read(&SCHEMA, Some(id("/toy:top/item")), Encoding::Json, draft.as_bytes()).unwrap();
    assert_eq!(&read[0], added, "what the draft writes it also reads");
}

#[test]
fn a_64_bit_integer_in_a_union_is_quoted() {
    let either = |value: &str| {
        shown(&tree(&format!(r#"{{"top":{{"item":[{{"name":"a","either":{value}}}]}}}}"#)))
    };
    assert!(either("255").contains(r#""either":255"#));
    assert!(either("\"256\"").contains(r#""either":"256""#));
    assert!(either("\"255\"").contains(r#""either":255"#), "quoted or not, it is the same value");
}

#[test]
fn strings_are_escaped() {
    let value = LeafValue::text("\"\\\n\r\t\u{1}é\u{2028}");
    let leaf = DataNode::leaf(id("/toy:top/item/options/a"), value);
    assert_eq!(shown(&leaf), "{\"toy:a\":\"\\\"\\\\\\n\\r\\t\\u0001é\u{2028}\"}");
}

#[test]
fn empty_containers_are_left_out_but_not_those_with_presence() {
    let text =
        r#"{"toy:top":{"item":[{"name":"a","options":{},"present":{},"more:added":{"deep":{}}}]}}"#;
    assert_eq!(shown(&tree(text)), r#"{"toy:top":{"item":[{"name":"a","present":{}}]}}"#);
    assert_eq!(
        shown(&tree(r#"{"toy:top":{}}"#)),
        r#"{"toy:top":{}}"#,
        "a requested empty container is shown"
    );
}

#[test]
fn wrappers_are_written() {
    let mut writer =
        DataWriter::new(&SCHEMA, Encoding::Json, Dialect::Rfc8040, ChunkBuffer::whole());
    writer.open_wrapper("notification").unwrap();
    writer.wrapper_leaf("eventTime", "2026-11-15T00:00:00Z").unwrap();
    let what = DataNode::leaf(id("/toy:happened/what"), LeafValue::text("it"));
    DataNode::inner(id("/toy:happened"), vec![what]).walk(&mut writer).unwrap();
    writer.close_wrapper().unwrap();
    assert_eq!(
        String::from_utf8(writer.finish().unwrap()).unwrap(),
        r#"{"ietf-restconf:notification":{"eventTime":"2026-11-15T00:00:00Z","toy:happened":{"what":"it"}}}"#
    );
}

/// A long list is passed on in chunks, and the receiver can stop the walk.
#[test]
fn output_is_passed_on_in_chunks() {
    struct Many;
    impl NodeSource for Many {
        fn walk(&self, sink: &mut dyn NodeSink) -> Result<(), WalkStopped> {
            sink.open(id("/toy:top"))?;
            for number in 0..10_000 {
                sink.open(id("/toy:top/item"))?;
                sink.leaf(id("/toy:top/item/name"), &LeafValue::text(number.to_string()))?;
                sink.close()?;
            }
            sink.close()
        }
    }
    for encoding in [Encoding::Json, Encoding::Xml] {
        let (mut chunks, mut all) = (0, Vec::new());
        let out = ChunkBuffer::with_callback(4096, |chunk| {
            assert!(chunk.len() < 8192);
            chunks += 1;
            all.extend_from_slice(&chunk);
            Ok(())
        });
        let mut writer = DataWriter::new(&SCHEMA, encoding, Dialect::Rfc8040, out);
        Many.walk(&mut writer).unwrap();
        writer.finish().unwrap();
        assert!(chunks > 10);
        assert_eq!(codec::read(&SCHEMA, None, encoding, &all).unwrap()[0].children().len(), 10_000);

        let mut left = 3;
        let out = ChunkBuffer::with_callback(4096, |_| {
            left -= 1;
            if left == 0 { Err(WalkStopped) } else { Ok(()) }
        });
        let mut writer = DataWriter::new(&SCHEMA, encoding, Dialect::Rfc8040, out);
        assert_eq!(Many.walk(&mut writer), Err(WalkStopped));
    }
}

#[test]
fn invalid_members_are_refused() {
    let table = [
        (
            r#""size":"x""#,
            "size: 'x' is not a value of type uint16 (1..100 | 200)",
            "/toy:top/item[name='a']/size",
        ),
        (
            r#""size":0"#,
            "size: '0' is not a value of type uint16 (1..100 | 200)",
            "/toy:top/item[name='a']/size",
        ),
        (
            r#""wide":-1"#,
            "wide: '-1' is not a value of type uint64 (0..18446744073709551615)",
            "/toy:top/item[name='a']/wide",
        ),
        (
            r#""size":1.5"#,
            "size: '1.5' is not a value of type uint16 (1..100 | 200)",
            "/toy:top/item[name='a']/size",
        ),
        (
            r#""size":true"#,
            "size: 'true' is not a value of type uint16",
            "/toy:top/item[name='a']/size",
        ),
        (r#""on":"yes""#, "on: 'yes' is not a value of type boolean", "/toy:top/item[name='a']/on"),
        (r#""on":1"#, "on: '1' is not a value of type boolean", "/toy:top/item[name='a']/on"),
        (r#""flag":"x""#, "flag: 'x' is not a value of type empty", "/toy:top/item[name='a']/flag"),
        (
            r#""mode":5"#,
            "mode: '5' is not a value of type enumeration",
            "/toy:top/item[name='a']/mode",
        ),
        (r#""flag":[]"#, "unexpected array", "/toy:top/item[name='a']/flag"),
        (r#""nothing":5"#, "'nothing' is not known here", "/toy:top/item[name='a']"),
        (r#""other:size":5"#, "'other:size' is not known here", "/toy:top/item[name='a']"),
        (r#""method":{}"#, "'method' is not known here", "/toy:top/item[name='a']"),
        (
            r#""size":1,"toy:size":2"#,
            "'toy:size' occurs more than once",
            "/toy:top/item[name='a']/size",
        ),
        (r#""number":[1,1]"#, "'number' occurs more than once", "/toy:top/item[name='a']/number"),
    ];
    for (members, message, path) in table {
        let error = item(members).unwrap_err();
        assert_eq!(error.message, format!("Error parsing input: {message}"), "{members}");
        assert_eq!(error.path.as_deref(), Some(path), "{members}");
        assert_eq!(error.tag, ErrorTag::MalformedMessage);
    }
}

/// Lenient forms that some clients send, converted from XML or meant for other servers.
#[test]
fn lenient_forms_are_accepted() {
    let table = [
        (r#"{"toy:top":{"item":{"name":"a"}}}"#, r#"{"toy:top":{"item":[{"name":"a"}]}}"#),
        (
            r#"{"toy:top":{"item":[{"name":"a","tag":"x","number":7}]}}"#,
            r#"{"toy:top":{"item":[{"name":"a","tag":["x"],"number":[7]}]}}"#,
        ),
        (
            r#"{"top":{"item":[{"name":"a","extra":"e"}]}}"#,
            r#"{"toy:top":{"item":[{"name":"a","more:extra":"e"}]}}"#,
        ),
        (
            r#"{"toy:top":{"item":[{"name":"a","on":"true","flag":"","size":"7"}]}}"#,
            r#"{"toy:top":{"item":[{"name":"a","on":true,"flag":[null],"size":7}]}}"#,
        ),
    ];
    for (short, full) in table {
        assert_eq!(json(short).unwrap(), json(full).unwrap(), "{short}");
    }
}

#[test]
fn invalid_documents_are_refused() {
    let table = [
        "",
        "{",
        "[]",
        "null",
        r#"{"toy:top":null}"#,
        r#"{"toy:top":[]}"#,
        r#"{"toy:top":{}} x"#,
        r#"{"toy:top":{"item":"a"}}"#,
        r#"{"toy:top":{"item":["a"]}}"#,
        r#"{"toy:top":{"item":[{"size":1}]}}"#,
        r#"{"toy:top":{"item":[{"name":"a"},{"name":"a"}]}}"#,
        r#"{"toy:top":{"item":[{"name":null}]}}"#,
        r#"{"toy:top":{"item":[{"name":"a","size":null}]}}"#,
        r#"{"toy:top":{"item":[{"name":"a","tag":{"x":"y"}}]}}"#,
        r#"{"toy:top":{"item":[{"name":"a","tag":null}]}}"#,
        r#"{"toy:act":{}}"#,
        r#"{"toy:happened":{}}"#,
        r#"{"ietf-restconf:data":{"toy:top":{}},"toy:top":{}}"#,
        r#"{"ietf-restconf:data":{"data":{}}}"#,
        "{\"toy:top\":{\"item\":[{\"name\":\"\u{0}",
    ];
    for text in table {
        let error = json(text).unwrap_err();
        assert_eq!(error.tag, ErrorTag::MalformedMessage, "{text}");
        assert!(error.message.starts_with("Error parsing input: "), "{text}: {}", error.message);
    }
    assert_eq!(
        codec::read(&SCHEMA, None, Encoding::Json, b"\xff").unwrap_err().tag,
        ErrorTag::MalformedMessage
    );
}

/// The path has the keys that were read before the error.
#[test]
fn errors_have_the_path_of_the_entry() {
    let table = [
        (
            r#"{"toy:top":{"item":[{"name":"a"},{"name":"b","options":{"a":1}}]}}"#,
            "/toy:top/item[name='b']/options/a",
        ),
        (r#"{"toy:top":{"item":[{"size":0,"name":"b"}]}}"#, "/toy:top/item/size"),
        (
            r#"{"toy:top":{"pair":[{"a":"it's","b":1,"v":5}]}}"#,
            "/toy:top/pair[a=\"it's\"][b='1']/v",
        ),
        (
            r#"{"toy:top":{"item":[{"name":"a","state":{"hit":[{"at":"x"}]}}]}}"#,
            "/toy:top/item[name='a']/state/hit/at",
        ),
    ];
    for (text, path) in table {
        assert_eq!(json(text).unwrap_err().path.as_deref(), Some(path), "{text}");
    }
    let text = r#"<top xmlns="urn:example:toy"><item><name>a</name><state><hit><at>x</at></hit></state></item></top>"#;
    let error = xml(text).unwrap_err();
    assert_eq!(error.path.as_deref(), Some("/toy:top/item[name='a']/state/hit/at"));
}

/// None of these may take much time, memory or stack.
#[test]
fn hostile_documents_are_refused() {
    let deep_objects = r#"{"toy:top":"#.repeat(10_000);
    let deep_arrays = format!(r#"{{"toy:top":{{"item":{}"#, "[".repeat(100_000));
    let deep_leaf = format!(r#"{{"toy:top":{{"item":[{{"name":{}"#, "[".repeat(100_000));
    let unknown = format!(r#"{{"x":{}"#, r#"{"x":"#.repeat(100_000));
    for text in [deep_objects, deep_arrays, deep_leaf, unknown] {
        assert_eq!(json(&text).unwrap_err().tag, ErrorTag::MalformedMessage);
    }
}

#[test]
fn datastore_children_may_be_wrapped_in_data() {
    let plain = json(r#"{"toy:top":{"item":[{"name":"a"}]}}"#).unwrap();
    assert_eq!(
        json(r#"{"ietf-restconf:data":{"toy:top":{"item":[{"name":"a"}]}}}"#).unwrap(),
        plain
    );
    assert_eq!(json(r#"{"data":{"toy:top":{"item":[{"name":"a"}]}}}"#).unwrap(), plain);
    assert_eq!(json("{}").unwrap(), []);
}

/// A body sent to a list entry contains some of its children; its keys are in the path.
#[test]
fn children_of_an_entry_need_no_keys() {
    let item = Some(id("/toy:top/item"));
    let text = br#"{"toy:size":5}"#;
    let size = DataNode::leaf(id("/toy:top/item/size"), LeafValue::Uint(5));
    assert_eq!(
        codec::read(&SCHEMA, item, Encoding::Json, text).unwrap(),
        std::slice::from_ref(&size)
    );
    let text = br#"<size xmlns="urn:example:toy">5</size>"#;
    assert_eq!(codec::read(&SCHEMA, item, Encoding::Xml, text).unwrap(), [size]);
}

#[test]
fn inputs_are_read() {
    let act = id("/toy:act");
    let read = |text: &str| codec::read_input(&SCHEMA, act, Encoding::Json, text.as_bytes());
    let x = vec![DataNode::leaf(id("/toy:act/input/x"), LeafValue::Uint(5))];
    assert_eq!(read(r#"{"input":{"x":5}}"#).unwrap(), x);
    assert_eq!(read(r#"{"toy:input":{"toy:x":"5"}}"#).unwrap(), x);
    assert_eq!(read(" \n").unwrap(), []);
    assert_eq!(read("{}").unwrap(), []);
    assert_eq!(read(r#"{"input":{}}"#).unwrap(), []);
    for text in [
        r#"{"x":5}"#,
        r#"{"more:input":{}}"#,
        r#"{"input":{},"toy:input":{}}"#,
        r#"{"input":null}"#,
        r#"{"output":{}}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
    assert_eq!(x.uint(id("/toy:act/input/x")), Some(5));
}
