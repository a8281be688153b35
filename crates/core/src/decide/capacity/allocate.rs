//! Replaces the allocations of one or several consumers.
//!
//! The consumers release everything they hold before they take what they ask for, so a move between two consumers needs
//! the capacity only once. The checks and their order are Placement's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hold::{expected, released, valid_lease};
use crate::capacity::Uuid;
use crate::command::capacity::{AllocateOp, Holding};
use crate::decide::{Draft, valid};
use crate::event::ReleaseCause;
use crate::event::capacity::{Allocated, AllocationsSet, ProviderCounted};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{CapacityRefusal, Refusal};
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;

pub(in crate::decide) fn allocate(
    draft: &mut Draft<'_>,
    op: &AllocateOp,
) -> Result<Outcome, Refusal> {
    check_limits(draft, op)?;
    for holding in &op.consumers {
        let set = holding.allocations.iter().map(|(_, resources)| resources.len()).sum();
        let has = draft.state.capacity.consumer(holding.consumer).map_or(0, |has| has.held.len());
        draft.touch_amounts(set, has)?;
    }
    for holding in &op.consumers {
        expected(draft, holding.consumer, holding.expect)?;
    }
    for (provider, _) in op.consumers.iter().flat_map(|holding| &holding.allocations) {
        draft.provider(*provider)?;
    }
    let requested = requested(draft, op)?;
    check(draft, op, &requested)?;

    // The generation of every named provider goes up once. If a consumer releases everything, so does that of the
    // providers it held.
    let mut counted: Vec<Uuid> = Vec::new();
    let mut consumers = Vec::with_capacity(op.consumers.len());
    for holding in &op.consumers {
        let generation = take(draft, holding, &mut counted);
        consumers.push((holding.consumer, generation));
    }
    let mut seen = BTreeSet::new();
    for provider in counted.into_iter().filter(|provider| seen.insert(*provider)) {
        let generation = draft.provider(provider)?.generation + 1;
        let at_ms = draft.now_ms;
        draft.record(ProviderCounted { provider, generation, at_ms });
    }
    Ok(Outcome::Allocated { consumers })
}

fn check_limits(draft: &Draft<'_>, op: &AllocateOp) -> Result<(), Refusal> {
    let limits = draft.limits;
    let many = op.consumers.len() as u64;
    at_most("consumers_per_request_max", limits.consumers_per_request_max, many)?;
    let mut seen = BTreeSet::new();
    for holding in &op.consumers {
        if !seen.insert(holding.consumer) {
            let what = format!("consumer {} is named twice", holding.consumer);
            return valid::invalid(what, "name each consumer once, with all its allocations");
        }
        let many: usize = holding.allocations.iter().map(|(_, resources)| resources.len()).sum();
        let max = limits.allocations_per_consumer_max;
        at_most("allocations_per_consumer_max", max, many as u64)?;
        let names = [&holding.project, &holding.user].into_iter().chain(&holding.consumer_type);
        for name in names {
            at_most("owner_bytes_max", limits.owner_bytes_max, name.len() as u64)?;
        }
        valid_lease(draft, holding.lease)?;
        let mut named = BTreeSet::new();
        for (provider, resources) in &holding.allocations {
            for (class, amount) in resources {
                if !named.insert((provider, class)) {
                    let what = format!("{class} of provider {provider} is requested twice");
                    return valid::invalid(what, "request the sum of both amounts once");
                }
                if *amount == 0 {
                    let what = format!("0 of {class} is requested");
                    return valid::invalid(what, "omit the class, or request at least 1");
                }
            }
        }
    }
    let there = draft.state.capacity.consumer_count() as u64;
    at_most("consumers_max", limits.consumers_max, there + op.consumers.len() as u64)
}

/// One requested amount, with indexes for names.
struct RequestedAmount<'a> {
    uuid: Uuid,
    provider: ProviderIx,
    name: &'a Arc<str>,
    class: NameIx,
    amount: u64,
}

fn requested<'a>(
    draft: &Draft<'_>,
    op: &'a AllocateOp,
) -> Result<Vec<RequestedAmount<'a>>, Refusal> {
    let capacity = &draft.state.capacity;
    let mut requested = Vec::new();
    for (uuid, resources) in op.consumers.iter().flat_map(|holding| &holding.allocations) {
        let Some(provider) = capacity.provider_ix(*uuid) else { continue };
        for (name, amount) in resources {
            let Some(class) = capacity.classes.find(name) else {
                return Err(CapacityRefusal::ClassUnknown { class: name.clone() }.into());
            };
            requested.push(RequestedAmount { uuid: *uuid, provider, name, class, amount: *amount });
        }
    }
    Ok(requested)
}

/// Checks that everything fits after the consumers have released what they hold.
fn check(
    draft: &Draft<'_>,
    op: &AllocateOp,
    requested: &[RequestedAmount<'_>],
) -> Result<(), Refusal> {
    let capacity = &draft.state.capacity;
    // Placement checks for providers without any of the requested classes before it checks single classes.
    let classes: BTreeSet<NameIx> = requested.iter().map(|one| one.class).collect();
    let has_none = |ix: ProviderIx| {
        let stocks = capacity.at(ix).map(|provider| provider.stocks.as_slice()).unwrap_or_default();
        !stocks.iter().any(|stock| classes.contains(&stock.class))
    };
    let empty: BTreeSet<Uuid> =
        requested.iter().filter(|one| has_none(one.provider)).map(|one| one.uuid).collect();
    if !empty.is_empty() {
        let mut classes: Vec<NameIx> = classes.into_iter().collect();
        classes.sort_by_cached_key(|class| capacity.classes.sort_key(*class));
        let classes = classes.into_iter().map(|class| capacity.classes.name(class)).collect();
        let providers = empty.into_iter().collect();
        return Err(CapacityRefusal::NothingInStock { providers, classes }.into());
    }
    let mut freed: BTreeMap<(ProviderIx, NameIx), u64> = BTreeMap::new();
    for consumer in op.consumers.iter().filter_map(|one| capacity.consumer(one.consumer)) {
        for held in &consumer.held {
            *freed.entry((held.provider, held.class)).or_default() += u64::from(held.amount);
        }
    }
    let mut sums: BTreeMap<(ProviderIx, NameIx), u64> = BTreeMap::new();
    for one in requested {
        let (provider, class) = (one.uuid, one.name.clone());
        let stock = capacity.at(one.provider).and_then(|provider| provider.stock(one.class));
        let Some(stock) = stock else {
            return Err(CapacityRefusal::NotInStock { provider, class }.into());
        };
        let inventory = &stock.inventory;
        if !inventory.allows(one.amount) {
            return Err(CapacityRefusal::PortionViolated {
                provider,
                class,
                amount: one.amount,
                min_unit: inventory.min_unit,
                max_unit: inventory.max_unit,
                step_size: inventory.step_size,
            }
            .into());
        }
        let key = (one.provider, one.class);
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(one.amount);
        let used = stock.used - freed.get(&key).copied().unwrap_or(0).min(stock.used);
        let wanted = used.saturating_add(*sum);
        let fits = i64::try_from(wanted).is_ok_and(|wanted| wanted <= inventory.capacity());
        // If a provider is overcommitted, a change that does not increase its usage is allowed. Otherwise nothing could
        // be moved away from it.
        if !fits && wanted > stock.used {
            return Err(CapacityRefusal::CapacityExceeded {
                provider,
                class,
                amount: *sum,
                capacity: inventory.capacity(),
                used,
            }
            .into());
        }
    }
    Ok(())
}

/// Records the new allocations of one consumer and returns its generation.
fn take(draft: &mut Draft<'_>, holding: &Holding, counted: &mut Vec<Uuid>) -> Option<u64> {
    let capacity = &draft.state.capacity;
    let before = capacity.consumer(holding.consumer);
    let had: Vec<Uuid> = before
        .iter()
        .flat_map(|consumer| consumer.by_provider())
        .filter_map(|held| capacity.at(held.first()?.provider))
        .map(|provider| provider.uuid)
        .collect();
    if holding.allocations.iter().all(|(_, resources)| resources.is_empty()) {
        let event = released(draft, holding.consumer, ReleaseCause::Asked)?;
        draft.record(event);
        counted.extend(had);
        return None;
    }
    let generation = before.map_or(0, |consumer| consumer.generation) + 1;
    let consumer_type = holding
        .consumer_type
        .clone()
        .or_else(|| before.and_then(|consumer| consumer.consumer_type.clone()));
    let amount = |(class, amount): &(Arc<str>, u64)| (class.clone(), *amount as u32);
    let allocations: Vec<Allocated> = holding
        .allocations
        .iter()
        .filter(|(_, resources)| !resources.is_empty())
        .map(|(provider, resources)| Allocated {
            provider: *provider,
            resources: resources.iter().map(amount).collect(),
        })
        .collect();
    counted.extend(allocations.iter().map(|allocated| allocated.provider));
    let stays: BTreeSet<Uuid> = allocations.iter().map(|now| now.provider).collect();
    let left = had.into_iter().filter(|provider| !stays.contains(provider)).collect();
    draft.record(AllocationsSet {
        consumer: holding.consumer,
        generation,
        project: holding.project.clone(),
        user: holding.user.clone(),
        consumer_type,
        allocations,
        expires_ms: holding.lease.map(|lease| draft.now_ms.saturating_add(lease.ttl_ms)),
        reclaim: holding.lease.map(|lease| lease.reclaim).unwrap_or_default(),
        left,
        at_ms: draft.now_ms,
    });
    Some(generation)
}
