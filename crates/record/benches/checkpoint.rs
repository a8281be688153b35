//! Writes and reads a million plain claims, as a checkpoint and as journal entries, and prints how long it takes.
#![expect(clippy::print_stdout, reason = "printing figures is all that a benchmark does")]
#![expect(clippy::unwrap_used, reason = "nothing here is shipped")]

use std::sync::Arc;
use std::time::Instant;

use allod_core::claim::{Claim, ClaimState, Values};
use allod_core::event::{ClaimEvent, ClaimGranted, Event};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::state::restore::PoolImage;
use allod_core::value::Kind;
use allod_record::{
    Cause, CheckpointPart, CheckpointReader, CheckpointWriter, Entry, Header, Item, decode, encode,
};

const CLAIMS: u64 = 1_000_000;
/// The number of entries in a record of a busy server.
const ITEMS_PER_BODY: usize = 1000;
const AT_MS: u64 = 1_767_225_600_000;

fn claim(n: u64) -> Claim {
    let key: Arc<str> = format!("vm-{n:08}").into();
    Claim {
        owner: key.clone(),
        key,
        values: Values::one(Span::one(n.into())),
        version: n + 1,
        created_ms: AT_MS + n,
        expires_ms: None,
        state: ClaimState::Held,
        labels: Labels::default(),
        params: None,
    }
}

fn grant(n: u64) -> Item {
    let claim = claim(n);
    let event = Event::Claim(ClaimEvent::Granted(ClaimGranted {
        pool: "vlan".into(),
        kind: Some(Kind::Id32),
        key: claim.key,
        owner: claim.owner,
        values: claim.values,
        version: claim.version,
        at_ms: claim.created_ms,
        expires_ms: None,
        labels: claim.labels,
        params: None,
        cursor: None,
    }));
    Item::Entry(Entry { at_ms: claim.created_ms, cause: Cause::Transact, events: vec![event] })
}

fn report(what: &str, bytes: usize, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{what:<20} {:>6.2} million/s  {:>6.1} bytes each  {:>6.0} MB/s",
        CLAIMS as f64 / seconds / 1e6,
        bytes as f64 / CLAIMS as f64,
        bytes as f64 / seconds / 1e6
    );
}

fn main() {
    let claims: Vec<Claim> = (0..CLAIMS).map(claim).collect();
    let range = PoolRange { span: Span { first: 0, last: CLAIMS.into() }, subnet_len: None };
    let pool = PoolImage {
        name: "vlan".into(),
        generation: 1,
        spec: PoolSpec::new(Kind::Id32, vec![range]),
        cursor: None,
        released: Vec::new(),
        blocks: None,
        requests: None,
    };
    let header = Header { level: 1, position: CLAIMS, now_ms: AT_MS };

    let start = Instant::now();
    let mut writer = CheckpointWriter::begin(Vec::new(), &header).unwrap();
    writer.pool(&pool).unwrap();
    claims.iter().for_each(|claim| writer.claim(claim).unwrap());
    let bytes = writer.finish().unwrap();
    report("checkpoint, write", bytes.len(), start);

    let start = Instant::now();
    let mut reader = CheckpointReader::open(&bytes[..]).unwrap();
    let mut back = Vec::with_capacity(claims.len());
    loop {
        match reader.next_part().unwrap() {
            CheckpointPart::Claim(claim) => back.push(claim),
            CheckpointPart::End => break,
            _ => {}
        }
    }
    report("checkpoint, read", bytes.len(), start);
    assert!(back == claims);
    drop(back);

    let items: Vec<Item> = (0..CLAIMS).map(grant).collect();
    let start = Instant::now();
    let bodies: Vec<Vec<u8>> = items.chunks(ITEMS_PER_BODY).map(encode).collect();
    let bytes = bodies.iter().map(Vec::len).sum();
    report("entries, write", bytes, start);

    let start = Instant::now();
    let read: usize = bodies.iter().map(|body| decode(body).unwrap().len()).sum();
    report("entries, read", bytes, start);
    assert_eq!(read, items.len());
}
