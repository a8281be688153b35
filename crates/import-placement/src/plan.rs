//! Decides what to do with each item. Sends no requests.

use std::collections::HashMap;

use allod_core::capacity::Uuid;

use crate::wire::{ConsumerBody, InventoryBody, ProviderEntry, ProviderPart};

/// What to do with one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanStep {
    /// The target lacks the item, or it may be overwritten.
    Write,
    /// The item is equal on both sides.
    Skip,
    /// The target has a different item, which may not be overwritten.
    KeepDifferent,
}

impl PlanStep {
    fn of(equal: bool, writable: bool) -> PlanStep {
        match (equal, writable) {
            (true, _) => PlanStep::Skip,
            (false, true) => PlanStep::Write,
            (false, false) => PlanStep::KeepDifferent,
        }
    }
}

pub fn provider(wanted: &ProviderEntry, there: Option<&ProviderEntry>, replace: bool) -> PlanStep {
    let Some(there) = there else { return PlanStep::Write };
    PlanStep::of(wanted.name == there.name && wanted.parent == there.parent, replace)
}

pub fn part(wanted: &ProviderPart, there: &ProviderPart, replace: bool) -> PlanStep {
    PlanStep::of(wanted == there, replace || there.len() == 0 || left_widened(wanted, there))
}

/// Types are compared if both sides have them.
pub fn consumer(
    wanted: &ConsumerBody,
    there: &ConsumerBody,
    has_types: bool,
    replace: bool,
) -> PlanStep {
    let equal = wanted.json(has_types) == there.json(has_types);
    PlanStep::of(equal, replace || there.is_empty())
}

/// The inventory without limits. Placement allows an inventory to become smaller than its allocations, or to get other
/// units, but refuses to write such allocations again. So the importer widens the inventory, writes the allocations, and
/// restores the inventory.
pub fn widened(inventory: &InventoryBody) -> InventoryBody {
    const MOST: u64 = i32::MAX as u64;
    InventoryBody {
        total: MOST,
        reserved: 0,
        min_unit: 1,
        max_unit: MOST,
        step_size: 1,
        allocation_ratio: inventory.allocation_ratio.max(1.0),
    }
}

/// Whether an interrupted import left inventories widened.
fn left_widened(wanted: &ProviderPart, there: &ProviderPart) -> bool {
    let (ProviderPart::Inventories(wanted), ProviderPart::Inventories(there)) = (wanted, there)
    else {
        return false;
    };
    wanted.len() == there.len()
        && wanted.iter().all(|(class, inventory)| {
            there.get(class).is_some_and(|there| there == inventory || *there == widened(inventory))
        })
}

/// The target's providers whose name another provider is to get. Names are unique, so they must be renamed first.
pub fn name_conflicts<'a>(
    wanted: &[ProviderEntry],
    there: impl IntoIterator<Item = &'a ProviderEntry>,
) -> Vec<&'a ProviderEntry> {
    let names: HashMap<&str, Uuid> = wanted.iter().map(|row| (&*row.name, row.uuid)).collect();
    let is = |row: &&ProviderEntry| names.get(&*row.name).is_some_and(|uuid| *uuid != row.uuid);
    there.into_iter().filter(is).collect()
}

/// Indexes of the providers by depth in their tree, so that parents come before children.
pub fn by_depth(providers: &[ProviderEntry]) -> Vec<Vec<usize>> {
    let at: HashMap<Uuid, usize> =
        providers.iter().enumerate().map(|(ix, provider)| (provider.uuid, ix)).collect();
    let parent = |ix: usize| at.get(&providers[ix].parent?).copied();
    let mut levels: Vec<Vec<usize>> = Vec::new();
    let mut depths: Vec<Option<usize>> = vec![None; providers.len()];
    for start in 0..providers.len() {
        let mut above = vec![start];
        // The list is not a snapshot: a tree that changed meanwhile may look like a cycle.
        while let Some(next) = above.last().and_then(|&ix| parent(ix))
            && depths[next].is_none()
            && above.len() <= providers.len()
        {
            above.push(next);
        }
        for ix in above.into_iter().rev() {
            if depths[ix].is_none() {
                let depth =
                    parent(ix).and_then(|parent| depths[parent]).map_or(0, |depth| depth + 1);
                depths[ix] = Some(depth);
                levels.resize_with(levels.len().max(depth + 1), Vec::new);
                levels[depth].push(ix);
            }
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::wire::Inventories;

    fn row(uuid: u128, parent: Option<u128>) -> ProviderEntry {
        let (uuid, parent) = (Uuid(uuid), parent.map(Uuid));
        ProviderEntry { uuid, parent, name: format!("p{uuid}").into(), generation: 0 }
    }

    fn stock(total: u64, ratio: f64) -> InventoryBody {
        InventoryBody {
            total,
            reserved: 1,
            min_unit: 2,
            max_unit: 4,
            step_size: 2,
            allocation_ratio: ratio,
        }
    }

    fn inventories(all: &[(&str, InventoryBody)]) -> ProviderPart {
        let all: Inventories =
            all.iter().map(|(class, stock)| (class.to_string(), *stock)).collect();
        ProviderPart::Inventories(all)
    }

    #[test]
    fn a_missing_provider_is_written_and_a_different_one_only_with_replace() {
        let wanted = row(1, Some(2));
        assert_eq!(provider(&wanted, None, false), PlanStep::Write);
        let same = ProviderEntry { generation: 9, ..wanted.clone() };
        assert_eq!(provider(&wanted, Some(&same), true), PlanStep::Skip);
        for other in [
            ProviderEntry { name: "x".into(), ..wanted.clone() },
            ProviderEntry { parent: None, ..wanted.clone() },
            ProviderEntry { parent: Some(Uuid(3)), ..wanted.clone() },
        ] {
            assert_eq!(provider(&wanted, Some(&other), false), PlanStep::KeepDifferent);
            assert_eq!(provider(&wanted, Some(&other), true), PlanStep::Write);
        }
    }

    #[test]
    fn a_part_is_written_if_the_target_has_none_or_it_was_left_widened() {
        let stock = stock(8, 0.5);
        let wanted = inventories(&[("VCPU", stock), ("DISK_GB", stock)]);
        let wide = widened(&stock);
        let more = InventoryBody { total: 9, ..stock };
        for (there, step) in [
            (inventories(&[]), PlanStep::Write),
            (wanted.clone(), PlanStep::Skip),
            (inventories(&[("VCPU", wide), ("DISK_GB", stock)]), PlanStep::Write),
            (inventories(&[("VCPU", wide), ("DISK_GB", wide)]), PlanStep::Write),
            (inventories(&[("VCPU", wide)]), PlanStep::KeepDifferent),
            (inventories(&[("VCPU", stock), ("PCPU", stock)]), PlanStep::KeepDifferent),
            (inventories(&[("VCPU", wide), ("DISK_GB", more)]), PlanStep::KeepDifferent),
            (inventories(&[("VCPU", stock), ("DISK_GB", more)]), PlanStep::KeepDifferent),
        ] {
            assert_eq!(part(&wanted, &there, false), step, "{there:?}");
            let replaced = if step == PlanStep::KeepDifferent { PlanStep::Write } else { step };
            assert_eq!(part(&wanted, &there, true), replaced, "{there:?}");
        }
        let traits = |names: &[&str]| {
            ProviderPart::Traits(names.iter().map(ToString::to_string).collect::<BTreeSet<_>>())
        };
        assert_eq!(part(&traits(&["A"]), &traits(&[]), false), PlanStep::Write);
        assert_eq!(part(&traits(&["A", "B"]), &traits(&["B", "A"]), false), PlanStep::Skip);
        assert_eq!(part(&traits(&[]), &traits(&["A"]), false), PlanStep::KeepDifferent);
        let of = |uuid| ProviderPart::Aggregates([Uuid(uuid)].into());
        assert_eq!(part(&of(1), &of(2), false), PlanStep::KeepDifferent);
    }

    #[test]
    fn consumers_are_compared_by_allocations_project_user_and_type() {
        let read = |value| serde_json::from_value::<ConsumerBody>(value).unwrap();
        let held = |amount: u64, kind: &str| {
            read(json!({
                "allocations": {"p": {"resources": {"VCPU": amount}, "generation": 7}},
                "project_id": "p", "user_id": "u", "consumer_generation": amount,
                "consumer_type": kind,
            }))
        };
        let empty = read(json!({ "allocations": {} }));
        let table = [
            (held(1, "INSTANCE"), empty.clone(), true, PlanStep::Write),
            (held(1, "INSTANCE"), held(1, "INSTANCE"), true, PlanStep::Skip),
            (held(1, "INSTANCE"), held(2, "INSTANCE"), true, PlanStep::KeepDifferent),
            (held(1, "INSTANCE"), held(1, "MIGRATION"), true, PlanStep::KeepDifferent),
            (held(1, "INSTANCE"), held(1, "unknown"), true, PlanStep::KeepDifferent),
            (held(1, "INSTANCE"), held(1, "unknown"), false, PlanStep::Skip),
            (empty.clone(), held(1, "INSTANCE"), true, PlanStep::KeepDifferent),
            (empty.clone(), empty, true, PlanStep::Skip),
        ];
        for (wanted, there, has_types, step) in table {
            assert_eq!(consumer(&wanted, &there, has_types, false), step, "{wanted:?} {there:?}");
        }
        let mut unset = held(1, "unknown");
        unset.consumer_type = None;
        assert_eq!(consumer(&held(1, "unknown"), &unset, true, false), PlanStep::Skip);
    }

    #[test]
    fn a_name_that_another_provider_needs_is_a_conflict() {
        let named = |uuid, name: &str| ProviderEntry { name: name.into(), ..row(uuid, None) };
        let wanted = [named(1, "a"), named(2, "b"), named(3, "c")];
        let there = [named(1, "b"), named(2, "a"), named(3, "c"), named(4, "x"), named(5, "c")];
        let found: Vec<u128> =
            name_conflicts(&wanted, &there).iter().map(|provider| provider.uuid.0).collect();
        assert_eq!(found, [1, 2, 5]);
    }

    #[test]
    fn parents_come_before_children() {
        let providers =
            [row(4, Some(3)), row(3, Some(2)), row(1, None), row(2, None), row(5, Some(2))];
        assert_eq!(by_depth(&providers), [vec![3, 2], vec![1, 4], vec![0]]);
        // A parent that is not in the list, and a cycle.
        assert_eq!(by_depth(&[row(1, Some(9))]), [vec![0]]);
        let cycle = by_depth(&[row(1, Some(2)), row(2, Some(1))]);
        assert_eq!(cycle.iter().map(Vec::len).sum::<usize>(), 2);
        assert!(by_depth(&[]).is_empty());
    }
}
