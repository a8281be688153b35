//! Moves inventory to other providers, together with its allocations, in one command.
//!
//! In between, a provider has both its old and its new inventories, so that no allocation ever lacks an inventory. The
//! generation of a provider goes up with each of these steps, as in Placement.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::allocate::allocate;
use super::hold::expected;
use super::inventory;
use crate::command::capacity::Reshape;
use crate::decide::Draft;
use crate::event::capacity::InventorySet;
use crate::receipt::Outcome;
use crate::refusal::Refusal;

pub(super) fn run(draft: &mut Draft<'_>, reshape: &Reshape) -> Result<Outcome, Refusal> {
    for reshaped in &reshape.inventories {
        draft.provider_at(reshaped.provider, Some(reshaped.expect))?;
    }
    for holding in &reshape.allocations.consumers {
        expected(draft, holding.consumer, holding.expect)?;
    }
    for reshaped in &reshape.inventories {
        let has = inventory::kept(draft, reshaped.provider)?.len();
        draft.touch_amounts(reshaped.inventories.len(), has)?;
    }
    for reshaped in &reshape.inventories {
        for (class, _) in &reshaped.inventories {
            inventory::class_known(draft, class)?;
        }
    }
    for reshaped in reshape.inventories.iter().filter(|one| !one.inventories.is_empty()) {
        let new = inventory::written(&reshaped.inventories);
        let mut both: Vec<InventorySet> = inventory::kept(draft, reshaped.provider)?;
        let classes: BTreeSet<&Arc<str>> = new.iter().map(|set| &set.class).collect();
        both.retain(|kept| !classes.contains(&kept.class));
        both.iter_mut().for_each(|kept| kept.written = true);
        both.extend(new);
        inventory::set(draft, reshaped.provider, both)?;
    }
    allocate(draft, &reshape.allocations)?;
    for reshaped in &reshape.inventories {
        inventory::set(draft, reshaped.provider, inventory::written(&reshaped.inventories))?;
    }
    Ok(Outcome::Reshaped)
}
