//! Segments: as they are, and backups made of arbitrary bodies with valid hashes, verified and restored.

#![no_main]

use allod_fuzz::stored::{backup, read_segment, sealed_checkpoint};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read_segment(bytes);
    // Parts, each after its length: the first one is the checkpoint, if it is not empty.
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (part, after) = after.split_at(after.len().min(u16::from_le_bytes(*length).into()));
        parts.push(part);
        rest = after;
    }
    let Some((first, bodies)) = parts.split_first() else { return };
    let checkpoint = (!first.is_empty()).then(|| sealed_checkpoint(first));
    if let Some(segment) = backup(checkpoint.as_deref(), bodies) {
        read_segment(&segment);
    }
});
