//! Reports why a pool has no value for a claim.

use crate::refusal::Exhausted;
use crate::state::pool::Pool;
use crate::state::zones::Zone;

pub(crate) fn report(pool: &Pool, now_ms: u64) -> Exhausted {
    let left = |zone: Zone| {
        let taken = pool.held_of(zone).saturating_add(pool.quarantined_of(zone));
        pool.zones.size_of(zone).saturating_sub(taken)
    };
    let inside = |count: &dyn Fn(Zone) -> u128| {
        Zone::INSIDE.into_iter().fold(0, |sum: u128, zone| sum.saturating_add(count(zone)))
    };
    let longest = pool.free.largest_block_bits().filter(|_| pool.spec.kind.is_prefix());
    Exhausted {
        size: pool.zones.size,
        held: inside(&|zone| pool.held_of(zone)),
        expired: expired_values(pool, now_ms),
        quarantined: inside(&|zone| pool.quarantined_of(zone)),
        quarantined_until_ms: pool.quarantine.first().map(|&(until, _)| until),
        excluded: left(Zone::Excluded),
        draining: left(Zone::Draining),
        manual: left(Zone::Manual),
        free: pool.free.len(),
        longest_run: pool.free.longest_run(),
        largest_prefix_len: longest
            .map(|bits| (pool.spec.kind.width() - bits.min(pool.spec.kind.width())) as u8),
    }
}

/// The number of values with an expired lease. Stops counting at a limit, so that a report does not become a scan.
fn expired_values(pool: &Pool, now_ms: u64) -> u128 {
    const COUNTED_MAX: usize = 1000;
    let expired =
        pool.leases.values().flat_map(|class| class.iter().take_while(|(at, _)| *at <= now_ms));
    let rows = expired.take(COUNTED_MAX).filter_map(|&(_, first)| pool.at(first));
    rows.fold(0, |sum, (_, row, _)| sum.saturating_add(row.values().total()))
}
