//! Checkpoints: what goes in comes out, as a stream, and what is damaged is never taken for whole.

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
use allod_record::{CheckpointError, CheckpointReader, CheckpointWriter, Header, LEVEL, Part};

const HEADER: Header = Header { level: LEVEL, position: 77, now_ms: 1_767_225_600_000 };

fn write(header: &Header, parts: &[Part]) -> Vec<u8> {
    let mut writer = CheckpointWriter::begin(Vec::new(), header).unwrap();
    for part in parts {
        match part {
            Part::Pool(image) => writer.pool(image).unwrap(),
            Part::Claim(claim) => writer.claim(claim).unwrap(),
            Part::Request(request) => writer.request(request).unwrap(),
            Part::Class(named) => writer.class(named).unwrap(),
            Part::Trait(named) => writer.trait_name(named).unwrap(),
            Part::Provider(image) => writer.provider(image).unwrap(),
            Part::Consumer(image) => writer.consumer(image).unwrap(),
            Part::Asked(asked) => writer.asked(&"pool".into(), asked).unwrap(),
            Part::Told(event) => writer.told(event).unwrap(),
            Part::End => unreachable!("a writer ends by itself"),
        }
    }
    writer.finish().unwrap()
}

/// Every part before the end, or why there is none.
fn read(input: impl Read) -> Result<(Header, Vec<Part>), CheckpointError> {
    let mut reader = CheckpointReader::open(input)?;
    let mut parts = Vec::new();
    loop {
        match reader.next_part()? {
            Part::End => return Ok((*reader.header(), parts)),
            part => parts.push(part),
        }
    }
}

/// Gives one byte at a time, as a slow pipe might.
struct Trickle<'a>(&'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = out.len().min(1);
        self.0.read(&mut out[..n])
    }
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let pool = (
        arbitrary::pool_image().prop_map(|image| Part::Pool(Box::new(image))),
        vec(arbitrary::claim(), 0..4),
    );
    let others = (vec(arbitrary::request(), 0..3), arbitrary::capacity_parts());
    (vec(pool, 0..4), others).prop_map(|(pools, (requests, capacity))| {
        let mut parts = Vec::new();
        for (pool, claims) in pools {
            parts.push(pool);
            parts.extend(claims.into_iter().map(Part::Claim));
        }
        parts.extend(requests.into_iter().map(Part::Request));
        parts.extend(capacity);
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
        account: None,
        resource: None,
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
fn many_claims_come_back_in_order_over_many_chunks() {
    let parts: Vec<Part> = [Part::Pool(pool("a"))]
        .into_iter()
        .chain((0..10_000).map(|n| Part::Claim(claim(n))))
        .chain([Part::Pool(pool("empty")), Part::Pool(pool("b")), Part::Claim(claim(1))])
        .collect();
    let bytes = write(&HEADER, &parts);
    assert!(bytes.len() > 4 * 64 * 1024);
    assert!(read(&bytes[..]).unwrap().1 == parts);
}

#[test]
fn a_plain_claim_needs_no_memory_of_its_own_but_its_key() {
    let bytes =
        write(&HEADER, &[Part::Pool(pool("a")), Part::Claim(claim(1)), Part::Claim(claim(2))]);
    let (_, parts) = read(&bytes[..]).unwrap();
    let [_, Part::Claim(one), Part::Claim(two)] = &parts[..] else { panic!("{parts:?}") };
    assert!(Arc::ptr_eq(&one.key, &one.owner));
    assert!(Arc::ptr_eq(&one.labels, &two.labels));
    assert!(Arc::ptr_eq(&one.labels, &Labels::default()));
}

#[test]
fn the_end_comes_again_and_again() {
    let bytes = write(&HEADER, &[]);
    let mut reader = CheckpointReader::open(&bytes[..]).unwrap();
    assert_eq!(reader.next_part().unwrap(), Part::End);
    assert_eq!(reader.next_part().unwrap(), Part::End);
}

#[test]
fn a_claim_before_any_pool_is_refused_on_both_sides() {
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
fn what_does_not_read_says_why() {
    let start = start_of(&HEADER);
    let with = |tail: &[u8]| [&start[..], tail].concat();
    let at = start.len();

    assert_eq!(text_of(b""), "the checkpoint is cut off at byte 0");
    assert_eq!(
        text_of(b"SQLite format 3\0, and then more"),
        "this is not a checkpoint: it does not begin like one"
    );
    assert_eq!(
        text_of(b"allod checkpoint\n\x02"),
        "the checkpoint has format 2; this program knows formats up to 1: start a newer one"
    );
    assert_eq!(
        text_of(&write(&Header { level: LEVEL + 1, ..HEADER }, &[])),
        "the checkpoint does not read: feature level 6 is needed; this program knows levels up to 5: start a newer one"
    );
    assert_eq!(text_of(&start), format!("the checkpoint is cut off at byte {at}"));
    assert_eq!(
        text_of(&with(&[99, 1, 0])),
        format!(
            "the checkpoint does not read: kind 99 version 1 at byte {at} was written by a newer version of the \
             program; this one knows the kinds of feature level 5: start a newer one"
        )
    );
    // An announced length that no machine could hold.
    let huge = [&[65, 1][..], &[0xff; 9], &[1]].concat();
    assert_eq!(text_of(&with(&huge)), format!("the checkpoint is cut off at byte {}", at + 12));
    assert_eq!(
        text_of(&with(&[0xff; 64])),
        format!(
            "the checkpoint does not read: malformed at byte {at}: no kind, version and length stand here"
        )
    );
    let whole = write(&HEADER, &[]);
    assert_eq!(
        text_of(&[&whole[..], b"x"].concat()),
        format!(
            "the checkpoint does not read: malformed at byte {}: bytes after the end",
            whole.len()
        )
    );
    let mut altered = write(&HEADER, &[Part::Pool(pool("abc"))]);
    let name = altered.windows(3).position(|bytes| bytes == b"abc").unwrap();
    altered[name] = b'x';
    assert_eq!(
        text_of(&altered),
        "the checkpoint does not have the hash that it ends with: its contents were changed"
    );
}

#[test]
fn an_error_of_the_input_is_told_apart_from_its_end() {
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
