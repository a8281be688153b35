//! Finds the data that a path names, in one snapshot.
//!
//! Whole pools are frozen and written later, node by node. For anything smaller, only that is made: a request is looked up
//! by its key, without a walk over the others.

use std::sync::Arc;

use allod_core::claim::ClaimState;
use allod_core::requests::{Answer, AnsweredRequest, RequestPool};
use allod_core::span::Span;
use allod_core::view::State;
use allod_core::view::requests::{self as view, FrozenRequestPool};
use hashbrown::HashMap;

use super::kind::PoolKind;
use super::{ResourcePools, outside, request};
use crate::model::{InstancePath, PathStep};
use crate::tree::{
    DataNode, LeafValue, NodeSink, NodeSource, SourceList, Walk, select, source, write_inner,
    write_within,
};
use crate::yang::NodeId;

impl ResourcePools {
    /// The data at the target; `None` if it does not exist.
    pub(super) fn data_at(
        &self,
        state: &State,
        target: &InstancePath,
    ) -> Option<Box<dyn NodeSource>> {
        let Some(first) = target.steps.first() else { return self.everything(state) };
        if first.node == self.top {
            return self.pools(state, &target.steps[1..]);
        }
        match self.kinds.iter().find(|kind| kind.oper().top == first.node) {
            Some(kind) => super::oper::data_at(kind, state, &target.steps[1..]),
            None => self.alarms.data_at(state, &target.steps),
        }
    }

    fn everything(&self, state: &State) -> Option<Box<dyn NodeSource>> {
        let mut all: Vec<Box<dyn NodeSource>> = Vec::new();
        all.extend(self.pools(state, &[]));
        all.extend(self.kinds.iter().filter_map(|kind| super::oper::data_at(kind, state, &[])));
        let alarms = PathStep { node: self.alarms.top, keys: vec![] };
        all.extend(self.alarms.data_at(state, &[alarms]));
        (!all.is_empty()).then(|| Box::new(SourceList(all)) as Box<dyn NodeSource>)
    }

    /// The data at the path below the container of all pools.
    fn pools(&self, state: &State, steps: &[PathStep]) -> Option<Box<dyn NodeSource>> {
        let Some((list, rest)) = steps.split_first() else {
            let pools = self.kinds.iter().flat_map(|kind| all_of(kind, state));
            return pools_source(Some(self.top), pools.collect(), SnapshotPool::show);
        };
        let kind = self.kinds.iter().find(|kind| kind.nodes().list == list.node)?;
        let name = match &list.keys[..] {
            [] => return pools_source(None, all_of(kind, state), SnapshotPool::show),
            [LeafValue::Text(name)] => name,
            _ => return None,
        };
        let config = view::config(state, name).filter(|config| kind.is(config))?;
        let nodes = kind.nodes();
        let frozen = || SnapshotPool::of(kind, state, name);
        match rest {
            [] => pools_source(None, vec![frozen()?], SnapshotPool::show),
            [step, below @ ..] if step.node == nodes.allocation => match &step.keys[..] {
                [] => {
                    view::request_count(state, name).filter(|count| *count > 0)?;
                    pools_source(None, vec![frozen()?], SnapshotPool::show_requests)
                }
                [LeafValue::Text(key)] => {
                    let (asked, value) = view::request(state, name, key)?;
                    let entry = request::answered(&**kind, name, config, asked, value);
                    select(vec![entry], below)
                }
                _ => None,
            },
            below => select(vec![config_node(&**kind, name, config)], below),
        }
    }
}

/// The list entry of a pool without its requests.
pub(crate) fn config_node(kind: &dyn PoolKind, name: &Arc<str>, config: &RequestPool) -> DataNode {
    let name = DataNode::leaf(kind.nodes().name, LeafValue::Text(name.clone()));
    let config = config_nodes(kind, config);
    DataNode::inner(kind.nodes().list, std::iter::once(name).chain(config).collect())
}

/// The configuration of a pool, without its name and requests.
fn config_nodes(kind: &dyn PoolKind, config: &RequestPool) -> Vec<DataNode> {
    let mut nodes = kind.config_nodes(config);
    nodes.extend(outside::allocator_node(kind, config));
    nodes.extend(kind.site().pool_nodes(&config.site));
    nodes
}

/// A pool of a snapshot, with its kind.
pub(crate) struct SnapshotPool {
    pub kind: Arc<dyn PoolKind>,
    pub pool: FrozenRequestPool,
}

/// All pools of a kind, by name.
pub(crate) fn all_of(kind: &Arc<dyn PoolKind>, state: &State) -> Vec<SnapshotPool> {
    let is = |name: &&Arc<str>| view::config(state, name).is_some_and(|config| kind.is(config));
    view::names(state).filter(is).filter_map(|name| SnapshotPool::of(kind, state, name)).collect()
}

/// The pools as the function writes them, in a container if there is one; `None` if there are no pools.
pub(crate) fn pools_source(
    container: Option<NodeId>,
    pools: Vec<SnapshotPool>,
    show: fn(&SnapshotPool, &mut dyn NodeSink) -> Walk,
) -> Option<Box<dyn NodeSource>> {
    if pools.is_empty() {
        return None;
    }
    let entries = pools.iter().map(SnapshotPool::entry_count).sum();
    source(entries, move |sink| {
        write_within(sink, container, |sink| pools.iter().try_for_each(|pool| show(pool, sink)))
    })
}

impl SnapshotPool {
    pub fn of(kind: &Arc<dyn PoolKind>, state: &State, name: &str) -> Option<SnapshotPool> {
        Some(SnapshotPool { kind: kind.clone(), pool: view::frozen(state, name)? })
    }

    pub fn entry_count(&self) -> usize {
        self.pool.rows.len() + self.pool.requests.len()
    }

    /// All requests by key, each with its granted value.
    pub fn requests(&self) -> Vec<(&AnsweredRequest, Option<Span>)> {
        let held: HashMap<Arc<str>, Span> = self
            .pool
            .rows
            .claims()
            .filter(|claim| claim.state == ClaimState::Held)
            .map(|claim| (claim.key.clone(), claim.values.first()))
            .collect();
        let mut all: Vec<(&AnsweredRequest, Option<Span>)> = self
            .pool
            .requests
            .iter()
            .map(|asked| {
                let granted = asked.answer == Answer::Granted;
                (asked, held.get(&asked.key).copied().filter(|_| granted))
            })
            .collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.key.cmp(&other.key));
        all
    }

    fn show_requests(&self, sink: &mut dyn NodeSink) -> Walk {
        let (kind, pool) = (&*self.kind, &self.pool);
        self.requests().into_iter().try_for_each(|(asked, value)| {
            request::answered(kind, &pool.name, &pool.config, asked, value).walk(sink)
        })
    }

    fn show(&self, sink: &mut dyn NodeSink) -> Walk {
        let (kind, pool) = (&*self.kind, &self.pool);
        write_inner(sink, kind.nodes().list, |sink| {
            sink.leaf(kind.nodes().name, &LeafValue::Text(pool.name.clone()))?;
            self.show_requests(sink)?;
            config_nodes(kind, &pool.config).walk(sink)
        })
    }
}
