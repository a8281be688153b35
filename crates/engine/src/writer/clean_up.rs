//! Cleans up after removed pools, a few rows at a time, between batches.

use std::sync::mpsc::{Sender, channel};

use allod_core::state::State;
use allod_core::state::pools::CleanedPools;

use super::BatchWriter;

/// The rows that are cleaned up between two batches, on each copy of the state. One takes about a microsecond.
const ROWS_MAX: usize = 2048;

/// The rows that are cleaned up while readers wait.
const ROWS_LOCKED_MAX: usize = 256;

/// A thread that drops pools, because a large one takes long. It starts with the first pool and ends with the writer.
#[derive(Debug, Default)]
pub(super) struct Dropper(Option<Sender<CleanedPools>>);

impl Dropper {
    fn drop_later(&mut self, pools: CleanedPools) {
        if self.0.is_none() {
            let (sender, pools) = channel::<CleanedPools>();
            let work = move || pools.into_iter().for_each(drop);
            let thread = std::thread::Builder::new().name("allod-drop".into()).spawn(work);
            self.0 = thread.ok().map(|_| sender);
        }
        // Without a thread they are dropped here.
        if let Some(sender) = &self.0 {
            drop(sender.send(pools));
        }
    }
}

impl BatchWriter {
    /// Whether removed pools are still in the indexes of one of the copies.
    pub fn needs_clean_up(&self) -> bool {
        self.replica.state.needs_clean_up()
            || self.shared.read(|committed| committed.state.needs_clean_up())
    }

    /// Cleans up a part of the removed pools. Nothing may be undecided or not yet durable.
    pub fn clean_up(&mut self) {
        if !self.needs_clean_up() {
            return;
        }
        let clean = |state: &mut State, rows_max| state.clean_up(rows_max);
        let pools = clean(&mut self.replica.state, ROWS_MAX);
        self.dropper.drop_later(pools);
        for _ in 0..ROWS_MAX / ROWS_LOCKED_MAX {
            let pools = self.shared.change(|state| clean(state, ROWS_LOCKED_MAX));
            self.dropper.drop_later(pools);
        }
    }
}
