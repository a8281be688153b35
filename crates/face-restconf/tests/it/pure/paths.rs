//! Paths become targets, and targets paths.

use allod_face_restconf::codec::Dialect;
use allod_face_restconf::fault::Tag;
use allod_face_restconf::path;

use crate::pure::fixture::{SCHEMA, id, tree};

#[test]
fn both_dialects_and_back() {
    // The path, the draft's spelling of it, and the instance identifier.
    let table = [
        ("", "", "/"),
        ("/toy:top", "/toy:top", "/toy:top"),
        ("/toy:top/item=a", "/toy:top/item/a", "/toy:top/item[name='a']"),
        ("/toy:top/item=a%2Fb%2C%3D", "/toy:top/item/a%2Fb%2C%3D", "/toy:top/item[name='a/b,=']"),
        ("/toy:top/item=it%27s", "/toy:top/item/it%27s", "/toy:top/item[name=\"it's\"]"),
        ("/toy:top/item", "/toy:top/item", "/toy:top/item"),
        (
            "/toy:top/item=a/more:extra",
            "/toy:top/item/a/more:extra",
            "/toy:top/item[name='a']/more:extra",
        ),
        (
            "/toy:top/item=a/tag=x%20y",
            "/toy:top/item/a/tag/x%20y",
            "/toy:top/item[name='a']/tag[.='x y']",
        ),
        ("/toy:top/pair=a,5/v", "/toy:top/pair/a/5/v", "/toy:top/pair[a='a'][b='5']/v"),
        (
            "/toy:top/item=a/state/hit",
            "/toy:top/item/a/state/hit",
            "/toy:top/item[name='a']/state/hit",
        ),
        ("/toy:top/item=a/reset", "/toy:top/item/a/reset", "/toy:top/item[name='a']/reset"),
    ];
    for (rfc, draft, instance) in table {
        let target = path::parse(&SCHEMA, Dialect::Rfc8040, rfc).unwrap();
        assert_eq!(path::parse(&SCHEMA, Dialect::Draft02, draft).unwrap(), target, "{draft}");
        assert_eq!(path::location(&SCHEMA, Dialect::Rfc8040, &target), rfc);
        assert_eq!(path::location(&SCHEMA, Dialect::Draft02, &target), draft);
        assert_eq!(path::instance(&SCHEMA, &target), instance);
        assert_eq!(
            path::parse(&SCHEMA, Dialect::Rfc8040, &format!("{rfc}/")).unwrap(),
            target,
            "a slash at the end"
        );
    }
}

#[test]
fn names_and_keys_may_be_spelled_otherwise() {
    let plain = path::parse(&SCHEMA, Dialect::Rfc8040, "/toy:top/pair=a,5").unwrap();
    for same in
        ["toy:top/pair=a,5", "/top/pair=a,5", "/toy:top/toy:pair=%61,05", "/toy%3Atop/pair=a,0x5"]
    {
        assert_eq!(path::parse(&SCHEMA, Dialect::Rfc8040, same).unwrap(), plain, "{same}");
    }
    let extra = path::parse(&SCHEMA, Dialect::Rfc8040, "/toy:top/item=a/more:extra").unwrap();
    assert_eq!(
        path::parse(&SCHEMA, Dialect::Rfc8040, "/top/item=a/extra").unwrap(),
        extra,
        "the only one of the name"
    );
    let empty = path::parse(&SCHEMA, Dialect::Rfc8040, "/toy:top/pair=,5").unwrap();
    assert_eq!(path::location(&SCHEMA, Dialect::Rfc8040, &empty), "/toy:top/pair=,5");
}

#[test]
fn what_names_nothing() {
    use Dialect::{Draft02, Rfc8040};
    let table = [
        (Rfc8040, "/nothing", Tag::UnknownElement, Some(404)),
        (Draft02, "/nothing", Tag::UnknownElement, None),
        (Draft02, "/none:top", Tag::UnknownElement, None),
        (Rfc8040, "/toy:top/nothing", Tag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:top/item=a/name/x", Tag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:act", Tag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:happened", Tag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:top/item=a/reset/input", Tag::UnknownElement, Some(404)),
        (Rfc8040, "//toy:top", Tag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:top=a", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item/name", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=a,b", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/pair=a", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/pair=a,x", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/pair=a,256", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=a/state/hit=1", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=a/state/hit/at", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=%", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=%4", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=%zz", Tag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=%ff", Tag::InvalidValue, None),
        (Draft02, "/toy:top/pair/a", Tag::InvalidValue, None),
        (Draft02, "/toy:top/pair//5", Tag::InvalidValue, None),
        (Draft02, "/toy:top/item=a", Tag::UnknownElement, None),
    ];
    for (dialect, text, tag, status) in table {
        let fault = path::parse(&SCHEMA, dialect, text).unwrap_err();
        assert_eq!(
            (fault.tag, fault.status.map(|status| status.as_u16())),
            (tag, status),
            "{text}: {}",
            fault.message
        );
    }
    assert!(path::parse(&SCHEMA, Rfc8040, &"/toy:top".repeat(100_000)).is_err());
}

#[test]
fn operations() {
    assert_eq!(path::operation(&SCHEMA, "/toy:act").unwrap(), id("/toy:act"));
    assert_eq!(path::operation(&SCHEMA, "toy:act/").unwrap(), id("/toy:act"));
    assert_eq!(path::operation(&SCHEMA, "act").unwrap(), id("/toy:act"));
    for text in ["", "toy:none", "none:act", "toy:top", "toy:act/input", "toy:%"] {
        assert!(path::operation(&SCHEMA, text).is_err(), "{text}");
    }
}

#[test]
fn where_a_new_node_goes() {
    let top = path::parse(&SCHEMA, Dialect::Rfc8040, "/toy:top").unwrap();
    let tree = tree(r#"{"toy:top":{"pair":[{"b":5,"a":"x"}],"item":[{"name":"a","tag":["t"]}]}}"#);
    let places: Vec<String> = tree
        .children()
        .iter()
        .map(|node| path::location(&SCHEMA, Dialect::Rfc8040, &path::below(&SCHEMA, &top, node)))
        .collect();
    assert_eq!(places, ["/toy:top/pair=x,5", "/toy:top/item=a"]);
}
