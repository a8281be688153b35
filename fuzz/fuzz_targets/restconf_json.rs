//! Bodies in JSON: data, input of operations, YANG Patch.

#![no_main]

use allod_face_restconf::codec::Encoding;
use allod_face_restconf::edit::patch;
use allod_face_restconf::model::InstancePath;
use allod_fuzz::restconf::{bodies, schema};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    bodies(Encoding::Json, bytes);
    let _ =
        patch::read(schema(), &InstancePath::default(), Encoding::Json, bytes, patch::EDITS_MAX);
});
