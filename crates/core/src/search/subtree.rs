//! Groups that must be served below one of their own providers.

use super::Budget;
use super::placed::Placed;
use super::tree::{Place, Tree};

/// Whether the slots of a set can still all be served at or below one of them. Exact once all are placed; before that, no
/// way that exists is ruled out.
pub(super) fn is_possible(
    tree: &Tree,
    set: &[usize],
    placed: &Placed,
    budget: &mut Budget,
) -> bool {
    let Some(first) = set.iter().find_map(|slot| placed.get(*slot)) else { return true };
    let above = |place: &Place| tree.places[*place as usize].parent;
    std::iter::successors(Some(first), above).any(|top| {
        budget.spend(1 + set.len() / 4);
        let mut is_served = false;
        let fits = set.iter().all(|slot| match placed.get(*slot) {
            Some(place) => {
                is_served |= place == top;
                tree.is_above(top, place)
            }
            None => {
                let options = tree.options(*slot);
                let from = options.partition_point(|place| *place < top);
                is_served |= options.get(from) == Some(&top);
                options.get(from).is_some_and(|place| tree.is_above(top, *place))
            }
        });
        fits && is_served
    })
}
