//! Parsing and writing paths.

use allod_face_restconf::codec::Dialect;
use allod_face_restconf::error::ErrorTag;
use allod_face_restconf::path;

use crate::pure::fixture::{SCHEMA, id, tree};

#[test]
fn paths_round_trip_in_both_dialects() {
    // The RFC 8040 path, the draft-02 path, and the instance identifier.
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
fn alternative_spellings_of_names_and_keys_are_accepted() {
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
fn invalid_paths_are_refused() {
    use Dialect::{Draft02, Rfc8040};
    let table = [
        (Rfc8040, "/nothing", ErrorTag::UnknownElement, Some(404)),
        (Draft02, "/nothing", ErrorTag::UnknownElement, None),
        (Draft02, "/none:top", ErrorTag::UnknownElement, None),
        (Rfc8040, "/toy:top/nothing", ErrorTag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:top/item=a/name/x", ErrorTag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:act", ErrorTag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:happened", ErrorTag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:top/item=a/reset/input", ErrorTag::UnknownElement, Some(404)),
        (Rfc8040, "//toy:top", ErrorTag::UnknownElement, Some(404)),
        (Rfc8040, "/toy:top=a", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item/name", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=a,b", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/pair=a", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/pair=a,x", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/pair=a,256", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=a/state/hit=1", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=a/state/hit/at", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=%", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=%4", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=%zz", ErrorTag::InvalidValue, None),
        (Rfc8040, "/toy:top/item=%ff", ErrorTag::InvalidValue, None),
        (Draft02, "/toy:top/pair/a", ErrorTag::InvalidValue, None),
        (Draft02, "/toy:top/pair//5", ErrorTag::InvalidValue, None),
        (Draft02, "/toy:top/item=a", ErrorTag::UnknownElement, None),
    ];
    for (dialect, text, tag, status) in table {
        let error = path::parse(&SCHEMA, dialect, text).unwrap_err();
        assert_eq!(
            (error.tag, error.status.map(|status| status.as_u16())),
            (tag, status),
            "{text}: {}",
            error.message
        );
    }
    assert!(path::parse(&SCHEMA, Rfc8040, &"/toy:top".repeat(100_000)).is_err());
}

#[test]
fn operation_paths_are_parsed() {
    assert_eq!(path::operation(&SCHEMA, "/toy:act").unwrap(), id("/toy:act"));
    assert_eq!(path::operation(&SCHEMA, "toy:act/").unwrap(), id("/toy:act"));
    assert_eq!(path::operation(&SCHEMA, "act").unwrap(), id("/toy:act"));
    for text in ["", "toy:none", "none:act", "toy:top", "toy:act/input", "toy:%"] {
        assert!(path::operation(&SCHEMA, text).is_err(), "{text}");
    }
}

#[test]
fn a_child_path_extends_its_parent() {
    let top = path::parse(&SCHEMA, Dialect::Rfc8040, "/toy:top").unwrap();
    let tree = tree(r#"{"toy:top":{"pair":[{"b":5,"a":"x"}],"item":[{"name":"a","tag":["t"]}]}}"#);
    let places: Vec<String> = tree
        .children()
        .iter()
        .map(|node| path::location(&SCHEMA, Dialect::Rfc8040, &path::below(&SCHEMA, &top, node)))
        .collect();
    assert_eq!(places, ["/toy:top/pair=x,5", "/toy:top/item=a"]);
}
