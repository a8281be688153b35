//! Hostile bytes: reading them must not panic, and must not use memory out of proportion to their number.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use allod_core::claim::Claim;
use allod_core::event::{Event, IdempotencyEvent, IdempotencyExpired};
use allod_core::state::restore::PoolImage;

use crate::arbitrary;
use allod_record::{
    Cause, CheckpointPart, CheckpointReader, CheckpointWriter, Entry, Header, Item, decode, encode,
};

thread_local! {
    /// The bytes that this thread has allocated, freed or not.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[expect(
    unsafe_code,
    reason = "the only way to see what is allocated; it only counts and passes on"
)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ASKED.try_with(|asked| asked.set(asked.get() + layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The limits on allocated bytes, including reallocations: for one byte of input, and before the first byte (the buffer
/// of the checkpoint reader, and a few short lists).
const BYTES_PER_BYTE_MAX: usize = 600;
const BYTES_ANYWAY_MAX: usize = 128 * 1024;

/// Reads `bytes` both as a body and as a checkpoint, and checks the memory limit.
fn read(bytes: &[u8]) {
    let before = ASKED.get();
    let _ = decode(bytes);
    let body = ASKED.get() - before;
    if let Ok(mut reader) = CheckpointReader::open(bytes) {
        while !matches!(reader.next_part(), Ok(CheckpointPart::End) | Err(_)) {}
    }
    let checkpoint = ASKED.get() - before - body;
    let limit = BYTES_ANYWAY_MAX + BYTES_PER_BYTE_MAX * bytes.len();
    assert!(body <= limit, "a body of {} bytes took {body}", bytes.len());
    assert!(checkpoint <= limit, "a checkpoint of {} bytes took {checkpoint}", bytes.len());
}

const HEADER: Header = Header { level: 1, position: 1, now_ms: 1 };

fn checkpoint(pool: &PoolImage, claims: &[Claim], capacity: &[CheckpointPart]) -> Vec<u8> {
    let mut writer = CheckpointWriter::begin(Vec::new(), &HEADER).unwrap();
    writer.pool(pool).unwrap();
    claims.iter().for_each(|claim| writer.claim(claim).unwrap());
    for part in capacity {
        match part {
            CheckpointPart::Class(named) => writer.class(named).unwrap(),
            CheckpointPart::Trait(named) => writer.trait_name(named).unwrap(),
            CheckpointPart::Provider(image) => writer.provider(image).unwrap(),
            CheckpointPart::Consumer(image) => writer.consumer(image).unwrap(),
            CheckpointPart::Request(request) => writer.request(&"pool".into(), request).unwrap(),
            CheckpointPart::Event(event) => writer.event(event).unwrap(),
            other => unreachable!("{other:?} is not about capacity"),
        }
    }
    writer.finish().unwrap()
}

/// Damage: some bytes changed, and the rest perhaps cut off.
fn damage(bytes: &mut Vec<u8>, changes: &[(Index, u8)], cut: Option<Index>) {
    for (at, byte) in changes {
        let at = at.index(bytes.len());
        bytes[at] ^= byte;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
}

proptest! {
    #[test]
    fn noise(bytes in vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn noise_behind_a_likely_start(kind in 0..70u8, event in 16..24u8, noise in vec(any::<u8>(), 0..120)) {
        let len = noise.len() as u8;
        read(&[&[kind, 1, len][..], &noise].concat());
        read(&[&[3, 1, len + 5, 0, 0, event, 1, len][..], &noise].concat());
    }

    #[test]
    fn damaged_bodies(
        items in arbitrary::items(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Option<Index>>(),
    ) {
        let mut bytes = encode(&items);
        prop_assume!(!bytes.is_empty());
        damage(&mut bytes, &changes, cut);
        read(&bytes);
    }

    #[test]
    fn damaged_checkpoints(
        pool in arbitrary::pool_image(),
        claims in vec(arbitrary::claim(), 0..4),
        capacity in arbitrary::capacity_parts().boxed(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Option<Index>>(),
    ) {
        let mut bytes = checkpoint(&pool, &claims, &capacity);
        damage(&mut bytes, &changes, cut);
        read(&bytes);
    }

    /// Any byte may be a length: each is replaced by the largest length, inside chunks that are otherwise valid.
    #[test]
    fn huge_lengths(event in arbitrary::event(), at: Index) {
        let (kind, mut payload) = payload_of(event);
        let at = at.index(payload.len());
        payload.splice(at..=at, HUGE);
        read(&framed(kind, &payload));
    }

    #[test]
    fn changed_payloads(
        event in arbitrary::event(),
        changes in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Option<Index>>(),
    ) {
        let (kind, mut payload) = payload_of(event);
        damage(&mut payload, &changes, cut);
        read(&framed(kind, &payload));
    }
}

/// The largest length, as a varint.
const HUGE: [u8; 10] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];

/// The kind and the payload of an event.
fn payload_of(event: Event) -> (u8, Vec<u8>) {
    let bytes = encode(&[Item::Entry(Entry { at_ms: 0, cause: Cause::Tick, events: vec![event] })]);
    let after_varint =
        |from: usize| from + bytes[from..].iter().take_while(|&&b| b >= 0x80).count() + 1;
    // Kind, version and length of the entry; its time and cause; and kind, version and length of the event.
    let event = after_varint(2) + 2;
    (bytes[event], bytes[after_varint(event + 2)..].to_vec())
}

/// A body of one entry of one event with this payload.
fn framed(kind: u8, payload: &[u8]) -> Vec<u8> {
    let varint = |len: usize| [len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8];
    let event = [&[0, 3, kind, 1][..], &varint(payload.len()), payload].concat();
    [&[3, 1][..], &varint(event.len()), &event].concat()
}

#[test]
fn lists_with_a_length_beyond_their_bytes() {
    let nameless_pool = [0, 1, 0];
    read(&framed(16, &[&nameless_pool[..], &HUGE].concat()));
    let nameless_request = [0; 34];
    read(&framed(22, &[&nameless_request[..], &HUGE].concat()));
    // The same, with claims in an outcome.
    read(&framed(22, &[&nameless_request[..], &[1, 2], &HUGE].concat()));
    let nameless_claim = [0, 0, 0];
    read(&framed(18, &[&nameless_claim[..], &HUGE, &[1, 0, 1, 0]].concat()));
}

#[test]
fn checkpoint_chunks_with_a_length_beyond_their_bytes() {
    let empty = CheckpointWriter::begin(Vec::new(), &HEADER).unwrap().finish().unwrap();
    // All but the end, which has six small numbers and a hash.
    let start = &empty[..empty.len() - 6 - 32];
    // A length of 2^34: more than the input has, and less than what is rejected at once.
    read(&[start, &[65, 1, 0x80, 0x80, 0x80, 0x80, 0x40]].concat());
    read(&[start, &[65, 1], &HUGE].concat());
}

#[test]
fn valid_frame_is_read() {
    assert!(decode(&framed(23, &[1, b'k'])).is_ok());
    let event =
        Event::Idempotency(IdempotencyEvent::Expired(IdempotencyExpired { key: "k".into() }));
    assert_eq!(payload_of(event), (23, vec![1, b'k']));
}

/// The most expensive valid input: the smallest chunks with the largest results.
#[test]
fn dense_bodies() {
    // Entries without events.
    read(&[3, 1, 2, 0, 0].repeat(10_000));
    // One entry of many events without names.
    let events = [23, 1, 1, 0].repeat(10_000);
    // Its length, 40002, as a varint.
    read(&[&[3, 1, 0xc2, 0xb8, 0x02, 0, 0][..], &events].concat());
    assert!(decode(&[&[3, 1, 0xc2, 0xb8, 0x02, 0, 0][..], &events].concat()).is_ok());
}
