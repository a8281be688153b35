//! Generates commands: few pools of every kind, few keys and few providers, so that conflicts are frequent.

mod capacity;
mod ids;
mod resource;

use std::sync::Arc;

use allod_core::claim::{Parity, Want};
use allod_core::command::{
    Check, ClaimOp, Command, ConfirmOp, DeletePool, Expect, Idempotency, Op, PutPool, ReleaseOp,
    RenewOp, Transact,
};
use allod_core::limits::Limits;
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy};
use allod_core::span::Span;
use allod_core::value::{Kind, ValueText};

use crate::random::SimRandom;

/// The pools: name, kind and range.
const POOLS: [(&str, Kind, &str); 8] = [
    ("ids", Kind::Id32, "0-9"),
    ("vlans", Kind::Id32, "4-15"),
    ("top", Kind::Id64, "18446744073709551608-18446744073709551615"),
    ("hosts", Kind::Address4, "10.0.0.0/29"),
    ("hosts6", Kind::Address6, "::/125"),
    ("nets", Kind::Prefix4, "10.0.0.0/28"),
    ("nets6", Kind::Prefix6, "2001:db8::/124"),
    ("one", Kind::Id32, "4294967295"),
];

const KEYS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Low limits, so that they are reached.
pub fn limits() -> Limits {
    Limits {
        values_per_claim_max: 6,
        ops_per_transaction_max: 5,
        idempotency_keys_max: 3,
        idempotency_ms: 2_000,
        pools_max: 9,
        outbox_max: 6,
        waiting_requests_per_entry_max: 1,
        ..Limits::default()
    }
}

/// The commands of one turn.
pub fn batch(random: &mut SimRandom) -> Vec<Command> {
    let count = *random.one_of(&[0, 1, 1, 2, 3, 6]);
    (0..count).map(|_| command(random)).collect()
}

/// Creates all pools and some providers.
pub fn pools(random: &mut SimRandom) -> Vec<Command> {
    let names = POOLS.iter().take(7);
    let pools = names.map(|(name, _, _)| put_pool(random, name, Expect::Any));
    pools.collect::<Vec<_>>().into_iter().chain(capacity::providers(random)).collect()
}

fn command(random: &mut SimRandom) -> Command {
    match random.below(100) {
        0..8 => {
            let (name, expect) = (pool(random), *random.one_of(&[Expect::Any, Expect::Present]));
            put_pool(random, name, expect)
        }
        8..10 => {
            let expect = *random.one_of(&[Expect::Any, Expect::Present, Expect::Is(1)]);
            Command::DeletePool(DeletePool { pool: pool(random).into(), expect })
        }
        10..22 => capacity::command(random),
        22..32 => ids::command(random),
        32..42 => resource::command(random),
        42..75 => Command::Transact(Transact::one(op(random))),
        _ => transact(random),
    }
}

fn transact(random: &mut SimRandom) -> Command {
    if random.percent(60) {
        return Command::Transact(several(random));
    }
    // The same key and fingerprint always mean the same request.
    let (key, variant) = (random.below(5), random.below(2));
    let transact = several(&mut SimRandom::new(key * 2 + variant));
    let key = format!("request-{key}").into();
    let idempotency = Some(Idempotency { key, fingerprint: [variant as u8; 32] });
    Command::Transact(Transact { idempotency, ..transact })
}

fn several(random: &mut SimRandom) -> Transact {
    let ops = (0..random.between(1, 4)).map(|_| op(random)).collect();
    Transact { ops, dry_run: random.percent(15), ..Transact::default() }
}

fn op(random: &mut SimRandom) -> Op {
    match random.below(100) {
        0..38 => Op::Claim(claim(random)),
        38..55 => capacity::op(random),
        55..75 => Op::Release(ReleaseOp {
            pool: pool(random).into(),
            key: key(random),
            expect: expect(random),
        }),
        75..85 => Op::Renew(RenewOp {
            pool: pool(random).into(),
            key: key(random),
            expect: expect(random),
            ttl_ms: ttl(random),
        }),
        85..92 => Op::Confirm(ConfirmOp {
            pool: pool(random).into(),
            key: key(random),
            expect: expect(random),
        }),
        _ => Op::Check(check(random)),
    }
}

fn claim(random: &mut SimRandom) -> ClaimOp {
    let (name, kind, range) = *random.one_of(&POOLS);
    let mut pools: Vec<Arc<str>> = vec![name.into()];
    if kind == Kind::Id32 && random.percent(25) {
        pools = vec!["ids".into(), "vlans".into()];
    }
    let labels: Labels = match random.below(8) {
        0 => [("site".into(), "north".into())].into(),
        _ => Labels::default(),
    };
    ClaimOp {
        pools,
        key: key(random),
        owner: owner(random),
        want: want(random, kind, range),
        ttl_ms: ttl(random),
        labels,
        expect: *random.one_of(&[
            Expect::Any,
            Expect::Any,
            Expect::Any,
            Expect::Any,
            Expect::Absent,
            Expect::Present,
        ]),
    }
}

fn want(random: &mut SimRandom, kind: Kind, range: &str) -> Want<ValueText> {
    let mut want = Want::any();
    if kind.is_prefix() {
        want.prefix_len = Some((kind.width() - random.below(4) as u32) as u8);
    }
    match random.below(10) {
        0..2 => {
            want.value = Some(value(random, kind, range, want.prefix_len));
            want.fallback = random.percent(40);
        }
        2..4 => {
            want.count = random.between(2, 5) as u32;
            want.contiguous = random.percent(50);
        }
        4 if !kind.is_prefix() => want.parity = Some(*random.one_of(&[Parity::Even, Parity::Odd])),
        5 => want.strategy = Some(*random.one_of(&Strategy::ALL)),
        _ => {}
    }
    want
}

/// A value in the range or just outside it; for prefixes, a block of this length.
fn value(random: &mut SimRandom, kind: Kind, range: &str, prefix_len: Option<u8>) -> ValueText {
    let (all, _) = kind.parse_range(range).expect("the table has ranges");
    let point = all.first.saturating_add(u128::from(random.below(18))).min(kind.line().last);
    kind.text(match prefix_len.and_then(|len| kind.block_bits(len)) {
        Some(bits) => Span::block(point & !allod_core::span::low_ones(bits), bits),
        None => Span::one(point),
    })
}

fn check(random: &mut SimRandom) -> Check {
    let (name, kind, range) = *random.one_of(&POOLS);
    match random.below(3) {
        0 => Check::Claim {
            pool: name.into(),
            key: key(random),
            expect: expect(random),
            owner: owner(random),
            value: None,
        },
        1 => {
            let len = kind.is_prefix().then(|| kind.width() as u8);
            Check::Free { pool: name.into(), value: value(random, kind, range, len) }
        }
        _ => Check::Pool {
            pool: name.into(),
            expect: *random.one_of(&[Expect::Present, Expect::Absent, Expect::Is(1)]),
        },
    }
}

fn put_pool(random: &mut SimRandom, name: &str, expect: Expect) -> Command {
    let (_, kind, range) = *POOLS.iter().find(|(other, _, _)| *other == name).expect("a pool");
    let (span, subnet_len) = kind.parse_range(range).expect("the table has ranges");
    let whole = PoolRange { span, subnet_len };
    let half = PoolRange {
        span: Span { first: span.first, last: span.first + (span.last - span.first) / 2 },
        subnet_len: None,
    };
    let part = |random: &mut SimRandom| {
        let first = span.first + u128::from(random.below(8)).min(span.last - span.first);
        let last = first.saturating_add(u128::from(random.below(3))).min(kind.line().last);
        if random.percent(20) { vec![Span { first, last }] } else { Vec::new() }
    };
    let spec = PoolSpec {
        exclude: part(random),
        manual: part(random),
        draining: part(random),
        strategy: *random.one_of(&Strategy::ALL),
        quarantine_ms: *random.one_of(&[0, 0, 200, 2_000]),
        lease_ms: *random.one_of(&[None, None, Some(300), Some(5_000)]),
        reap: random.percent(40),
        ..PoolSpec::new(kind, vec![if random.percent(80) { whole } else { half }])
    };
    Command::PutPool(PutPool { pool: name.into(), spec, expect, keep_held: random.percent(50) })
}

fn pool(random: &mut SimRandom) -> &'static str {
    random.one_of(&POOLS).0
}

fn key(random: &mut SimRandom) -> Arc<str> {
    (*random.one_of(&KEYS)).into()
}

fn owner(random: &mut SimRandom) -> Option<Arc<str>> {
    random.one_of(&[None, None, None, Some("x"), Some("y")]).map(Into::into)
}

fn ttl(random: &mut SimRandom) -> Option<u64> {
    *random.one_of(&[None, None, None, Some(100), Some(1_500)])
}

fn expect(random: &mut SimRandom) -> Expect {
    *random.one_of(&[Expect::Any, Expect::Any, Expect::Any, Expect::Present, Expect::Is(5)])
}
