//! Searches for values that several sets have in common, without building the intersection.
//!
//! The sets take turns: each moves the candidate up to its next match, until all sets agree on one candidate. The cost
//! depends on how often they disagree, not on how many values are skipped. Each turn is one step; the caller sets how
//! many steps a search may take, because sets with interleaved gaps can disagree on every value.

use crate::claim::Parity;

use super::SpanSet;
use super::cursor::Cursor;
use super::goal::{AnyValue, FreeBlock, FreeRun, OfParity, SearchGoal};

/// The search has used up its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepsUsedUp;

/// The lowest match in all of the sets; `None` when there is none, or there are no sets.
pub type CommonMatch = Result<Option<u128>, StepsUsedUp>;

/// The lowest value at or after `at_or_after`, of this parity if one is given, that all of the sets have.
pub fn first_common(
    sets: &[&SpanSet],
    at_or_after: u128,
    parity: Option<Parity>,
    steps: &mut u64,
) -> CommonMatch {
    match parity {
        None => first_in_all(sets, at_or_after, AnyValue, steps),
        Some(parity) => first_in_all(sets, at_or_after, OfParity(parity), steps),
    }
}

/// Like [`SpanSet::first_run`], with the run in all of the sets.
pub fn first_common_run(
    sets: &[&SpanSet],
    at_or_after: u128,
    len: u128,
    steps: &mut u64,
) -> CommonMatch {
    FreeRun::of(len).map_or(Ok(None), |run| first_in_all(sets, at_or_after, run, steps))
}

/// Like [`SpanSet::first_block`], with the block in all of the sets.
pub fn first_common_block(
    sets: &[&SpanSet],
    at_or_after: u128,
    bits: u32,
    steps: &mut u64,
) -> CommonMatch {
    first_in_all(sets, at_or_after, FreeBlock { bits }, steps)
}

fn first_in_all<S: SearchGoal>(
    sets: &[&SpanSet],
    from: u128,
    goal: S,
    steps: &mut u64,
) -> CommonMatch {
    if let [set] = sets {
        return Ok(set.first(from, goal));
    }
    if !sets.iter().all(|set| goal.is_in(&set.sum)) {
        return Ok(None);
    }
    let mut cursors: Vec<_> = sets.iter().map(|set| Cursor::new(&set.root, from)).collect();
    let mut candidate = from;
    let mut agreed = 0;
    let mut turn = 0;
    while agreed < cursors.len() {
        *steps = steps.checked_sub(1).ok_or(StepsUsedUp)?;
        let Some(found) = cursors[turn].first(candidate, goal) else { return Ok(None) };
        agreed = if found == candidate { agreed + 1 } else { 1 };
        candidate = found;
        turn = (turn + 1) % cursors.len();
    }
    Ok((!cursors.is_empty()).then_some(candidate))
}
