//! Random edits of pools of resources, beside a naive model: answer by answer, and free list by free list.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use allod_core::claim::{Parity, Want};
use allod_core::command::resource::{
    EditResources, FindResource, PutResource, RequestEdit, ResourceCommand, ResourceEdit,
};
use allod_core::command::{ClaimOp, Command, Expect, Op, ReleaseOp, Stamp, Transact};
use allod_core::limits::Limits;
use allod_core::resource::{
    AlarmSettings, Answer, ExcludedIds, Given, GivenAddresses, GivenIds, Method, Redeploy, Request,
    ResourcePool, Subnet, Wanted, WantedId, WantedParity, WantedPrefix,
};
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::{decide, invariant, view};
use proptest::prelude::*;
use proptest::sample::select;

use crate::naive_blocks::width;
use crate::naive_resource::Manager;
use crate::world::{EPOCH_MS, World};

/// The slots of 16 addresses in which a pool has its subnets.
const SLOTS: u128 = 4;

const FOUR: u128 = 0x0a00_0000;
const SIX: u128 = 0xfd00_0000_0000_0000_0000_0000_0000_0000;

fn base(six: bool) -> u128 {
    if six { SIX } else { FOUR }
}

fn key() -> impl Strategy<Value = Arc<str>> {
    select(vec!["a", "b", "c", "d", "e", "f", "g"]).prop_map(Arc::from)
}

fn ids() -> impl Strategy<Value = Given> {
    let exclude = prop::collection::vec((0..16u32, 0..4u32), 0..3);
    (0..8u32, 0..9u32, exclude).prop_map(|(start, more, exclude)| {
        let excluded =
            |(start, more)| ExcludedIds { start, end: start + more, stop_allocation: None };
        let exclude = exclude.into_iter().map(excluded).collect();
        Given::Ids(GivenIds { start, end: start + more, exclude })
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

fn addresses() -> impl Strategy<Value = Given> {
    let slots = prop::collection::vec(slot(), SLOTS as usize);
    (select(vec![false, false, false, true]), slots).prop_map(|(six, slots)| {
        let mut given = GivenAddresses { six, ..GivenAddresses::default() };
        let subnet = |bits: u8, address| Subnet { address, len: width(six) as u8 - bits };
        for (slot, number) in slots.into_iter().zip(0..) {
            let base = base(six) + 16 * number;
            match slot {
                Slot::Nothing => {}
                Slot::Range { from, to } => given.ranges.push((base + from, base + to)),
                Slot::Subnet { bits, at, exclude } => {
                    given.subnets.push(subnet(bits, base + at));
                    if let Some((smaller, within)) = exclude.filter(|(of, _)| *of <= bits) {
                        let first = (base + at) >> bits << bits;
                        given.exclude.push(subnet(smaller, first + within % (1 << bits)));
                    }
                }
            }
        }
        Given::Addresses(given)
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
    let start = (select(vec![false, false, true]), any::<bool>(), 0..16 * SLOTS);
    // Sometimes the address is one of the other family that has the same number.
    let start = start.prop_map(|(six, odd, at)| (six, base(six != (odd && at % 8 == 0)) + at));
    (size, inverted, prop::option::weighted(0.25, start)).prop_map(|(size, inverted, start)| {
        let (size, invert) = inverted.map_or((size, false), |size| (size, true));
        Wanted::Prefix(WantedPrefix { size, invert, start })
    })
}

fn request(want: impl Strategy<Value = Wanted>) -> impl Strategy<Value = Request> {
    let services = select(vec![vec![], vec!["/s"], vec!["/s", "/t"], vec!["/t"]]);
    let redeploy = select(vec![None, None, Some(Redeploy::Touch), Some(Redeploy::Never)]);
    let user = select(vec!["admin", "admin", "other"]);
    (want, user, services, redeploy).prop_map(|(want, user, services, redeploy)| Request {
        user: user.into(),
        services: services.into_iter().map(Arc::from).collect(),
        redeploy,
        sync_alloc: false,
        want,
    })
}

fn put(
    given: impl Strategy<Value = Given>,
    want: impl Strategy<Value = Wanted>,
) -> impl Strategy<Value = ResourceEdit> {
    let put = prop::collection::btree_map(key(), request(want), 0..4);
    let withdraw = prop::collection::vec(key(), 0..2);
    let replace = prop::bool::weighted(0.05);
    (prop::option::weighted(0.25, given), replace, put, withdraw).prop_map(
        |(given, replace, put, withdraw)| {
            let config = |given| ResourcePool { given, alarms: AlarmSettings::default() };
            ResourceEdit::Put(Box::new(PutResource {
                config: given.map(config),
                replace,
                put: put.into_iter().collect(),
                withdraw,
            }))
        },
    )
}

type Edit = (Arc<str>, ResourceEdit);

/// A command that shows itself in a line, for the few that are left when a failure has been made small.
#[derive(Clone)]
struct Step(Command);

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command::Resource(ResourceCommand::Edit(edit)) = &self.0 else {
            return write!(f, "{:?}", self.0);
        };
        for (name, edit) in &edit.pools {
            let ResourceEdit::Put(put) = edit else {
                write!(f, "remove {name}; ")?;
                continue;
            };
            write!(f, "{name}")?;
            if let Some(config) = &put.config {
                write!(f, " is {:?}", config.given)?;
            }
            if put.replace {
                write!(f, " anew")?;
            }
            for (key, request) in &put.put {
                write!(f, " put {key} for {}", request.user)?;
                write!(f, " {:?} {:?}: {:?}", request.services, request.redeploy, request.want)?;
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
        1 => (named(vec!["p", "q", "r", "m"]), Just(ResourceEdit::Remove)),
        1 => (named(vec!["p", "m"]), put(ids(), wanted_prefix())),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let edit = |pools: Vec<Edit>| {
        let mut seen = Vec::new();
        let once = |(name, _): &Edit| {
            let first = !seen.contains(name);
            seen.push(name.clone());
            first
        };
        let pools = pools.into_iter().filter(once).collect();
        Command::Resource(ResourceCommand::Edit(EditResources {
            seen: u64::MAX,
            seen_all: false,
            pools,
        }))
    };
    // The same request in several pools at once.
    let pools = prop::sample::subsequence(vec!["p", "q", "r"], 2..=3);
    let together = (pools, key(), request(wanted_id())).prop_map(|(pools, key, request)| {
        let put = PutResource {
            config: None,
            replace: false,
            put: vec![(key, request)],
            withdraw: vec![],
        };
        let one = |name| (Arc::from(name), ResourceEdit::Put(Box::new(put.clone())));
        pools.into_iter().map(one).collect::<Vec<Edit>>()
    });
    let pools = prop::sample::subsequence(vec!["p", "q", "r"], 1..=3);
    let at_once = (pools, key(), request(wanted_id())).prop_map(|(pools, key, request)| {
        let pools = pools.into_iter().map(Arc::from).collect();
        Command::Resource(ResourceCommand::Allocate(FindResource { pools, key, request }))
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

/// Small pools to begin with, so that there is something to ask for.
fn beginning() -> Command {
    let pools = [
        ("p", Given::Ids(GivenIds { start: 0, end: 7, exclude: vec![] })),
        ("q", Given::Ids(GivenIds { start: 2, end: 9, exclude: vec![] })),
        (
            "m",
            Given::Addresses(GivenAddresses {
                subnets: vec![Subnet { address: FOUR, len: 28 }],
                ..GivenAddresses::default()
            }),
        ),
    ];
    let pools = pools.map(|(name, given)| {
        let config = Some(ResourcePool { given, alarms: AlarmSettings::default() });
        let put = PutResource { config, replace: false, put: vec![], withdraw: vec![] };
        (name.into(), ResourceEdit::Put(Box::new(put)))
    });
    let edit = EditResources { seen: 0, seen_all: false, pools: pools.into() };
    Command::Resource(ResourceCommand::Edit(edit))
}

/// The same edit, but request by request where it can be said like that, each with what it was before.
fn one_by_one(state: &State, command: &Command) -> Command {
    let Command::Resource(ResourceCommand::Edit(edit)) = command else { return command.clone() };
    let mut edit = edit.clone();
    for (name, edit) in &mut edit.pools {
        let ResourceEdit::Put(put) = edit else { continue };
        let both = put.put.iter().any(|(key, _)| put.withdraw.contains(key));
        if put.config.is_some() || put.replace || both {
            continue;
        }
        let one = |key: &Arc<str>, after| {
            let before = view::resource::asked(state, name, key);
            let before = before.map(|(asked, _)| asked.request.clone());
            RequestEdit { key: key.clone(), before, after }
        };
        let written = put.put.iter().map(|(key, request)| one(key, Some(request.clone())));
        let withdrawn = put.withdraw.iter().map(|key| one(key, None));
        *edit = ResourceEdit::Requests(written.chain(withdrawn).collect());
    }
    Command::Resource(ResourceCommand::Edit(edit))
}

fn play(model: &mut Manager, command: &Command) -> Option<bool> {
    match command {
        Command::Resource(ResourceCommand::Edit(edit)) => return Some(model.edit(edit)),
        Command::Resource(ResourceCommand::Allocate(find)) => return Some(model.allocate(find)),
        Command::Transact(transact) => match &transact.ops[..] {
            [Op::Claim(claim)] => model.claim(&claim.pools[0], &claim.key),
            [Op::Release(release)] => model.release(&release.pool, &release.key),
            _ => {}
        },
        _ => {}
    }
    None
}

/// Who is told of what: user, service and way, and then the pools and keys.
type Told = BTreeMap<(Arc<str>, Arc<str>, Redeploy), BTreeSet<(Arc<str>, Arc<str>)>>;

/// All services of whatever is answered otherwise than before, and those that are new to what is not.
fn told(before: &Manager, after: &Manager, command: &Command) -> Told {
    let edits = match command {
        Command::Resource(ResourceCommand::Edit(edit)) => &edit.pools[..],
        _ => &[],
    };
    let begins_anew = |pool: &str, key: &str| {
        edits.iter().filter(|(name, _)| **name == *pool).any(|(_, edit)| match edit {
            ResourceEdit::Put(put) => put.withdraw.iter().any(|gone| **gone == *key),
            _ => true,
        })
    };
    let mut told = Told::new();
    for (name, pool) in &after.pools {
        for (key, asked) in &pool.asked {
            let old = before.pools.get(name).and_then(|pool| pool.asked.get(key));
            let old = old.filter(|_| !begins_anew(name, key));
            let same = old.filter(|old| old.answer == asked.answer);
            let knows = |service| same.is_some_and(|old| old.request.services.contains(service));
            let how = asked.request.redeploy.unwrap_or(Redeploy::Default);
            for service in asked.request.services.iter().filter(|service| !knows(service)) {
                if how != Redeploy::Never {
                    let who = (asked.request.user.clone(), service.clone(), how);
                    let what = (name.as_str().into(), key.as_str().into());
                    told.entry(who).or_default().insert(what);
                }
            }
        }
    }
    told
}

/// Without requests that had nothing before: their reason may change twice in one edit, and be what it was.
fn changed(told: &Told, before: &Manager) -> Told {
    let failed = |(pool, key): &(Arc<str>, Arc<str>)| {
        let asked = before.pools.get(&**pool).and_then(|pool| pool.asked.get(&**key));
        asked.is_some_and(|asked| matches!(asked.answer, Some(Err(_))))
    };
    let mut told = told.clone();
    told.values_mut().for_each(|about| about.retain(|one| !failed(one)));
    told.retain(|_, about| !about.is_empty());
    told
}

fn covers(heard: &Told, wanted: &Told) -> bool {
    let has =
        |who, about: &BTreeSet<_>| heard.get(who).is_some_and(|heard| heard.is_superset(about));
    wanted.iter().all(|(who, about)| has(who, about))
}

/// What the outbox has got since it had so many.
fn queued(state: &State, had: usize) -> (Told, usize) {
    let mut told = Told::new();
    for notice in state.outbox().from(0).skip(had) {
        let who = (notice.user.clone(), notice.target.clone(), notice.how);
        let before = told.insert(who, notice.about.iter().cloned().collect());
        assert!(before.is_none(), "{} is told twice", notice.target);
    }
    (told, state.outbox().from(0).count())
}

fn compare(state: &State, model: &Manager) -> Result<(), TestCaseError> {
    let names: Vec<&str> = view::resource::names(state).map(|name| &**name).collect();
    prop_assert!(names.len() == model.pools.len(), "there are {names:?}");
    for (name, pool) in &model.pools {
        let Some(frozen) = view::resource::frozen(state, name) else {
            return Err(TestCaseError::fail(format!("there is no {name}")));
        };
        prop_assert_eq!(frozen.requests.iter().count(), pool.asked.len());
        for (key, asked) in &pool.asked {
            let answered = view::resource::asked(state, name, key).map(|(asked, held)| {
                match (&asked.answer, held) {
                    (Answer::Granted, held) => Ok(held),
                    (Answer::Failed(failure), None) => Err(failure.clone()),
                    (Answer::Failed(_), held) => Ok(held),
                }
            });
            let wanted = asked.answer.clone().map(|answer| {
                answer.map(|block| Some(Span { first: block.first, last: block.last() }))
            });
            prop_assert_eq!(&answered, &wanted, "{} of {}", key, name);
        }
        let free: Vec<u128> = frozen.free.iter().flat_map(|span| span.first..=span.last).collect();
        let wanted: Vec<u128> = pool.free().into_iter().collect();
        prop_assert_eq!(free, wanted, "what is free in {}", name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// 100,000 commands and a few more: 105 in each of 1,000 lives, on average.
    #[test]
    fn the_resource_manager_is_what_its_documents_say(
        steps in prop::collection::vec(step().boxed(), 1..=210)
    ) {
        let (mut state, mut model) = (State::new(), Manager::default());
        let (limits, mut had) = (Limits { outbox_max: 100_000, ..Limits::default() }, 0);
        for (command, seed) in [beginning()].iter().chain(steps.iter().map(|step| &step.0)).zip(1..) {
            let stamp = Stamp { now_ms: EPOCH_MS, seed };
            let before = model.clone();
            let finer = if seed % 2 == 0 { one_by_one(&state, command) } else { command.clone() };
            let done = decide(&mut state, &stamp, &finer, &limits).is_ok();
            if let Some(wanted) = play(&mut model, command) {
                prop_assert_eq!(done, wanted, "{:?}", command);
            }
            compare(&state, &model)?;
            let (heard, has) = queued(&state, had);
            let wanted = if done { told(&before, &model, command) } else { Told::new() };
            prop_assert_eq!(changed(&heard, &before), changed(&wanted, &before), "{:?}", command);
            prop_assert!(covers(&heard, &wanted), "{wanted:?} is not told by {command:?}");
            had = has;
        }
        let wrong = invariant::check(&state);
        prop_assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The auditor is content with each of them, a replica and a restored copy agree, and all of it can be taken back.
    #[test]
    fn every_edit_leaves_the_books_right(
        steps in prop::collection::vec(step().boxed(), 1..30)
    ) {
        let mut world = World::new();
        for command in [beginning()].iter().chain(steps.iter().map(|step| &step.0)) {
            let _ = world.run(command);
        }
    }

    /// Where released blocks come last, nothing that was used is given while something else would do.
    #[test]
    fn what_was_used_comes_last(
        steps in prop::collection::vec((key(), prop::option::weighted(0.6, 27..=32u8)), 1..100)
    ) {
        let mut state = State::new();
        let subnets = vec![Subnet { address: FOUR, len: 27 }];
        let given = GivenAddresses { subnets, sequential: Some(true), ..GivenAddresses::default() };
        let config = ResourcePool { given: Given::Addresses(given), alarms: AlarmSettings::default() };
        write(&mut state, PutResource { config: Some(config), ..PutResource::default() });
        let (mut free, mut used): (BTreeSet<u128>, _) = ((FOUR..FOUR + 32).collect(), BTreeSet::new());
        for (key, len) in steps {
            let held = view::resource::asked(&state, "s", &key).and_then(|(_, held)| held);
            match (held, len) {
                (Some(held), None) => {
                    write(&mut state, PutResource { withdraw: vec![key], ..PutResource::default() });
                    free.extend(held.first..=held.last);
                    used.extend(held.first..=held.last);
                }
                (None, Some(len)) => {
                    let want = WantedPrefix { size: len, invert: false, start: None };
                    let put = vec![(key.clone(), plain(Wanted::Prefix(want)))];
                    write(&mut state, PutResource { put, ..PutResource::default() });
                    let got = view::resource::asked(&state, "s", &key).and_then(|(_, held)| held);
                    let unused: BTreeSet<u128> = free.difference(&used).copied().collect();
                    let wanted = [&unused, &free].into_iter().find(|set| fits(set, len));
                    prop_assert_eq!(got.is_some(), wanted.is_some(), "a /{} of {:?}", len, &free);
                    if let (Some(got), Some(wanted)) = (got, wanted) {
                        let all = (got.first..=got.last).all(|one| wanted.contains(&one));
                        prop_assert!(all, "{got:?} is not of {wanted:?}");
                        free.retain(|one| !(got.first..=got.last).contains(one));
                    } else {
                        let withdraw = vec![key];
                        write(&mut state, PutResource { withdraw, ..PutResource::default() });
                    }
                }
                _ => {}
            }
        }
    }
}

/// Writes over the pool `s`.
fn write(state: &mut State, put: PutResource) {
    let pools = vec![("s".into(), ResourceEdit::Put(Box::new(put)))];
    let edit = EditResources { seen: u64::MAX, seen_all: false, pools };
    let stamp = Stamp { now_ms: EPOCH_MS, seed: state.position };
    let command = Command::Resource(ResourceCommand::Edit(edit));
    decide(state, &stamp, &command, &Limits::default()).expect("it can be written");
}

fn plain(want: Wanted) -> Request {
    Request { user: "admin".into(), services: vec![], redeploy: None, sync_alloc: false, want }
}

/// Whether these addresses have room for such a network, or for a host, which does not get the edges.
fn fits(set: &BTreeSet<u128>, len: u8) -> bool {
    let size = 1u128 << (32 - len);
    let is_edge = |one: u128| size == 1 && (one == FOUR || one == FOUR + 31);
    let whole = |first: &u128| (*first..first + size).all(|one| set.contains(&one));
    set.iter().any(|first| first % size == 0 && whole(first) && !is_edge(*first))
}
