//! From the names of classes and traits in a query to the numbers that the state has for them.

use allod_core::search;
use allod_core::state::capacity::Capacity;
use allod_core::state::capacity::names::NameIx;

use crate::fault::Fault;
use crate::query::{Amounts, Traits};

pub(crate) fn classes(capacity: &Capacity, amounts: &Amounts) -> Result<Vec<(NameIx, u64)>, Fault> {
    let look = |(name, amount): &(String, u64)| match capacity.classes().find(name) {
        Some(class) => Ok((class, *amount)),
        None => Err(Fault::bad_request(format!(
            "Invalid resource class in resources parameter: No such resource class {name}."
        ))),
    };
    amounts.iter().map(look).collect()
}

/// The error says which traits there are none of.
pub(crate) fn traits(capacity: &Capacity, traits: &Traits) -> Result<search::Traits, String> {
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
    let look = |names: &Vec<String>| names.iter().filter_map(|name| known.find(name)).collect();
    Ok(search::Traits {
        required: traits.required.iter().map(look).collect(),
        forbidden: look(&traits.forbidden),
    })
}
