//! A pool while edits are applied to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::requests::command::{PutRequestPool, RequestEdit, RequestPoolEdit};
use allod_core::requests::{Request, RequestPool};
use allod_core::view::State;
use allod_core::view::requests as view;

use super::ensure_distinct;
use super::state_nodes::{has_state, without_state};
use crate::edit::{apply, data_missing, ensure_possible, is_new, validate};
use crate::error::Result;
use crate::model::{Edit, EditOp, PathStep};
use crate::resource_pools::kind::{PoolKind, PoolLocation};
use crate::resource_pools::read::config_node;
use crate::resource_pools::{ResourcePools, outside, request};
use crate::tree::{DataNode, LeafValue};

pub(super) struct EditedPool<'a> {
    model: &'a ResourcePools,
    kind: &'a dyn PoolKind,
    state: &'a State,
    name: Arc<str>,
    /// The configuration in the snapshot.
    before: Option<&'a Arc<RequestPool>>,
    config_node: EditedConfig,
    /// The requests of the snapshot are deleted.
    cleared: bool,
    /// The requests that edits have changed; `None`: deleted.
    requests: BTreeMap<Arc<str>, Option<DataNode>>,
}

/// The configuration of the pool, without its requests.
enum EditedConfig {
    AsBefore,
    /// `None`: the pool does not exist.
    Now(Option<DataNode>),
}

impl<'a> EditedPool<'a> {
    pub fn of(
        model: &'a ResourcePools,
        kind: &'a Arc<dyn PoolKind>,
        state: &'a State,
        name: &Arc<str>,
    ) -> EditedPool<'a> {
        let before = view::config(state, name).filter(|config| kind.is(config));
        EditedPool {
            model,
            kind: &**kind,
            state,
            name: name.clone(),
            before,
            config_node: EditedConfig::AsBefore,
            cleared: false,
            requests: BTreeMap::new(),
        }
    }

    pub fn exists(&self) -> bool {
        match &self.config_node {
            EditedConfig::AsBefore => self.before.is_some(),
            EditedConfig::Now(now) => now.is_some(),
        }
    }

    pub fn remove(&mut self) {
        self.config_node = EditedConfig::Now(None);
        self.clear();
    }

    fn clear(&mut self) {
        self.cleared = true;
        self.requests.clear();
    }

    /// Applies an edit to the pool, or to a node within it. Returns whether it creates its target.
    pub fn edit(&mut self, edit: &Edit) -> Result<bool> {
        match edit.target.steps.get(2) {
            None => self.edit_whole(edit),
            Some(step) if step.node == self.kind.nodes().allocation => {
                self.edit_requests(edit, step)
            }
            Some(_) => self.edit_config(edit),
        }
    }

    fn edit_whole(&mut self, edit: &Edit) -> Result<bool> {
        let existing = self.exists();
        ensure_possible(&self.model.schema, edit, existing)?;
        if edit.op.is_deletion() {
            self.remove();
            return Ok(false);
        }
        let allocation = self.kind.nodes().allocation;
        let children = edit.data.iter().flat_map(|data| data.children()).cloned();
        let (entries, rest): (Vec<DataNode>, Vec<DataNode>) =
            children.partition(|child| child.schema == allocation);
        let data = Some(DataNode::inner(self.kind.nodes().list, rest));
        let whole = Edit::new(edit.op, edit.target.clone(), data);
        let now = self.take_config();
        self.config_node = EditedConfig::Now(apply(&self.model.schema, now, 1, &whole)?);
        if edit.op != EditOp::Merge {
            self.clear();
        }
        let mut keys: Vec<Arc<str>> = Vec::with_capacity(entries.len());
        for entry in entries {
            let values = entry.keys(&self.model.schema);
            let [LeafValue::Text(key)] = &values[..] else { return Err(super::not_supported()) };
            let key = key.clone();
            let mut target = edit.target.clone();
            target.steps.push(PathStep { node: allocation, keys: values });
            let entry = self.without_state(&key, entry)?;
            let one = Edit::new(edit.op.of_entries(), target, Some(entry));
            let after = apply(&self.model.schema, self.request(&key), 2, &one)?;
            self.requests.insert(key.clone(), after);
            keys.push(key);
        }
        ensure_distinct(keys)?;
        Ok(!existing)
    }

    fn edit_requests(&mut self, edit: &Edit, step: &PathStep) -> Result<bool> {
        let schema = &self.model.schema;
        if !self.exists() {
            return match edit.op {
                EditOp::Remove => Ok(false),
                EditOp::Delete => Err(data_missing(&self.model.schema, &edit.target)),
                // The parent of the request does not exist; `apply` reports it.
                EditOp::Create | EditOp::Merge | EditOp::Replace => {
                    apply(schema, None, 1, edit).map(|_| false)
                }
            };
        }
        match &step.keys[..] {
            [LeafValue::Text(key)] => {
                let cleaned = self.cleaned(key, edit)?;
                let edit = cleaned.as_ref().unwrap_or(edit);
                let before = self.request(key);
                let created = is_new(schema, before.as_ref(), 2, edit);
                let after = apply(schema, before, 2, edit)?;
                self.requests.insert(key.clone(), after);
                Ok(created)
            }
            // A whole list can only be deleted.
            _ if edit.op.is_deletion() => {
                ensure_possible(schema, edit, self.has_requests())?;
                self.clear();
                Ok(false)
            }
            _ => Err(super::not_supported()),
        }
    }

    /// The edit of a request without the state in its body. `None`: the body has none.
    fn cleaned(&self, key: &Arc<str>, edit: &Edit) -> Result<Option<Edit>> {
        let schema = &self.model.schema;
        let allocation = self.kind.nodes().allocation;
        let entry = edit.data.as_ref().filter(|data| data.schema == allocation);
        let Some(entry) = entry.filter(|entry| has_state(schema, entry)) else { return Ok(None) };
        let data = Some(self.without_state(key, entry.clone())?);
        Ok(Some(Edit { data, ..edit.clone() }))
    }

    fn without_state(&self, key: &Arc<str>, entry: DataNode) -> Result<DataNode> {
        if !has_state(&self.model.schema, &entry) {
            return Ok(entry);
        }
        let present = self.before.and_then(|config| {
            let (asked, value) = view::request(self.state, &self.name, key)?;
            Some(request::answered(self.kind, &self.name, config, asked, value))
        });
        without_state(&self.location(), key, entry, present.as_ref())
    }

    fn edit_config(&mut self, edit: &Edit) -> Result<bool> {
        let schema = &self.model.schema;
        let before = self.take_config();
        let created = is_new(schema, before.as_ref(), 1, edit);
        self.config_node = EditedConfig::Now(apply(schema, before, 1, edit)?);
        Ok(created)
    }

    /// The configuration after the edits so far.
    fn take_config(&mut self) -> Option<DataNode> {
        match std::mem::replace(&mut self.config_node, EditedConfig::AsBefore) {
            EditedConfig::Now(now) => now,
            EditedConfig::AsBefore => {
                let config = self.before?;
                Some(config_node(self.kind, &self.name, config))
            }
        }
    }

    /// A request after the edits so far.
    fn request(&self, key: &Arc<str>) -> Option<DataNode> {
        match self.requests.get(key) {
            Some(now) => now.clone(),
            None => self.known(key).map(|known| request::written(self.kind, key, known)),
        }
    }

    /// A request of the snapshot that is not deleted.
    fn known(&self, key: &str) -> Option<&'a Arc<Request>> {
        if self.cleared { None } else { self.snapshot_request(key) }
    }

    /// A request of the snapshot.
    fn snapshot_request(&self, key: &str) -> Option<&'a Arc<Request>> {
        self.before?;
        view::request(self.state, &self.name, key).map(|(asked, _)| &asked.request)
    }

    fn has_requests(&self) -> bool {
        let gone = self.requests.iter();
        let gone = gone.filter(|(key, now)| now.is_none() && self.known(key).is_some()).count();
        let existing = view::request_count(self.state, &self.name).unwrap_or(0);
        self.requests.values().any(Option::is_some) || (!self.cleared && existing > gone)
    }

    /// The edit for the command; `None` if nothing changes.
    pub fn finish(mut self) -> Result<Option<RequestPoolEdit>> {
        if !self.exists() {
            return Ok(self.before.map(|_| RequestPoolEdit::Remove));
        }
        let config = match std::mem::replace(&mut self.config_node, EditedConfig::AsBefore) {
            EditedConfig::AsBefore => None,
            EditedConfig::Now(now) => now.map(|now| self.configured(&now)).transpose()?,
        };
        let config = config.filter(|config| self.before.is_none_or(|before| **before != *config));
        let mut edits = Vec::with_capacity(self.requests.len());
        for (key, entry) in &self.requests {
            let after = entry.as_ref().map(|entry| self.read(key, entry)).transpose()?;
            let before = self.snapshot_request(key);
            // When all requests are replaced, unchanged ones must be listed too.
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
            // Without requests in the edit, concurrent requests to the pool do not make it stale.
            before => RequestPoolEdit::PutOver(before, written),
        }))
    }

    fn location(&self) -> PoolLocation<'_> {
        let (schema, top) = (&self.model.schema, self.model.top);
        PoolLocation { schema, top, nodes: self.kind.nodes(), pool: &self.name }
    }

    fn configured(&self, pool: &DataNode) -> Result<RequestPool> {
        let location = self.location();
        validate(&self.model.schema, pool).map_err(|error| location.at_pool_path(error, None))?;
        let config = self.kind.config(&location, pool, self.before.map(|before| &**before))?;
        let allocator = outside::allocator(self.kind, pool);
        let site = self.kind.site().read_pool(pool, self.before.map(|before| &before.site));
        let config = RequestPool { allocator, site, ..config };
        match config.validate() {
            Ok(()) => Ok(config),
            Err(refusal) => Err(self.kind.config_error(&location, pool, &refusal)),
        }
    }

    fn read(&self, key: &Arc<str>, entry: &DataNode) -> Result<Request> {
        validate(&self.model.schema, entry)
            .map_err(|error| self.location().at_pool_path(error, Some(key)))?;
        let before = self.snapshot_request(key).map(|before| &**before);
        Ok(request::read(self.kind, entry, before))
    }
}
