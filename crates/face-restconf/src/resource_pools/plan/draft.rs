//! One pool, as edits change it.

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::requests::command::{PutRequestPool, RequestEdit, RequestPoolEdit};
use allod_core::requests::{Request, RequestPool};
use allod_core::state::State;
use allod_core::view::requests as view;

use super::{exists, missing, twice};
use crate::edit::{apply, find, validate};
use crate::fault::Fault;
use crate::model::{Edit, Op, Step};
use crate::resource_pools::kind::{Place, PoolKind};
use crate::resource_pools::read::frame;
use crate::resource_pools::{ResourcePools, request};
use crate::tree::{Node, Value};

pub(super) struct Draft<'a> {
    model: &'a ResourcePools,
    kind: &'a dyn PoolKind,
    state: &'a State,
    name: Arc<str>,
    /// As the snapshot has it.
    before: Option<&'a Arc<RequestPool>>,
    frame: Frame,
    /// Whether the requests of the snapshot are gone.
    cleared: bool,
    /// What edits have made of requests; `None`: they are gone.
    requests: BTreeMap<Arc<str>, Option<Node>>,
}

/// What is configured of the pool, without its requests.
enum Frame {
    AsBefore,
    /// `None`: there is no such pool.
    Now(Option<Node>),
}

impl<'a> Draft<'a> {
    pub fn of(
        model: &'a ResourcePools,
        kind: &'a Arc<dyn PoolKind>,
        state: &'a State,
        name: &Arc<str>,
    ) -> Draft<'a> {
        let before = view::config(state, name).filter(|config| kind.is(config));
        Draft {
            model,
            kind: &**kind,
            state,
            name: name.clone(),
            before,
            frame: Frame::AsBefore,
            cleared: false,
            requests: BTreeMap::new(),
        }
    }

    pub fn is_there(&self) -> bool {
        match &self.frame {
            Frame::AsBefore => self.before.is_some(),
            Frame::Now(now) => now.is_some(),
        }
    }

    pub fn remove(&mut self) {
        self.frame = Frame::Now(None);
        self.clear();
    }

    fn clear(&mut self) {
        self.cleared = true;
        self.requests.clear();
    }

    /// Carries out an edit of the pool or of something in it. Says whether its target was not there before.
    pub fn edit(&mut self, edit: &Edit) -> Result<bool, Fault> {
        match edit.target.steps.get(2) {
            None => self.edit_whole(edit),
            Some(step) if step.node == self.kind.nodes().allocation => {
                self.edit_requests(edit, step)
            }
            Some(_) => self.edit_frame(edit),
        }
    }

    fn edit_whole(&mut self, edit: &Edit) -> Result<bool, Fault> {
        let there = self.is_there();
        let goes = matches!(edit.op, Op::Delete | Op::Remove);
        match edit.op {
            Op::Delete if !there => return Err(missing(self.model, &edit.target)),
            Op::Create if there => return Err(exists(self.model, &edit.target)),
            _ => {}
        }
        if goes {
            self.remove();
            return Ok(false);
        }
        let allocation = self.kind.nodes().allocation;
        let children = edit.data.iter().flat_map(|data| data.children()).cloned();
        let (entries, rest): (Vec<Node>, Vec<Node>) =
            children.partition(|child| child.schema == allocation);
        let data = Some(Node::inner(self.kind.nodes().list, rest));
        let whole = Edit { op: edit.op, target: edit.target.clone(), data, place: None };
        let now = self.take_frame();
        self.frame = Frame::Now(apply(&self.model.schema, now, 1, &whole)?);
        if edit.op != Op::Merge {
            self.clear();
        }
        let mut keys: Vec<Arc<str>> = Vec::with_capacity(entries.len());
        for entry in entries {
            let values = entry.keys(&self.model.schema);
            let [Value::Text(key)] = &values[..] else { return Err(super::not_supported()) };
            let key = key.clone();
            let mut target = edit.target.clone();
            target.steps.push(Step { node: allocation, keys: values });
            let op = if edit.op == Op::Merge { Op::Merge } else { Op::Replace };
            let one = Edit { op, target, data: Some(entry), place: None };
            let after = apply(&self.model.schema, self.request(&key), 2, &one)?;
            self.requests.insert(key.clone(), after);
            keys.push(key);
        }
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(twice(&pair[0])),
            None => Ok(!there),
        }
    }

    fn edit_requests(&mut self, edit: &Edit, step: &Step) -> Result<bool, Fault> {
        let schema = &self.model.schema;
        if !self.is_there() {
            return match edit.op {
                Op::Remove => Ok(false),
                Op::Delete => Err(missing(self.model, &edit.target)),
                // What contains the request is not there, and `apply` says so.
                Op::Create | Op::Merge | Op::Replace => apply(schema, None, 1, edit).map(|_| false),
            };
        }
        match &step.keys[..] {
            [Value::Text(key)] => {
                let before = self.request(key);
                let target = &edit.target;
                let created =
                    before.as_ref().and_then(|node| find(schema, node, 2, target)).is_none();
                let after = apply(schema, before, 2, edit)?;
                self.requests.insert(key.clone(), after);
                Ok(created)
            }
            // All at once can only go.
            _ if matches!(edit.op, Op::Delete | Op::Remove) => {
                if edit.op == Op::Delete && !self.has_requests() {
                    return Err(missing(self.model, &edit.target));
                }
                self.clear();
                Ok(false)
            }
            _ => Err(super::not_supported()),
        }
    }

    fn edit_frame(&mut self, edit: &Edit) -> Result<bool, Fault> {
        let schema = &self.model.schema;
        let before = self.take_frame();
        let created =
            before.as_ref().and_then(|node| find(schema, node, 1, &edit.target)).is_none();
        self.frame = Frame::Now(apply(schema, before, 1, edit)?);
        Ok(created)
    }

    /// What is configured now.
    fn take_frame(&mut self) -> Option<Node> {
        match std::mem::replace(&mut self.frame, Frame::AsBefore) {
            Frame::Now(now) => now,
            Frame::AsBefore => {
                let config = self.before?;
                Some(frame(self.kind, &self.name, self.kind.config_nodes(config)))
            }
        }
    }

    /// A request as the edits so far have left it.
    fn request(&self, key: &Arc<str>) -> Option<Node> {
        match self.requests.get(key) {
            Some(now) => now.clone(),
            None => self.known(key).map(|known| request::written(self.kind, key, known)),
        }
    }

    /// A request of the snapshot that is not gone.
    fn known(&self, key: &str) -> Option<&'a Arc<Request>> {
        if self.cleared { None } else { self.asked(key) }
    }

    /// A request of the snapshot.
    fn asked(&self, key: &str) -> Option<&'a Arc<Request>> {
        self.before?;
        view::request(self.state, &self.name, key).map(|(asked, _)| &asked.request)
    }

    fn has_requests(&self) -> bool {
        let gone = self.requests.iter();
        let gone = gone.filter(|(key, now)| now.is_none() && self.known(key).is_some()).count();
        let there = view::request_count(self.state, &self.name).unwrap_or(0);
        self.requests.values().any(Option::is_some) || (!self.cleared && there > gone)
    }

    /// What all of it asks of the core.
    pub fn finish(mut self) -> Result<Option<RequestPoolEdit>, Fault> {
        if !self.is_there() {
            return Ok(self.before.map(|_| RequestPoolEdit::Remove));
        }
        let config = match std::mem::replace(&mut self.frame, Frame::AsBefore) {
            Frame::AsBefore => None,
            Frame::Now(now) => now.map(|now| self.configured(&now)).transpose()?,
        };
        let config = config.filter(|config| self.before.is_none_or(|before| **before != *config));
        let mut edits = Vec::with_capacity(self.requests.len());
        for (key, entry) in &self.requests {
            let after = entry.as_ref().map(|entry| self.read(key, entry)).transpose()?;
            let before = self.asked(key);
            // What is written as it was still has to be named where everything else goes.
            if before.map(|before| &**before) != after.as_ref() || (self.cleared && after.is_some())
            {
                edits.push(RequestEdit { key: key.clone(), before: before.cloned(), after });
            }
        }
        if config.is_none() && !self.cleared {
            return Ok((!edits.is_empty()).then_some(RequestPoolEdit::Requests(edits)));
        }
        let mut written =
            PutRequestPool { config, replace: self.cleared, ..PutRequestPool::default() };
        for RequestEdit { key, after, .. } in edits {
            match after {
                Some(request) => written.put.push((key, request)),
                None => written.withdraw.push(key),
            }
        }
        let asks = written.replace || !written.put.is_empty() || !written.withdraw.is_empty();
        if written.config.is_none() && !asks {
            return Ok(None);
        }
        let written = Box::new(written);
        Ok(Some(match self.before.cloned() {
            Some(_) if asks => RequestPoolEdit::Put(written),
            // Whatever is asked of the pool meanwhile is no reason to begin again.
            before => RequestPoolEdit::PutOver(before, written),
        }))
    }

    fn place(&self) -> Place<'_> {
        Place { schema: &self.model.schema, nodes: self.kind.nodes(), pool: &self.name }
    }

    fn configured(&self, pool: &Node) -> Result<RequestPool, Fault> {
        let place = self.place();
        validate(&self.model.schema, pool).map_err(|fault| place.placed(fault, None))?;
        self.kind.config(&place, pool, self.before.map(|before| &**before))
    }

    fn read(&self, key: &Arc<str>, entry: &Node) -> Result<Request, Fault> {
        validate(&self.model.schema, entry)
            .map_err(|fault| self.place().placed(fault, Some(key)))?;
        request::read(self.kind, entry)
    }
}
