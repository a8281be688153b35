//! What is to be done, decided from what the two sides say. Pure: nothing here asks or writes.

use std::collections::HashMap;

use allod_core::capacity::Uuid;

use super::wire::{Consumer, Inventory, Part, Provider};

/// What to do about one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The target has it not, or not all of it.
    Write,
    /// The target has it just so.
    Leave,
    /// The target has another one, which is not ours to change.
    Report,
}

impl Step {
    fn of(equal: bool, ours: bool) -> Step {
        match (equal, ours) {
            (true, _) => Step::Leave,
            (false, true) => Step::Write,
            (false, false) => Step::Report,
        }
    }
}

pub fn provider(wanted: &Provider, there: Option<&Provider>, replace: bool) -> Step {
    let Some(there) = there else { return Step::Write };
    Step::of(wanted.name == there.name && wanted.parent == there.parent, replace)
}

pub fn part(wanted: &Part, there: &Part, replace: bool) -> Step {
    Step::of(wanted == there, replace || there.len() == 0 || half_done(wanted, there))
}

/// `typed`: both sides can tell types.
pub fn consumer(wanted: &Consumer, there: &Consumer, typed: bool, replace: bool) -> Step {
    let equal = wanted.json(typed) == there.json(typed);
    Step::of(equal, replace || there.holds_nothing())
}

/// Placement takes it when an inventory shrinks below what is given out of it, or gets other units, but gives out nothing
/// of that kind anew. So what stands in such an inventory is written while it is as wide as can be.
pub fn widened(inventory: &Inventory) -> Inventory {
    const MOST: u64 = i32::MAX as u64;
    Inventory {
        total: MOST,
        reserved: 0,
        min_unit: 1,
        max_unit: MOST,
        step_size: 1,
        allocation_ratio: inventory.allocation_ratio.max(1.0),
    }
}

/// Whether the target has inventories that an import had widened when it was cut off.
fn half_done(wanted: &Part, there: &Part) -> bool {
    let (Part::Inventories(wanted), Part::Inventories(there)) = (wanted, there) else {
        return false;
    };
    wanted.len() == there.len()
        && wanted.iter().all(|(class, inventory)| {
            there.get(class).is_some_and(|there| there == inventory || *there == widened(inventory))
        })
}

/// Which of the target's providers have a name that another one is to get: names are unique, so they have to give way.
pub fn in_the_way<'a>(
    wanted: &[Provider],
    there: impl IntoIterator<Item = &'a Provider>,
) -> Vec<&'a Provider> {
    let names: HashMap<&str, Uuid> = wanted.iter().map(|row| (&*row.name, row.uuid)).collect();
    let is = |row: &&Provider| names.get(&*row.name).is_some_and(|uuid| *uuid != row.uuid);
    there.into_iter().filter(is).collect()
}

/// The providers by how deep they stand in their tree, so that each comes after its parent.
pub fn by_depth(providers: &[Provider]) -> Vec<Vec<usize>> {
    let at: HashMap<Uuid, usize> =
        providers.iter().enumerate().map(|(ix, provider)| (provider.uuid, ix)).collect();
    let parent = |ix: usize| at.get(&providers[ix].parent?).copied();
    let mut levels: Vec<Vec<usize>> = Vec::new();
    let mut depths: Vec<Option<usize>> = vec![None; providers.len()];
    for start in 0..providers.len() {
        let mut above = vec![start];
        // The list is no snapshot: while it came in a tree may have changed into what looks like a ring.
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
    use crate::import::wire::Inventories;

    fn row(uuid: u128, parent: Option<u128>) -> Provider {
        let (uuid, parent) = (Uuid(uuid), parent.map(Uuid));
        Provider { uuid, parent, name: format!("p{uuid}").into(), generation: 0 }
    }

    fn stock(total: u64, ratio: f64) -> Inventory {
        Inventory {
            total,
            reserved: 1,
            min_unit: 2,
            max_unit: 4,
            step_size: 2,
            allocation_ratio: ratio,
        }
    }

    fn inventories(all: &[(&str, Inventory)]) -> Part {
        let all: Inventories =
            all.iter().map(|(class, stock)| (class.to_string(), *stock)).collect();
        Part::Inventories(all)
    }

    #[test]
    fn a_provider_is_written_when_it_is_not_there_and_replaced_only_when_told() {
        let wanted = row(1, Some(2));
        assert_eq!(provider(&wanted, None, false), Step::Write);
        let same = Provider { generation: 9, ..wanted.clone() };
        assert_eq!(provider(&wanted, Some(&same), true), Step::Leave);
        for other in [
            Provider { name: "x".into(), ..wanted.clone() },
            Provider { parent: None, ..wanted.clone() },
            Provider { parent: Some(Uuid(3)), ..wanted.clone() },
        ] {
            assert_eq!(provider(&wanted, Some(&other), false), Step::Report);
            assert_eq!(provider(&wanted, Some(&other), true), Step::Write);
        }
    }

    #[test]
    fn a_part_is_written_where_nothing_is_or_what_an_import_left_half_done() {
        let stock = stock(8, 0.5);
        let wanted = inventories(&[("VCPU", stock), ("DISK_GB", stock)]);
        let wide = widened(&stock);
        let more = Inventory { total: 9, ..stock };
        for (there, step) in [
            (inventories(&[]), Step::Write),
            (wanted.clone(), Step::Leave),
            (inventories(&[("VCPU", wide), ("DISK_GB", stock)]), Step::Write),
            (inventories(&[("VCPU", wide), ("DISK_GB", wide)]), Step::Write),
            (inventories(&[("VCPU", wide)]), Step::Report),
            (inventories(&[("VCPU", stock), ("PCPU", stock)]), Step::Report),
            (inventories(&[("VCPU", wide), ("DISK_GB", more)]), Step::Report),
            (inventories(&[("VCPU", stock), ("DISK_GB", more)]), Step::Report),
        ] {
            assert_eq!(part(&wanted, &there, false), step, "{there:?}");
            let told = if step == Step::Report { Step::Write } else { step };
            assert_eq!(part(&wanted, &there, true), told, "{there:?}");
        }
        let traits = |names: &[&str]| {
            Part::Traits(names.iter().map(ToString::to_string).collect::<BTreeSet<_>>())
        };
        assert_eq!(part(&traits(&["A"]), &traits(&[]), false), Step::Write);
        assert_eq!(part(&traits(&["A", "B"]), &traits(&["B", "A"]), false), Step::Leave);
        assert_eq!(part(&traits(&[]), &traits(&["A"]), false), Step::Report);
        let of = |uuid| Part::Aggregates([Uuid(uuid)].into());
        assert_eq!(part(&of(1), &of(2), false), Step::Report);
    }

    #[test]
    fn a_consumer_is_whose_it_is_and_what_it_holds() {
        let read = |value| serde_json::from_value::<Consumer>(value).unwrap();
        let held = |amount: u64, kind: &str| {
            read(json!({
                "allocations": {"p": {"resources": {"VCPU": amount}, "generation": 7}},
                "project_id": "p", "user_id": "u", "consumer_generation": amount,
                "consumer_type": kind,
            }))
        };
        let nobody = read(json!({ "allocations": {} }));
        let table = [
            (held(1, "INSTANCE"), nobody.clone(), true, Step::Write),
            (held(1, "INSTANCE"), held(1, "INSTANCE"), true, Step::Leave),
            (held(1, "INSTANCE"), held(2, "INSTANCE"), true, Step::Report),
            (held(1, "INSTANCE"), held(1, "MIGRATION"), true, Step::Report),
            (held(1, "INSTANCE"), held(1, "unknown"), true, Step::Report),
            (held(1, "INSTANCE"), held(1, "unknown"), false, Step::Leave),
            (nobody.clone(), held(1, "INSTANCE"), true, Step::Report),
            (nobody.clone(), nobody, true, Step::Leave),
        ];
        for (wanted, there, typed, step) in table {
            assert_eq!(consumer(&wanted, &there, typed, false), step, "{wanted:?} {there:?}");
        }
        let mut unset = held(1, "unknown");
        unset.consumer_type = None;
        assert_eq!(consumer(&held(1, "unknown"), &unset, true, false), Step::Leave);
    }

    #[test]
    fn a_name_that_another_is_to_get_is_in_the_way() {
        let named = |uuid, name: &str| Provider { name: name.into(), ..row(uuid, None) };
        let wanted = [named(1, "a"), named(2, "b"), named(3, "c")];
        let there = [named(1, "b"), named(2, "a"), named(3, "c"), named(4, "x"), named(5, "c")];
        let found: Vec<u128> =
            in_the_way(&wanted, &there).iter().map(|provider| provider.uuid.0).collect();
        assert_eq!(found, [1, 2, 5]);
    }

    #[test]
    fn parents_come_before_children() {
        let providers =
            [row(4, Some(3)), row(3, Some(2)), row(1, None), row(2, None), row(5, Some(2))];
        assert_eq!(by_depth(&providers), [vec![3, 2], vec![1, 4], vec![0]]);
        // A parent that is not in the list, and what cannot be.
        assert_eq!(by_depth(&[row(1, Some(9))]), [vec![0]]);
        let ring = by_depth(&[row(1, Some(2)), row(2, Some(1))]);
        assert_eq!(ring.iter().map(Vec::len).sum::<usize>(), 2);
        assert!(by_depth(&[]).is_empty());
    }
}
