//! Changes the inventories of a provider: all of them, or one class.

use std::sync::Arc;

use crate::capacity::{Inventory, Uuid};
use crate::command::capacity::{ChangeInventories, InventoryChange};
use crate::decide::Draft;
use crate::event::capacity::{InventoriesSet, InventorySet};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{CapacityRefusal, Refusal};
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::Stock;

pub(super) fn change(
    draft: &mut Draft<'_>,
    change: &ChangeInventories,
) -> Result<Outcome, Refusal> {
    let uuid = change.provider;
    let there = draft.provider_at(uuid, change.expect)?;
    let has = |class: &str| {
        let class = draft.state.capacity.classes.find(class);
        class.is_some_and(|class| there.stock(class).is_some())
    };
    let inventories = match &change.change {
        InventoryChange::Replace(inventories) => written(inventories),
        InventoryChange::Add(class, inventory) => {
            class_known(draft, class)?;
            if has(class) {
                let class = class.clone();
                return Err(CapacityRefusal::InventoryExists { provider: uuid, class }.into());
            }
            with(draft, uuid, class, inventory)?
        }
        InventoryChange::Update(class, inventory) => {
            class_known(draft, class)?;
            if !has(class) {
                let class = class.clone();
                return Err(CapacityRefusal::InventoryUnknown { provider: uuid, class }.into());
            }
            with(draft, uuid, class, inventory)?
        }
        InventoryChange::Remove(class) => {
            class_known(draft, class)?;
            if !has(class) {
                let class = class.clone();
                return Err(CapacityRefusal::InventoryUnknown { provider: uuid, class }.into());
            }
            let mut kept = kept(draft, uuid)?;
            kept.retain(|set| set.class != *class);
            kept
        }
    };
    set(draft, uuid, inventories)?;
    draft.provider_now(uuid)
}

/// Inventories that this change writes.
pub(super) fn written(inventories: &[(Arc<str>, Inventory)]) -> Vec<InventorySet> {
    let set = |(class, inventory): &(Arc<str>, Inventory)| InventorySet {
        class: class.clone(),
        inventory: *inventory,
        written: true,
    };
    inventories.iter().map(set).collect()
}

/// The inventories of the provider, unchanged.
pub(super) fn kept(draft: &Draft<'_>, uuid: Uuid) -> Result<Vec<InventorySet>, Refusal> {
    let provider = draft.provider(uuid)?;
    let classes = &draft.state.capacity.classes;
    let mut stocks: Vec<&Stock> = provider.stocks.iter().collect();
    stocks.sort_by_cached_key(|stock| classes.sort_key(stock.class));
    let sets = stocks.into_iter().map(|stock| InventorySet {
        class: classes.name(stock.class),
        inventory: stock.inventory,
        written: false,
    });
    Ok(sets.collect())
}

/// The inventories of the provider, with this class written.
fn with(
    draft: &Draft<'_>,
    uuid: Uuid,
    class: &Arc<str>,
    inventory: &Inventory,
) -> Result<Vec<InventorySet>, Refusal> {
    let mut inventories = kept(draft, uuid)?;
    inventories.retain(|set| set.class != *class);
    inventories.push(InventorySet { class: class.clone(), inventory: *inventory, written: true });
    Ok(inventories)
}

/// Replaces the inventories of a provider. The generation goes up even if nothing changes.
pub(super) fn set(
    draft: &mut Draft<'_>,
    uuid: Uuid,
    inventories: Vec<InventorySet>,
) -> Result<(), Refusal> {
    let many = inventories.len() as u64;
    at_most("inventories_per_provider_max", draft.limits.inventories_per_provider_max, many)?;
    let classes = &draft.state.capacity.classes;
    for set in &inventories {
        class_known(draft, &set.class)?;
    }
    let provider = draft.provider(uuid)?;
    let stays = |class: &Arc<str>| inventories.iter().any(|set| set.class == *class);
    let used = provider.stocks.iter().filter(|stock| stock.used > 0).map(|stock| stock.class);
    let mut gone: Vec<NameIx> = used.filter(|class| !stays(&classes.name(*class))).collect();
    gone.sort_by_cached_key(|class| classes.sort_key(*class));
    if !gone.is_empty() {
        let gone = gone.into_iter().map(|class| classes.name(class)).collect();
        return Err(CapacityRefusal::InventoryInUse { provider: uuid, classes: gone }.into());
    }
    let generation = provider.generation + 1;
    let at_ms = draft.now_ms;
    let event = InventoriesSet { provider: uuid, generation, inventories, at_ms };
    draft.record(event);
    Ok(())
}

pub(super) fn class_known(draft: &Draft<'_>, class: &Arc<str>) -> Result<(), Refusal> {
    match draft.state.capacity.classes.find(class) {
        Some(_) => Ok(()),
        None => Err(CapacityRefusal::ClassUnknown { class: class.clone() }.into()),
    }
}
