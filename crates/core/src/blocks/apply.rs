//! How events change the layout of a block pool.

use super::state::{Blocks, BlocksChange, ListOwner, seconds};
use super::{BlocksDefined, BlocksEvent, BlocksMoved};
use crate::claim::Values;
use crate::extension::{ClaimChange, PoolExtension};
use crate::state::pool::PoolChange;
use crate::state::undo::StateChange;
use crate::state::zones::overlapping;
use crate::state::{PoolIx, State};

/// How long after a release the surplus ids of a child are returned to the pool. Part of the meaning of the journal:
/// it must not change.
const CLEAN_MS: u64 = 30_000;

impl State {
    pub(crate) fn apply_blocks(&mut self, event: &BlocksEvent) {
        match event {
            BlocksEvent::Defined(event) => self.blocks_defined(event),
            BlocksEvent::Moved(event) => self.blocks_moved(event),
        }
    }

    fn blocks_defined(&mut self, event: &BlocksDefined) {
        let Some(&ix) = self.names.get(&event.pool) else { return };
        if self.pool_at(ix).is_none_or(|pool| pool.requests().is_some()) {
            return;
        }
        let blocks = Box::new(Blocks::of(&event.layout, self.position + 1));
        let set = |extension: &mut PoolExtension| {
            std::mem::replace(extension, PoolExtension::Blocks(blocks))
        };
        if let Some(before) = self.change(ix, |pool| set(&mut pool.extension)) {
            self.note(StateChange::Pool(ix, PoolChange::Blocks(BlocksChange::Whole(before))));
        }
    }

    fn blocks_moved(&mut self, event: &BlocksMoved) {
        let Some(&ix) = self.names.get(&event.pool) else { return };
        self.change_blocks(ix, |blocks| blocks.move_blocks(event));
        self.schedule_cleaning(ix);
        self.mark_blocks_changed(ix);
    }

    /// A claim of a block pool has changed.
    pub(crate) fn blocks_claim_changed(&mut self, ix: PoolIx, change: ClaimChange<'_>) {
        match change {
            ClaimChange::LeaseChanged => {}
            ClaimChange::Granted { values, at_ms, cursor } => {
                for ids in values.spans() {
                    self.change_blocks(ix, |blocks| blocks.remove_released(ids));
                }
                self.change_blocks(ix, |blocks| {
                    let before = blocks.numbers();
                    if let Some(child) = blocks.children.first_mut() {
                        child.access_s = seconds(at_ms);
                        let cursor = cursor.and_then(|cursor| i64::try_from(cursor).ok());
                        child.block.cursor = cursor.unwrap_or(child.block.cursor);
                    }
                    vec![before]
                });
            }
            ClaimChange::Released { values, ready_ms } => {
                self.ids_released(ix, values, ready_ms);
                self.schedule_cleaning(ix);
            }
        }
        self.mark_blocks_changed(ix);
    }

    fn ids_released(&mut self, ix: PoolIx, ids: &Values, ready_ms: Option<u64>) {
        let Some(pool) = self.pool_at(ix) else { return };
        if pool.blocks().is_none_or(|blocks| blocks.children.is_empty()) {
            return;
        }
        let zones = pool.zones.clone();
        let ready_s = seconds(ready_ms.unwrap_or(self.now_ms));
        for ids in ids.spans().flat_map(|ids| overlapping(&zones.automatic, ids)) {
            self.change_blocks(ix, |blocks| blocks.add_released(ListOwner::Child(0), ids, ready_s));
        }
    }

    fn mark_blocks_changed(&mut self, ix: PoolIx) {
        let changed = self.position + 1;
        self.change_blocks(ix, |blocks| {
            let before = blocks.numbers();
            blocks.counts.changed = changed;
            vec![before]
        });
    }

    /// A child that has ids for more than two blocks returns some to the pool after a while.
    fn schedule_cleaning(&mut self, ix: PoolIx) {
        let Some(pool) = self.pool_at(ix) else { return };
        let Some(blocks) = pool.blocks() else { return };
        let Some(child) = blocks.active() else { return };
        let Some(first) = child.released.iter().next() else { return };
        let enough = 2 * u128::from(blocks.block_size);
        // Counting the available ids takes long if many have been released, so the sure cases come first.
        let at_most = child.block.rest().map_or(0, |rest| rest.len()) + child.released.len();
        if blocks.counts.clean_ms.is_some() || at_most <= enough {
            return;
        }
        if pool.available_in_block(blocks) + child.released.len() <= enough {
            return;
        }
        let ready_ms = u64::from(first.ready_s) * 1000;
        let clean_ms = Some(self.now_ms.saturating_add(CLEAN_MS).max(ready_ms));
        self.change_blocks(ix, |blocks| {
            let before = blocks.numbers();
            blocks.counts.clean_ms = clean_ms;
            vec![before]
        });
    }

    fn change_blocks(&mut self, ix: PoolIx, change: impl FnOnce(&mut Blocks) -> Vec<BlocksChange>) {
        let changes = self.change(ix, |pool| pool.blocks_mut().map(change).unwrap_or_default());
        for change in changes.unwrap_or_default() {
            self.note(StateChange::Pool(ix, PoolChange::Blocks(change)));
        }
    }
}
