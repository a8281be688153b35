//! Applies events to the state. This cannot fail: an event that `decide` would not have made changes nothing.
//!
//! This code and the `apply` of each product are frozen: a journal must have the same meaning in all releases. Never
//! change what an event does; add a new event.

mod capacity;

use std::sync::Arc;

use crate::claim::{Claim, ClaimState};
use crate::event::{
    ClaimEvent, ClaimGranted, ClaimReleased, Event, IdempotencyEvent, LeaseChanged, PoolDefined,
    PoolEvent,
};
use crate::extension::ClaimChange;
use crate::pool::PoolSpec;
use crate::requests::state::Requests;
use crate::span::{self, Span};
use crate::state::pool::{Pool, PoolChange};
use crate::state::recent::ReleasedSpan;
use crate::state::rows::Row;
use crate::state::undo::StateChange;
use crate::state::zones::overlapping;
use crate::state::{PoolIx, Slot, State};

impl State {
    /// Applies a journal entry: all events of one command.
    pub fn apply_entry(&mut self, at_ms: u64, events: &[Event]) {
        self.now_ms = self.now_ms.max(at_ms);
        for event in events {
            self.apply(event);
        }
        self.position += 1;
    }

    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::Pool(event) => self.apply_pool(event),
            Event::Claim(event) => self.apply_claim(event),
            Event::Idempotency(event) => self.apply_idempotency(event),
            Event::Capacity(event) => self.apply_capacity(event),
            Event::Blocks(event) => self.apply_blocks(event),
            Event::Requests(event) => self.apply_requests(event),
            Event::Alarm(event) => self.apply_alarm(event),
            Event::Outbox(event) => self.apply_outbox(event),
            Event::Authority(event) => self.apply_authority(event),
        }
    }

    fn apply_pool(&mut self, event: &PoolEvent) {
        match event {
            PoolEvent::Defined(event) => self.pool_defined(event),
            PoolEvent::Removed(event) => {
                let ix = self.names.get(&event.pool).copied();
                if let Some(ix) = ix {
                    self.remove_pool(ix);
                    self.note(StateChange::PoolRemoved(ix));
                }
            }
        }
    }

    fn apply_claim(&mut self, event: &ClaimEvent) {
        match event {
            ClaimEvent::Granted(event) => self.claim_granted(event),
            ClaimEvent::LeaseChanged(event) => self.lease_changed(event),
            ClaimEvent::Released(event) => self.claim_released(event),
            ClaimEvent::QuarantineEnded(event) => {
                let Some(ix) = self.names.get(&event.pool).copied() else { return };
                let Some(pool) = self.pool_at(ix) else { return };
                let ended =
                    pool.at(event.first).filter(|(_, row, _)| !row.held()).map(|(slot, _, _)| slot);
                if let Some(slot) = ended {
                    self.set_free(ix, slot);
                }
            }
        }
    }

    fn apply_idempotency(&mut self, event: &IdempotencyEvent) {
        match event {
            IdempotencyEvent::Stored(event) => {
                self.expire_idempotency(event.key());
                self.answers.add(event.clone());
                self.note(StateChange::IdempotencyAdded(event.clone()));
            }
            IdempotencyEvent::Expired(event) => self.expire_idempotency(&event.key),
        }
    }

    fn pool_defined(&mut self, event: &PoolDefined) {
        let spec = Arc::new(event.spec.clone());
        let Some(&ix) = self.names.get(&event.pool) else {
            let pool = Pool::new(event.pool.clone(), event.generation, spec);
            let ix = self.add_pool(Box::new(pool));
            return self.note(StateChange::PoolAdded(ix));
        };
        let Some(pool) = self.pool_at(ix) else { return };
        let before = PoolChange::Spec { spec: pool.spec.clone(), generation: pool.generation };
        let old = pool.zones.clone();
        self.note(StateChange::Pool(ix, before));
        self.redefine(ix, spec, event.generation);
        let Some(new) = self.pool_at(ix).map(|pool| pool.zones.clone()) else { return };
        for gone in span::subtract(&old.automatic, &new.automatic) {
            self.forget(ix, gone);
        }
        self.trim_recent(ix);
    }

    fn claim_granted(&mut self, event: &ClaimGranted) {
        let Some(&ix) = self.names.get(&event.pool) else { return };
        let Some(pool) = self.pool_at(ix) else { return };
        if pool.held(&event.key).is_some() || event.values.spans().any(|span| pool.is_taken(span)) {
            return;
        }
        self.add_row(ix, Row::of(event.claim()));
        for span in event.values.spans() {
            self.forget(ix, span);
        }
        if let Some(cursor) = event.cursor {
            let before = self.pool_at(ix).and_then(|pool| pool.cursor);
            self.note(StateChange::Pool(ix, PoolChange::Cursor(before)));
            self.change(ix, |pool| pool.cursor = Some(cursor));
        }
        let (values, at_ms, cursor) = (&event.values, event.at_ms, event.cursor);
        self.extension_changed(ix, ClaimChange::Granted { values, at_ms, cursor });
    }

    fn lease_changed(&mut self, event: &LeaseChanged) {
        let Some((ix, slot)) = self.held_slot(&event.pool, &event.key) else { return };
        let Some(row) = self.remove_row(ix, slot) else { return };
        let claim = Claim { version: event.version, expires_ms: event.expires_ms, ..row.claim() };
        self.add_row(ix, Row::of(claim));
        self.extension_changed(ix, ClaimChange::LeaseChanged);
    }

    fn claim_released(&mut self, event: &ClaimReleased) {
        let Some((ix, slot)) = self.held_slot(&event.pool, &event.key) else { return };
        let Some(row) = self.pool_at(ix).and_then(|pool| pool.rows.get(slot)).cloned() else {
            return;
        };
        match event.quarantine_until_ms {
            None => self.set_free(ix, slot),
            Some(until_ms) => {
                self.remove_row(ix, slot);
                let state = ClaimState::Quarantined { until_ms };
                let claim =
                    Claim { version: event.version, expires_ms: None, state, ..row.claim() };
                self.add_row(ix, Row::of(claim));
            }
        }
        let (values, ready_ms) = (&row.values(), event.quarantine_until_ms);
        self.extension_changed(ix, ClaimChange::Released { values, ready_ms });
    }

    /// Removes a row for good: its values are free from here on, and were released just now.
    fn set_free(&mut self, ix: PoolIx, slot: Slot) {
        let row = self.pool_at(ix).and_then(|pool| pool.rows.get(slot)).cloned();
        row.iter().for_each(|row| self.remember(ix, row));
        self.remove_row(ix, slot);
    }

    fn held_slot(&self, pool: &str, key: &str) -> Option<(PoolIx, Slot)> {
        let ix = *self.names.get(pool)?;
        self.pool_at(ix)?.held(key).map(|(slot, _)| (ix, slot))
    }

    // --- the least recently used memory ------------------------------------------------------------------------

    /// The values of a row that is about to go are released now.
    fn remember(&mut self, ix: PoolIx, row: &Row) {
        let Some(pool) = self.pool_at(ix) else { return };
        let (age, zones) = (pool.ages, pool.zones.clone());
        self.note(StateChange::Pool(ix, PoolChange::Ages(age)));
        self.change(ix, |pool| pool.ages += 1);
        for span in row
            .values()
            .spans()
            .flat_map(|span| overlapping(&zones.automatic, span).collect::<Vec<_>>())
        {
            self.add_piece(ix, ReleasedSpan { span, age });
        }
        self.trim_recent(ix);
    }

    /// These values are no longer free. What was never used stays as it is: they have left it already, and what is left
    /// of a piece was not part of it.
    fn forget(&mut self, ix: PoolIx, gone: Span) {
        let Some(pool) = self.pool_at(ix) else { return };
        let (out, keep) = match pool.recent.last_overlapping(gone) {
            None => return,
            // Nearly always all of it is taken again.
            Some(piece) if piece.span == gone => return self.drop_piece(ix, piece),
            Some(_) => pool.recent_without(gone),
        };
        out.into_iter().for_each(|piece| self.drop_piece(ix, piece));
        for piece in keep {
            self.change(ix, |pool| pool.recent.add(piece));
            self.note(StateChange::Pool(ix, PoolChange::PieceAdded(piece)));
        }
        // A span that is taken again from its middle leaves two.
        self.trim_recent(ix);
    }

    fn drop_piece(&mut self, ix: PoolIx, piece: ReleasedSpan) {
        self.change(ix, |pool| pool.recent.remove(piece));
        self.note(StateChange::Pool(ix, PoolChange::PieceRemoved(piece)));
    }

    fn trim_recent(&mut self, ix: PoolIx) {
        let excess = self.pool_at(ix).map(Pool::excess_recent).unwrap_or_default();
        excess.into_iter().for_each(|piece| self.remove_piece(ix, piece));
    }

    fn add_piece(&mut self, ix: PoolIx, piece: ReleasedSpan) {
        self.change(ix, |pool| pool.add_piece(piece));
        self.note(StateChange::Pool(ix, PoolChange::PieceAdded(piece)));
    }

    fn remove_piece(&mut self, ix: PoolIx, piece: ReleasedSpan) {
        self.change(ix, |pool| pool.remove_piece(piece));
        self.note(StateChange::Pool(ix, PoolChange::PieceRemoved(piece)));
    }

    // --- rows, with the indexes that span pools ----------------------------------------------------------------

    pub(crate) fn add_row(&mut self, ix: PoolIx, row: Row) {
        let owner = row.owner().clone();
        if let Some(slot) = self.change(ix, |pool| pool.add_row(row)) {
            self.owners.insert((owner, ix, slot));
            self.note(StateChange::Pool(ix, PoolChange::RowAdded(slot)));
        }
    }

    fn remove_row(&mut self, ix: PoolIx, slot: Slot) -> Option<Row> {
        let row = self.change(ix, |pool| pool.remove_row(slot)).flatten()?;
        self.owners.remove(&(row.owner().clone(), ix, slot));
        self.note(StateChange::Pool(ix, PoolChange::RowRemoved(row.clone())));
        Some(row)
    }

    /// Changes a pool and keeps the order of what is due.
    pub(crate) fn change<T>(
        &mut self,
        ix: PoolIx,
        change: impl FnOnce(&mut Pool) -> T,
    ) -> Option<T> {
        let pool = self.pools.get_mut(ix)?;
        let before = pool.next_due_ms();
        let out = change(pool);
        let after = pool.next_due_ms();
        if before != after {
            before.map(|at| self.due.remove(&(at, ix)));
            after.map(|at| self.due.insert((at, ix)));
        }
        Some(out)
    }

    fn redefine(&mut self, ix: PoolIx, spec: Arc<PoolSpec>, generation: u64) {
        self.index_authority(ix, false);
        self.change(ix, |pool| pool.set_spec(spec, generation));
        self.index_authority(ix, true);
    }

    /// Adds a pool to the index of pools by authority, or removes it.
    fn index_authority(&mut self, ix: PoolIx, add: bool) {
        let authority = self.pool_at(ix).and_then(|pool| pool.spec.authority.clone());
        let Some(authority) = authority else { return };
        if add {
            self.external_pools.insert((authority, ix));
        } else {
            self.external_pools.remove(&(authority, ix));
        }
    }

    pub(crate) fn undo_pool(&mut self, ix: PoolIx, change: PoolChange) {
        match change {
            PoolChange::RowAdded(slot) => drop(self.remove_row(ix, slot)),
            PoolChange::RowRemoved(row) => self.add_row(ix, row),
            PoolChange::PieceAdded(piece) => self.remove_piece(ix, piece),
            PoolChange::PieceRemoved(piece) => self.add_piece(ix, piece),
            PoolChange::Cursor(cursor) => drop(self.change(ix, |pool| pool.cursor = cursor)),
            PoolChange::Ages(ages) => drop(self.change(ix, |pool| pool.ages = ages)),
            PoolChange::RequestPool(config) => drop(self.set_request_pool(ix, config)),
            PoolChange::Request { key, before, changed } => {
                self.put_request(ix, &key, before, changed);
            }
            PoolChange::Retry(retry) => drop(self.set_retry(ix, retry)),
            PoolChange::Blocks(change) => drop(self.change(ix, |pool| pool.undo_blocks(change))),
            PoolChange::Spec { spec, generation } => {
                self.redefine(ix, spec, generation);
            }
        }
    }

    // --- whole pools and idempotency keys--------------------------------------------------------------------------

    /// Adds a pool with all that it holds.
    pub(crate) fn add_pool(&mut self, pool: Box<Pool>) -> PoolIx {
        let (name, due) = (pool.name.clone(), pool.next_due_ms());
        let owners: Vec<_> =
            pool.rows.iter().map(|(slot, row)| (row.owner().clone(), slot)).collect();
        let groups = pool.requests().into_iter().flat_map(Requests::iter);
        let groups = groups.filter(|one| one.request.is_sync());
        let groups: Vec<Arc<str>> = groups.map(|one| one.key.clone()).collect();
        let authority = pool.spec.authority.clone();
        let ix = self.pools.add(pool);
        self.names.insert(name, ix);
        self.external_pools.extend(authority.map(|authority| (authority, ix)));
        self.due.extend(due.map(|at| (at, ix)));
        self.owners.extend(owners.into_iter().map(|(owner, slot)| (owner, ix, slot)));
        groups.iter().for_each(|key| self.set_in_group(ix, key, true));
        ix
    }

    /// Undoes the addition of a pool, which holds nothing.
    pub(crate) fn take_pool_back(&mut self, ix: PoolIx) {
        self.index_authority(ix, false);
        if let Some(pool) = self.pools.take_back(ix) {
            self.names.remove(&pool.name);
            pool.next_due_ms().map(|at| self.due.remove(&(at, ix)));
        }
    }

    /// Removes a pool with all that it holds. The indexes of owners and groups are cleaned up later.
    fn remove_pool(&mut self, ix: PoolIx) {
        self.index_authority(ix, false);
        if let Some(pool) = self.pools.set_aside(ix) {
            self.names.remove(&pool.name);
            pool.next_due_ms().map(|at| self.due.remove(&(at, ix)));
        }
    }

    /// Undoes the removal of a pool.
    pub(crate) fn bring_pool_back(&mut self, ix: PoolIx) {
        if let Some(pool) = self.pools.bring_back(ix) {
            self.names.insert(pool.name.clone(), ix);
            self.due.extend(pool.next_due_ms().map(|at| (at, ix)));
            self.index_authority(ix, true);
        }
    }

    fn expire_idempotency(&mut self, key: &str) {
        if let Some(stored) = self.answers.remove(key) {
            self.note(StateChange::IdempotencyDropped(stored));
        }
    }
}
