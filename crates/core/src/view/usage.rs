//! The usage of a pool.

use crate::state::pool::Pool;
use crate::state::zones::Zone;

/// Numbers of values; those named `claims` count claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All values of the ranges.
    pub size: u128,
    pub claims: u64,
    pub held: u128,
    /// Held claims whose lease has expired; counts up to [`Usage::EXPIRED_COUNTED_MAX`].
    pub expired_claims: u64,
    pub quarantined: u128,
    /// Excluded and not held.
    pub excluded: u128,
    /// In a draining range, held or not.
    pub draining: u128,
    /// In a draining range and held.
    pub draining_held: u128,
    pub manual_free: u128,
    pub free: u128,
    /// Held outside the ranges, after a change that allowed it.
    pub outside_held: u128,
}

impl Usage {
    pub const EXPIRED_COUNTED_MAX: usize = 1000;

    pub(super) fn of(pool: &Pool, now_ms: u64) -> Usage {
        let sum = |count: &dyn Fn(Zone) -> u128| {
            let zones = Zone::INSIDE.into_iter().chain([Zone::Outside]);
            zones.fold(0, |sum: u128, zone| sum.saturating_add(count(zone)))
        };
        let left = |zone: Zone| {
            let taken = pool.held_of(zone).saturating_add(pool.quarantined_of(zone));
            pool.zones.size_of(zone).saturating_sub(taken)
        };
        let expired =
            pool.leases.values().flat_map(|class| class.iter().take_while(|(at, _)| *at <= now_ms));
        Usage {
            size: pool.zones.size,
            claims: pool.held_claims,
            held: sum(&|zone| pool.held_of(zone)),
            expired_claims: expired.take(Usage::EXPIRED_COUNTED_MAX).count() as u64,
            quarantined: sum(&|zone| pool.quarantined_of(zone)),
            excluded: left(Zone::Excluded),
            draining: pool.zones.size_of(Zone::Draining),
            draining_held: pool.held_of(Zone::Draining),
            manual_free: left(Zone::Manual),
            free: pool.free.len(),
            outside_held: pool.held_of(Zone::Outside),
        }
    }
}
