//! Checks `same_subtree` rules.

use super::Budget;
use super::assignment::Assignment;
use super::tree::{MemberIx, Tree};

/// Whether one provider of the set can still be an ancestor of all the others. Exact for a complete assignment; for a
/// partial one, `true` means that nothing rules it out.
pub(super) fn is_possible(
    tree: &Tree,
    set: &[usize],
    assigned: &Assignment,
    budget: &mut Budget,
) -> bool {
    let Some(first) = set.iter().find_map(|slot| assigned.get(*slot)) else { return true };
    let above = |member: &MemberIx| tree.members[*member as usize].parent;
    std::iter::successors(Some(first), above).any(|top| {
        budget.spend(set.len());
        let mut is_served = false;
        let fits = set.iter().all(|slot| match assigned.get(*slot) {
            Some(member) => {
                is_served |= member == top;
                tree.is_above(top, member)
            }
            None => {
                let options = tree.options(*slot);
                let from = options.partition_point(|member| *member < top);
                is_served |= options.get(from) == Some(&top);
                options.get(from).is_some_and(|member| tree.is_above(top, *member))
            }
        });
        fits && is_served
    })
}
