//! What is asked for: few pools of every kind, few keys, few providers, so that everything collides.

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

use crate::dice::Dice;

/// Every pool: its name, its kind, and a range that it may have.
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

/// Limits that are met: few remembered requests, and not for long.
pub fn limits() -> Limits {
    Limits {
        values_per_claim_max: 6,
        ops_per_transaction_max: 5,
        idempotency_keys_max: 3,
        idempotency_ms: 2_000,
        pools_max: 9,
        outbox_max: 6,
        ..Limits::default()
    }
}

/// The commands of one turn.
pub fn batch(dice: &mut Dice) -> Vec<Command> {
    let count = *dice.one_of(&[0, 1, 1, 2, 3, 6]);
    (0..count).map(|_| command(dice)).collect()
}

/// Every pool and some providers, as they are before anybody changes them.
pub fn pools(dice: &mut Dice) -> Vec<Command> {
    let names = POOLS.iter().take(7);
    let pools = names.map(|(name, _, _)| put_pool(dice, name, Expect::Any));
    pools.collect::<Vec<_>>().into_iter().chain(capacity::providers(dice)).collect()
}

fn command(dice: &mut Dice) -> Command {
    match dice.below(100) {
        0..8 => {
            let (name, expect) = (pool(dice), *dice.one_of(&[Expect::Any, Expect::Present]));
            put_pool(dice, name, expect)
        }
        8..10 => {
            let expect = *dice.one_of(&[Expect::Any, Expect::Present, Expect::Is(1)]);
            Command::DeletePool(DeletePool { pool: pool(dice).into(), expect })
        }
        10..22 => capacity::command(dice),
        22..32 => ids::command(dice),
        32..42 => resource::command(dice),
        42..75 => Command::Transact(Transact::one(op(dice))),
        _ => transact(dice),
    }
}

fn transact(dice: &mut Dice) -> Command {
    if dice.percent(60) {
        return Command::Transact(several(dice));
    }
    // A key and a fingerprint stand for the same request each time.
    let (key, variant) = (dice.below(5), dice.below(2));
    let transact = several(&mut Dice::new(key * 2 + variant));
    let key = format!("request-{key}").into();
    let idempotency = Some(Idempotency { key, fingerprint: [variant as u8; 32] });
    Command::Transact(Transact { idempotency, ..transact })
}

fn several(dice: &mut Dice) -> Transact {
    let ops = (0..dice.between(1, 4)).map(|_| op(dice)).collect();
    Transact { ops, dry_run: dice.percent(15), ..Transact::default() }
}

fn op(dice: &mut Dice) -> Op {
    match dice.below(100) {
        0..38 => Op::Claim(claim(dice)),
        38..55 => capacity::op(dice),
        55..75 => {
            Op::Release(ReleaseOp { pool: pool(dice).into(), key: key(dice), expect: expect(dice) })
        }
        75..85 => Op::Renew(RenewOp {
            pool: pool(dice).into(),
            key: key(dice),
            expect: expect(dice),
            ttl_ms: ttl(dice),
        }),
        85..92 => {
            Op::Confirm(ConfirmOp { pool: pool(dice).into(), key: key(dice), expect: expect(dice) })
        }
        _ => Op::Check(check(dice)),
    }
}

fn claim(dice: &mut Dice) -> ClaimOp {
    let (name, kind, range) = *dice.one_of(&POOLS);
    let mut pools: Vec<Arc<str>> = vec![name.into()];
    if kind == Kind::Id32 && dice.percent(25) {
        pools = vec!["ids".into(), "vlans".into()];
    }
    let labels: Labels = match dice.below(8) {
        0 => [("site".into(), "north".into())].into(),
        _ => Labels::default(),
    };
    ClaimOp {
        pools,
        key: key(dice),
        owner: owner(dice),
        want: want(dice, kind, range),
        ttl_ms: ttl(dice),
        labels,
        expect: *dice.one_of(&[
            Expect::Any,
            Expect::Any,
            Expect::Any,
            Expect::Any,
            Expect::Absent,
            Expect::Present,
        ]),
    }
}

fn want(dice: &mut Dice, kind: Kind, range: &str) -> Want<ValueText> {
    let mut want = Want::any();
    if kind.is_prefix() {
        want.prefix_len = Some((kind.width() - dice.below(4) as u32) as u8);
    }
    match dice.below(10) {
        0..2 => {
            want.value = Some(value(dice, kind, range, want.prefix_len));
            want.fallback = dice.percent(40);
        }
        2..4 => {
            want.count = dice.between(2, 5) as u32;
            want.contiguous = dice.percent(50);
        }
        4 if !kind.is_prefix() => want.parity = Some(*dice.one_of(&[Parity::Even, Parity::Odd])),
        5 => want.strategy = Some(*dice.one_of(&Strategy::ALL)),
        _ => {}
    }
    want
}

/// A value of the range or just outside it; a block of this length for prefixes.
fn value(dice: &mut Dice, kind: Kind, range: &str, prefix_len: Option<u8>) -> ValueText {
    let (all, _) = kind.parse_range(range).expect("the table has ranges");
    let point = all.first.saturating_add(u128::from(dice.below(18))).min(kind.line().last);
    kind.text(match prefix_len.and_then(|len| kind.block_bits(len)) {
        Some(bits) => Span::block(point & !allod_core::span::low_ones(bits), bits),
        None => Span::one(point),
    })
}

fn check(dice: &mut Dice) -> Check {
    let (name, kind, range) = *dice.one_of(&POOLS);
    match dice.below(3) {
        0 => Check::Claim {
            pool: name.into(),
            key: key(dice),
            expect: expect(dice),
            owner: owner(dice),
            value: None,
        },
        1 => {
            let len = kind.is_prefix().then(|| kind.width() as u8);
            Check::Free { pool: name.into(), value: value(dice, kind, range, len) }
        }
        _ => Check::Pool {
            pool: name.into(),
            expect: *dice.one_of(&[Expect::Present, Expect::Absent, Expect::Is(1)]),
        },
    }
}

fn put_pool(dice: &mut Dice, name: &str, expect: Expect) -> Command {
    let (_, kind, range) = *POOLS.iter().find(|(other, _, _)| *other == name).expect("a pool");
    let (span, subnet_len) = kind.parse_range(range).expect("the table has ranges");
    let whole = PoolRange { span, subnet_len };
    let half = PoolRange {
        span: Span { first: span.first, last: span.first + (span.last - span.first) / 2 },
        subnet_len: None,
    };
    let part = |dice: &mut Dice| {
        let first = span.first + u128::from(dice.below(8)).min(span.last - span.first);
        let last = first.saturating_add(u128::from(dice.below(3))).min(kind.line().last);
        if dice.percent(20) { vec![Span { first, last }] } else { Vec::new() }
    };
    let spec = PoolSpec {
        exclude: part(dice),
        manual: part(dice),
        draining: part(dice),
        strategy: *dice.one_of(&Strategy::ALL),
        quarantine_ms: *dice.one_of(&[0, 0, 200, 2_000]),
        lease_ms: *dice.one_of(&[None, None, Some(300), Some(5_000)]),
        reap: dice.percent(40),
        ..PoolSpec::new(kind, vec![if dice.percent(80) { whole } else { half }])
    };
    Command::PutPool(PutPool { pool: name.into(), spec, expect, keep_held: dice.percent(50) })
}

fn pool(dice: &mut Dice) -> &'static str {
    dice.one_of(&POOLS).0
}

fn key(dice: &mut Dice) -> Arc<str> {
    (*dice.one_of(&KEYS)).into()
}

fn owner(dice: &mut Dice) -> Option<Arc<str>> {
    dice.one_of(&[None, None, None, Some("x"), Some("y")]).map(Into::into)
}

fn ttl(dice: &mut Dice) -> Option<u64> {
    *dice.one_of(&[None, None, None, Some(100), Some(1_500)])
}

fn expect(dice: &mut Dice) -> Expect {
    *dice.one_of(&[Expect::Any, Expect::Any, Expect::Any, Expect::Present, Expect::Is(5)])
}
