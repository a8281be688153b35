//! The edits of allocated ids.
//!
//! Two lists represent them: the id-entries of the parent pool have the ids of each key, and the allocated-ids-holder of a
//! child has the expiry of each id. They are one claim in the core, and the id-entries take precedence: an id in the second
//! list must belong to the key that it names, and an id that is removed from it never expires.

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::blocks::command::IdEntry;
use allod_core::span::{self, Span};
use allod_core::view::State;
use allod_core::view::blocks as view;

use crate::error::{RestconfError, Result};
use crate::id_manager::IdManager;
use crate::id_manager::nodes::IdManagerNodes;
use crate::id_manager::refusals::{at_entry, at_pool};
use crate::id_manager::show::expired_s;
use crate::tree::{DataNode, LeafValue, Siblings};

#[derive(Debug, Default)]
pub(super) struct EntryEdits {
    /// The entries of the snapshot are deleted.
    cleared: bool,
    /// The new ids of keys; `None`: the key is removed.
    set: BTreeMap<Arc<str>, Option<Vec<Span>>>,
    /// The expiries of the snapshot are removed; `leases` overrides this.
    forgotten: bool,
    /// The new expiries of ids; `None`: the id never expires.
    leases: BTreeMap<u32, Option<EntryLease>>,
    /// An edit wrote an allocated-ids-holder. Only pools with enhanced id allocation have one.
    pub holder_given: bool,
}

#[derive(Debug, Clone)]
struct EntryLease {
    key: Arc<str>,
    expired_s: u32,
    /// The child pool that lists it.
    child: Arc<str>,
}

/// The changes for the command.
pub(super) struct EntryChanges {
    /// The entries that the changes depend on; `None`: they depend on the whole pool.
    pub saw: Option<Vec<(Arc<str>, Option<IdEntry>)>>,
    pub replace: bool,
    pub put: Vec<IdEntry>,
    pub remove: Vec<Arc<str>>,
}

impl EntryChanges {
    pub fn is_empty(&self) -> bool {
        !self.replace && self.put.is_empty() && self.remove.is_empty()
    }
}

impl EntryEdits {
    /// Deletes all entries and expiries.
    pub fn reset(&mut self) {
        *self = EntryEdits { cleared: true, forgotten: true, ..EntryEdits::default() };
    }

    pub fn clear(&mut self) {
        self.cleared = true;
        self.set.clear();
    }

    /// Removes the expiries of the snapshot, and those that edits have written to this child.
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

    /// Sets the expiry of an entry of an allocated-ids-holder.
    pub fn lease(
        &mut self,
        nodes: &IdManagerNodes,
        child: &Arc<str>,
        entry: &DataNode,
    ) -> Result<()> {
        let id = entry.number::<u32>(nodes.allocated_id);
        let Some((id, key)) = id.zip(entry.shared_text(nodes.allocated_key)) else {
            let at = format!("{}/allocated-ids-holder", at_pool(child));
            let message = "an allocated-id-entry lacks its id or its id-key";
            return Err(RestconfError::missing_element(message).at_path(at));
        };
        let expired_s = entry.number(nodes.expired_time).unwrap_or(0);
        let lease = EntryLease { key: key.clone(), expired_s, child: child.clone() };
        self.leases.insert(id, Some(lease));
        Ok(())
    }

    /// Whether any id is allocated.
    pub fn any(&self, state: &State, pool: &str) -> bool {
        let removed = self
            .set
            .iter()
            .filter(|(key, now)| now.is_none() && view::entry(state, pool, key).is_some());
        self.set.values().any(Option::is_some)
            || (!self.cleared
                && view::entry_count(state, pool).unwrap_or(0) > removed.count() as u64)
    }

    /// The ids of the key after the edits so far.
    pub fn ids(&self, state: &State, pool: &str, key: &str) -> Option<Vec<Span>> {
        match self.set.get(key) {
            Some(ids) => ids.clone(),
            None => self.before(state, pool, key).map(|entry| entry.ids),
        }
    }

    /// The entry of the key in the snapshot, unless it was deleted.
    fn before(&self, state: &State, pool: &str, key: &str) -> Option<IdEntry> {
        if self.cleared { None } else { view::entry(state, pool, key) }
    }

    /// The key that holds the id, and its expiry, after the edits so far.
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

    pub fn finish(&self, state: &State, pool: &Arc<str>) -> Result<EntryChanges> {
        let expiries_by_key = self.expiries_by_key(state, pool)?;
        let mut put = Vec::new();
        let mut remove = Vec::new();
        for (key, ids) in &self.set {
            let before = view::entry(state, pool, key);
            match ids {
                Some(ids) => {
                    let kept = before.and_then(|entry| entry.expires_ms);
                    let kept = kept.filter(|_| !self.forgotten);
                    let expires_ms = expiries_by_key.get(key).copied().unwrap_or(kept);
                    put.push(IdEntry { key: key.clone(), ids: ids.clone(), expires_ms });
                }
                None if before.is_some() && !self.cleared => remove.push(key.clone()),
                None => {}
            }
        }
        for (key, expires_ms) in expiries_by_key {
            if !self.set.contains_key(&key)
                && let Some(entry) = self.before(state, pool, &key)
            {
                put.push(IdEntry { expires_ms, ..entry });
            }
        }
        // A new pool is written as a whole.
        let replace = self.cleared || !view::is_ids(state, pool);
        let keys = put.iter().map(|entry| &entry.key).chain(&remove);
        let saw = keys.map(|key| (key.clone(), view::entry(state, pool, key))).collect();
        let saw = (!replace && !self.forgotten).then_some(saw);
        Ok(EntryChanges { saw, replace, put, remove })
    }

    /// The new expiry of each key that the edits change.
    fn expiries_by_key(
        &self,
        state: &State,
        pool: &Arc<str>,
    ) -> Result<BTreeMap<Arc<str>, Option<u64>>> {
        let mut expiries_by_key = BTreeMap::new();
        if self.forgotten && !self.cleared {
            let frozen = view::frozen(state, pool, |name| name.into());
            let leased = frozen.iter().flat_map(|frozen| frozen.entries());
            expiries_by_key.extend(
                leased.filter(|held| held.expires_ms.is_some()).map(|held| (held.key, None)),
            );
        }
        let mut expiries = BTreeMap::new();
        for (id, lease) in &self.leases {
            let Some(lease) = lease else {
                let held = view::holder(state, pool, *id);
                expiries_by_key.extend(held.map(|held| (held.key, None)));
                continue;
            };
            let at = format!(
                "{}/allocated-ids-holder/allocated-id-entries[id='{id}']",
                at_pool(&lease.child)
            );
            let wrong = |message: String| Err(RestconfError::wrong_value(message).at_path(at));
            let key = &lease.key;
            let ids = self.ids(state, pool, key).unwrap_or_default();
            if !span::contains(&ids, (*id).into()) {
                return wrong(format!("the id-entry of '{key}' in '{pool}' does not contain {id}"));
            }
            let expires_ms = Some(u64::from(lease.expired_s) * 1000).filter(|ms| *ms > 0);
            if let Some(other) = expiries.insert(key, expires_ms)
                && other != expires_ms
            {
                return wrong(format!(
                    "the ids of '{key}' have different expiry times; they must be equal"
                ));
            }
            expiries_by_key.insert(key.clone(), expires_ms);
        }
        Ok(expiries_by_key)
    }
}

/// The ids of an id-entry, ascending.
pub(super) fn ids(model: &IdManager, pool: &str, key: &str, entry: &DataNode) -> Result<Vec<Span>> {
    let values = entry.entries(model.nodes.id_value).filter_map(DataNode::value);
    let ids = values.filter_map(|value| match value {
        LeafValue::Uint(id) => Some(Span::one((*id).into())),
        _ => None,
    });
    let ids = span::normalise(ids.collect());
    if ids.is_empty() {
        return Err(RestconfError::missing_element(format!("'{key}' has no id-value"))
            .at_path(format!("{}/id-value", at_entry(pool, key))));
    }
    Ok(ids)
}
