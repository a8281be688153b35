//! JSON, both ways.

use allod_face_restconf::codec::{self, Chunks, Dialect, Format, Writer};
use allod_face_restconf::fault::{Fault, Tag};
use allod_face_restconf::tree::{Node, Siblings, Sink, Source, Stopped, Value};

use crate::pure::fixture::{SCHEMA, id, json, shown, tree, written, xml};

/// Within the one item of a top that has it.
fn item(members: &str) -> Result<Vec<Node>, Fault> {
    json(&format!(r#"{{"toy:top":{{"item":[{{"name":"a",{members}}}]}}}}"#))
}

#[test]
fn both_dialects() {
    let text = r#"{"top":{"item":[{"big":"-1","wide":7,"ratio":"1.50","flag":[null],"name":"a","on":true,
        "tag":["y","x"],"kind":"red","more:extra":"e","more:added":{"deep":{"deepest":"d"}},"either":5}]}}"#;
    let tree = tree(text);
    assert_eq!(
        written(&tree, Format::Json, Dialect::Rfc8040),
        concat!(
            r#"{"toy:top":{"item":[{"name":"a","big":"-1","wide":"7","ratio":"1.5","flag":[null],"on":true,"#,
            r#""tag":["y","x"],"kind":"toy:red","more:extra":"e","more:added":{"deep":{"deepest":"d"}},"either":5}]}}"#
        )
    );
    assert_eq!(
        written(&tree, Format::Json, Dialect::Draft02),
        concat!(
            r#"{"top":{"item":[{"name":"a","big":-1,"wide":7,"ratio":1.5,"flag":[null],"on":true,"#,
            r#""tag":["y","x"],"kind":"toy:red","more:extra":"e","more:added":{"deep":{"deepest":"d"}},"either":5}]}}"#
        )
    );
}

#[test]
fn a_node_from_the_middle_is_at_the_top() {
    let tree = tree(r#"{"toy:top":{"item":[{"name":"a","more:added":{"deep":{"deepest":"d"}}}]}}"#);
    let entry = &tree.children()[0];
    assert_eq!(
        shown(entry),
        r#"{"toy:item":[{"name":"a","more:added":{"deep":{"deepest":"d"}}}]}"#
    );
    let added = entry.child(id("/toy:top/item/more:added")).unwrap();
    assert_eq!(shown(added), r#"{"more:added":{"deep":{"deepest":"d"}}}"#);
    let draft = written(added, Format::Json, Dialect::Draft02);
    assert_eq!(draft, r#"{"added":{"deep":{"deepest":"d"}}}"#);
    let read =
        codec::read(&SCHEMA, Some(id("/toy:top/item")), Format::Json, draft.as_bytes()).unwrap();
    assert_eq!(&read[0], added, "what the draft writes it also reads");
}

#[test]
fn sixty_four_bits_in_a_union_are_quoted_by_the_member_that_has_them() {
    let either = |value: &str| {
        shown(&tree(&format!(r#"{{"top":{{"item":[{{"name":"a","either":{value}}}]}}}}"#)))
    };
    assert!(either("255").contains(r#""either":255"#));
    assert!(either("\"256\"").contains(r#""either":"256""#));
    assert!(either("\"255\"").contains(r#""either":255"#), "quoted or not, it is the same value");
}

#[test]
fn strings_are_escaped() {
    let value = Value::text("\"\\\n\r\t\u{1}é\u{2028}");
    let leaf = Node::leaf(id("/toy:top/item/options/a"), value);
    assert_eq!(shown(&leaf), "{\"toy:a\":\"\\\"\\\\\\n\\r\\t\\u0001é\u{2028}\"}");
}

#[test]
fn empty_containers_are_left_out_but_not_those_with_presence() {
    let text =
        r#"{"toy:top":{"item":[{"name":"a","options":{},"present":{},"more:added":{"deep":{}}}]}}"#;
    assert_eq!(shown(&tree(text)), r#"{"toy:top":{"item":[{"name":"a","present":{}}]}}"#);
    assert_eq!(shown(&tree(r#"{"toy:top":{}}"#)), r#"{"toy:top":{}}"#, "what is asked for is told");
}

#[test]
fn wrappers() {
    let mut writer = Writer::new(&SCHEMA, Format::Json, Dialect::Rfc8040, Chunks::whole());
    writer.open_wrapper("notification").unwrap();
    writer.wrapper_leaf("eventTime", "2026-11-15T00:00:00Z").unwrap();
    let what = Node::leaf(id("/toy:happened/what"), Value::text("it"));
    Node::inner(id("/toy:happened"), vec![what]).walk(&mut writer).unwrap();
    writer.close_wrapper().unwrap();
    assert_eq!(
        String::from_utf8(writer.finish().unwrap()).unwrap(),
        r#"{"ietf-restconf:notification":{"eventTime":"2026-11-15T00:00:00Z","toy:happened":{"what":"it"}}}"#
    );
}

/// A long list is handed over in chunks, and whoever takes them can stop it.
#[test]
fn chunks() {
    struct Many;
    impl Source for Many {
        fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
            sink.open(id("/toy:top"))?;
            for number in 0..10_000 {
                sink.open(id("/toy:top/item"))?;
                sink.leaf(id("/toy:top/item/name"), &Value::text(number.to_string()))?;
                sink.close()?;
            }
            sink.close()
        }
    }
    for format in [Format::Json, Format::Xml] {
        let (mut chunks, mut all) = (0, Vec::new());
        let out = Chunks::handed_over(4096, |chunk| {
            assert!(chunk.len() < 8192);
            chunks += 1;
            all.extend_from_slice(&chunk);
            Ok(())
        });
        let mut writer = Writer::new(&SCHEMA, format, Dialect::Rfc8040, out);
        Many.walk(&mut writer).unwrap();
        writer.finish().unwrap();
        assert!(chunks > 10);
        assert_eq!(codec::read(&SCHEMA, None, format, &all).unwrap()[0].children().len(), 10_000);

        let mut left = 3;
        let out = Chunks::handed_over(4096, |_| {
            left -= 1;
            if left == 0 { Err(Stopped) } else { Ok(()) }
        });
        let mut writer = Writer::new(&SCHEMA, format, Dialect::Rfc8040, out);
        assert_eq!(Many.walk(&mut writer), Err(Stopped));
    }
}

#[test]
fn what_is_not_read() {
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
        (r#""flag":[]"#, "an array is not expected", "/toy:top/item[name='a']/flag"),
        (r#""nothing":5"#, "'nothing' is not known here", "/toy:top/item[name='a']"),
        (r#""other:size":5"#, "'other:size' is not known here", "/toy:top/item[name='a']"),
        (r#""method":{}"#, "'method' is not known here", "/toy:top/item[name='a']"),
        (r#""size":1,"toy:size":2"#, "'toy:size' is there twice", "/toy:top/item[name='a']/size"),
        (r#""number":[1,1]"#, "'number' is there twice", "/toy:top/item[name='a']/number"),
    ];
    for (members, message, path) in table {
        let fault = item(members).unwrap_err();
        assert_eq!(fault.message, format!("Error parsing input: {message}"), "{members}");
        assert_eq!(fault.path.as_deref(), Some(path), "{members}");
        assert_eq!(fault.tag, Tag::MalformedMessage);
    }
}

/// What clients write that have it from XML, or from servers that take it.
#[test]
fn what_is_read_though_it_could_be_clearer() {
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
fn documents_that_are_none() {
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
        let fault = json(text).unwrap_err();
        assert_eq!(fault.tag, Tag::MalformedMessage, "{text}");
        assert!(fault.message.starts_with("Error parsing input: "), "{text}: {}", fault.message);
    }
    assert_eq!(
        codec::read(&SCHEMA, None, Format::Json, b"\xff").unwrap_err().tag,
        Tag::MalformedMessage
    );
}

/// The keys are told as far as they were read before the fault.
#[test]
fn faults_name_the_entry() {
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
    let fault = xml(text).unwrap_err();
    assert_eq!(fault.path.as_deref(), Some("/toy:top/item[name='a']/state/hit/at"));
}

/// Neither of these may take a long time, much memory or the stack.
#[test]
fn hostile_documents() {
    let deep_objects = r#"{"toy:top":"#.repeat(10_000);
    let deep_arrays = format!(r#"{{"toy:top":{{"item":{}"#, "[".repeat(100_000));
    let deep_leaf = format!(r#"{{"toy:top":{{"item":[{{"name":{}"#, "[".repeat(100_000));
    let unknown = format!(r#"{{"x":{}"#, r#"{"x":"#.repeat(100_000));
    for text in [deep_objects, deep_arrays, deep_leaf, unknown] {
        assert_eq!(json(&text).unwrap_err().tag, Tag::MalformedMessage);
    }
}

#[test]
fn the_datastore_may_be_wrapped() {
    let plain = json(r#"{"toy:top":{"item":[{"name":"a"}]}}"#).unwrap();
    assert_eq!(
        json(r#"{"ietf-restconf:data":{"toy:top":{"item":[{"name":"a"}]}}}"#).unwrap(),
        plain
    );
    assert_eq!(json(r#"{"data":{"toy:top":{"item":[{"name":"a"}]}}}"#).unwrap(), plain);
    assert_eq!(json("{}").unwrap(), []);
}

/// What is sent to an entry of a list are some of its children; its keys are in the path.
#[test]
fn children_of_an_entry() {
    let item = Some(id("/toy:top/item"));
    let text = br#"{"toy:size":5}"#;
    let size = Node::leaf(id("/toy:top/item/size"), Value::Uint(5));
    assert_eq!(
        codec::read(&SCHEMA, item, Format::Json, text).unwrap(),
        std::slice::from_ref(&size)
    );
    let text = br#"<size xmlns="urn:example:toy">5</size>"#;
    assert_eq!(codec::read(&SCHEMA, item, Format::Xml, text).unwrap(), [size]);
}

#[test]
fn inputs() {
    let act = id("/toy:act");
    let read = |text: &str| codec::read_input(&SCHEMA, act, Format::Json, text.as_bytes());
    let x = vec![Node::leaf(id("/toy:act/input/x"), Value::Uint(5))];
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
