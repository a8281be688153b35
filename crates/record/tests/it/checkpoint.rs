//! Checkpoints: round trips as a stream, and damage is always detected.

use std::io::{self, Read};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use allod_core::claim::{Claim, ClaimState, Values};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::state::restore::PoolImage;
use allod_core::value::Kind;

use crate::arbitrary;
use allod_record::{
    CheckpointError, CheckpointPart, CheckpointReader, CheckpointWriter, Header, LEVEL,
};

const HEADER: Header = Header { level: LEVEL, position: 77, now_ms: 1_767_225_600_000 };

fn write(header: &Header, parts: &[CheckpointPart]) -> Vec<u8> {
    let mut writer = CheckpointWriter::begin(Vec::new(), header).unwrap();
    for part in parts {
        match part {
            CheckpointPart::Pool(image) => writer.pool(image).unwrap(),
            CheckpointPart::Claim(claim) => writer.claim(claim).unwrap(),
            CheckpointPart::Idempotency(stored) => writer.idempotency(stored).unwrap(),
            CheckpointPart::Class(named) => writer.class(named).unwrap(),
            CheckpointPart::Trait(named) => writer.trait_name(named).unwrap(),
            CheckpointPart::Provider(image) => writer.provider(image).unwrap(),
            CheckpointPart::Consumer(image) => writer.consumer(image).unwrap(),
            CheckpointPart::Request(request) => writer.request(&"pool".into(), request).unwrap(),
            CheckpointPart::Event(event) => writer.event(event).unwrap(),
            CheckpointPart::End => unreachable!("the writer adds the end"),
        }
    }
    writer.finish().unwrap()
}

/// All parts before the end, or the error.
fn read(input: impl Read) -> Result<(Header, Vec<CheckpointPart>), CheckpointError> {
    let mut reader = CheckpointReader::open(input)?;
    let mut parts = Vec::new();
    loop {
        match reader.next_part()? {
            CheckpointPart::End => return Ok((*reader.header(), parts)),
            part => parts.push(part),
        }
    }
}

/// Returns one byte at a time, like a slow pipe.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = out.len().min(1);
        self.0.read(&mut out[..n])
    }
}

fn parts() -> impl Strategy<Value = Vec<CheckpointPart>> {
    let pool = (
        arbitrary::pool_image().prop_map(|image| CheckpointPart::Pool(Box::new(image))),
        vec(arbitrary::claim(), 0..4),
    );
    let others = (
        vec(arbitrary::request(), 0..3),
        arbitrary::capacity_parts(),
        arbitrary::authority_parts(),
    );
    (vec(pool, 0..4), others).prop_map(|(pools, (requests, capacity, authorities))| {
        let mut parts = Vec::new();
        for (pool, claims) in pools {
            parts.push(pool);
            parts.extend(claims.into_iter().map(CheckpointPart::Claim));
        }
        parts.extend(requests.into_iter().map(CheckpointPart::Idempotency));
        parts.extend(capacity);
        parts.extend(authorities);
        parts
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn parts_come_back_as_they_were(parts in parts(), position: u64, now_ms: u64) {
        let header = Header { level: LEVEL, position, now_ms };
        let bytes = write(&header, &parts);
        prop_assert_eq!(read(Trickle(&bytes)).unwrap(), (header, parts));
    }

    #[test]
    fn a_cut_checkpoint_is_never_whole(parts in parts(), at: prop::sample::Index) {
        let bytes = write(&HEADER, &parts);
        let cut = at.index(bytes.len());
        let error = read(&bytes[..cut]).unwrap_err();
        prop_assert!(matches!(error, CheckpointError::Truncated { .. }), "{}", error);
    }

    #[test]
    fn a_changed_bit_is_never_overlooked(parts in parts(), at: prop::sample::Index, bit in 0..8u32) {
        let mut bytes = write(&HEADER, &parts);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(read(&bytes[..]).is_err());
    }
}

fn pool(name: &str) -> Box<PoolImage> {
    let range = PoolRange { span: Span { first: 0, last: u32::MAX.into() }, subnet_len: None };
    Box::new(PoolImage {
        name: name.into(),
        generation: 1,
        spec: PoolSpec::new(Kind::Id32, vec![range]),
        cursor: None,
        released: Vec::new(),
        blocks: None,
        requests: None,
    })
}

fn claim(n: u64) -> Claim {
    let key: Arc<str> = format!("vm-{n:08}").into();
    Claim {
        owner: key.clone(),
        key,
        values: Values::one(Span::one(n.into())),
        version: n,
        created_ms: HEADER.now_ms,
        expires_ms: None,
        state: ClaimState::Held,
        labels: Labels::default(),
        params: None,
    }
}

fn text_of(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn many_claims_are_read_in_order_from_many_chunks() {
    let parts: Vec<CheckpointPart> = [CheckpointPart::Pool(pool("a"))]
        .into_iter()
        .chain((0..10_000).map(|n| CheckpointPart::Claim(claim(n))))
        .chain([
            CheckpointPart::Pool(pool("empty")),
            CheckpointPart::Pool(pool("b")),
            CheckpointPart::Claim(claim(1)),
        ])
        .collect();
    let bytes = write(&HEADER, &parts);
    assert!(bytes.len() > 4 * 64 * 1024);
    assert!(read(&bytes[..]).unwrap().1 == parts);
}

#[test]
fn plain_claim_allocates_its_key_only() {
    let bytes = write(
        &HEADER,
        &[
            CheckpointPart::Pool(pool("a")),
            CheckpointPart::Claim(claim(1)),
            CheckpointPart::Claim(claim(2)),
        ],
    );
    let (_, parts) = read(&bytes[..]).unwrap();
    let [_, CheckpointPart::Claim(one), CheckpointPart::Claim(two)] = &parts[..] else {
        panic!("{parts:?}")
    };
    assert!(Arc::ptr_eq(&one.key, &one.owner));
    assert!(Arc::ptr_eq(&one.labels, &two.labels));
    assert!(Arc::ptr_eq(&one.labels, &Labels::default()));
}

#[test]
fn end_is_returned_repeatedly() {
    let bytes = write(&HEADER, &[]);
    let mut reader = CheckpointReader::open(&bytes[..]).unwrap();
    assert_eq!(reader.next_part().unwrap(), CheckpointPart::End);
    assert_eq!(reader.next_part().unwrap(), CheckpointPart::End);
}

#[test]
fn claim_before_the_first_pool_is_refused_by_writer_and_reader() {
    let mut writer = CheckpointWriter::begin(Vec::new(), &HEADER).unwrap();
    let error = writer.claim(&claim(1)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);

    let start = start_of(&HEADER);
    let bytes = [&start[..], &[66, 1, 0]].concat();
    assert!(
        text_of(&bytes).contains("checkpoint_claims does not belong here"),
        "{}",
        text_of(&bytes)
    );
}

/// A checkpoint's bytes up to and including its header.
fn start_of(header: &Header) -> Vec<u8> {
    let mut bytes = write(header, &[]);
    // The end is one byte each for kind, version, length and three counts, and the hash.
    bytes.truncate(bytes.len() - 6 - 32);
    bytes
}

#[test]
fn invalid_checkpoints_are_errors_with_a_reason() {
    let start = start_of(&HEADER);
    let with = |tail: &[u8]| [&start[..], tail].concat();
    let at = start.len();

    assert_eq!(text_of(b""), "the checkpoint is truncated at byte 0");
    assert_eq!(
        text_of(b"SQLite format 3\0, and then more"),
        "this is not a checkpoint: it starts with other bytes"
    );
    assert_eq!(
        text_of(b"allod checkpoint\n\x02"),
        "the checkpoint has format 2; this program knows formats up to 1: start a newer one"
    );
    assert_eq!(
        text_of(&write(&Header { level: LEVEL + 1, ..HEADER }, &[])),
        "the checkpoint is not valid: feature level 8 is needed; this program knows levels up to 7: start a newer one"
    );
    assert_eq!(text_of(&start), format!("the checkpoint is truncated at byte {at}"));
    assert_eq!(
        text_of(&with(&[99, 1, 0])),
        format!(
            "the checkpoint is not valid: kind 99 version 1 at byte {at} was written by a newer version of the \
             program; this one knows the kinds of feature level 7: start a newer one"
        )
    );
    // A length beyond all memory.
    let huge = [&[65, 1][..], &[0xff; 9], &[1]].concat();
    assert_eq!(text_of(&with(&huge)), format!("the checkpoint is truncated at byte {}", at + 12));
    assert_eq!(
        text_of(&with(&[0xff; 64])),
        format!(
            "the checkpoint is not valid: malformed at byte {at}: kind, version and length are expected here"
        )
    );
    let whole = write(&HEADER, &[]);
    assert_eq!(
        text_of(&[&whole[..], b"x"].concat()),
        format!(
            "the checkpoint is not valid: malformed at byte {}: bytes after the end",
            whole.len()
        )
    );
    let mut altered = write(&HEADER, &[CheckpointPart::Pool(pool("abc"))]);
    let name = altered.windows(3).position(|bytes| bytes == b"abc").unwrap();
    altered[name] = b'x';
    assert_eq!(
        text_of(&altered),
        "the checkpoint does not match the hash at its end: its contents were changed"
    );
}

#[test]
fn input_error_is_not_reported_as_truncation() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let start = start_of(&HEADER);
    let error = read(start.chain(Broken)).unwrap_err();
    assert_eq!(error.to_string(), "the checkpoint cannot be read: the disk is gone");
}
