//! Searches for values that several sets have in common, without building the intersection.
//!
//! The sets take turns: each moves the candidate up to its next match, until all sets agree on one candidate. The cost
//! depends on how often they disagree, not on how many values are skipped.

use crate::claim::Parity;

use super::SpanSet;
use super::cursor::Cursor;
use super::goal::{AnyValue, FreeBlock, FreeRun, OfParity, SearchGoal};

/// The lowest value at or after `at_or_after`, of this parity if one is given, that all of the sets have. `None` when
/// there are no sets.
pub fn first_common(sets: &[&SpanSet], at_or_after: u128, parity: Option<Parity>) -> Option<u128> {
    match parity {
        None => first_in_all(sets, at_or_after, AnyValue),
        Some(parity) => first_in_all(sets, at_or_after, OfParity(parity)),
    }
}

/// Like [`SpanSet::first_run`], with the run in all of the sets.
pub fn first_common_run(sets: &[&SpanSet], at_or_after: u128, len: u128) -> Option<u128> {
    first_in_all(sets, at_or_after, FreeRun::of(len)?)
}

/// Like [`SpanSet::first_block`], with the block in all of the sets.
pub fn first_common_block(sets: &[&SpanSet], at_or_after: u128, bits: u32) -> Option<u128> {
    first_in_all(sets, at_or_after, FreeBlock { bits })
}

fn first_in_all<S: SearchGoal>(sets: &[&SpanSet], from: u128, goal: S) -> Option<u128> {
    if let [set] = sets {
        return set.first(from, goal);
    }
    if !sets.iter().all(|set| goal.is_in(&set.sum)) {
        return None;
    }
    let mut cursors: Vec<_> = sets.iter().map(|set| Cursor::new(&set.root, from)).collect();
    let mut candidate = from;
    let mut agreed = 0;
    let mut turn = 0;
    while agreed < cursors.len() {
        let found = cursors[turn].first(candidate, goal)?;
        agreed = if found == candidate { agreed + 1 } else { 1 };
        candidate = found;
        turn = (turn + 1) % cursors.len();
    }
    (!cursors.is_empty()).then_some(candidate)
}
