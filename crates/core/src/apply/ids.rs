//! What events do to the account of a pool of ids.

use crate::event::ids::{BlocksMoved, LedgerDefined};
use crate::span::Span;
use crate::state::account::{Account, CLEAN_MS, Change as AccountChange, Place, seconds};
use crate::state::pool::PoolChange;
use crate::state::undo::StateChange;
use crate::state::zones::overlapping;
use crate::state::{PoolIx, State};

impl State {
    pub(super) fn ledger_defined(&mut self, event: &LedgerDefined) {
        let Some(&ix) = self.names.get(&event.pool) else { return };
        let account = Box::new(Account::of(&event.ledger, self.position + 1));
        let before = self.change(ix, |pool| pool.account.replace(account));
        if let Some(before) = before {
            self.note(StateChange::Pool(ix, PoolChange::Account(AccountChange::Whole(before))));
        }
    }

    pub(super) fn blocks_moved(&mut self, event: &BlocksMoved) {
        let Some(&ix) = self.names.get(&event.pool) else { return };
        self.account(ix, |pool| pool.move_blocks(event));
        self.look_again(ix);
        self.touch(ix);
    }

    /// Ids of a pool with an account have been granted.
    pub(super) fn ids_granted(
        &mut self,
        ix: PoolIx,
        ids: impl Iterator<Item = Span>,
        at_ms: u64,
        cursor: Option<u128>,
    ) {
        if self.pool_at(ix).is_none_or(|pool| pool.account.is_none()) {
            return;
        }
        for ids in ids {
            self.account(ix, |pool| pool.unshelve(ids));
        }
        self.account(ix, |pool| {
            let Some(account) = pool.account.as_deref_mut() else { return Vec::new() };
            let before = account.numbers();
            if let Some(child) = account.children.first_mut() {
                child.access_s = seconds(at_ms);
                let cursor = cursor.and_then(|cursor| i64::try_from(cursor).ok());
                child.block.cursor = cursor.unwrap_or(child.block.cursor);
            }
            vec![before]
        });
        self.touch(ix);
    }

    /// Ids of a pool with an account have been released, and may be used again from then on.
    pub(super) fn ids_released(&mut self, ix: PoolIx, ids: &[Span], ready_ms: Option<u64>) {
        let Some(pool) = self.pool_at(ix) else { return };
        let Some(account) = &pool.account else { return };
        if !account.children.is_empty() {
            let zones = pool.zones.clone();
            let ready_s = seconds(ready_ms.unwrap_or(self.now_ms));
            for ids in ids.iter().flat_map(|ids| overlapping(&zones.automatic, *ids)) {
                self.account(ix, |pool| pool.shelve(Place::Child(0), ids, ready_s));
            }
        }
        self.look_again(ix);
        self.touch(ix);
    }

    /// Something about the pool has changed.
    pub(super) fn touch(&mut self, ix: PoolIx) {
        let changed = self.position + 1;
        self.account(ix, |pool| {
            let Some(account) = pool.account.as_deref_mut() else { return Vec::new() };
            let before = account.numbers();
            account.counts.changed = changed;
            vec![before]
        });
    }

    /// When a child has more than two blocks' worth, some of it goes back to the pool after a while.
    fn look_again(&mut self, ix: PoolIx) {
        let Some(pool) = self.pool_at(ix) else { return };
        let Some(account) = &pool.account else { return };
        let Some(child) = account.active() else { return };
        let Some(first) = child.released.iter().next() else { return };
        let has = pool.local_available(account) + child.released.len();
        if account.counts.clean_ms.is_some() || has <= 2 * u128::from(account.block_size) {
            return;
        }
        let ready_ms = u64::from(first.ready_s) * 1000;
        let clean_ms = Some(self.now_ms.saturating_add(CLEAN_MS).max(ready_ms));
        self.account(ix, |pool| {
            let Some(account) = pool.account.as_deref_mut() else { return Vec::new() };
            let before = account.numbers();
            account.counts.clean_ms = clean_ms;
            vec![before]
        });
    }

    fn account(
        &mut self,
        ix: PoolIx,
        change: impl FnOnce(&mut crate::state::pool::Pool) -> Vec<AccountChange>,
    ) {
        let changes = self.change(ix, change).unwrap_or_default();
        for change in changes {
            self.note(StateChange::Pool(ix, PoolChange::Account(change)));
        }
    }
}
