//! Paths and query parameters. What can be read can be spelled, and is the same when it is read again.

#![no_main]

use allod_face_restconf::codec::Dialect;
use allod_face_restconf::path;
use allod_face_restconf::query::{Query, Use};
use allod_face_restconf_fuzz::schema;
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
        for used in [Use::Read, Use::Write, Use::Stream, Use::Other] {
            if let Ok(query) = Query::parse(parameters, used) {
                let _ = query.view(schema, &target);
                let _ = query.place(schema, &target);
            }
        }
    }
});
