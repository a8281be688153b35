//! Operational data of a pool kind: free values, and allocated values with their holders.

use std::sync::Arc;

use allod_core::claim::{Claim, ClaimState};
use allod_core::requests::Request;
use allod_core::span::Span;
use allod_core::view::{self, State, ValueView};
use hashbrown::HashMap;

use super::kind::{PoolKind, ResourceHolder};
use super::read::{SnapshotPool, all_of, pools_source};
use crate::model::PathStep;
use crate::tree::{
    DataNode, LeafValue, NodeSink, NodeSource, Walk, build, select, source, write_inner,
};
use crate::yang::NodeId;

/// The data at the path below the top container.
pub(super) fn data_at(
    kind: &Arc<dyn PoolKind>,
    state: &State,
    steps: &[PathStep],
) -> Option<Box<dyn NodeSource>> {
    let all = |container| pools_source(container, all_of(kind, state), SnapshotPool::show_oper);
    let Some((list, rest)) = steps.split_first() else { return all(Some(kind.oper().top)) };
    let name = match &list.keys[..] {
        [] => return all(None),
        [LeafValue::Text(name)] => name,
        _ => return None,
    };
    let config = view::requests::config(state, name).filter(|config| kind.is(config))?;
    let frozen = || SnapshotPool::of(kind, state, name);
    let node = kind.oper().allocation;
    match rest {
        [] => pools_source(None, vec![frozen()?], SnapshotPool::show_oper),
        // A single value is looked up, without a walk over the others.
        [step, below @ ..] if step.node == node && !step.keys.is_empty() => {
            let value = kind.value_of(config, &step.keys)?;
            let ValueView::Held(held) = view::value(state, name, value)? else { return None };
            if !held.claim.values.each(held.kind).any(|one| one == value) {
                return None;
            }
            let asked = view::requests::request(state, name, &held.claim.key);
            let holder = holder(&held.claim, asked.map(|(asked, _)| &*asked.request));
            select(build(|sink| kind.show_held(config, value, &holder, sink))?, below)
        }
        [step, ..] => {
            let (frozen, rest) = (frozen()?, rest.to_vec());
            let (entries, node, list) = (frozen.entry_count(), step.node, kind.oper().list);
            let found = move || {
                let parts = build(|sink| frozen.show_part(Some(node), sink))?;
                select(vec![DataNode::inner(list, parts)], &rest)
            };
            // The entries of a large pool are searched when the lock has been released.
            if entries <= BUILT_ENTRIES_MAX {
                return found();
            }
            source(entries, move |sink| found().map_or(Ok(()), |found| found.walk(sink)))
        }
    }
}

/// The entries of a pool that are searched for a part of it while the state is locked.
const BUILT_ENTRIES_MAX: usize = 4000;

fn holder(claim: &Claim, request: Option<&Request>) -> ResourceHolder {
    let key = claim.key.clone();
    match request {
        Some(request) => {
            let user = Some(request.user.clone());
            ResourceHolder { key, owner: request.services.join(" "), user }
        }
        None => ResourceHolder { key, owner: claim.owner.to_string(), user: None },
    }
}

impl SnapshotPool {
    /// Writes the list entry of the pool.
    fn show_oper(&self, sink: &mut dyn NodeSink) -> Walk {
        let nodes = self.kind.oper();
        write_inner(sink, nodes.list, |sink| {
            sink.value(nodes.name, &self.pool.name)?;
            self.show_part(None, sink)
        })
    }

    /// Writes the whole pool, or one part of it.
    fn show_part(&self, part: Option<NodeId>, sink: &mut dyn NodeSink) -> Walk {
        self.kind.show_free(&self.pool, part, sink)?;
        if part.is_some_and(|part| part != self.kind.oper().allocation) {
            return Ok(());
        }
        self.held().into_iter().try_for_each(|(value, holder)| {
            self.kind.show_held(&self.pool.config, value, &holder, sink)
        })
    }

    /// The allocated values in order, with their holders.
    pub(super) fn held(&self) -> Vec<(Span, ResourceHolder)> {
        let requests = self.pool.requests.iter().map(|asked| (&asked.key, &*asked.request));
        let requests: HashMap<&Arc<str>, &Request> = requests.collect();
        let claims = self.pool.rows.claims().filter(|claim| claim.state == ClaimState::Held);
        let mut held: Vec<(Span, ResourceHolder)> = claims
            .flat_map(|claim| {
                let request = requests.get(&claim.key).copied();
                let spans: Vec<Span> = claim.values.each(self.pool.config.kind()).collect();
                spans.into_iter().map(move |span| (span, holder(&claim, request)))
            })
            .collect();
        held.sort_unstable_by_key(|(span, _)| *span);
        held
    }
}
