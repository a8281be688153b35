//! Checkpoints: as they are, and with a valid end, in a backup: read, rebuilt into a state, and checked by the auditor.

#![no_main]

use allod_fuzz::stored::{backup, read_segment, sealed_checkpoint};
use allod_record::{CheckpointPart, CheckpointReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = CheckpointReader::open(bytes) {
        while !matches!(reader.next_part(), Ok(CheckpointPart::End) | Err(_)) {}
    }
    if let Some(segment) = backup(Some(&sealed_checkpoint(bytes)), &[]) {
        read_segment(&segment);
    }
});
