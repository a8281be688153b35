//! Invariants of providers and consumers, recomputed from their rows alone.

use std::collections::{BTreeMap, BTreeSet};

use crate::capacity::Uuid;
use crate::state::capacity::Capacity;
use crate::state::capacity::bits::Bits;
use crate::state::capacity::column::Availability;
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;
use crate::state::capacity::usage::ProjectUsages;

pub(super) fn check(capacity: &Capacity) -> Vec<String> {
    let mut wrong = Vec::new();
    trees(capacity, &mut wrong);
    holdings(capacity, &mut wrong);
    indexes(capacity, &mut wrong);
    wrong
}

/// The indexes by UUID and name match the providers, and roots match parents.
fn trees(capacity: &Capacity, wrong: &mut Vec<String>) {
    let mut uuids = BTreeMap::new();
    let mut names = BTreeMap::new();
    let mut children: BTreeMap<ProviderIx, Vec<ProviderIx>> = BTreeMap::new();
    let mut roots = Bits::default();
    for (ix, provider) in capacity.providers() {
        let uuid = provider.uuid;
        if uuids.insert(uuid, ix).is_some() || names.insert(provider.name.clone(), ix).is_some() {
            wrong.push(format!("provider {uuid} has a uuid or name that another provider has"));
        }
        match provider.parent {
            Some(parent) => children.entry(parent).or_default().push(ix),
            None => roots.insert(ix),
        }
        let mut above = Vec::new();
        let mut at = Some(ix);
        while let Some(here) = at.filter(|here| !above.contains(here)) {
            above.push(here);
            at = capacity.at(here).and_then(|provider| provider.parent);
        }
        if at.is_some() || above.last() != Some(&provider.root) {
            wrong.push(format!("provider {uuid} does not have its root as an ancestor"));
        }
    }
    for (ix, provider) in capacity.providers() {
        if children.remove(&ix).unwrap_or_default() != provider.children {
            wrong.push(format!("provider {} has a wrong list of children", provider.uuid));
        }
    }
    if !children.is_empty() {
        wrong.push("a provider has a parent that does not exist".into());
    }
    if !capacity.uuids.iter().eq(&uuids)
        || !names.iter().all(|(name, ix)| capacity.names.get(name) == Some(ix))
    {
        wrong.push("the index of providers by uuid or name is wrong".into());
    }
    if names.len() != capacity.names.len() || roots != capacity.roots {
        wrong.push("the index of names or of roots is wrong".into());
    }
}

/// The usage of providers matches what consumers hold.
fn holdings(capacity: &Capacity, wrong: &mut Vec<String>) {
    let mut used: BTreeMap<(ProviderIx, NameIx), u64> = BTreeMap::new();
    let mut consumers: BTreeMap<ProviderIx, BTreeSet<Uuid>> = BTreeMap::new();
    let mut usages = ProjectUsages::default();
    let mut holdings = 0;
    let mut due = BTreeSet::new();
    let mut holders = BTreeMap::new();
    for (slot, consumer) in capacity.consumers.iter() {
        let uuid = consumer.uuid;
        holders.insert(uuid, slot);
        if consumer.held.is_empty() || consumer.generation == 0 {
            wrong.push(format!("consumer {uuid} holds nothing or has generation 0"));
        }
        let mut seen = BTreeSet::new();
        for held in &consumer.held {
            if held.amount == 0 || !seen.insert((held.provider, held.class)) {
                wrong.push(format!(
                    "consumer {uuid} holds a class of a provider twice, or an amount of 0"
                ));
            }
            *used.entry((held.provider, held.class)).or_default() += u64::from(held.amount);
            holdings += usize::from(consumers.entry(held.provider).or_default().insert(uuid));
        }
        usages.add(&mut (**consumer).clone());
        due.extend(consumer.due_ms().map(|at| (at, uuid)));
    }
    if !capacity.holders.iter().eq(&holders)
        || usages != capacity.usages
        || !capacity.due.iter().map(|(due, ())| due).eq(&due)
    {
        wrong.push("the index of consumers, usages or expiry times is wrong".into());
    }
    for (ix, provider) in capacity.providers() {
        let uuid = provider.uuid;
        let own = consumers.remove(&ix).unwrap_or_default();
        if own.len() != provider.consumers
            || !own.into_iter().eq(capacity.consumers_of(ix, Uuid::default()))
        {
            wrong.push(format!("provider {uuid} has a wrong list of consumers"));
        }
        if !provider.stocks.is_sorted_by(|one, next| one.class < next.class) {
            wrong.push(format!("the inventories of provider {uuid} are not sorted"));
        }
        for stock in &provider.stocks {
            if used.remove(&(ix, stock.class)).unwrap_or(0) != stock.used {
                wrong.push(format!("provider {uuid} has a wrong usage of class {}", stock.class));
            }
        }
    }
    if !used.is_empty() || !consumers.is_empty() || holdings != capacity.holders_of.len() {
        wrong.push("a consumer holds an allocation from a missing provider or class".into());
    }
}

/// Bitmaps and columns match the rows.
fn indexes(capacity: &Capacity, wrong: &mut Vec<String>) {
    let mut with_trait: BTreeMap<NameIx, Bits> = BTreeMap::new();
    let mut members: BTreeMap<Uuid, Bits> = BTreeMap::new();
    let mut have: BTreeMap<NameIx, Bits> = BTreeMap::new();
    for (ix, provider) in capacity.providers() {
        for &has in &provider.traits {
            with_trait.entry(has).or_default().insert(ix);
        }
        for aggregate in capacity.aggregates(provider) {
            members.entry(aggregate).or_default().insert(ix);
        }
        for stock in &provider.stocks {
            have.entry(stock.class).or_default().insert(ix);
            let available = capacity.column(stock.class).map(|column| column.availability(ix));
            if available != Some(Availability::from(stock)) {
                wrong.push(format!(
                    "the column of {} does not match {}",
                    stock.class, provider.uuid
                ));
            }
        }
        if provider.aggregates.len() != capacity.aggregates(provider).count()
            || !provider.traits.iter().all(|has| capacity.traits.get(*has).is_some())
            || !provider.stocks.iter().all(|stock| capacity.classes.get(stock.class).is_some())
        {
            wrong.push(format!(
                "provider {} has a class, trait or aggregate that does not exist",
                provider.uuid
            ));
        }
    }
    let bits = |map: &BTreeMap<NameIx, Bits>, ix: usize, found: &Bits| {
        map.get(&(ix as NameIx)).unwrap_or(&Bits::default()) == found
    };
    if !capacity.with_trait.iter().all(|(ix, found)| bits(&with_trait, ix, found))
        || with_trait.keys().any(|ix| *ix as usize >= capacity.with_trait.len())
    {
        wrong.push("the index of traits does not match the providers".into());
    }
    if !capacity.columns.iter().all(|(ix, column)| bits(&have, ix, &column.have)) {
        wrong.push("the index of classes does not match the providers".into());
    }
    let there: BTreeMap<Uuid, Bits> = capacity
        .aggregates
        .rows
        .iter()
        .filter_map(|(_, row)| row.as_ref())
        .map(|aggregate| (aggregate.uuid, aggregate.members.clone()))
        .collect();
    if there != members || capacity.aggregates.by_uuid.len() != members.len() {
        wrong.push("the index of aggregates does not match the providers".into());
    }
}
