//! Random commands on a few crowded pools, and the journal that they produce.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Reclaim, Uuid};
use allod_core::claim::Want;
use allod_core::command::capacity::{
    AllocateOp, CapacityCommand, ChangeInventories, CreateClass, CreateProvider, DeallocateOp,
    ExtendOp, Holding, InventoryChange, LeaseTerms, Resources, SetAggregates, SetTraits,
};
use allod_core::command::{
    ClaimOp, Command, ConfirmOp, DeletePool, Expect, Op, PutPool, ReleaseOp, RenewOp, Transact,
};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::random;
use allod_core::requests::command::{
    EditRequests, PutRequestPool, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AlarmSettings, IdSupply, Request, RequestPool, Supply, Wanted, WantedId,
};
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::value::Kind;
use allod_journal::Journal;
use allod_record::{Entry, Item, decode, with_positions};

pub const POOLS: [&str; 4] = ["p", "q", "r", LAN];
/// A pool of the resource-manager.
const LAN: &str = "lan";
pub const PROVIDERS: [Uuid; 3] = [Uuid(1), Uuid(2), Uuid(3 << 90)];
/// One of them has the UUID of a provider.
pub const CONSUMERS: [Uuid; 4] = [Uuid(1), Uuid(11), Uuid(12), Uuid(13 << 90)];
const KEYS: u64 = 9;
const OWNERS: u64 = 4;
/// The number of values of each pool.
const SIZE: u128 = 16;

#[derive(Debug, Clone, Copy)]
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: u64) -> u64 {
        random::next(&mut self.0) % n.max(1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}

pub fn base(kind: Kind) -> u128 {
    if kind.is_id() { 0 } else { 0x0a00_0000 }
}

pub fn key(dice: &mut Dice) -> Arc<str> {
    format!("k{}", dice.below(KEYS)).into()
}

/// Owners are sometimes the key of another claim.
pub fn owner(dice: &mut Dice) -> Arc<str> {
    match dice.below(OWNERS) {
        0 => "k1".into(),
        n => format!("o{n}").into(),
    }
}

/// A random value: a single one, or a prefix.
pub fn value(dice: &mut Dice, kind: Kind) -> Span {
    let at = base(kind) + u128::from(dice.below(SIZE as u64 + 2));
    let bits = if kind.is_prefix() { dice.below(6) as u32 } else { 0 };
    Span::block(at & !((1 << bits) - 1), bits)
}

fn spec(dice: &mut Dice, kind: Kind) -> PoolSpec {
    let span = Span { first: base(kind), last: base(kind) + SIZE - 1 };
    let mut spec = PoolSpec::new(kind, vec![PoolRange { span, subnet_len: None }]);
    if dice.one_in(3) {
        spec.exclude = vec![value(dice, kind)];
    }
    if dice.one_in(4) {
        spec.manual = vec![value(dice, kind)];
    }
    if dice.one_in(2) {
        spec.quarantine_ms = 3000;
    }
    if dice.one_in(3) {
        (spec.lease_ms, spec.reap) = (Some(4000), dice.one_in(2));
    }
    spec
}

fn op(dice: &mut Dice, kinds: &impl Fn(&str) -> Option<Kind>) -> Op {
    let (pool, key): (Arc<str>, Arc<str>) = ((*dice.pick(&POOLS[..3])).into(), key(dice));
    let expect = Expect::Any;
    let ttl_ms = dice.one_in(4).then(|| 1000 + dice.below(5000));
    match dice.below(10) {
        0 => Op::Renew(RenewOp { pool, key, expect, ttl_ms: Some(2500) }),
        1 => Op::Confirm(ConfirmOp { pool, key, expect }),
        2..=4 => Op::Release(ReleaseOp { pool, key, expect }),
        _ => {
            let kind = kinds(&pool).unwrap_or(Kind::Id32);
            let mut want = Want::any();
            if kind.is_prefix() {
                want.prefix_len = Some(32 - dice.below(4) as u8);
            } else if dice.one_in(3) {
                (want.count, want.contiguous) = (2 + dice.below(3) as u32, dice.one_in(2));
            }
            if dice.one_in(4) && want.count == 1 {
                want.value = Some(kind.text(value(dice, kind)));
                want.prefix_len = None;
            }
            let labels: Labels = match dice.one_in(3) {
                true => Arc::from([(Arc::from("n"), Arc::from(dice.below(9).to_string()))]),
                false => Labels::default(),
            };
            let owner = dice.one_in(2).then(|| owner(dice));
            Op::Claim(ClaimOp { pools: vec![pool], key, owner, want, ttl_ms, labels, expect })
        }
    }
}

pub fn provider(dice: &mut Dice) -> Uuid {
    *dice.pick(&PROVIDERS)
}

pub fn consumer(dice: &mut Dice) -> Uuid {
    *dice.pick(&CONSUMERS)
}

/// A random capacity command. There are few providers and consumers, so that most commands succeed.
pub fn of_capacity(dice: &mut Dice) -> Command {
    let (provider, consumer) = (provider(dice), consumer(dice));
    let expect = Expect::Any;
    let command = match dice.below(16) {
        0 | 1 => {
            let name = format!("host-{}", provider.0).into();
            let parent = dice.one_in(4).then(|| self::provider(dice));
            CapacityCommand::CreateProvider(CreateProvider { uuid: provider, name, parent })
        }
        2 => CapacityCommand::DeleteProvider(provider),
        3 | 4 => {
            let stock = |class: &str| (class.into(), Inventory::of(20));
            let change = InventoryChange::Replace(vec![stock("VCPU"), stock("DISK_GB")]);
            let change = ChangeInventories { provider, expect: None, change };
            CapacityCommand::ChangeInventories(change)
        }
        5 => {
            let name = if dice.one_in(2) { "HW_CPU_X86_AVX" } else { "HW_CPU_X86_AVX2" };
            let traits = vec![name.into()];
            CapacityCommand::SetTraits(SetTraits { provider, expect: None, traits })
        }
        6 => {
            let aggregates = vec![Uuid(u128::from(dice.below(2)))];
            let set = SetAggregates { provider, expect: None, aggregates, counts: true };
            CapacityCommand::SetAggregates(set)
        }
        7 => {
            let name = "CUSTOM_GOLD".into();
            CapacityCommand::CreateClass(CreateClass { name, ensure: true })
        }
        8 => CapacityCommand::DeleteClass("CUSTOM_GOLD".into()),
        9 => {
            let op = DeallocateOp { consumer, expect };
            return Command::Transact(Transact::one(Op::Deallocate(op)));
        }
        10 => {
            let lease = Some(LeaseTerms { ttl_ms: 2500, reclaim: Reclaim::Reap });
            return Command::Transact(Transact::one(Op::Extend(ExtendOp {
                consumer,
                expect,
                lease,
            })));
        }
        _ => {
            let mut allocations: Vec<(Uuid, Resources)> = Vec::new();
            for uuid in PROVIDERS {
                if dice.one_in(2) {
                    allocations.push((uuid, vec![("VCPU".into(), 1 + dice.below(3))]));
                }
            }
            let ttl_ms = 1000 + dice.below(5000);
            let reclaim = *dice.pick(&[Reclaim::Reap, Reclaim::Keep]);
            let lease = dice.one_in(3).then_some(LeaseTerms { ttl_ms, reclaim });
            let (project, user) = ("p".into(), "u".into());
            let consumer_type = None;
            let holding =
                Holding { consumer, expect, project, user, consumer_type, allocations, lease };
            let op = AllocateOp { consumers: vec![holding] };
            return Command::Transact(Transact::one(Op::Allocate(op)));
        }
    };
    Command::Capacity(command)
}

/// A random command on standing requests, with a pool that is too small for all of them.
pub fn of_resources(dice: &mut Dice) -> Command {
    let config = dice.one_in(6).then(|| {
        let end = dice.below(6) as u32;
        let supply = Supply::Ids(IdSupply { start: 0, end, exclude: vec![], alarm_base: end });
        RequestPool::new(supply, AlarmSettings { enabled: true, ..AlarmSettings::default() })
    });
    let request = |dice: &mut Dice| Request {
        user: "u".into(),
        services: vec![],
        redeploy: None,
        sync_alloc: false,
        want: Wanted::Id(WantedId {
            id: dice.one_in(3).then(|| dice.below(6) as u32),
            ..WantedId::default()
        }),
        site: Default::default(),
    };
    let put = (0..dice.below(3)).map(|_| (key(dice), request(dice))).collect();
    let withdraw = if dice.one_in(2) { vec![key(dice)] } else { vec![] };
    let edit = match dice.one_in(20) {
        true => RequestPoolEdit::Remove,
        false => {
            RequestPoolEdit::Put(Box::new(PutRequestPool { config, replace: false, put, withdraw }))
        }
    };
    let pools = vec![(LAN.into(), edit)];
    Command::Requests(RequestsCommand::Edit(EditRequests {
        seen: u64::MAX,
        seen_all: false,
        pools,
    }))
}

pub fn command(dice: &mut Dice, kinds: impl Fn(&str) -> Option<Kind>) -> Command {
    let pool: Arc<str> = (*dice.pick(&POOLS[..3])).into();
    let kind = kinds(&pool);
    match dice.below(20) {
        0 if kind.is_some() => Command::DeletePool(DeletePool { pool, expect: Expect::Any }),
        1..=3 => {
            let other = *dice.pick(&[Kind::Id32, Kind::Address4, Kind::Prefix4]);
            let spec = spec(dice, kind.unwrap_or(other));
            Command::PutPool(PutPool { pool, spec, expect: Expect::Any, keep_held: true })
        }
        n => {
            let ops = 1 + if n == 4 { dice.below(4) } else { 0 };
            let ops = (0..ops).map(|_| op(dice, &kinds)).collect();
            Command::Transact(Transact { ops, ..Transact::default() })
        }
    }
}

/// The journal, entry by entry.
pub struct Whole {
    pub entries: Vec<(u64, Entry)>,
    /// The state after each position, beginning with position 0.
    pub states: Vec<State>,
}

pub fn read(journal: &dyn Journal) -> Whole {
    let (mut entries, mut states) = (Vec::new(), vec![State::new()]);
    for frame in journal.read(1, usize::MAX).unwrap() {
        let items = decode(&frame.body).unwrap();
        for (position, item) in with_positions(&items, frame.position).unwrap() {
            let mut state = states.last().unwrap().clone();
            match item {
                Item::Entry(entry) => {
                    state.apply_entry(entry.at_ms, &entry.events);
                    entries.push((position, entry.clone()));
                }
                Item::Level { .. } => state.position += 1,
                Item::Epoch { .. } => continue,
            }
            assert_eq!((state.position, states.len() as u64), (position, position));
            states.push(state);
        }
    }
    Whole { entries, states }
}
