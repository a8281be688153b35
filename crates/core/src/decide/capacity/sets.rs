//! Sets the traits and aggregates of a provider.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::capacity::Uuid;
use crate::command::capacity::{SetAggregates, SetTraits};
use crate::decide::Draft;
use crate::event::capacity::{AggregatesSet, TraitsSet};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{CapacityRefusal, Refusal};

/// The generation goes up only if the set of traits changes.
pub(super) fn traits(draft: &mut Draft<'_>, set: &SetTraits) -> Result<Outcome, Refusal> {
    let many = set.traits.len() as u64;
    at_most("traits_per_provider_max", draft.limits.traits_per_provider_max, many)?;
    let provider = draft.provider_at(set.provider, set.expect)?;
    let known = &draft.state.capacity.traits;
    let unknown: BTreeSet<&Arc<str>> =
        set.traits.iter().filter(|name| known.find(name).is_none()).collect();
    let unknown: Vec<Arc<str>> = unknown.into_iter().cloned().collect();
    if !unknown.is_empty() {
        return Err(CapacityRefusal::TraitUnknown { traits: unknown }.into());
    }
    let mut now: Vec<_> = set.traits.iter().filter_map(|name| known.find(name)).collect();
    now.sort_unstable();
    now.dedup();
    if now != provider.traits {
        let event = TraitsSet {
            provider: set.provider,
            generation: provider.generation + 1,
            traits: now.into_iter().map(|ix| known.name(ix)).collect(),
            at_ms: draft.now_ms,
        };
        draft.record(event);
    }
    draft.provider_now(set.provider)
}

pub(super) fn aggregates(draft: &mut Draft<'_>, set: &SetAggregates) -> Result<Outcome, Refusal> {
    let many = set.aggregates.len() as u64;
    at_most("aggregates_per_provider_max", draft.limits.aggregates_per_provider_max, many)?;
    let provider = draft.provider_at(set.provider, set.expect)?;
    let mut aggregates = set.aggregates.clone();
    aggregates.sort_unstable();
    aggregates.dedup();
    let mut before: Vec<Uuid> = draft.state.capacity.aggregates(provider).collect();
    before.sort_unstable();
    if set.counts || before != aggregates {
        let event = AggregatesSet {
            provider: set.provider,
            generation: provider.generation + u64::from(set.counts),
            aggregates,
            at_ms: draft.now_ms,
        };
        draft.record(event);
    }
    draft.provider_now(set.provider)
}
