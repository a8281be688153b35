//! Validating a tree.

use allod_face_restconf::codec::{self, Encoding};
use allod_face_restconf::edit;
use allod_face_restconf::error::ErrorTag;
use allod_face_restconf::tree::{DataNode, NodeBody};
use allod_face_restconf::yang::Schema;

use crate::pure::fixture::{SCHEMA, id, tree};

fn check(members: &str, expected: Result<(), (ErrorTag, &str)>) {
    let tree = tree(&format!(r#"{{"toy:top":{{{members}}}}}"#));
    let got =
        edit::validate(&SCHEMA, &tree).map_err(|error| (error.tag, error.path.unwrap_or_default()));
    assert_eq!(got, expected.map_err(|(tag, path)| (tag, path.to_owned())), "{members}");
}

#[test]
fn constraints_of_the_schema_are_checked() {
    let missing = ErrorTag::MissingElement;
    check(r#""yes":[null]"#, Ok(()));
    check("", Err((missing, "/toy:top")));
    check(r#""yes":[null],"no":[null]"#, Err((ErrorTag::BadElement, "/toy:top/no")));
    check(r#""yes":[null],"limits":{}"#, Err((missing, "/toy:top/limits/low")));
    check(r#""yes":[null],"limits":{"low":1}"#, Ok(()));
    check(r#""yes":[null],"item":[{"name":"a","number":[1,2,3]}]"#, Ok(()));
    check(
        r#""yes":[null],"item":[{"name":"a","number":[1,2,3,4]}]"#,
        Err((ErrorTag::InvalidValue, "/toy:top/item/number")),
    );
    check(
        r#""yes":[null],"item":[{"name":"a","plain":1,"turns":2}]"#,
        Err((ErrorTag::BadElement, "/toy:top/item/turns")),
    );
    check(
        r#""yes":[null],"pair":[{"a":"x","b":1,"v":"w"},{"a":"x","b":2,"v":"w"}]"#,
        Err((ErrorTag::InvalidValue, "/toy:top/pair")),
    );
    check(r#""yes":[null],"pair":[{"a":"x","b":1},{"a":"x","b":2}]"#, Ok(()));
}

#[test]
fn entries_need_unique_keys() {
    let mut twice = tree(r#"{"toy:top":{"yes":[null],"item":[{"name":"a"}]}}"#);
    let NodeBody::Inner(children) = &mut twice.body else { panic!() };
    children.push(children[1].clone());
    assert_eq!(edit::validate(&SCHEMA, &twice).unwrap_err().tag, ErrorTag::InvalidValue);
    let NodeBody::Inner(children) = &mut twice.body else { panic!() };
    children[2] = DataNode::inner(id("/toy:top/item"), Vec::new());
    assert_eq!(edit::validate(&SCHEMA, &twice).unwrap_err().tag, ErrorTag::MissingElement);
}

#[test]
fn inputs_are_validated() {
    let act = id("/toy:act");
    assert_eq!(
        edit::validate_input(&SCHEMA, act, &[]).unwrap_err().path.as_deref(),
        Some("/toy:act/input/x")
    );
    let x = DataNode::leaf(id("/toy:act/input/x"), allod_face_restconf::tree::LeafValue::Uint(1));
    assert_eq!(edit::validate_input(&SCHEMA, act, &[x]), Ok(()));
    assert_eq!(edit::validate_input(&SCHEMA, id("/toy:rest"), &[]), Ok(()));
}

#[test]
fn nested_choices_and_when_conditions() {
    let text = r#"module a { namespace urn:a; prefix a;
        container c {
          choice outer {
            case one { leaf first { type empty; } choice inner { mandatory true; leaf x { type empty; } leaf y { type empty; } } }
            leaf two { type empty; }
          }
          uses g { when "two"; }
          choice maybe { when "two"; leaf m { type empty; mandatory true; } }
        }
        augment /c { when "two"; leaf added { type empty; mandatory true; } }
        grouping g { leaf used { type empty; mandatory true; } } }"#;
    let schema = Schema::compile(&[("a.yang", text)]).unwrap();
    let valid = |members: &str| {
        let text = format!(r#"{{"a:c":{{{members}}}}}"#);
        let node =
            codec::read(&schema, None, Encoding::Json, text.as_bytes()).unwrap().pop().unwrap();
        edit::validate(&schema, &node).map_err(|error| error.message)
    };
    assert_eq!(valid(""), Ok(()), "a node with a when is optional");
    assert_eq!(valid(r#""two":[null]"#), Ok(()));
    assert_eq!(valid(r#""first":[null],"x":[null]"#), Ok(()));
    assert_eq!(
        valid(r#""first":[null]"#),
        Err("no case of the mandatory choice 'inner'".to_owned())
    );
}
