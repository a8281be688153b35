//! Paths and query parameters. What is read must round-trip.

#![no_main]

use allod_face_restconf::codec::Dialect;
use allod_face_restconf::path;
use allod_face_restconf::query::{RequestKind, RestconfParams};
use allod_fuzz::restconf::schema;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let schema = schema();
    let (way, parameters) = text.split_once('?').unwrap_or((text, ""));
    let _ = path::operation(schema, way);
    for dialect in [Dialect::Draft02, Dialect::Rfc8040] {
        let Ok(target) = path::parse(schema, dialect, way) else { continue };
        let _ = path::instance(schema, &target);
        let spelled = path::location(schema, dialect, &target);
        assert_eq!(path::parse(schema, dialect, &spelled).as_ref(), Ok(&target), "{spelled}");
        for used in [RequestKind::Read, RequestKind::Write, RequestKind::Stream, RequestKind::Other]
        {
            if let Ok(query) = RestconfParams::parse(parameters, used) {
                let _ = query.read_filters(schema, &target);
                let _ = query.insert_at(schema, &target);
            }
        }
    }
});
