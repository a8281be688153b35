//! One pool: its configuration, its claims and their indexes.
//!
//! The operations here update rows and indexes together. The meaning of events (a grant, a release) is in `apply`; undoing
//! an operation is in `undo`.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

use super::Slot;
use super::recent::{RecentReleases, ReleasedSpan, pieces_max};
use super::rows::{FrozenRows, Row};
use super::slots::Slots;
use super::zones::{ZONES, Zone, Zones, overlapping};
use crate::blocks::state::BlocksChange;
use crate::claim::{Claim, Parity};
use crate::extension::PoolExtension;
use crate::pool::{PoolSpec, Strategy};
use crate::requests::RequestPool;
use crate::requests::event::Retry;
use crate::requests::state::AnsweredRequest;
use crate::span::{self, Span};
use crate::spanset::SpanSet;

/// A change of one pool, with what is needed to undo it.
#[derive(Debug, Clone)]
pub(crate) enum PoolChange {
    RowAdded(Slot),
    RowRemoved(Row),
    PieceAdded(ReleasedSpan),
    PieceRemoved(ReleasedSpan),
    Cursor(Option<u128>),
    Ages(u64),
    Spec { spec: Arc<PoolSpec>, generation: u64 },
    Blocks(BlocksChange),
    RequestPool(Option<(Arc<RequestPool>, u64)>),
    Request { key: Arc<str>, before: Option<AnsweredRequest>, changed: u64 },
    Retry(Option<Retry>),
}

/// Groups leases by the claims that could use their values, so that a search for expired claims skips useless ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LeaseClass {
    /// One id or address of this parity.
    Single(u8),
    /// One block of 2^n addresses.
    Block(u32),
    /// Several values.
    Several,
    /// Values that only a claim that names them can get.
    NotAutomatic,
}

#[derive(Debug, Clone)]
pub struct Pool {
    pub name: Arc<str>,
    pub generation: u64,
    pub spec: Arc<PoolSpec>,
    pub(crate) zones: Arc<Zones>,
    /// The values that the server may pick: the automatic zone without values that are held or in quarantine.
    pub(crate) free: SpanSet,
    pub(crate) rows: Slots<Row>,
    /// The claims by the first value of each of their spans.
    pub(crate) taken: BTreeMap<u128, Slot>,
    by_key: HashTable<Slot>,
    /// Random in every process, so that clients cannot choose colliding keys. Used only for lookups, so no decision
    /// depends on it.
    hasher: RandomState,
    /// Claims in quarantine by key, owner, version and first value: one key may have released many.
    pub(crate) returned: BTreeSet<(Arc<str>, Arc<str>, u64, u128)>,
    /// When each lease ends, with the first value of its claim.
    pub(crate) leases: BTreeMap<LeaseClass, BTreeSet<(u64, u128)>>,
    /// When each quarantine ends, with the first value of its claim.
    pub(crate) quarantine: BTreeSet<(u64, u128)>,
    pub(crate) recent: RecentReleases,
    /// Pools with the least recently used strategy: the free values that are not in `recent`.
    pub(crate) cold: Option<SpanSet>,
    /// The number of releases, for `recent`.
    pub(crate) ages: u64,
    /// The value that [`Strategy::Next`] gave last.
    pub(crate) cursor: Option<u128>,
    pub(crate) held_in: [u128; ZONES],
    pub(crate) quarantined_in: [u128; ZONES],
    pub(crate) held_claims: u64,
    pub(crate) extension: PoolExtension,
}

impl Pool {
    pub(crate) fn new(name: Arc<str>, generation: u64, spec: Arc<PoolSpec>) -> Pool {
        let zones = Zones::of(&spec);
        let mut pool = Pool {
            name,
            generation,
            spec,
            free: SpanSet::from_spans(zones.automatic.iter().copied()),
            zones: Arc::new(zones),
            rows: Slots::default(),
            taken: BTreeMap::new(),
            by_key: HashTable::new(),
            hasher: RandomState::new(),
            returned: BTreeSet::new(),
            leases: BTreeMap::new(),
            quarantine: BTreeSet::new(),
            recent: RecentReleases::default(),
            cold: None,
            ages: 0,
            cursor: None,
            held_in: [0; ZONES],
            quarantined_in: [0; ZONES],
            held_claims: 0,
            extension: PoolExtension::None,
        };
        pool.rebuild_cold();
        pool
    }

    // --- reading -----------------------------------------------------------------------------------------------

    /// The claim held under a key.
    pub(crate) fn held(&self, key: &str) -> Option<(Slot, &Row)> {
        let same = |slot: &Slot| self.rows.get(*slot).is_some_and(|row| &*row.key == key);
        let slot = *self.by_key.find(self.hasher.hash_one(key), same)?;
        self.rows.get(slot).map(|row| (slot, row))
    }

    /// Claims of this key and owner that are in quarantine, the last release first.
    pub(crate) fn given_back(
        &self,
        key: &Arc<str>,
        owner: &Arc<str>,
    ) -> impl Iterator<Item = &Row> {
        let end = |version, first| (key.clone(), owner.clone(), version, first);
        let rows = self.returned.range(end(0, 0)..=end(u64::MAX, u128::MAX)).rev();
        rows.filter_map(|(_, _, _, first)| self.at(*first).map(|(_, row, _)| row))
    }

    /// The number of held values of a zone.
    pub(crate) fn held_of(&self, zone: Zone) -> u128 {
        self.zones.shown(zone, self.held_in[zone as usize], self.held_claims > 0)
    }

    /// The number of values of a zone that are in quarantine.
    pub(crate) fn quarantined_of(&self, zone: Zone) -> u128 {
        let any = self.rows.len() as u64 > self.held_claims;
        self.zones.shown(zone, self.quarantined_in[zone as usize], any)
    }

    /// The claim that has this value, held or in quarantine, and its span with the value.
    pub(crate) fn at(&self, value: u128) -> Option<(Slot, &Row, Span)> {
        let (&first, &slot) = self.taken.range(..=value).next_back()?;
        let row = self.rows.get(slot)?;
        let span = span_from(row, first)?;
        span.contains(value).then_some((slot, row, span))
    }

    /// Whether any claim has a value of this span.
    pub(crate) fn is_taken(&self, span: Span) -> bool {
        // The caller reads `free` next anyway, so it is checked first.
        !self.free.covers(span) && self.overlapping(span).next().is_some()
    }

    /// The claims that overlap this span, each with its span that does, in ascending order.
    pub(crate) fn overlapping(&self, span: Span) -> impl Iterator<Item = (Slot, &Row, Span)> {
        let before = self.at(span.first).filter(|(_, _, held)| held.first < span.first);
        let within = self.taken.range(span.first..=span.last).filter_map(|(&first, &slot)| {
            let row = self.rows.get(slot)?;
            Some((slot, row, span_from(row, first)?))
        });
        before.into_iter().chain(within)
    }

    /// When the next quarantine, lease or cleanup of this pool is due.
    pub(crate) fn next_due_ms(&self) -> Option<u64> {
        let quarantine = self.quarantine.first().map(|&(at, _)| at);
        // Values of an authority are never taken over here, so an expired claim would stay for ever.
        let reaps = self.spec.reap || self.spec.authority.is_some();
        let lease = if reaps { self.first_lease().map(|(at, _)| at) } else { None };
        quarantine.into_iter().chain(lease).chain(self.extension.next_due_ms()).min()
    }

    /// The lease that ends first: when, and the first value of its claim.
    pub(crate) fn first_lease(&self) -> Option<(u64, u128)> {
        self.leases.values().filter_map(|class| class.first().copied()).min()
    }

    pub(crate) fn freeze_rows(&self) -> FrozenRows {
        FrozenRows(self.rows.freeze())
    }

    /// All claims, held or in quarantine, in the order of their first values.
    pub fn claims_by_value(&self) -> impl Iterator<Item = Claim> + '_ {
        self.rows_by_value().map(Row::claim)
    }

    /// The keys of held claims, in the order of their first values.
    pub(crate) fn held_keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.rows_by_value().filter(|row| row.held()).map(|row| &row.key)
    }

    fn rows_by_value(&self) -> impl Iterator<Item = &Row> {
        let first = |(first, slot): (&u128, &Slot)| {
            self.rows.get(*slot).filter(|row| row.first.first == *first)
        };
        self.taken.iter().filter_map(first)
    }

    // --- changing: each of these is one [`PoolChange`] ---------------------------------------------------------

    pub(crate) fn add_row(&mut self, row: Row) -> Slot {
        let values = row.values();
        let slot = self.index_row(row);
        for span in values.spans() {
            self.taken.insert(span.first, slot);
            for part in overlapping(&self.zones.automatic, span) {
                self.free.remove(part);
                self.cold.iter_mut().for_each(|cold| cold.subtract(part));
                self.extension.free_changed(part, &self.free);
            }
        }
        slot
    }

    /// Adds a row to all indexes but `taken` and `free`.
    pub(super) fn index_row(&mut self, row: Row) -> Slot {
        let slot = self.rows.insert(row.clone());
        let (rows, hasher) = (&self.rows, &self.hasher);
        let rehash = |slot: &Slot| rows.get(*slot).map_or(0, |row| hasher.hash_one(&*row.key));
        if row.held() {
            self.by_key.insert_unique(self.hasher.hash_one(&*row.key), slot, rehash);
        } else {
            self.returned.insert(returned_entry(&row));
        }
        self.count(&row, true);
        slot
    }

    pub(crate) fn remove_row(&mut self, slot: Slot) -> Option<Row> {
        let hash = self.hasher.hash_one(&*self.rows.get(slot)?.key);
        let row = self.rows.remove(slot)?;
        if !row.held() {
            self.returned.remove(&returned_entry(&row));
        } else if let Ok(entry) = self.by_key.find_entry(hash, |other| *other == slot) {
            entry.remove();
        }
        for span in row.values().spans() {
            self.taken.remove(&span.first);
            for part in overlapping(&self.zones.automatic, span) {
                self.free.insert(part);
                add_cold(&mut self.cold, &self.recent, part);
                self.extension.free_changed(part, &self.free);
            }
        }
        self.count(&row, false);
        Some(row)
    }

    /// Adds a claim to the counts and to the orders of leases and quarantines, or removes it from them.
    fn count(&mut self, row: &Row, add: bool) {
        let counts = if row.held() { &mut self.held_in } else { &mut self.quarantined_in };
        for span in row.values().spans() {
            for (count, part) in counts.iter_mut().zip(self.zones.split(span)) {
                *count = if add { count.wrapping_add(part) } else { count.wrapping_sub(part) };
            }
        }
        if row.held() {
            self.held_claims = if add { self.held_claims + 1 } else { self.held_claims - 1 };
        }
        let put = |order: &mut BTreeSet<(u64, u128)>, at: u64| {
            let entry = (at, row.first.first);
            if add { order.insert(entry) } else { order.remove(&entry) }
        };
        if let Some(until) = row.quarantined_until() {
            put(&mut self.quarantine, until);
        } else if let Some(at) = row.expires_ms() {
            let class = self.lease_class(row);
            let leases = self.leases.entry(class).or_default();
            put(leases, at);
            if leases.is_empty() {
                self.leases.remove(&class);
            }
        }
    }

    pub(crate) fn lease_class(&self, row: &Row) -> LeaseClass {
        let values = row.values();
        if values.spans().any(|span| self.zones.worst(span) != Zone::Automatic) {
            return LeaseClass::NotAutomatic;
        }
        let alone = values.spans().nth(1).is_none();
        match self.spec.kind.prefix_len(row.first).and_then(|len| self.spec.kind.block_bits(len)) {
            Some(bits) if alone && self.spec.kind.is_prefix() => LeaseClass::Block(bits),
            _ if alone && row.first.len() == 1 => {
                LeaseClass::Single(Parity::of(row.first.first) as u8)
            }
            _ => LeaseClass::Several,
        }
    }

    /// Changes the configuration. The cost depends on the values that change their zone, not on the size of the pool.
    pub(crate) fn set_spec(&mut self, spec: Arc<PoolSpec>, generation: u64) {
        let zones = Zones::of(&spec);
        let mut moved: Vec<Slot> = Vec::new();
        for span in self.zones.changed(&zones) {
            moved.extend(self.overlapping(span).map(|(slot, _, _)| slot));
        }
        moved.sort_unstable();
        moved.dedup();
        let moved: Vec<Row> =
            moved.into_iter().filter_map(|slot| self.rows.get(slot).cloned()).collect();
        for row in &moved {
            self.count(row, false);
        }
        for gone in span::subtract(&self.zones.automatic, &zones.automatic) {
            self.free.subtract(gone);
            self.cold.iter_mut().for_each(|cold| cold.subtract(gone));
        }
        for new in span::subtract(&zones.automatic, &self.zones.automatic) {
            let taken: Vec<Span> = self.overlapping(new).map(|(_, _, span)| span).collect();
            for gap in span::subtract(&[new], &taken) {
                self.free.insert(gap);
                add_cold(&mut self.cold, &self.recent, gap);
            }
        }
        let strategy = self.spec.strategy;
        self.zones = Arc::new(zones);
        self.spec = spec;
        self.generation = generation;
        if self.spec.strategy != strategy {
            self.rebuild_cold();
        }
        self.extension.free_rebuilt(&self.free);
        for row in &moved {
            self.count(row, true);
        }
    }

    pub(crate) fn add_piece(&mut self, piece: ReleasedSpan) {
        self.recent.add(piece);
        self.cold.iter_mut().for_each(|cold| cold.subtract(piece.span));
    }

    pub(crate) fn remove_piece(&mut self, piece: ReleasedSpan) {
        self.recent.remove(piece);
        if let Some(cold) = &mut self.cold {
            self.free.iter_within(piece.span).for_each(|part| cold.insert(part));
        }
    }

    /// Rebuilds `cold` if the strategy needs it.
    pub(super) fn rebuild_cold(&mut self) {
        self.cold = (self.spec.strategy == Strategy::LeastRecentlyUsed).then(|| {
            let mut cold = self.free.clone();
            self.recent.oldest_first().for_each(|piece| cold.subtract(piece.span));
            cold
        });
    }

    /// The changes of `recent` when values are taken: the spans to remove, and the parts of them to add again.
    pub(crate) fn recent_without(&self, gone: Span) -> (Vec<ReleasedSpan>, Vec<ReleasedSpan>) {
        let out = self.recent.overlapping(gone);
        let keep = out.iter().flat_map(|piece| {
            let rest = span::subtract(&[piece.span], &[gone]);
            rest.into_iter().map(|span| ReleasedSpan { span, age: piece.age })
        });
        let keep = keep.collect();
        (out, keep)
    }

    /// The oldest spans of `recent` beyond its limit.
    pub(crate) fn excess_recent(&self) -> Vec<ReleasedSpan> {
        let excess = self.recent.len().saturating_sub(pieces_max(self.spec.strategy));
        self.recent.oldest_first().take(excess).collect()
    }
}

/// The span of a claim that starts at `first`.
fn span_from(row: &Row, first: u128) -> Option<Span> {
    if row.first.first == first { Some(row.first) } else { row.values().starting_at(first) }
}

/// The entry of a claim in [`Pool::returned`].
fn returned_entry(row: &Row) -> (Arc<str>, Arc<str>, u64, u128) {
    (row.key.clone(), row.owner().clone(), row.version, row.first.first)
}

/// Adds values that have become free to `cold`, except those in `recent`.
fn add_cold(cold: &mut Option<SpanSet>, recent: &RecentReleases, part: Span) {
    let Some(cold) = cold else { return };
    let released: Vec<Span> =
        recent.overlapping(part).into_iter().map(|piece| piece.span).collect();
    span::subtract(&[part], &released).into_iter().for_each(|part| cold.insert(part));
}
