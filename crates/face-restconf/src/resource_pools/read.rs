//! What a path names of the pools of one moment.
//!
//! A pool as a whole, or many, are frozen and shown later, node by node. Of anything smaller only that is made: a request is
//! looked up by its key, and nobody walks the others for it.

use std::sync::Arc;

use allod_core::claim::ClaimState;
use allod_core::requests::Answer;
use allod_core::requests::AnsweredRequest;
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::view::requests::{self as view, FrozenRequestPool};
use hashbrown::HashMap;

use super::kind::PoolKind;
use super::{ResourcePools, request};
use crate::model::{Step, Target};
use crate::tree::{Body, Node, Sink, Source, Stopped, Value};
use crate::yang::NodeId;

impl ResourcePools {
    /// What is at the target, if anything is.
    pub(super) fn shown(&self, state: &State, target: &Target) -> Option<Box<dyn Source>> {
        let Some(first) = target.steps.first() else { return self.everything(state) };
        if first.node == self.top {
            return self.pools(state, &target.steps[1..]);
        }
        match self.kinds.iter().find(|kind| kind.oper().top == first.node) {
            Some(kind) => super::oper::shown(kind, state, &target.steps[1..]),
            None => self.alarms.shown(state, &target.steps),
        }
    }

    fn everything(&self, state: &State) -> Option<Box<dyn Source>> {
        let mut all: Vec<Box<dyn Source>> = Vec::new();
        all.extend(self.pools(state, &[]));
        all.extend(self.kinds.iter().filter_map(|kind| super::oper::shown(kind, state, &[])));
        let alarms = Step { node: self.alarms.top, keys: vec![] };
        all.extend(self.alarms.shown(state, &[alarms]));
        (!all.is_empty()).then(|| Box::new(Sources(all)) as Box<dyn Source>)
    }

    /// What the steps name below the container of all pools.
    fn pools(&self, state: &State, steps: &[Step]) -> Option<Box<dyn Source>> {
        let Some((list, rest)) = steps.split_first() else {
            let pools: Vec<Frozen> =
                self.kinds.iter().flat_map(|kind| all_of(kind, state)).collect();
            let shown = Shown { wrapper: Some(self.top), pools, part: Part::Whole };
            return (!shown.pools.is_empty()).then(|| Box::new(shown) as Box<dyn Source>);
        };
        let kind = self.kinds.iter().find(|kind| kind.nodes().list == list.node)?;
        let name = match &list.keys[..] {
            [] => {
                let shown = Shown { wrapper: None, pools: all_of(kind, state), part: Part::Whole };
                return (!shown.pools.is_empty()).then(|| Box::new(shown) as Box<dyn Source>);
            }
            [Value::Text(name)] => name,
            _ => return None,
        };
        let config = view::config(state, name).filter(|config| kind.is(config))?;
        let nodes = kind.nodes();
        let frozen = |part| {
            let pool = view::frozen(state, name)?;
            let pools = vec![Frozen { kind: kind.clone(), pool }];
            Some(Box::new(Shown { wrapper: None, pools, part }) as Box<dyn Source>)
        };
        match rest {
            [] => frozen(Part::Whole),
            [step, below @ ..] if step.node == nodes.allocation => match &step.keys[..] {
                [] => {
                    let any = view::request_count(state, name).is_some_and(|count| count > 0);
                    any.then(|| frozen(Part::Requests)).flatten()
                }
                [Value::Text(key)] => {
                    let (asked, value) = view::request(state, name, key)?;
                    let entry = request::answered(&**kind, name, config, asked, value);
                    select(vec![entry], below)
                }
                _ => None,
            },
            below => select(vec![frame(&**kind, name, kind.config_nodes(config))], below),
        }
    }
}

/// A pool without its requests.
pub(crate) fn frame(kind: &dyn PoolKind, name: &Arc<str>, config: Vec<Node>) -> Node {
    let name = Node::leaf(kind.nodes().name, Value::Text(name.clone()));
    Node::inner(kind.nodes().list, std::iter::once(name).chain(config).collect())
}

/// What the steps name below nodes that are shown whole.
pub(crate) fn select(nodes: Vec<Node>, steps: &[Step]) -> Option<Box<dyn Source>> {
    let mut found = nodes;
    for step in steps {
        found = found.into_iter().flat_map(children).filter(|node| named(step, node)).collect();
    }
    (!found.is_empty()).then(|| Box::new(found) as Box<dyn Source>)
}

fn children(node: Node) -> Vec<Node> {
    match node.body {
        Body::Inner(children) => children,
        Body::Leaf(_) => Vec::new(),
    }
}

/// Whether the step names this node. The keys of an entry are its first leaves.
fn named(step: &Step, node: &Node) -> bool {
    if step.node != node.schema {
        return false;
    }
    match &node.body {
        Body::Leaf(value) => step.keys.first().is_none_or(|wanted| wanted == value),
        Body::Inner(children) => {
            let mut pairs = step.keys.iter().zip(children);
            pairs.all(|(wanted, child)| child.value() == Some(wanted))
        }
    }
}

/// A pool of one moment, and of which kind it is.
pub(crate) struct Frozen {
    pub kind: Arc<dyn PoolKind>,
    pub pool: FrozenRequestPool,
}

/// All pools of a kind, by name.
pub(crate) fn all_of(kind: &Arc<dyn PoolKind>, state: &State) -> Vec<Frozen> {
    let is = |name: &&Arc<str>| view::config(state, name).is_some_and(|config| kind.is(config));
    let names = view::names(state).filter(is);
    let pools = names.filter_map(|name| view::frozen(state, name));
    pools.map(|pool| Frozen { kind: kind.clone(), pool }).collect()
}

impl Frozen {
    /// All requests by key, each with what it has got.
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

    fn show_requests(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let (kind, pool) = (&*self.kind, &self.pool);
        self.requests().into_iter().try_for_each(|(asked, value)| {
            request::answered(kind, &pool.name, &pool.config, asked, value).walk(sink)
        })
    }

    fn show(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let (kind, pool) = (&*self.kind, &self.pool);
        if !sink.open(kind.nodes().list)? {
            return Ok(());
        }
        sink.leaf(kind.nodes().name, &Value::Text(pool.name.clone()))?;
        self.show_requests(sink)?;
        kind.config_nodes(&pool.config).walk(sink)?;
        sink.close()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Requests,
}

struct Shown {
    /// What goes around all of it.
    wrapper: Option<NodeId>,
    pools: Vec<Frozen>,
    part: Part,
}

impl Source for Shown {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        if let Some(node) = self.wrapper
            && !sink.open(node)?
        {
            return Ok(());
        }
        for frozen in &self.pools {
            match self.part {
                Part::Whole => frozen.show(sink)?,
                Part::Requests => frozen.show_requests(sink)?,
            }
        }
        if self.wrapper.is_some() { sink.close() } else { Ok(()) }
    }
}

/// One after the other.
struct Sources(Vec<Box<dyn Source>>);

impl Source for Sources {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        self.0.iter().try_for_each(|source| source.walk(sink))
    }
}
