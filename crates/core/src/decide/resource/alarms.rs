//! Whether a pool is running out, as its alarms are configured.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Draft, Pool};
use crate::claim::Parity;
use crate::event::Event;
use crate::event::resource::AlarmChanged;
use crate::resource::{AlarmKind, AlarmSettings, Given, GivenIds};

const LOW_USUAL: u8 = 10;
const LOW_OF_PARITY_USUAL: u8 = 50;

const KINDS: [AlarmKind; 6] = [
    AlarmKind::Exhausted,
    AlarmKind::Low,
    AlarmKind::OddExhausted,
    AlarmKind::OddLow,
    AlarmKind::EvenExhausted,
    AlarmKind::EvenLow,
];

/// Raises and clears what has changed, in every pool that has.
pub(super) fn evaluate(draft: &mut Draft<'_>) {
    let mut pools: BTreeSet<Arc<str>> = BTreeSet::new();
    for event in &draft.events {
        let pool = match event {
            Event::ClaimReleased(event) => &event.pool,
            Event::ClaimGranted(event) => &event.pool,
            Event::ResourcePoolDefined(event) => &event.pool,
            _ => continue,
        };
        if !pools.contains(pool) {
            pools.insert(pool.clone());
        }
    }
    pools.iter().for_each(|pool| evaluate_one(draft, pool));
}

fn evaluate_one(draft: &mut Draft<'_>, name: &Arc<str>) {
    let Some(pool) = draft.state.pool(name) else { return };
    let Some(requests) = &pool.requests else { return };
    let config = requests.config.clone();
    let ids = matches!(config.given, Given::Ids(_));
    let raised = match &config.given {
        _ if !config.alarms.enabled => Vec::new(),
        Given::Ids(given) => of_ids(pool, given, &config.alarms),
        Given::Addresses(_) => of_addresses(pool, &config.alarms),
    };
    set(draft, name, ids, &raised);
}

/// Of a pool that goes nothing is wrong any more.
pub(super) fn clear(draft: &mut Draft<'_>, name: &Arc<str>) {
    let config = draft.state.pool(name).and_then(|pool| pool.requests.as_ref());
    let ids = config.is_some_and(|requests| matches!(requests.config.given, Given::Ids(_)));
    set(draft, name, ids, &[]);
}

fn set(draft: &mut Draft<'_>, name: &Arc<str>, ids: bool, raised: &[AlarmKind]) {
    for kind in KINDS {
        let known = draft.state.alarms.get(&(name.clone(), kind));
        let was = known.is_some_and(|alarm| alarm.cleared_ms.is_none());
        let is = raised.contains(&kind);
        if was != is {
            let (object, at_ms) = (name.clone(), draft.now_ms);
            let changed = AlarmChanged { object, kind, ids, raised: is, at_ms };
            draft.record(Event::AlarmChanged(changed));
        }
    }
}

/// Empty, or getting there: never both.
fn level(left: u128, total: u128, percent: u8, kinds: [AlarmKind; 2]) -> Option<AlarmKind> {
    if left == 0 {
        return Some(kinds[0]);
    }
    let percent = u128::from(percent);
    // In two parts, as the addresses of IPv6 times a hundred do not fit.
    let low = total / 100 * percent + total % 100 * percent / 100;
    (left <= low).then_some(kinds[1])
}

fn of_ids(pool: &Pool, given: &GivenIds, settings: &AlarmSettings) -> Vec<AlarmKind> {
    // The original counts one less than there are, and its users have set their thresholds by that.
    let total = u128::from(given.end - given.start);
    let low = settings.low.unwrap_or(LOW_USUAL);
    let whole = [AlarmKind::Exhausted, AlarmKind::Low];
    let mut raised: Vec<AlarmKind> =
        level(pool.free.len(), total, low, whole).into_iter().collect();
    // Who never asks for even or odd ids does not want to hear of them.
    if settings.low_odd.is_some() || settings.low_even.is_some() {
        let odd = (Parity::Odd, settings.low_odd, [AlarmKind::OddExhausted, AlarmKind::OddLow]);
        let even =
            (Parity::Even, settings.low_even, [AlarmKind::EvenExhausted, AlarmKind::EvenLow]);
        for (parity, low, kinds) in [odd, even] {
            let left = pool.free.count_of(Some(parity));
            raised.extend(level(left, total / 2, low.unwrap_or(LOW_OF_PARITY_USUAL), kinds));
        }
    }
    raised
}

fn of_addresses(pool: &Pool, settings: &AlarmSettings) -> Vec<AlarmKind> {
    let Some(hosts) = &pool.hosts else { return Vec::new() };
    let low = settings.low.unwrap_or(LOW_USUAL);
    let kinds = [AlarmKind::Exhausted, AlarmKind::Low];
    level(hosts.left, hosts.total, low, kinds).into_iter().collect()
}
