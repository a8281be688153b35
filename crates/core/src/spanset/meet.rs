//! What several sets have in common, without building the intersection.
//!
//! The sets take turns: each moves the candidate up to the next place that suits it, until one round goes by in which
//! none had to. The cost is that of the places where they disagree, not of the values that are jumped over.

use crate::claim::Parity;

use super::SpanSet;
use super::cursor::Cursor;
use super::sought::{Any, Block, OfParity, Run, Sought};

/// The lowest value, not below `at_or_after` and of this parity if one is given, that is in all of the sets. `None` when
/// there are no sets.
pub fn first_common(sets: &[&SpanSet], at_or_after: u128, parity: Option<Parity>) -> Option<u128> {
    match parity {
        None => first_in_all(sets, at_or_after, Any),
        Some(parity) => first_in_all(sets, at_or_after, OfParity(parity)),
    }
}

/// Like [`SpanSet::first_run`], with the run in all of the sets.
pub fn first_common_run(sets: &[&SpanSet], at_or_after: u128, len: u128) -> Option<u128> {
    first_in_all(sets, at_or_after, Run::of(len)?)
}

/// Like [`SpanSet::first_block`], with the block in all of the sets.
pub fn first_common_block(sets: &[&SpanSet], at_or_after: u128, bits: u32) -> Option<u128> {
    first_in_all(sets, at_or_after, Block { bits })
}

fn first_in_all<S: Sought>(sets: &[&SpanSet], from: u128, sought: S) -> Option<u128> {
    if let [set] = sets {
        return set.first(from, sought);
    }
    if !sets.iter().all(|set| sought.is_in(&set.sum)) {
        return None;
    }
    let mut cursors: Vec<_> = sets.iter().map(|set| Cursor::new(&set.root, from)).collect();
    let mut candidate = from;
    let mut agreed = 0;
    let mut turn = 0;
    while agreed < cursors.len() {
        let found = cursors[turn].first(candidate, sought)?;
        agreed = if found == candidate { agreed + 1 } else { 1 };
        candidate = found;
        turn = (turn + 1) % cursors.len();
    }
    (!cursors.is_empty()).then_some(candidate)
}
