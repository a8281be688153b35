//! Query parameters.

use allod_face_restconf::edit::InsertAt;
use allod_face_restconf::error::ErrorTag;
use allod_face_restconf::model::Content;
use allod_face_restconf::query::{Insert, RequestKind, RestconfParams};
use allod_face_restconf::tree::{Defaults, LeafValue};

use crate::pure::fixture::{SCHEMA, target};

#[test]
fn valid_parameters_are_parsed() {
    let query = RestconfParams::parse(
        "content=nonconfig&depth=3&fields=a%3Bb&with-defaults=trim",
        RequestKind::Read,
    )
    .unwrap();
    let expected = RestconfParams {
        content: Some(Content::State),
        depth: Some(3),
        fields: Some("a;b".to_owned()),
        defaults: Some(Defaults::Trim),
        ..RestconfParams::default()
    };
    assert_eq!(query, expected);
    assert_eq!(RestconfParams::parse("", RequestKind::Other).unwrap(), RestconfParams::default());
    assert_eq!(RestconfParams::parse("depth=unbounded", RequestKind::Read).unwrap().depth, None);
    assert_eq!(RestconfParams::parse("depth=65535", RequestKind::Read).unwrap().depth, Some(65535));
    assert_eq!(
        RestconfParams::parse("insert=first", RequestKind::Write).unwrap().insert,
        Some(Insert::First)
    );
    let stream = RestconfParams::parse(
        "filter=%2Fa&start-time=2026-11-15T00%3A00%3A00Z&stop-time=2026-11-16T00:00:00Z",
        RequestKind::Stream,
    );
    let stream = stream.unwrap();
    assert_eq!(stream.filter.as_deref(), Some("/a"));
    assert_eq!(stream.start_time.as_deref(), Some("2026-11-15T00:00:00Z"));
}

#[test]
fn an_unencoded_plus_in_a_time_is_accepted() {
    let query =
        RestconfParams::parse("start-time=2026-11-15T00:00:00+01:00", RequestKind::Stream).unwrap();
    assert_eq!(query.start_time.as_deref(), Some("2026-11-15T00:00:00+01:00"));
}

#[test]
fn invalid_parameters_are_refused() {
    let table = [
        ("content=some", RequestKind::Read),
        ("content=all&content=all", RequestKind::Read),
        ("depth=0", RequestKind::Read),
        ("depth=65536", RequestKind::Read),
        ("depth=+5", RequestKind::Read),
        ("depth=", RequestKind::Read),
        ("with-defaults=report-all-tagged", RequestKind::Read),
        ("with-defaults=none", RequestKind::Read),
        ("insert=first", RequestKind::Read),
        ("unknown=1", RequestKind::Read),
        ("content=all", RequestKind::Write),
        ("depth=1", RequestKind::Other),
        ("insert=middle", RequestKind::Write),
        ("insert=before", RequestKind::Write),
        ("point=/toy:top", RequestKind::Write),
        ("insert=last&point=/toy:top", RequestKind::Write),
        ("start-time=yesterday", RequestKind::Stream),
        ("stop-time=2026-11-16T00:00:00Z", RequestKind::Stream),
        ("start-time=2026-11-16T00:00:00Z", RequestKind::Read),
    ];
    for (text, used) in table {
        assert_eq!(
            RestconfParams::parse(text, used).unwrap_err().tag,
            ErrorTag::InvalidValue,
            "{text}"
        );
    }
}

#[test]
fn insert_and_point_give_a_position() {
    let pair = target("/toy:top/pair=x,1");
    let insert_at = |text: &str| {
        RestconfParams::parse(text, RequestKind::Write).unwrap().insert_at(&SCHEMA, &pair)
    };
    assert_eq!(insert_at("").unwrap(), None);
    assert_eq!(insert_at("insert=last").unwrap(), Some(InsertAt::Last));
    let keys = vec![LeafValue::text("y"), LeafValue::Uint(2)];
    assert_eq!(
        insert_at("insert=after&point=%2Ftoy%3Atop%2Fpair%3Dy%2C2").unwrap(),
        Some(InsertAt::After(keys))
    );
    assert!(insert_at("insert=after&point=/toy:top/item=a").is_err());
    assert!(insert_at("insert=after&point=/toy:top/pair").is_err());
    let query = RestconfParams::parse("insert=first", RequestKind::Write).unwrap();
    assert!(query.insert_at(&SCHEMA, &target("/toy:top/item=a")).is_err(), "the server orders it");
}
