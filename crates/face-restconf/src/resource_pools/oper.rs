//! What is free in the pools of a kind, and who holds what: the trees that the original keeps beside the requests.

use std::sync::Arc;

use allod_core::claim::{Claim, ClaimState};
use allod_core::requests::Request;
use allod_core::span::Span;
use allod_core::state::State;
use allod_core::view::{self, ValueView};
use hashbrown::HashMap;

use super::kind::{Holder, PoolKind};
use super::read::{Frozen, all_of, select};
use crate::model::Step;
use crate::tree::{Builder, Sink, Source, Stopped, Value};
use crate::yang::NodeId;

/// What the steps name below the container of such a tree.
pub(super) fn shown(
    kind: &Arc<dyn PoolKind>,
    state: &State,
    steps: &[Step],
) -> Option<Box<dyn Source>> {
    let all = |wrapped| {
        let shown = Shown { pools: all_of(kind, state), wrapped, part: None };
        (!shown.pools.is_empty()).then(|| Box::new(shown) as Box<dyn Source>)
    };
    let Some((list, rest)) = steps.split_first() else { return all(true) };
    let name = match &list.keys[..] {
        [] => return all(false),
        [Value::Text(name)] => name,
        _ => return None,
    };
    let config = view::requests::config(state, name).filter(|config| kind.is(config))?;
    let frozen = || {
        let pool = view::requests::frozen(state, name)?;
        Some(Frozen { kind: kind.clone(), pool })
    };
    let node = kind.oper().allocation;
    match rest {
        [] => {
            let shown = Shown { pools: vec![frozen()?], wrapped: false, part: None };
            Some(Box::new(shown))
        }
        // One value is looked up, and nobody walks the others for it.
        [step, below @ ..] if step.node == node && !step.keys.is_empty() => {
            let value = kind.value_of(config, &step.keys)?;
            let ValueView::Held(held) = view::value(state, name, value)? else { return None };
            if !held.claim.values.each(held.kind).any(|one| one == value) {
                return None;
            }
            let asked = view::requests::request(state, name, &held.claim.key);
            let holder = holder(&held.claim, asked.map(|(asked, _)| &*asked.request));
            let mut built = Builder::new();
            kind.show_held(config, value, &holder, &mut built).ok()?;
            select(built.finish(), below)
        }
        [step] if step.keys.is_empty() => {
            let mut built = Builder::new();
            frozen()?.show_part(Some(step.node), &mut built).ok()?;
            let found = built.finish();
            (!found.is_empty()).then(|| Box::new(found) as Box<dyn Source>)
        }
        [step, ..] => {
            let mut built = Builder::new();
            let frozen = frozen()?;
            built.open(kind.oper().list).ok()?;
            frozen.show_part(Some(step.node), &mut built).ok()?;
            built.close().ok()?;
            select(built.finish(), rest)
        }
    }
}

fn holder(claim: &Claim, request: Option<&Request>) -> Holder {
    let key = claim.key.clone();
    match request {
        Some(request) => {
            let user = Some(request.user.clone());
            Holder { key, owner: request.services.join(" "), user }
        }
        None => Holder { key, owner: claim.owner.to_string(), user: None },
    }
}

impl Frozen {
    /// Everything of the pool, or one part of it.
    fn show_part(&self, part: Option<NodeId>, sink: &mut dyn Sink) -> Result<(), Stopped> {
        self.kind.show_free(&self.pool, part, sink)?;
        if part.is_none_or(|part| part == self.kind.oper().allocation) {
            self.show_all_held(sink)?;
        }
        Ok(())
    }

    /// Who holds what, by value.
    pub(super) fn held(&self) -> Vec<(Span, Holder)> {
        let requests = self.pool.requests.iter().map(|asked| (&asked.key, &*asked.request));
        let requests: HashMap<&Arc<str>, &Request> = requests.collect();
        let claims = self.pool.rows.claims().filter(|claim| claim.state == ClaimState::Held);
        let mut held: Vec<(Span, Holder)> = claims
            .flat_map(|claim| {
                let request = requests.get(&claim.key).copied();
                let spans: Vec<Span> = claim.values.each(self.pool.config.kind()).collect();
                spans.into_iter().map(move |span| (span, holder(&claim, request)))
            })
            .collect();
        held.sort_unstable_by_key(|(span, _)| *span);
        held
    }

    fn show_all_held(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        self.held().into_iter().try_for_each(|(value, holder)| {
            self.kind.show_held(&self.pool.config, value, &holder, sink)
        })
    }
}

struct Shown {
    pools: Vec<Frozen>,
    /// Whether the container around all pools is shown, too.
    wrapped: bool,
    part: Option<NodeId>,
}

impl Source for Shown {
    fn walk(&self, sink: &mut dyn Sink) -> Result<(), Stopped> {
        let Some(first) = self.pools.first() else { return Ok(()) };
        let nodes = first.kind.oper();
        if self.wrapped && !sink.open(nodes.top)? {
            return Ok(());
        }
        for frozen in &self.pools {
            if !sink.open(nodes.list)? {
                continue;
            }
            sink.leaf(nodes.name, &Value::Text(frozen.pool.name.clone()))?;
            frozen.show_part(self.part, sink)?;
            sink.close()?;
        }
        if self.wrapped { sink.close() } else { Ok(()) }
    }
}
