//! Query parameters.

use allod_face_restconf::edit::Place;
use allod_face_restconf::fault::Tag;
use allod_face_restconf::model::Content;
use allod_face_restconf::query::{Depth, Insert, Query, Use};
use allod_face_restconf::tree::{Defaults, Value};

use crate::pure::fixture::{SCHEMA, target};

#[test]
fn what_is_taken() {
    let query =
        Query::parse("content=nonconfig&depth=3&fields=a%3Bb&with-defaults=trim", Use::Read)
            .unwrap();
    let expected = Query {
        content: Some(Content::State),
        depth: Some(Depth::Levels(3)),
        fields: Some("a;b".to_owned()),
        defaults: Some(Defaults::Trim),
        ..Query::default()
    };
    assert_eq!(query, expected);
    assert_eq!(Query::parse("", Use::Other).unwrap(), Query::default());
    assert_eq!(Query::parse("depth=unbounded", Use::Read).unwrap().depth, Some(Depth::Unbounded));
    assert_eq!(Query::parse("depth=65535", Use::Read).unwrap().depth, Some(Depth::Levels(65535)));
    assert_eq!(Query::parse("insert=first", Use::Write).unwrap().insert, Some(Insert::First));
    let stream = Query::parse(
        "filter=%2Fa&start-time=2026-11-15T00%3A00%3A00Z&stop-time=2026-11-16T00:00:00Z",
        Use::Stream,
    );
    let stream = stream.unwrap();
    assert_eq!(stream.filter.as_deref(), Some("/a"));
    assert_eq!(stream.start_time.as_deref(), Some("2026-11-15T00:00:00Z"));
}

#[test]
fn a_plus_in_a_time_need_not_be_encoded() {
    let query = Query::parse("start-time=2026-11-15T00:00:00+01:00", Use::Stream).unwrap();
    assert_eq!(query.start_time.as_deref(), Some("2026-11-15T00:00:00+01:00"));
}

#[test]
fn what_is_refused() {
    let table = [
        ("content=some", Use::Read),
        ("content=all&content=all", Use::Read),
        ("depth=0", Use::Read),
        ("depth=65536", Use::Read),
        ("depth=+5", Use::Read),
        ("depth=", Use::Read),
        ("with-defaults=report-all-tagged", Use::Read),
        ("with-defaults=none", Use::Read),
        ("insert=first", Use::Read),
        ("unknown=1", Use::Read),
        ("content=all", Use::Write),
        ("depth=1", Use::Other),
        ("insert=middle", Use::Write),
        ("insert=before", Use::Write),
        ("point=/toy:top", Use::Write),
        ("insert=last&point=/toy:top", Use::Write),
        ("start-time=yesterday", Use::Stream),
        ("stop-time=2026-11-16T00:00:00Z", Use::Stream),
        ("start-time=2026-11-16T00:00:00Z", Use::Read),
    ];
    for (text, used) in table {
        assert_eq!(Query::parse(text, used).unwrap_err().tag, Tag::InvalidValue, "{text}");
    }
}

#[test]
fn places() {
    let pair = target("/toy:top/pair=x,1");
    let place = |text: &str| Query::parse(text, Use::Write).unwrap().place(&SCHEMA, &pair);
    assert_eq!(place("").unwrap(), None);
    assert_eq!(place("insert=last").unwrap(), Some(Place::Last));
    let keys = vec![Value::text("y"), Value::Uint(2)];
    assert_eq!(
        place("insert=after&point=%2Ftoy%3Atop%2Fpair%3Dy%2C2").unwrap(),
        Some(Place::After(keys))
    );
    assert!(place("insert=after&point=/toy:top/item=a").is_err());
    assert!(place("insert=after&point=/toy:top/pair").is_err());
    let query = Query::parse("insert=first", Use::Write).unwrap();
    assert!(query.place(&SCHEMA, &target("/toy:top/item=a")).is_err(), "the server orders it");
}
