//! Who holds what, as far as edits name it.
//!
//! Two lists of the tree tell it: the id-entries of the pool say which ids a key holds, and the allocated-ids-holder of a child
//! says for each id until when. They are one thing to the core, and the first one leads: an id that stands in the second must be
//! held by the key that it names, and one that does not stand there any more is held for ever.

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::blocks::command::IdEntry;
use allod_core::span::{self, Span};
use allod_core::state::State;
use allod_core::view::blocks as view;

use crate::fault::{Fault, Tag};
use crate::id_manager::IdManager;
use crate::id_manager::faults::{at_entry, at_pool};
use crate::id_manager::nodes::Nodes;
use crate::id_manager::show::expired_s;
use crate::tree::{Node, Siblings, Value};

#[derive(Debug, Default)]
pub(super) struct Entries {
    /// What the snapshot has is gone.
    cleared: bool,
    /// What keys hold now; `None`: nothing.
    set: BTreeMap<Arc<str>, Option<Vec<Span>>>,
    /// What the snapshot has is held for ever, unless the next says otherwise.
    forgotten: bool,
    /// Until when ids are held; `None`: for ever, by whoever holds them.
    leases: BTreeMap<u32, Option<Lease>>,
    /// Whether an edit wrote an allocated-ids-holder, by which a pool is known to have enhanced id allocation.
    pub holder_given: bool,
}

#[derive(Debug, Clone)]
struct Lease {
    key: Arc<str>,
    expired_s: u32,
    /// In which child pool it stands.
    child: Arc<str>,
}

/// What is asked of the core.
pub(super) struct Changes {
    /// What they were made on, if that was no more than some entries.
    pub saw: Option<Vec<(Arc<str>, Option<IdEntry>)>>,
    pub replace: bool,
    pub put: Vec<IdEntry>,
    pub remove: Vec<Arc<str>>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        !self.replace && self.put.is_empty() && self.remove.is_empty()
    }
}

impl Entries {
    /// Nobody holds anything, and nothing is known of before.
    pub fn reset(&mut self) {
        *self = Entries { cleared: true, forgotten: true, ..Entries::default() };
    }

    pub fn clear(&mut self) {
        self.cleared = true;
        self.set.clear();
    }

    /// What the snapshot has, and what the edits so far have written into this child, is held for ever.
    pub fn forget_leases(&mut self, child: &str) {
        self.forgotten = true;
        self.leases.retain(|_, lease| lease.as_ref().is_some_and(|lease| *lease.child != *child));
    }

    pub fn forget_lease(&mut self, id: u32) {
        self.leases.insert(id, None);
    }

    pub fn set(&mut self, key: Arc<str>, ids: Option<Vec<Span>>) {
        self.set.insert(key, ids);
    }

    /// An entry of an allocated-ids-holder.
    pub fn lease(&mut self, nodes: &Nodes, child: &Arc<str>, entry: &Node) -> Result<(), Fault> {
        let id = entry.uint(nodes.allocated_id).and_then(|id| u32::try_from(id).ok());
        let (Some(id), Some(Value::Text(key))) = (id, entry.value_of(nodes.allocated_key)) else {
            let at = format!("{}/allocated-ids-holder", at_pool(child));
            let message = "an entry of allocated ids lacks its id or its id-key";
            return Err(Fault::application(Tag::MissingElement, message).at_path(at));
        };
        let expired_s = entry.uint(nodes.expired_time).and_then(|at| u32::try_from(at).ok());
        let (key, child) = (key.clone(), child.clone());
        let lease = Lease { key, expired_s: expired_s.unwrap_or(0), child };
        self.leases.insert(id, Some(lease));
        Ok(())
    }

    /// Whether anybody holds anything.
    pub fn any(&self, state: &State, pool: &str) -> bool {
        let gone = self
            .set
            .iter()
            .filter(|(key, now)| now.is_none() && view::entry(state, pool, key).is_some());
        self.set.values().any(Option::is_some)
            || (!self.cleared && view::entry_count(state, pool).unwrap_or(0) > gone.count() as u64)
    }

    /// What the key holds now.
    pub fn ids(&self, state: &State, pool: &str, key: &str) -> Option<Vec<Span>> {
        match self.set.get(key) {
            Some(ids) => ids.clone(),
            None => self.before(state, pool, key).map(|entry| entry.ids),
        }
    }

    /// What the key held in the snapshot, unless that is gone.
    fn before(&self, state: &State, pool: &str, key: &str) -> Option<IdEntry> {
        if self.cleared { None } else { view::entry(state, pool, key) }
    }

    /// Who holds the id now, and until when.
    pub fn lease_of(&self, state: &State, pool: &str, id: u32) -> Option<(Arc<str>, u32)> {
        if let Some(Some(lease)) = self.leases.get(&id) {
            return Some((lease.key.clone(), lease.expired_s));
        }
        let holds = |ids: &Option<Vec<Span>>| {
            ids.as_ref().is_some_and(|ids| span::contains(ids, id.into()))
        };
        if let Some((key, _)) = self.set.iter().find(|(_, ids)| holds(ids)) {
            return Some((key.clone(), 0));
        }
        let held = view::holder(state, pool, id).filter(|_| !self.cleared)?;
        if self.set.contains_key(&held.key) {
            return None;
        }
        let forgotten = self.forgotten || self.leases.contains_key(&id);
        let expired = if forgotten { 0 } else { expired_s(held.expires_ms) };
        Some((held.key, expired))
    }

    /// What all of it comes to.
    pub fn finish(&self, state: &State, pool: &Arc<str>) -> Result<Changes, Fault> {
        let until = self.until(state, pool)?;
        let mut put = Vec::new();
        let mut remove = Vec::new();
        for (key, ids) in &self.set {
            let before = view::entry(state, pool, key);
            match ids {
                Some(ids) => {
                    let kept = before.and_then(|entry| entry.expires_ms);
                    let kept = kept.filter(|_| !self.forgotten);
                    let expires_ms = until.get(key).copied().unwrap_or(kept);
                    put.push(IdEntry { key: key.clone(), ids: ids.clone(), expires_ms });
                }
                None if before.is_some() && !self.cleared => remove.push(key.clone()),
                None => {}
            }
        }
        for (key, expires_ms) in until {
            if !self.set.contains_key(&key)
                && let Some(entry) = self.before(state, pool, &key)
            {
                put.push(IdEntry { expires_ms, ..entry });
            }
        }
        // A pool of which there is nothing yet is told whole.
        let replace = self.cleared || !view::is_ids(state, pool);
        let keys = put.iter().map(|entry| &entry.key).chain(&remove);
        let saw = keys.map(|key| (key.clone(), view::entry(state, pool, key))).collect();
        let saw = (!replace && !self.forgotten).then_some(saw);
        Ok(Changes { saw, replace, put, remove })
    }

    /// Until when keys hold what they hold, where the edits say so.
    fn until(
        &self,
        state: &State,
        pool: &Arc<str>,
    ) -> Result<BTreeMap<Arc<str>, Option<u64>>, Fault> {
        let mut until = BTreeMap::new();
        if self.forgotten && !self.cleared {
            let frozen = view::frozen(state, pool, |name| name.into());
            let leased = frozen.iter().flat_map(|frozen| frozen.entries());
            until.extend(
                leased.filter(|held| held.expires_ms.is_some()).map(|held| (held.key, None)),
            );
        }
        let mut said = BTreeMap::new();
        for (id, lease) in &self.leases {
            let Some(lease) = lease else {
                let held = view::holder(state, pool, *id);
                until.extend(held.map(|held| (held.key, None)));
                continue;
            };
            let at = format!(
                "{}/allocated-ids-holder/allocated-id-entries[id='{id}']",
                at_pool(&lease.child)
            );
            let wrong =
                |message: String| Err(Fault::application(Tag::InvalidValue, message).at_path(at));
            let key = &lease.key;
            let ids = self.ids(state, pool, key).unwrap_or_default();
            if !span::contains(&ids, (*id).into()) {
                return wrong(format!("'{key}' does not hold {id} by the id-entries of '{pool}'"));
            }
            let expires_ms = Some(u64::from(lease.expired_s) * 1000).filter(|ms| *ms > 0);
            if let Some(other) = said.insert(key, expires_ms)
                && other != expires_ms
            {
                return wrong(format!("the ids of '{key}' expire at different times"));
            }
            until.insert(key.clone(), expires_ms);
        }
        Ok(until)
    }
}

/// The ids of an id-entry, ascending.
pub(super) fn ids(
    model: &IdManager,
    pool: &str,
    key: &str,
    entry: &Node,
) -> Result<Vec<Span>, Fault> {
    let values = entry.entries(model.nodes.id_value).filter_map(Node::value);
    let ids = values.filter_map(|value| match value {
        Value::Uint(id) => Some(Span::one((*id).into())),
        _ => None,
    });
    let ids = span::normalise(ids.collect());
    if ids.is_empty() {
        return Err(Fault::application(Tag::MissingElement, format!("'{key}' has no id-value"))
            .at_path(format!("{}/id-value", at_entry(pool, key))));
    }
    Ok(ids)
}
