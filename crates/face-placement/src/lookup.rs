//! Resolves the names of classes and traits in a query.

use allod_core::search::TraitFilter;
use allod_core::view::capacity::{CapacityView, NameIx};

use crate::error::{PlacementError, PlacementResult};
use crate::query::{ResourceAmounts, TraitParams};

pub(crate) fn classes(
    capacity: CapacityView<'_>,
    amounts: &ResourceAmounts,
) -> PlacementResult<Vec<(NameIx, u64)>> {
    let find = |(name, amount): &(String, u64)| match capacity.classes().find(name) {
        Some(class) => Ok((class, *amount)),
        None => Err(PlacementError::bad_request(format!(
            "Invalid resource class in resources parameter: No such resource class {name}."
        ))),
    };
    amounts.iter().map(find).collect()
}

/// The error lists the unknown traits.
pub(crate) fn traits(
    capacity: CapacityView<'_>,
    traits: &TraitParams,
) -> Result<TraitFilter, String> {
    let known = capacity.traits();
    let mut unknown: Vec<&str> = traits
        .required
        .iter()
        .flatten()
        .chain(&traits.forbidden)
        .map(String::as_str)
        .filter(|name| known.find(name).is_none())
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        return Err(format!("No such trait(s): {}.", unknown.join(", ")));
    }
    let find = |names: &Vec<String>| names.iter().filter_map(|name| known.find(name)).collect();
    Ok(TraitFilter {
        required: traits.required.iter().map(find).collect(),
        forbidden: find(&traits.forbidden),
    })
}
