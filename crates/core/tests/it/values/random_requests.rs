//! Random edits of request pools, compared with a naive model: answers, free values, alarms and notifications.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use allod_core::command::{Command, Op, Stamp};
use allod_core::limits::Limits;
use allod_core::requests::command::{
    EditRequests, PutRequestPool, RequestEdit, RequestPoolEdit, RequestsCommand,
};
use allod_core::requests::{
    AddressSupply, AlarmSettings, Answer, Redeploy, Request, RequestPool, Subnet, Supply, Wanted,
    WantedPrefix,
};
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::{decide, invariant, view};
use proptest::prelude::*;

use crate::values::naive_alarms;
use crate::values::naive_requests::Manager;
use crate::values::request_steps::{FOUR, beginning, key, step};
use crate::values::world::{EPOCH_MS, World};

/// The same edit as edits of single requests, where that is possible.
fn one_by_one(state: &State, command: &Command) -> Command {
    let Command::Requests(RequestsCommand::Edit(edit)) = command else { return command.clone() };
    let mut edit = edit.clone();
    for (name, edit) in &mut edit.pools {
        let RequestPoolEdit::Put(put) = edit else { continue };
        let both = put.put.iter().any(|(key, _)| put.withdraw.contains(key));
        if put.config.is_some() || put.replace || both {
            let before = view::requests::config(state, name).cloned();
            *edit = RequestPoolEdit::PutOver(before, put.clone());
            continue;
        }
        let one = |key: &Arc<str>, after| {
            let before = view::requests::request(state, name, key);
            let before = before.map(|(asked, _)| asked.request.clone());
            RequestEdit { key: key.clone(), before, after }
        };
        let written = put.put.iter().map(|(key, request)| one(key, Some(request.clone())));
        let withdrawn = put.withdraw.iter().map(|key| one(key, None));
        *edit = RequestPoolEdit::Requests(written.chain(withdrawn).collect());
    }
    Command::Requests(RequestsCommand::Edit(edit))
}

pub fn play(model: &mut Manager, command: &Command) -> Option<bool> {
    match command {
        Command::Requests(RequestsCommand::Edit(edit)) => return Some(model.edit(edit)),
        Command::Requests(RequestsCommand::Allocate(find)) => return Some(model.allocate(find)),
        Command::Transact(transact) => match &transact.ops[..] {
            [Op::Claim(claim)] => model.claim(&claim.pools[0], &claim.key),
            [Op::Release(release)] => model.release(&release.pool, &release.key),
            _ => {}
        },
        _ => {}
    }
    None
}

/// Notifications: user and service, and the pools and keys.
type Notified = BTreeMap<(Arc<str>, Arc<str>), BTreeSet<(Arc<str>, Arc<str>)>>;

/// The expected notifications: to all services of changed answers, and to new services of unchanged ones. A new service
/// that waits for the reply gets none.
fn notified(before: &Manager, after: &Manager, command: &Command) -> Notified {
    let edits = match command {
        Command::Requests(RequestsCommand::Edit(edit)) => &edit.pools[..],
        _ => &[],
    };
    let starts_over = |pool: &str, key: &str| {
        edits.iter().filter(|(name, _)| **name == *pool).any(|(_, edit)| match edit {
            RequestPoolEdit::Put(put) => put.withdraw.iter().any(|gone| **gone == *key),
            _ => true,
        })
    };
    let mut notified = Notified::new();
    for (name, pool) in &after.pools {
        for (key, asked) in &pool.asked {
            let old = before.pools.get(name).and_then(|pool| pool.asked.get(key));
            let old = old.filter(|_| !starts_over(name, key));
            let same = old.filter(|old| old.answer == asked.answer);
            let had =
                |service: &Arc<str>| old.is_some_and(|old| old.request.services.contains(service));
            let hears = |service: &&Arc<str>| match (same, had(service)) {
                (Some(_), true) => false,
                (None, true) => true,
                (_, false) => !asked.request.sync_alloc,
            };
            for service in asked.request.services.iter().filter(hears) {
                if asked.request.redeploy != Some(Redeploy::Never) {
                    let who = (asked.request.user.clone(), service.clone());
                    let what = (name.as_str().into(), key.as_str().into());
                    notified.entry(who).or_default().insert(what);
                }
            }
        }
    }
    notified
}

/// Without requests that had failed before: their reason may change twice in one edit. And without those that fail now
/// and have a service that waits: a retry in the same edit may notify it.
fn changed(notified: &Notified, before: &Manager, after: &Manager) -> Notified {
    let asked = |manager: &'_ Manager, (pool, key): &(Arc<str>, Arc<str>)| {
        let asked = manager.pools.get(&**pool).and_then(|pool| pool.asked.get(&**key));
        asked.filter(|asked| matches!(asked.answer, Some(Err(_)))).cloned()
    };
    let failed = |one: &(Arc<str>, Arc<str>)| {
        asked(before, one).is_some()
            || asked(after, one).is_some_and(|asked| asked.request.sync_alloc)
    };
    let mut notified = notified.clone();
    notified.values_mut().for_each(|about| about.retain(|one| !failed(one)));
    notified.retain(|_, about| !about.is_empty());
    notified
}

fn covers(queued_now: &Notified, wanted: &Notified) -> bool {
    let has = |who, about: &BTreeSet<_>| {
        queued_now.get(who).is_some_and(|queued_now| queued_now.is_superset(about))
    };
    wanted.iter().all(|(who, about)| has(who, about))
}

/// The new notifications in the outbox: one for each service, with the most thorough action of its requests.
fn queued(state: &State, had: usize) -> (Notified, usize) {
    let mut notified = Notified::new();
    for notice in view::outbox(state).from(0).skip(had) {
        let who = (notice.user.clone(), notice.target.clone());
        let before = notified.insert(who, notice.about.iter().cloned().collect());
        assert!(before.is_none(), "{} is notified twice", notice.target);
        let asked =
            notice.about.iter().filter_map(|(pool, key)| view::requests::request(state, pool, key));
        let hows = asked.map(|(asked, _)| asked.request.redeploy.unwrap_or(Redeploy::Default));
        assert_eq!(hows.max().map(Redeploy::payload), Some(notice.payload), "{notice:?}");
    }
    (notified, view::outbox(state).from(0).count())
}

pub fn compare(state: &State, model: &Manager) -> Result<(), TestCaseError> {
    let names: Vec<&str> = view::requests::names(state).map(|name| &**name).collect();
    prop_assert!(names.len() == model.pools.len(), "there are {names:?}");
    for alarm in view::alarms(state).values().filter(|alarm| alarm.cleared_ms.is_none()) {
        prop_assert!(model.pools.contains_key(&*alarm.object), "{} is gone", alarm.object);
    }
    for (name, pool) in &model.pools {
        let Some(frozen) = view::requests::frozen(state, name) else {
            return Err(TestCaseError::fail(format!("there is no {name}")));
        };
        prop_assert_eq!(frozen.requests.iter().count(), pool.asked.len());
        for (key, asked) in &pool.asked {
            let answered = view::requests::request(state, name, key).map(|(asked, held)| {
                match (&asked.answer, held) {
                    (Answer::Granted, held) => Ok(held),
                    (Answer::Failed(failure), None) => Err(failure.clone()),
                    (Answer::Failed(_) | Answer::Wanted, held) => Ok(held),
                }
            });
            let wanted = asked.answer.clone().map(|answer| {
                answer.map(|block| Some(Span { first: block.first, last: block.last() }))
            });
            prop_assert_eq!(&answered, &wanted, "{} of {}", key, name);
        }
        let free: Vec<u128> =
            frozen.free().iter().flat_map(|span| span.first..=span.last).collect();
        let wanted: Vec<u128> = pool.free().into_iter().collect();
        prop_assert_eq!(free, wanted, "what is free in {}", name);
        let raised = view::alarms(state).values().filter(|alarm| alarm.cleared_ms.is_none());
        let raised = raised.filter(|alarm| *alarm.object == **name);
        let raised: Vec<_> = raised.map(|alarm| alarm.kind).collect();
        let wanted = naive_alarms::raised(pool, &frozen.config.alarms);
        prop_assert_eq!(raised, wanted, "what is wrong with {}", name);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// About 105,000 commands: 105 in each of 1,000 runs, on average.
    #[test]
    fn answers_match_the_naive_model(
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
            let (queued_now, has) = queued(&state, had);
            let wanted = if done { notified(&before, &model, command) } else { Notified::new() };
            let of = |notified| changed(notified, &before, &model);
            prop_assert_eq!(of(&queued_now), of(&wanted), "{:?}", command);
            prop_assert!(covers(&queued_now, &wanted), "{wanted:?} is not notified by {command:?}");
            had = has;
        }
        let wrong = invariant::check(&state);
        prop_assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The invariants hold after each edit, a replica and a restored copy agree, and all edits can be undone.
    #[test]
    fn invariants_hold_after_every_edit(
        steps in prop::collection::vec(step().boxed(), 1..30)
    ) {
        let mut world = World::new();
        for command in [beginning()].iter().chain(steps.iter().map(|step| &step.0)) {
            let _ = world.run(command);
        }
    }

    /// A sequential pool grants a used block only if no unused one fits.
    #[test]
    fn used_blocks_are_granted_last(
        steps in prop::collection::vec((key(), prop::option::weighted(0.6, 27..=32u8)), 1..100)
    ) {
        let mut state = State::new();
        let subnets = vec![Subnet { address: FOUR, len: 27 }];
        let given = AddressSupply { subnets, sequential: Some(true), ..AddressSupply::default() };
        let config = RequestPool::new(Supply::Addresses(given), AlarmSettings::default());
        write(&mut state, PutRequestPool { config: Some(config), ..PutRequestPool::default() });
        let (mut free, mut used): (BTreeSet<u128>, _) = ((FOUR..FOUR + 32).collect(), BTreeSet::new());
        for (key, len) in steps {
            let held = view::requests::request(&state, "s", &key).and_then(|(_, held)| held);
            match (held, len) {
                (Some(held), None) => {
                    write(&mut state, PutRequestPool { withdraw: vec![key], ..PutRequestPool::default() });
                    free.extend(held.first..=held.last);
                    used.extend(held.first..=held.last);
                }
                (None, Some(len)) => {
                    let want = WantedPrefix { size: len, invert: false, start: None };
                    let put = vec![(key.clone(), plain(Wanted::Prefix(want)))];
                    write(&mut state, PutRequestPool { put, ..PutRequestPool::default() });
                    let got = view::requests::request(&state, "s", &key).and_then(|(_, held)| held);
                    let unused: BTreeSet<u128> = free.difference(&used).copied().collect();
                    let wanted = [&unused, &free].into_iter().find(|set| fits(set, len));
                    prop_assert_eq!(got.is_some(), wanted.is_some(), "a /{} of {:?}", len, &free);
                    if let (Some(got), Some(wanted)) = (got, wanted) {
                        let all = (got.first..=got.last).all(|one| wanted.contains(&one));
                        prop_assert!(all, "{got:?} is not of {wanted:?}");
                        free.retain(|one| !(got.first..=got.last).contains(one));
                    } else {
                        let withdraw = vec![key];
                        write(&mut state, PutRequestPool { withdraw, ..PutRequestPool::default() });
                    }
                }
                _ => {}
            }
        }
    }
}

/// Edits the pool `s`.
fn write(state: &mut State, put: PutRequestPool) {
    let pools = vec![("s".into(), RequestPoolEdit::Put(Box::new(put)))];
    let edit = EditRequests { seen: u64::MAX, seen_all: false, pools };
    let stamp = Stamp { now_ms: EPOCH_MS, seed: state.position };
    let command = Command::Requests(RequestsCommand::Edit(edit));
    decide(state, &stamp, &command, &Limits::default()).expect("it can be written");
}

fn plain(want: Wanted) -> Request {
    Request {
        user: "admin".into(),
        services: vec![],
        redeploy: None,
        sync_alloc: false,
        want,
        site: Default::default(),
    }
}

/// Whether these addresses contain such a network, or a host address that is not an edge.
fn fits(set: &BTreeSet<u128>, len: u8) -> bool {
    let size = 1u128 << (32 - len);
    let is_edge = |one: u128| size == 1 && (one == FOUR || one == FOUR + 31);
    let whole = |first: &u128| (*first..first + size).all(|one| set.contains(&one));
    set.iter().any(|first| first % size == 0 && whole(first) && !is_edge(*first))
}
