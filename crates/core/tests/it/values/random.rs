//! Random commands for the core and the naive model; after each, answers and claims must be the same.

use allod_core::claim::{ClaimState, Parity, Want};
use allod_core::command::{
    ClaimOp, Command, ConfirmOp, Expect, Op, PutPool, ReleaseOp, RenewOp, Transact,
};
use allod_core::pool::{Labels, PoolRange, PoolSpec, Strategy as Picking};
use allod_core::receipt::Outcome;
use allod_core::span::Span;
use allod_core::value::{Kind, ValueText};
use allod_core::view;
use proptest::prelude::*;
use proptest::sample::select;

use crate::values::naive::{Claiming, Held, Kept, Model};
use crate::values::world::World;

/// The pools, with their lowest values: some are at the ends of the number line. Each has 32 values.
const POOLS: [(&str, Kind, u128); 7] = [
    ("id", Kind::Id32, 0),
    ("ie", Kind::Id32, 8),
    ("top", Kind::Id64, u64::MAX as u128 - 31),
    ("addr", Kind::Address4, 0x0a00_0000),
    ("net", Kind::Prefix4, 0x0a00_0000),
    ("nat", Kind::Prefix4, 0x0a00_0010),
    ("six", Kind::Prefix6, u128::MAX - 31),
];

/// The pools of one case: few, so that they fill up.
const PLACES: [&[usize]; 8] = [&[0], &[0, 1], &[2], &[3], &[4], &[4, 5], &[6], &[0, 1, 3, 4, 6]];

/// Pools with common values.
const GROUPS: [&[usize]; 3] = [&[0, 1], &[1, 0], &[4, 5]];

#[derive(Debug, Clone)]
enum Step {
    Put { pool: usize, spec: SpecSeed, keep_held: bool },
    Ops(Vec<OpSeed>),
    Wait(u64),
    Tick,
}

#[derive(Debug, Clone)]
struct SpecSeed {
    ranges: u8,
    exclude: Option<(u128, u128)>,
    manual: Option<(u128, u128)>,
    draining: Option<(u128, u128)>,
    strategy: Picking,
    quarantine_s: u64,
    lease_s: Option<u64>,
    reap: bool,
}

#[derive(Debug, Clone)]
enum OpSeed {
    Claim { pools: Vec<usize>, key: u8, owner: u8, want: WantSeed, ttl_s: Option<u64> },
    Release { pool: usize, key: u8 },
    Renew { pool: usize, key: u8, ttl_s: Option<u64> },
    Confirm { pool: usize, key: u8 },
}

#[derive(Debug, Clone)]
struct WantSeed {
    value: Option<u128>,
    fallback: bool,
    count: u32,
    contiguous: bool,
    bits: u32,
    parity: Option<Parity>,
    strategy: Option<Picking>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => op().prop_map(|op| Step::Ops(vec![op])),
        4 => prop::collection::vec(op(), 2..5).prop_map(Step::Ops),
        3 => (0..POOLS.len(), spec(), any::<bool>())
            .prop_map(|(pool, spec, keep_held)| Step::Put { pool, spec, keep_held }),
        3 => (1..30u64).prop_map(Step::Wait),
        1 => Just(Step::Tick),
    ];
    prop::collection::vec(step, 1..100)
}

fn spec() -> impl Strategy<Value = SpecSeed> {
    let part = || prop::option::weighted(0.3, (0..32u128, 0..12u128));
    let strategy = select(Picking::ALL.to_vec());
    let times = (select(vec![0, 20, 20u64]), prop::option::weighted(0.3, 5..40u64), any::<bool>());
    (0..6u8, part(), part(), part(), strategy, times).prop_map(
        |(ranges, exclude, manual, draining, strategy, (quarantine_s, lease_s, reap))| SpecSeed {
            ranges,
            exclude,
            manual,
            draining,
            strategy,
            quarantine_s,
            lease_s,
            reap,
        },
    )
}

fn op() -> impl Strategy<Value = OpSeed> {
    let pools = prop_oneof![
        6 => (0..POOLS.len()).prop_map(|pool| vec![pool]),
        1 => select(GROUPS.to_vec()).prop_map(<[usize]>::to_vec),
    ];
    let ttl_s = || prop::option::weighted(0.4, select(vec![1, 10, 40u64]));
    prop_oneof![
        6 => (pools, 0..20u8, 0..3u8, want(), ttl_s())
            .prop_map(|(pools, key, owner, want, ttl_s)| OpSeed::Claim { pools, key, owner, want, ttl_s }),
        3 => (0..POOLS.len(), 0..20u8).prop_map(|(pool, key)| OpSeed::Release { pool, key }),
        1 => (0..POOLS.len(), 0..20u8, ttl_s())
            .prop_map(|(pool, key, ttl_s)| OpSeed::Renew { pool, key, ttl_s }),
        1 => (0..POOLS.len(), 0..20u8).prop_map(|(pool, key)| OpSeed::Confirm { pool, key }),
    ]
}

fn want() -> impl Strategy<Value = WantSeed> {
    let value = prop::option::weighted(0.4, 0..32u128);
    let count = prop_oneof![3 => Just(1u32), 1 => 2..5u32];
    let parity = prop::option::weighted(0.2, select(vec![Parity::Even, Parity::Odd]));
    let strategy = prop::option::weighted(0.3, select(Picking::ALL.to_vec()));
    (value, prop::bool::weighted(0.2), count, any::<bool>(), 0..4u32, parity, strategy).prop_map(
        |(value, fallback, count, contiguous, bits, parity, strategy)| WantSeed {
            value,
            fallback,
            count,
            contiguous,
            bits,
            parity,
            strategy,
        },
    )
}

impl Step {
    /// The same step on these pools only.
    fn at(self, place: &[usize]) -> Step {
        let there = |pool: usize| place[pool % place.len()];
        let op = |op| match op {
            OpSeed::Claim { pools, key, owner, want, ttl_s } => {
                let pools = match pools.iter().all(|pool| place.contains(pool)) {
                    true => pools,
                    false => vec![there(pools[0])],
                };
                OpSeed::Claim { pools, key, owner, want, ttl_s }
            }
            OpSeed::Release { pool, key } => OpSeed::Release { pool: there(pool), key },
            OpSeed::Renew { pool, key, ttl_s } => OpSeed::Renew { pool: there(pool), key, ttl_s },
            OpSeed::Confirm { pool, key } => OpSeed::Confirm { pool: there(pool), key },
        };
        match self {
            Step::Put { pool, spec, keep_held } => Step::Put { pool: there(pool), spec, keep_held },
            Step::Ops(ops) => Step::Ops(ops.into_iter().map(op).collect()),
            step => step,
        }
    }
}

impl SpecSeed {
    fn spec(&self, pool: usize) -> PoolSpec {
        let (_, kind, base) = POOLS[pool];
        let span =
            |from: u128, len: u128| Span { first: base + from, last: base + (from + len - 1) };
        let subnet = |from: u128, len: u128| {
            let span = span(from, len);
            PoolRange { span, subnet_len: kind.prefix_len(span).filter(|_| !kind.is_id()) }
        };
        let plain = |from, len| PoolRange { span: span(from, len), subnet_len: None };
        let ranges = match self.ranges {
            0 => vec![subnet(0, 32)],
            4.. => vec![subnet(8, 8)],
            1 => vec![subnet(0, 8), subnet(16, 16)],
            2 => vec![plain(3, 20)],
            3 => vec![plain(20, 1), subnet(8, 4), plain(1, 5)],
        };
        let part = |part: Option<(u128, u128)>| {
            let part = part.map(|(from, len)| span(from, (len + 1).min(32 - from)));
            part.into_iter().collect::<Vec<_>>()
        };
        PoolSpec {
            exclude: part(self.exclude),
            manual: part(self.manual),
            draining: part(self.draining),
            strategy: self.strategy,
            quarantine_ms: self.quarantine_s * 1000,
            lease_ms: self.lease_s.map(|lease| lease * 1000),
            reap: self.reap,
            ..PoolSpec::new(kind, ranges)
        }
    }
}

impl WantSeed {
    /// A want without contradictions; the tables have those.
    fn want(&self, pools: &[usize]) -> Want {
        let (_, kind, base) = POOLS[pools[0]];
        let bits = if kind.is_prefix() { self.bits } else { 0 };
        let value = self.value.map(|value| Span::block(base + (value >> bits << bits), bits));
        let count = match value {
            Some(_) => 1,
            None if pools.len() > 1 && (kind.is_prefix() || !self.contiguous) => 1,
            None => self.count,
        };
        let len = (kind.width() - bits) as u8;
        let in_a_row = self.contiguous && count > 1;
        let parity = self.parity.filter(|_| !kind.is_prefix() && !in_a_row);
        Want {
            value,
            fallback: self.fallback && value.is_some(),
            count,
            contiguous: self.contiguous,
            prefix_len: (kind.is_prefix() && (value.is_none() || self.fallback)).then_some(len),
            parity: parity.filter(|p| value.is_none_or(|value| Parity::of(value.first) == *p)),
            strategy: self.strategy,
        }
    }

    fn text(&self, pools: &[usize]) -> Want<ValueText> {
        let (want, kind) = (self.want(pools), POOLS[pools[0]].1);
        want.with_value(want.value.map(|value| kind.text(value)))
    }
}

fn key(n: u8) -> String {
    format!("k{n}")
}

fn owner(n: u8, key: &str) -> String {
    if n == 0 { key.into() } else { format!("o{n}") }
}

fn names(pools: &[usize]) -> Vec<String> {
    pools.iter().map(|pool| POOLS[*pool].0.to_string()).collect()
}

fn command(op: &OpSeed) -> Op {
    let name = |pool: usize| POOLS[pool].0.into();
    match op {
        OpSeed::Claim { pools, key: k, owner: o, want, ttl_s } => Op::Claim(ClaimOp {
            pools: pools.iter().map(|pool| name(*pool)).collect(),
            key: key(*k).into(),
            owner: (*o > 0).then(|| owner(*o, "").into()),
            want: want.text(pools),
            ttl_ms: ttl_s.map(|ttl| ttl * 1000),
            labels: Labels::default(),
            expect: Expect::Any,
        }),
        OpSeed::Release { pool, key: k } => {
            Op::Release(ReleaseOp { pool: name(*pool), key: key(*k).into(), expect: Expect::Any })
        }
        OpSeed::Renew { pool, key: k, ttl_s } => Op::Renew(RenewOp {
            pool: name(*pool),
            key: key(*k).into(),
            expect: Expect::Any,
            ttl_ms: ttl_s.map(|ttl| ttl * 1000),
        }),
        OpSeed::Confirm { pool, key: k } => {
            Op::Confirm(ConfirmOp { pool: name(*pool), key: key(*k).into(), expect: Expect::Any })
        }
    }
}

/// Runs one operation on the model, and formats its answer as [`answer`] does.
fn model_op(
    model: &mut Model,
    op: &OpSeed,
    outcome: Option<&Outcome>,
) -> Result<String, &'static str> {
    let name = |pool: usize| POOLS[pool].0;
    match op {
        OpSeed::Claim { pools, key: k, owner: o, want, ttl_s } => {
            let (pools_named, key, want) = (names(pools), key(*k), want.want(pools));
            let given = outcome.map(|outcome| match outcome {
                Outcome::Claimed { claims, .. } => {
                    let spans = claims.iter().map(|claim| claim.claim.values.spans().collect());
                    spans.collect::<Vec<Vec<Span>>>()
                }
                other => panic!("a claim was answered with {other:?}"),
            });
            let (new, spans) = model.claim(&Claiming {
                pools: &pools_named,
                key: &key,
                owner: &owner(*o, &key),
                want: &want,
                ttl_ms: ttl_s.map(|ttl| ttl * 1000),
                given: given.as_deref(),
            })?;
            Ok(format!("claimed {new} {spans:?}"))
        }
        OpSeed::Release { pool, key: k } => {
            model.release(name(*pool), &key(*k)).map(|held| format!("released {held}"))
        }
        OpSeed::Renew { pool, key: k, ttl_s } => {
            let ttl_ms = ttl_s.map(|ttl| ttl * 1000);
            model.renew(name(*pool), &key(*k), ttl_ms).map(|()| "leased".into())
        }
        OpSeed::Confirm { pool, key: k } => {
            model.confirm(name(*pool), &key(*k)).map(|()| "leased".into())
        }
    }
}

fn answer(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Claimed { claims, created } => {
            let spans = claims.iter().map(|claim| claim.claim.values.spans().collect::<Vec<_>>());
            format!("claimed {created} {:?}", spans.collect::<Vec<_>>())
        }
        Outcome::Released { existed } => format!("released {existed}"),
        Outcome::Leased(_) => "leased".into(),
        other => format!("{other:?}"),
    }
}

/// Whether the core may choose what this operation gets.
fn may_choose(model: &Model, op: &OpSeed) -> bool {
    let OpSeed::Claim { pools, want, .. } = op else { return false };
    let own = model.pools.get(POOLS[pools[0]].0).map(|pool| pool.spec.strategy);
    let strategy = want.strategy.or(own);
    pools.len() == 1 && matches!(strategy, Some(Picking::Random | Picking::LeastRecentlyUsed))
}

fn play(steps: &[Step]) {
    let mut world = World::new();
    let mut model = Model::default();
    for step in steps {
        model.now_ms = world.now_ms;
        model.version = world.state.position + 1;
        match step {
            Step::Wait(seconds) => world.now_ms += seconds * 1000,
            Step::Tick => {
                world.run(&Command::Tick).expect("a tick is never refused");
                model.tick();
            }
            Step::Put { pool, spec, keep_held } => {
                let spec = spec.spec(*pool);
                let name = POOLS[*pool].0;
                let put = PutPool {
                    pool: name.into(),
                    spec: spec.clone(),
                    expect: Expect::Any,
                    keep_held: *keep_held,
                };
                let core = world.run(&Command::PutPool(put)).map(drop);
                let core = core.map_err(|refused| refused.refusal.code());
                assert_eq!(core, model.put(name, &spec, *keep_held), "{step:?}");
            }
            Step::Ops(ops) => play_ops(&mut world, &mut model, ops),
        }
        compare(&world, &model);
    }
}

fn play_ops(world: &mut World, model: &mut Model, ops: &[OpSeed]) {
    let transact = Transact { ops: ops.iter().map(command).collect(), ..Transact::default() };
    match world.run(&Command::Transact(transact)) {
        Ok(receipt) => {
            for (op, outcome) in ops.iter().zip(&receipt.outcomes) {
                let wanted = model_op(model, op, Some(outcome));
                assert_eq!(Ok(answer(outcome)), wanted, "{op:?}");
            }
        }
        Err(refused) => {
            // The choices of the core before the refusal are not known.
            if ops[..refused.op].iter().any(|op| may_choose(model, op)) {
                return;
            }
            let mut draft = model.clone();
            for op in &ops[..refused.op] {
                assert_eq!(model_op(&mut draft, op, None).err(), None, "{refused:?}");
            }
            let wanted = model_op(&mut draft, &ops[refused.op], None);
            assert_eq!(wanted, Err(refused.refusal.code()), "{refused:?}");
        }
    }
}

/// Asserts that both have the same claims, quarantines and number of free values.
fn compare(world: &World, model: &Model) {
    let frozen = world.state.freeze();
    assert_eq!(frozen.pools.len(), model.pools.len());
    for (frozen, (name, pool)) in frozen.pools.iter().zip(&model.pools) {
        let (image, rows) = (&frozen.image(), &frozen.rows);
        let mut held = Vec::new();
        let mut kept: Vec<Kept> = Vec::new();
        for claim in rows.claims() {
            let spans: Vec<Span> = claim.values.spans().collect();
            match claim.state {
                ClaimState::Held => {
                    held.push((
                        claim.key.to_string(),
                        claim.owner.to_string(),
                        spans,
                        claim.expires_ms,
                    ));
                }
                ClaimState::Quarantined { until_ms } => kept.push(Kept {
                    key: claim.key.to_string(),
                    owner: claim.owner.to_string(),
                    spans,
                    until_ms,
                    version: claim.version,
                }),
            }
        }
        held.sort();
        let shown = |(key, held): (&String, &Held)| {
            (key.clone(), held.owner.clone(), held.spans.clone(), held.expires_ms)
        };
        let wanted: Vec<_> = pool.held.iter().map(shown).collect();
        assert_eq!(held, wanted, "held in '{name}'");
        let mut wanted = pool.kept.clone();
        wanted.sort_by_key(|kept| kept.spans[0]);
        kept.sort_by_key(|kept| kept.spans[0]);
        assert_eq!(kept, wanted, "in quarantine in '{name}'");
        assert_eq!(image.cursor, pool.cursor, "the cursor of '{name}'");
        let usage = view::pool(&world.state, name, world.now_ms).expect("it is there").usage;
        assert_eq!(usage.free, pool.free().len() as u128, "free in '{name}'");
    }
}

/// The number of cases: enough for some seconds, unless the environment has another.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    asked.unwrap_or(600)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn core_agrees_with_the_naive_model(
        place in select(PLACES.to_vec()),
        specs in prop::collection::vec(spec(), POOLS.len()),
        steps in steps(),
    ) {
        let define = specs.into_iter().enumerate();
        let define = define.map(|(pool, spec)| Step::Put { pool, spec, keep_held: false });
        play(&define.chain(steps).map(|step| step.at(place)).collect::<Vec<_>>());
    }
}
