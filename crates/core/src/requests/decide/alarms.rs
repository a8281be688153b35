//! Whether the alarms of a request pool are raised.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::alarm::{self, AlarmKind};
use crate::claim::Parity;
use crate::decide::Draft;
use crate::event::{ClaimEvent, Event};
use crate::requests::event::RequestsEvent;
use crate::requests::state::Requests;
use crate::requests::{AlarmSettings, IdSupply, Supply};
use crate::state::pool::Pool;

/// Thresholds in percent, where the configuration has none.
const LOW_DEFAULT: u8 = 10;
const LOW_OF_PARITY_DEFAULT: u8 = 50;

const KINDS: [AlarmKind; 6] = [
    AlarmKind::Exhausted,
    AlarmKind::Low,
    AlarmKind::OddExhausted,
    AlarmKind::OddLow,
    AlarmKind::EvenExhausted,
    AlarmKind::EvenLow,
];

/// Raises and clears alarms in all request pools whose claims or configuration this decision has changed.
pub(super) fn evaluate(draft: &mut Draft<'_>) {
    let mut pools: BTreeSet<Arc<str>> = BTreeSet::new();
    for event in &draft.events {
        let pool = match event {
            Event::Claim(ClaimEvent::Released(event)) => &event.pool,
            Event::Claim(ClaimEvent::Granted(event)) => &event.pool,
            Event::Requests(RequestsEvent::PoolDefined(event)) => &event.pool,
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
    let Some(requests) = pool.requests() else { return };
    let settings = &requests.config.alarms;
    let raised = match &requests.config.supply {
        _ if !settings.enabled => Vec::new(),
        Supply::Ids(supply) => of_ids(pool, supply, settings),
        Supply::Addresses(_) => of_addresses(requests, settings),
    };
    let ids = is_of_ids(requests);
    set(draft, name, ids, &raised);
}

/// Clears all alarms of a pool that is removed.
pub(super) fn clear(draft: &mut Draft<'_>, name: &Arc<str>) {
    let requests = draft.state.pool(name).and_then(Pool::requests);
    let ids = requests.is_some_and(is_of_ids);
    set(draft, name, ids, &[]);
}

fn is_of_ids(requests: &Requests) -> bool {
    matches!(requests.config.supply, Supply::Ids(_))
}

fn set(draft: &mut Draft<'_>, name: &Arc<str>, ids: bool, raised: &[AlarmKind]) {
    for kind in KINDS {
        alarm::set(draft, name, kind, ids, raised.contains(&kind));
    }
}

/// The first kind if nothing is left, the second if no more than `percent` of `total` is left.
fn level(left: u128, total: u128, percent: u8, kinds: [AlarmKind; 2]) -> Option<AlarmKind> {
    if left == 0 {
        return Some(kinds[0]);
    }
    let percent = u128::from(percent);
    // In two steps, because the number of IPv6 addresses times 100 overflows.
    let low = total / 100 * percent + total % 100 * percent / 100;
    (left <= low).then_some(kinds[1])
}

fn of_ids(pool: &Pool, supply: &IdSupply, settings: &AlarmSettings) -> Vec<AlarmKind> {
    let total = u128::from(supply.alarm_base);
    let low = settings.low.unwrap_or(LOW_DEFAULT);
    let whole = [AlarmKind::Exhausted, AlarmKind::Low];
    let mut raised: Vec<AlarmKind> =
        level(pool.free.len(), total, low, whole).into_iter().collect();
    // The alarms by parity are off unless one of their thresholds is configured.
    if settings.low_odd.is_some() || settings.low_even.is_some() {
        let odd = (Parity::Odd, settings.low_odd, [AlarmKind::OddExhausted, AlarmKind::OddLow]);
        let even =
            (Parity::Even, settings.low_even, [AlarmKind::EvenExhausted, AlarmKind::EvenLow]);
        for (parity, low, kinds) in [odd, even] {
            let left = pool.free.count_of(Some(parity));
            raised.extend(level(left, total / 2, low.unwrap_or(LOW_OF_PARITY_DEFAULT), kinds));
        }
    }
    raised
}

fn of_addresses(requests: &Requests, settings: &AlarmSettings) -> Vec<AlarmKind> {
    let Some(hosts) = &requests.hosts else { return Vec::new() };
    let low = settings.low.unwrap_or(LOW_DEFAULT);
    let kinds = [AlarmKind::Exhausted, AlarmKind::Low];
    level(hosts.left, hosts.total, low, kinds).into_iter().collect()
}
