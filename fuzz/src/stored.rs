//! Stored bytes with valid hashes around arbitrary contents, so that a target reaches what comes after the hashes.

use allod_engine::{restore, verify_segment};
use allod_journal::checkpoint::{CheckpointMeta, MemoryCheckpoints};
use allod_journal::memory::MemoryStorage;
use allod_journal::segment::{SegmentHeader, SegmentKind, SegmentWriter};
use allod_journal::{RecordFrame, Tail};
use allod_record::{CheckpointPart, CheckpointReader, Item, decode};

/// The kind of the chunk that ends a checkpoint.
const CHECKPOINT_ENDED: u64 = 67;

/// A checkpoint with this beginning: its end has the right counts and the right hash, as far as its contents can be read.
pub fn sealed_checkpoint(contents: &[u8]) -> Vec<u8> {
    let counts = counts_of(contents);
    let mut payload = Vec::new();
    counts.iter().for_each(|count| put_varint(&mut payload, *count));
    payload.extend_from_slice(blake3::hash(contents).as_bytes());
    let mut sealed = contents.to_vec();
    for number in [CHECKPOINT_ENDED, 3, payload.len() as u64] {
        put_varint(&mut sealed, number);
    }
    sealed.extend_from_slice(&payload);
    sealed
}

/// Pools, claims, idempotency keys; names, providers, consumers; everything about requests.
fn counts_of(contents: &[u8]) -> [u64; 7] {
    let mut counts = [0; 7];
    let Ok(mut reader) = CheckpointReader::open(contents) else { return counts };
    while let Ok(part) = reader.next_part() {
        let of = match part {
            CheckpointPart::Pool(_) => 0,
            CheckpointPart::Claim(_) => 1,
            CheckpointPart::Idempotency(_) => 2,
            CheckpointPart::Class(_) | CheckpointPart::Trait(_) => 3,
            CheckpointPart::Provider(_) => 4,
            CheckpointPart::Consumer(_) => 5,
            CheckpointPart::Request(_) | CheckpointPart::Event(_) => 6,
            CheckpointPart::End => break,
        };
        counts[of] += 1;
    }
    counts
}

fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A backup with this checkpoint, if any, and records with these bodies after it.
pub fn backup(checkpoint: Option<&[u8]>, bodies: &[&[u8]]) -> Option<Vec<u8>> {
    let mut tail = Tail::default();
    let mut meta = None;
    if let Some(contents) = checkpoint {
        let header = *CheckpointReader::open(contents).ok()?.header();
        tail = Tail { seq: 1, position: header.position, epoch: 1, ..Tail::default() };
        let Tail { seq, hash, position, epoch } = tail;
        let (level, at_ms) = (header.level, header.now_ms);
        meta = Some(CheckpointMeta { seq, hash, position, epoch, level, at_ms });
    }
    let after = (&tail).into();
    let frames: Vec<RecordFrame> = bodies.iter().map(|body| next_frame(&mut tail, body)).collect();
    let header = SegmentHeader { kind: SegmentKind::Backup, created_ms: 1, after, end: tail };
    let mut writer = SegmentWriter::begin(Vec::new(), &header).ok()?;
    if let (Some(meta), Some(mut contents)) = (meta, checkpoint) {
        writer.checkpoint(&meta, &mut contents).ok()?;
    }
    for frame in &frames {
        writer.frame(frame).ok()?;
    }
    writer.finish().ok().map(|(bytes, _)| bytes)
}

/// The record that follows, with the position that its body leads to.
fn next_frame(tail: &mut Tail, body: &[u8]) -> RecordFrame {
    let items = decode(body).unwrap_or_default();
    let positions = items.iter().filter(|item| item.takes_position()).count() as u64;
    let at_ms = items.iter().find_map(|item| match item {
        Item::Entry(entry) => Some(entry.at_ms),
        _ => None,
    });
    let frame = RecordFrame {
        seq: tail.seq + 1,
        epoch: tail.epoch.max(1),
        batch: u128::from(tail.seq) + 1,
        prev: tail.hash,
        level: allod_record::LEVEL,
        position: tail.position.saturating_add(positions),
        at_ms: at_ms.unwrap_or(1),
        body: body.to_vec(),
    };
    *tail = frame.tail(frame.hash());
    frame
}

/// Verifies a segment, and restores it into an empty journal if it is a valid backup.
pub fn read_segment(bytes: &[u8]) {
    if verify_segment(bytes, &mut |_, _| {}).is_ok_and(|found| found.verified.violations.is_empty())
    {
        let (journal, checkpoints) = (MemoryStorage::new().open(), MemoryCheckpoints::new());
        let _ = restore(bytes, None, &journal, &checkpoints, &mut |_, _| {});
    }
}
