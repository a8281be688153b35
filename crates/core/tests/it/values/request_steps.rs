//! Random edits of request pools: small pools and few keys, so that requests interact. `random_requests` uses them.

use std::fmt;
use std::sync::Arc;

use allod_core::claim::{Parity, Want};
use allod_core::command::{ClaimOp, Command, Expect, Op, ReleaseOp, Transact};
use allod_core::requests::command::{
    EditRequests, FindValue, PutRequestPool, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, ExcludedIds, IdSupply, Method, Redeploy, Request, RequestPool,
    Subnet, Supply, Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::value::IpVersion;
use proptest::prelude::*;
use proptest::sample::select;

use crate::values::naive_blocks::width;

/// The slots of 16 addresses in which a pool has its subnets.
const SLOTS: u128 = 4;

pub const FOUR: u128 = 0x0a00_0000;
const SIX: u128 = 0xfd00_0000_0000_0000_0000_0000_0000_0000;

fn base(version: IpVersion) -> u128 {
    match version {
        IpVersion::V4 => FOUR,
        IpVersion::V6 => SIX,
    }
}

pub fn key() -> impl Strategy<Value = Arc<str>> {
    select(vec!["a", "b", "c", "d", "e", "f", "g"]).prop_map(Arc::from)
}

fn ids() -> impl Strategy<Value = Supply> {
    let exclude = prop::collection::vec((0..16u32, 0..4u32), 0..3);
    (0..8u32, 0..9u32, exclude).prop_map(|(start, more, exclude)| {
        let excluded = |(start, more)| ExcludedIds { start, end: start + more, flag: None };
        let exclude = exclude.into_iter().map(excluded).collect();
        Supply::Ids(IdSupply { start, end: start + more, exclude, alarm_base: more })
    })
}

/// What a slot has: nothing, a subnet with something excluded perhaps, or a range.
#[derive(Debug, Clone)]
enum Slot {
    Nothing,
    Subnet { bits: u8, at: u128, exclude: Option<(u8, u128)> },
    Range { from: u128, to: u128 },
}

fn slot() -> impl Strategy<Value = Slot> {
    let exclude = prop::option::of((0..4u8, 0..16u128));
    prop_oneof![
        2 => Just(Slot::Nothing),
        6 => (0..5u8, 0..16u128, exclude)
            .prop_map(|(bits, at, exclude)| Slot::Subnet { bits, at, exclude }),
        1 => (0..16u128, 0..16u128).prop_map(|(one, other)| Slot::Range {
            from: one.min(other),
            to: one.max(other),
        }),
    ]
}

fn addresses() -> impl Strategy<Value = Supply> {
    let slots = prop::collection::vec(slot(), SLOTS as usize);
    let version = select(vec![IpVersion::V4, IpVersion::V4, IpVersion::V4, IpVersion::V6]);
    (version, slots).prop_map(|(version, slots)| {
        let mut supply = AddressSupply { version, ..AddressSupply::default() };
        let subnet = |bits: u8, address| Subnet { address, len: width(version) as u8 - bits };
        for (slot, number) in slots.into_iter().zip(0..) {
            let base = base(version) + 16 * number;
            match slot {
                Slot::Nothing => {}
                Slot::Range { from, to } => supply.ranges.push((base + from, base + to)),
                Slot::Subnet { bits, at, exclude } => {
                    supply.subnets.push(subnet(bits, base + at));
                    if let Some((smaller, within)) = exclude.filter(|(of, _)| *of <= bits) {
                        let first = (base + at) >> bits << bits;
                        supply.exclude.push(subnet(smaller, first + within % (1 << bits)));
                    }
                }
            }
        }
        Supply::Addresses(supply)
    })
}

fn wanted_id() -> impl Strategy<Value = Wanted> {
    let parity = select(vec![
        None,
        None,
        Some(WantedParity::Any),
        Some(WantedParity::Only(Parity::Odd)),
        Some(WantedParity::Only(Parity::Even)),
    ]);
    let method = select(vec![None, Some(Method::FirstFree), Some(Method::RoundRobin)]);
    let sync = select(vec![None, Some(false), Some(true), Some(true)]);
    let id = prop::option::weighted(0.25, 0..16u32);
    (sync, id, parity, method)
        .prop_map(|(sync, id, parity, method)| Wanted::Id(WantedId { sync, id, parity, method }))
}

fn wanted_prefix() -> impl Strategy<Value = Wanted> {
    let size = select(vec![32, 32, 31, 30, 29, 28, 27, 33, 64, 120, 124, 126, 127, 128, 128]);
    let inverted = prop::option::weighted(0.3, select(vec![0, 1, 2, 3, 4, 5, 6, 32, 33, 128]));
    let version = select(vec![IpVersion::V4, IpVersion::V4, IpVersion::V6]);
    let start = (version, any::<bool>(), 0..16 * SLOTS);
    let start = start.prop_map(|(version, odd, at)| {
        // Sometimes an address of the other IP version with the same number.
        let base = match (version, odd && at % 8 == 0) {
            (IpVersion::V4, false) | (IpVersion::V6, true) => FOUR,
            (IpVersion::V6, false) | (IpVersion::V4, true) => SIX,
        };
        (version, base + at)
    });
    (size, inverted, prop::option::weighted(0.25, start)).prop_map(|(size, inverted, start)| {
        let (size, invert) = inverted.map_or((size, false), |size| (size, true));
        Wanted::Prefix(WantedPrefix { size, invert, start })
    })
}

fn request(want: impl Strategy<Value = Wanted>) -> impl Strategy<Value = Request> {
    let services = select(vec![vec![], vec!["/s"], vec!["/s", "/t"], vec!["/t"]]);
    let redeploy = select(vec![None, None, Some(Redeploy::Touch), Some(Redeploy::Never)]);
    let user = select(vec!["admin", "admin", "other"]);
    let waits = prop::bool::weighted(0.2);
    (want, user, services, redeploy, waits).prop_map(
        |(want, user, services, redeploy, sync_alloc)| {
            let services = services.into_iter().map(Arc::from).collect();
            Request {
                user: user.into(),
                services,
                redeploy,
                sync_alloc,
                want,
                site: Default::default(),
            }
        },
    )
}

fn alarms() -> impl Strategy<Value = AlarmSettings> {
    let percent = || prop::option::weighted(0.5, 0..=100u8);
    let odd_and_even = prop::option::weighted(0.3, (percent(), percent()));
    (prop::bool::weighted(0.8), percent(), odd_and_even).prop_map(|(enabled, low, others)| {
        let (low_odd, low_even) = others.unwrap_or_default();
        AlarmSettings { enabled, low, low_odd, low_even }
    })
}

fn put(
    supply: impl Strategy<Value = Supply>,
    want: impl Strategy<Value = Wanted>,
) -> impl Strategy<Value = RequestPoolEdit> {
    let put = prop::collection::btree_map(key(), request(want), 0..4);
    let withdraw = prop::collection::vec(key(), 0..2);
    let replace = prop::bool::weighted(0.05);
    (prop::option::weighted(0.25, (supply, alarms())), replace, put, withdraw).prop_map(
        |(supply, replace, put, withdraw)| {
            let config = |(supply, alarms)| RequestPool::new(supply, alarms);
            RequestPoolEdit::Put(Box::new(PutRequestPool {
                config: supply.map(config),
                replace,
                put: put.into_iter().collect(),
                withdraw,
            }))
        },
    )
}

type Edit = (Arc<str>, RequestPoolEdit);

/// A command that prints as one line, for minimised failures.
#[derive(Clone)]
pub struct Step(pub Command);

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command::Requests(RequestsCommand::Edit(edit)) = &self.0 else {
            return write!(f, "{:?}", self.0);
        };
        for (name, edit) in &edit.pools {
            let RequestPoolEdit::Put(put) = edit else {
                write!(f, "remove {name}; ")?;
                continue;
            };
            write!(f, "{name}")?;
            if let Some(config) = &put.config {
                write!(f, " is {:?}", config.supply)?;
            }
            if put.replace {
                write!(f, " replaced")?;
            }
            for (key, request) in &put.put {
                write!(f, " put {key} for {}", request.user)?;
                let waits = if request.sync_alloc { " who waits" } else { "" };
                write!(f, " {:?} {:?}{waits}", request.services, request.redeploy)?;
                write!(f, ": {:?}", request.want)?;
            }
            for key in &put.withdraw {
                write!(f, " withdraw {key}")?;
            }
            write!(f, "; ")?;
        }
        Ok(())
    }
}

fn edit_of_one() -> impl Strategy<Value = Edit> {
    let named = |names: Vec<&'static str>| select(names).prop_map(Arc::<str>::from);
    prop_oneof![
        20 => (named(vec!["p", "p", "q", "r"]), put(ids(), wanted_id())),
        14 => (named(vec!["m", "n"]), put(addresses(), wanted_prefix())),
        1 => (named(vec!["p", "q", "r", "m"]), Just(RequestPoolEdit::Remove)),
        1 => (named(vec!["p", "m"]), put(ids(), wanted_prefix())),
    ]
}

pub fn step() -> impl Strategy<Value = Step> {
    let edit = |pools: Vec<Edit>| {
        let mut seen = Vec::new();
        let once = |(name, _): &Edit| {
            let first = !seen.contains(name);
            seen.push(name.clone());
            first
        };
        let pools = pools.into_iter().filter(once).collect();
        Command::Requests(RequestsCommand::Edit(EditRequests {
            seen: u64::MAX,
            seen_all: false,
            pools,
        }))
    };
    // The same request in several pools at once.
    let pools = prop::sample::subsequence(vec!["p", "q", "r"], 2..=3);
    let together = (pools, key(), request(wanted_id())).prop_map(|(pools, key, request)| {
        let put = PutRequestPool {
            config: None,
            replace: false,
            put: vec![(key, request)],
            withdraw: vec![],
        };
        let one = |name| (Arc::from(name), RequestPoolEdit::Put(Box::new(put.clone())));
        pools.into_iter().map(one).collect::<Vec<Edit>>()
    });
    let pools = prop::sample::subsequence(vec!["p", "q", "r"], 1..=3);
    let at_once = (pools, key(), request(wanted_id())).prop_map(|(pools, key, request)| {
        let pools = pools.into_iter().map(Arc::from).collect();
        Command::Requests(RequestsCommand::Allocate(FindValue { pools, key, request }))
    });
    let native = (select(vec!["p", "q"]), select(vec!["x", "y", "a"]));
    prop_oneof![
        20 => prop::collection::vec(edit_of_one(), 1..4).prop_map(edit),
        6 => together.prop_map(edit),
        2 => at_once,
        2 => native.clone().prop_map(|(pool, key)| one(Op::Claim(ClaimOp {
            pools: vec![pool.into()],
            key: key.into(),
            owner: None,
            want: Want::any(),
            ttl_ms: None,
            labels: Default::default(),
            expect: Expect::Absent,
        }))),
        2 => native.prop_map(|(pool, key)| one(Op::Release(ReleaseOp {
            pool: pool.into(),
            key: key.into(),
            expect: Expect::Any,
        }))),
    ]
    .prop_map(Step)
}

fn one(op: Op) -> Command {
    Command::Transact(Transact::one(op))
}

/// Creates small pools, so that requests can be granted.
pub fn beginning() -> Command {
    let pools = [
        ("p", Supply::Ids(IdSupply { start: 0, end: 7, exclude: vec![], alarm_base: 7 })),
        ("q", Supply::Ids(IdSupply { start: 2, end: 9, exclude: vec![], alarm_base: 9 - 2 })),
        (
            "m",
            Supply::Addresses(AddressSupply {
                subnets: vec![Subnet { address: FOUR, len: 28 }],
                ..AddressSupply::default()
            }),
        ),
    ];
    let pools = pools.map(|(name, supply)| {
        let alarms = AlarmSettings { enabled: true, ..AlarmSettings::default() };
        let config = Some(RequestPool::new(supply, alarms));
        let put = PutRequestPool { config, replace: false, put: vec![], withdraw: vec![] };
        (name.into(), RequestPoolEdit::Put(Box::new(put)))
    });
    let edit = EditRequests { seen: 0, seen_all: false, pools: pools.into() };
    Command::Requests(RequestsCommand::Edit(edit))
}
