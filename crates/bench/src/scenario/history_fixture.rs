//! Creates a journal with a long history, with the engine's writer and a manual clock.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, ReleaseOp, RenewOp, Transact};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_engine::{BatchWriter, Clock, Config, SharedState, recover, write_checkpoint};
use allod_journal::Journal;
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::Embedded;
use anyhow::{Context, Result, ensure};

pub const POOLS: u64 = 16;
pub const OWNERS: u64 = 1000;
/// How many claims exist at a time.
pub const HELD: u64 = 64_000;
/// Commands in a batch.
const BATCH: u64 = 64;
/// The time between two batches.
const STEP_MS: u64 = 500;
pub const START_MS: u64 = 1_767_254_400_000;

struct ManualClock(AtomicU64);

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub fn pool_of(number: u64) -> String {
    format!("ids-{:02}", number % POOLS)
}

pub fn key_of(number: u64) -> String {
    format!("vm-{number:08}")
}

pub fn owner_of(number: u64) -> String {
    format!("tenant-{:03}", number % OWNERS)
}

/// Claim n is granted, renewed, and released when claim n + `HELD` is granted: three events each.
pub fn claims_in(events: u64) -> u64 {
    events.saturating_sub(HELD).div_ceil(3)
}

/// Creates a data folder whose journal has about this many events. Returns the exact number.
pub fn make(data: &Path, events: u64) -> Result<u64> {
    let journal: Arc<dyn Journal> = Arc::new(Embedded::open(data)?.journal);
    let checkpoints = FileCheckpoints::open(data)?;
    let clock = Arc::new(ManualClock(AtomicU64::new(START_MS)));
    let replayed = recover(&*journal, &checkpoints)?;
    let (shared, config) = (Arc::new(SharedState::new(clock.clone())), Config::default());
    let mut writer =
        BatchWriter::lead(journal, shared, replayed, &config, Some(1), Box::new(|_| false))?;
    for number in 0..POOLS {
        let range = PoolRange { span: Span { first: 0, last: 999_999 }, subnet_len: None };
        let spec = PoolSpec::new(Kind::Id32, vec![range]);
        let pool = pool_of(number).as_str().into();
        write_batch(
            &mut writer,
            &[Command::PutPool(PutPool { pool, spec, expect: Expect::Any, keep_held: false })],
        )?;
    }
    let (mut made, mut batch) = (0, Vec::new());
    for number in 0..claims_in(events) {
        batch.push(claim(number));
        batch.push(renew(number));
        if let Some(old) = number.checked_sub(HELD) {
            batch.push(release(old));
        }
        if batch.len() as u64 >= BATCH {
            clock.0.fetch_add(STEP_MS, Ordering::Relaxed);
            made += write_batch(&mut writer, &batch)?;
            batch.clear();
        }
    }
    made += write_batch(&mut writer, &batch)?;
    let frozen = writer.state().freeze();
    write_checkpoint(&checkpoints, &frozen, writer.tail(), writer.level())?;
    Ok(made)
}

fn write_batch(writer: &mut BatchWriter, commands: &[Command]) -> Result<u64> {
    let commands: Vec<&Command> = commands.iter().collect();
    let mut left = &commands[..];
    while !left.is_empty() {
        let answers = writer.write_batch(left)?;
        ensure!(!answers.is_empty(), "the batch was not accepted");
        for answer in &answers {
            let reply = answer.as_ref().map_err(|failure| anyhow::anyhow!("{failure}"))?;
            reply.answer.as_ref().ok().context("a command was refused")?;
        }
        left = &left[answers.len()..];
    }
    Ok(commands.len() as u64)
}

fn one(op: Op) -> Command {
    Command::Transact(Transact::one(op))
}

fn claim(number: u64) -> Command {
    one(Op::Claim(ClaimOp {
        pools: vec![pool_of(number).as_str().into()],
        key: key_of(number).as_str().into(),
        owner: Some(owner_of(number).as_str().into()),
        want: Want::any(),
        ttl_ms: Some(86_400_000_000),
        labels: Labels::default(),
        expect: Expect::Any,
    }))
}

fn renew(number: u64) -> Command {
    let (pool, key) = (pool_of(number).as_str().into(), key_of(number).as_str().into());
    one(Op::Renew(RenewOp { pool, key, expect: Expect::Any, ttl_ms: None }))
}

fn release(number: u64) -> Command {
    let (pool, key) = (pool_of(number).as_str().into(), key_of(number).as_str().into());
    one(Op::Release(ReleaseOp { pool, key, expect: Expect::Any }))
}
