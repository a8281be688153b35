//! Bodies in XML: data, input of operations, YANG Patch.

#![no_main]

use allod_face_restconf::codec::Encoding;
use allod_face_restconf::edit::patch;
use allod_face_restconf::model::InstancePath;
use allod_fuzz::restconf::{bodies, schema};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    bodies(Encoding::Xml, bytes);
    let _ = patch::read(schema(), &InstancePath::default(), Encoding::Xml, bytes, patch::EDITS_MAX);
});
