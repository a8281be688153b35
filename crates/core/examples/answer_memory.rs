//! Measures the memory of answers under idempotency keys, in the two copies of the state that a server has:
//! `cargo run --release -p allod-core --example answer_memory [KEYS]`. The same claims without keys are subtracted.

#![expect(clippy::print_stdout, reason = "it prints its result")]

use std::error::Error;

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Idempotency, Op, PutPool, Stamp, Transact};
use allod_core::decide;
use allod_core::limits::Limits;
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::value::Kind;

fn main() -> Result<(), Box<dyn Error>> {
    let keys = std::env::args().nth(1).map_or(Ok(500_000), |text| text.parse())?;
    let before = resident()?;
    let without = states(keys, false)?;
    let plain = resident()? - before;
    let with = states(keys, true)?;
    let keyed = resident()? - before - plain;
    println!("{keys} claims, two copies of the state: {} bytes a claim", plain / keys);
    println!("with idempotency keys: {} bytes more for each", keyed.saturating_sub(plain) / keys);
    drop((without, with));
    Ok(())
}

/// The resident memory of this process in bytes.
fn resident() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024)
}

/// A state on which everything was decided, and one to which the events were applied.
fn states(keys: u64, keyed: bool) -> Result<(State, State), Box<dyn Error>> {
    let limits = Limits {
        idempotency_keys_max: keys,
        idempotency_bytes_max: u64::MAX,
        idempotency_client_percent_max: 100,
        ..Limits::default()
    };
    let (mut deciding, mut committed) = (State::new(), State::new());
    let mut run = |command: Command, now_ms| {
        let decided = decide(&mut deciding, &Stamp { now_ms, seed: 1 }, &command, &limits);
        let decided = decided.map_err(|refused| format!("{refused:?}"))?;
        committed.apply_entry(now_ms, &decided.events);
        Ok::<(), String>(())
    };
    let range = PoolRange { span: Span { first: 1, last: u32::MAX.into() }, subnet_len: None };
    let spec = PoolSpec::new(Kind::Id32, vec![range]);
    run(
        Command::PutPool(PutPool {
            pool: "vlans".into(),
            spec,
            expect: Expect::Any,
            keep_held: false,
        }),
        1,
    )?;
    for n in 0..keys {
        let op = ClaimOp {
            pools: vec!["vlans".into()],
            key: format!("port-{n:08x}").into(),
            owner: None,
            want: Want::any(),
            ttl_ms: None,
            labels: Labels::default(),
            expect: Expect::Any,
        };
        let key = format!("9b2f0c1e-5d3a-4f7b-8a6c-{n:012x}");
        let idempotency = keyed.then(|| Idempotency::new(Some("deploy"), &key, [n as u8; 32]));
        let transact = Transact { idempotency, ..Transact::one(Op::Claim(op)) };
        // Ten in a millisecond.
        run(Command::Transact(transact), 1_767_254_400_000 + n / 10)?;
    }
    Ok((deciding, committed))
}
