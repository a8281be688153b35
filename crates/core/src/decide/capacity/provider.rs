//! Creates, renames, moves and deletes providers.

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::command::capacity::{CreateProvider, Parent, UpdateProvider};
use crate::decide::{Draft, valid};
use crate::event::capacity::{ProviderDefined, ProviderRemoved};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{CapacityRefusal, Refusal};
use crate::state::capacity::provider::ProviderIx;

pub(super) fn create(draft: &mut Draft<'_>, create: &CreateProvider) -> Result<Outcome, Refusal> {
    let &CreateProvider { uuid, ref name, parent } = create;
    valid::provider_name(name, draft.limits)?;
    let capacity = &draft.state.capacity;
    if let Some(parent) = parent {
        if parent == uuid {
            return Err(CapacityRefusal::ParentLoop { provider: uuid, parent, own: true }.into());
        }
        if capacity.provider(parent).is_none() {
            return Err(CapacityRefusal::ParentUnknown { provider: uuid, parent }.into());
        }
    }
    let same_uuid = capacity.provider(uuid).is_some();
    let same_name = capacity.provider_named(name).map(|provider| provider.name.clone());
    if same_uuid || same_name.is_some() {
        return Err(CapacityRefusal::ProviderExists {
            provider: uuid,
            uuid: same_uuid,
            name: same_name,
        }
        .into());
    }
    at_most("providers_max", draft.limits.providers_max, capacity.provider_count() as u64 + 1)?;
    let depth = parent.map_or(0, |parent| depth(draft, capacity.provider_ix(parent)) + 1);
    at_most("provider_depth_max", draft.limits.provider_depth_max, depth)?;
    define(draft, uuid, name.clone(), parent)
}

pub(super) fn update(draft: &mut Draft<'_>, update: &UpdateProvider) -> Result<Outcome, Refusal> {
    let &UpdateProvider { uuid, ref name, parent } = update;
    valid::provider_name(name, draft.limits)?;
    let provider = draft.provider(uuid)?;
    let capacity = &draft.state.capacity;
    let before = capacity.parent(provider);
    let (to, may_move) = match parent {
        Parent::Keep => (before, true),
        Parent::Adopt(to) => (to, false),
        Parent::Move(to) => (to, true),
    };
    if let Some(to) = to.filter(|to| Some(*to) != before) {
        if capacity.provider(to).is_none() {
            return Err(CapacityRefusal::ParentUnknown { provider: uuid, parent: to }.into());
        }
        if before.is_some() && !may_move {
            return Err(CapacityRefusal::ParentFixed { provider: uuid, to: Some(to) }.into());
        }
    }
    if let Some(to) = to {
        let mut above = capacity.provider_ix(to);
        while let Some(provider) = above.and_then(|ix| capacity.at(ix)) {
            if provider.uuid == uuid {
                let refusal =
                    CapacityRefusal::ParentLoop { provider: uuid, parent: to, own: false };
                return Err(refusal.into());
            }
            above = provider.parent;
        }
    } else if before.is_some() && !may_move {
        return Err(CapacityRefusal::ParentFixed { provider: uuid, to: None }.into());
    }
    if let Some(other) = capacity.provider_named(name)
        && other.uuid != uuid
    {
        let name = Some(name.clone());
        return Err(CapacityRefusal::ProviderExists { provider: uuid, uuid: false, name }.into());
    }
    if to != before {
        let below = height(draft, capacity.provider_ix(uuid))?;
        let above = to.map_or(0, |to| depth(draft, capacity.provider_ix(to)) + 1);
        at_most("provider_depth_max", draft.limits.provider_depth_max, above + below)?;
    }
    define(draft, uuid, name.clone(), to)
}

fn define(
    draft: &mut Draft<'_>,
    provider: Uuid,
    name: Arc<str>,
    parent: Option<Uuid>,
) -> Result<Outcome, Refusal> {
    let at_ms = draft.now_ms;
    draft.record(ProviderDefined { provider, name, parent, at_ms });
    draft.provider_now(provider)
}

pub(super) fn delete(draft: &mut Draft<'_>, uuid: Uuid) -> Result<Outcome, Refusal> {
    let provider = draft.provider(uuid)?;
    let children = provider.children.len() as u64;
    let consumers = provider.consumers as u64;
    if children > 0 {
        return Err(CapacityRefusal::ProviderHasChildren { provider: uuid, children }.into());
    }
    if consumers > 0 {
        return Err(CapacityRefusal::ProviderInUse { provider: uuid, consumers }.into());
    }
    let name = provider.name.clone();
    let was = draft.provider_now(uuid)?;
    draft.record(ProviderRemoved { provider: uuid, name });
    Ok(was)
}

/// The number of ancestors.
fn depth(draft: &Draft<'_>, ix: Option<ProviderIx>) -> u64 {
    let capacity = &draft.state.capacity;
    let parent = |ix: &ProviderIx| capacity.at(*ix).and_then(|provider| provider.parent);
    std::iter::successors(ix.as_ref().and_then(parent), parent).count() as u64
}

/// The number of levels below this provider. Refuses if too many providers would move with it.
fn height(draft: &Draft<'_>, ix: Option<ProviderIx>) -> Result<u64, Refusal> {
    let capacity = &draft.state.capacity;
    let max = draft.limits.providers_per_move_max;
    let mut level: Vec<ProviderIx> = ix.into_iter().collect();
    let (mut levels, mut moved) = (0, 1);
    loop {
        let mut next = Vec::new();
        for provider in level.iter().filter_map(|ix| capacity.at(*ix)) {
            moved += provider.children.len() as u64;
            at_most("providers_per_move_max", max, moved)?;
            next.extend(provider.children.iter().copied());
        }
        if next.is_empty() {
            return Ok(levels);
        }
        (level, levels) = (next, levels + 1);
    }
}
