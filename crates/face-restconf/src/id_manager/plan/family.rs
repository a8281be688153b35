//! A pool and its children while edits are applied to them.

use std::sync::Arc;

use allod_core::blocks::command::{BlockPool, BlockPoolEdit, IdEntry, PutBlockPool};
use allod_core::view::State;
use allod_core::view::blocks as view;

use super::entries::{self, EntryEdits};
use super::layout;
use crate::edit::{apply, ensure_possible, is_new, validate};
use crate::error::{RestconfError, Result, invalid_value};
use crate::id_manager::refusals::at_pool;
use crate::id_manager::{IdManager, show};
use crate::model::{Edit, EditOp};
use crate::path;
use crate::tree::{DataNode, LeafValue, NodeSink, Siblings, Walk, build};

pub(super) struct PoolFamily {
    pub name: Arc<str>,
    /// Whether the pool exists in the snapshot.
    existed: bool,
    /// Its list entries, loaded when an edit first touches them. Edits of allocated ids do not need them.
    trees: Option<FamilyTrees>,
    /// An edit has changed the list entries.
    pub layout_changed: bool,
    /// An edit has deleted the pool of the snapshot.
    removed: bool,
    pub entries: EntryEdits,
}

/// The list entries of a family, without allocated ids.
#[derive(Default)]
pub(super) struct FamilyTrees {
    /// The layout in the snapshot, unless it was deleted since.
    pub before: Option<BlockPool>,
    /// `None` if the pool does not exist.
    pub parent: Option<DataNode>,
    pub children: Vec<(Arc<str>, DataNode)>,
}

impl FamilyTrees {
    fn of(model: &IdManager, state: &State, name: &str) -> FamilyTrees {
        let nodes = &model.nodes;
        let before = view::definition(state, name, |pool| model.settings.child(pool));
        let parent = before
            .as_ref()
            .and_then(|frame| build_one(|sink| show::parent(nodes, name, frame, &[], sink)));
        let listed = before.iter().flat_map(|frame| {
            let listed = frame.layout.children.iter().filter(|child| show::is_listed(child));
            listed.map(move |child| (frame, child))
        });
        let children = listed.filter_map(|(frame, child)| {
            let node = build_one(|sink| show::child(nodes, name, frame, child, &[], sink))?;
            Some((child.name.clone(), node))
        });
        let children = children.collect();
        FamilyTrees { before, parent, children }
    }

    pub fn take_child(&mut self, name: &str) -> Option<DataNode> {
        let at = self.children.iter().position(|(child, _)| &**child == name)?;
        Some(self.children.remove(at).1)
    }
}

impl PoolFamily {
    /// The family as in the snapshot.
    pub fn of(state: &State, name: &Arc<str>) -> PoolFamily {
        let (existed, name) = (view::is_ids(state, name), name.clone());
        let (trees, entries) = (None, EntryEdits::default());
        PoolFamily { name, existed, trees, layout_changed: false, removed: false, entries }
    }

    /// Whether the pool exists after the edits so far.
    pub fn exists(&self) -> bool {
        self.trees.as_ref().map_or(self.existed, |trees| trees.parent.is_some())
    }

    pub fn trees(&mut self, model: &IdManager, state: &State) -> &mut FamilyTrees {
        self.trees.get_or_insert_with(|| FamilyTrees::of(model, state, &self.name))
    }

    pub fn loaded(&self) -> Option<&FamilyTrees> {
        self.trees.as_ref()
    }

    /// Deletes the pool with its children and allocated ids.
    pub fn remove(&mut self) {
        self.removed = true;
        self.trees = Some(FamilyTrees::default());
        self.entries.reset();
    }

    /// Whether the pool has enhanced id allocation in the snapshot.
    fn is_enhanced(&self, state: &State) -> bool {
        !self.removed && view::is_enhanced(state, &self.name)
    }

    pub fn has_entries(&self, state: &State) -> bool {
        self.entries.any(state, &self.name)
    }

    /// Merges an id-entry that is part of a larger edit. A replacing edit has cleared the entries before.
    pub fn merge_entry(&mut self, model: &IdManager, state: &State, entry: DataNode) -> Result<()> {
        let Some(LeafValue::Text(key)) = entry.value_of(model.nodes.id_key).cloned() else {
            return Err(RestconfError::missing_element("an id-entry has no id-key")
                .at_path(at_pool(&self.name)));
        };
        let mut ids = entries::ids(model, &self.name, &key, &entry)?;
        ids.extend(self.entries.ids(state, &self.name, &key).into_iter().flatten());
        self.entries.set(key, Some(allod_core::span::normalise(ids)));
        Ok(())
    }

    /// Applies an edit to an id-entry, or to a node within it.
    pub fn edit_entry(
        &mut self,
        model: &IdManager,
        state: &State,
        key: &Arc<str>,
        edit: &Edit,
    ) -> Result<bool> {
        let ids = self.entries.ids(state, &self.name, key);
        let before = ids.and_then(|ids| {
            let entry = IdEntry { key: key.clone(), ids, expires_ms: None };
            build_one(|sink| show::id_entry(&model.nodes, &entry, sink))
        });
        let created = is_new(&model.schema, before.as_ref(), 2, edit);
        let after = apply(&model.schema, before, 2, edit)?;
        let ids = match after {
            None => None,
            Some(entry) => {
                validate(&model.schema, &entry)?;
                let own = entry.text(model.nodes.id_key).is_some_and(|own| own == &**key);
                if !own {
                    return Err(key_change_error(model, edit));
                }
                Some(entries::ids(model, &self.name, key, &entry)?)
            }
        };
        self.entries.set(key.clone(), ids);
        Ok(created)
    }

    /// Applies an edit to the allocated-ids-holder of a child, or to a node within it.
    pub fn edit_allocated(
        &mut self,
        model: &IdManager,
        state: &State,
        child: &Arc<str>,
        edit: &Edit,
    ) -> Result<bool> {
        let nodes = &model.nodes;
        let steps = &edit.target.steps;
        let is_deletion = edit.op.is_deletion();
        let enhanced = self.is_enhanced(state);
        let has_holder = enhanced && self.has_entries(state);
        let Some(LeafValue::Uint(id)) = steps.get(3).and_then(|step| step.keys.first()) else {
            // The holder or its list as a whole.
            ensure_possible(&model.schema, edit, has_holder)?;
            if edit.op != EditOp::Merge {
                self.entries.forget_leases(child);
            }
            if !is_deletion {
                self.entries.holder_given = true;
            }
            for entry in edit.data.iter().flat_map(|data| data.entries(nodes.allocated_entries)) {
                self.entries.lease(nodes, child, entry)?;
            }
            return Ok(!has_holder && !is_deletion);
        };
        let id = u32::try_from(*id).unwrap_or(u32::MAX);
        let lease = self
            .entries
            .lease_of(state, &self.name, id)
            .filter(|_| enhanced || self.entries.holder_given);
        let before = lease.and_then(|(key, expired_s)| {
            let expires_ms = Some(u64::from(expired_s) * 1000).filter(|ms| *ms > 0);
            let entry = IdEntry { key, ids: vec![], expires_ms };
            build_one(|sink| show::allocated_entry(nodes, id.into(), &entry, sink))
        });
        let created = is_new(&model.schema, before.as_ref(), 3, edit);
        match apply(&model.schema, before, 3, edit)? {
            Some(after) => {
                if after.uint(nodes.allocated_id) != Some(id.into()) {
                    return Err(key_change_error(model, edit));
                }
                self.entries.holder_given = true;
                self.entries.lease(nodes, child, &after)?;
            }
            None => self.entries.forget_lease(id),
        }
        Ok(created)
    }

    /// The edit for the command; `None` if nothing changes.
    pub fn finish(mut self, model: &IdManager, state: &State) -> Result<Option<BlockPoolEdit>> {
        if !self.exists() {
            let orphan = self.trees.as_ref().and_then(|trees| trees.children.first());
            if let Some((child, _)) = orphan {
                let message = format!("the parent pool '{}' does not exist", self.name);
                return Err(RestconfError::wrong_value(message)
                    .at_path(format!("{}/parent-pool-name", at_pool(child))));
            }
            return Ok((self.removed && self.existed).then_some(BlockPoolEdit::Remove));
        }
        let changes = self.entries.finish(state, &self.name)?;
        let holder_given = self.entries.holder_given;
        let layout_changed = self.layout_changed || (holder_given && !self.is_enhanced(state));
        if !layout_changed && changes.is_empty() {
            return Ok(None);
        }
        let saw = changes.saw.filter(|_| !layout_changed);
        let definition = if layout_changed {
            let name = self.name.clone();
            let trees = self.trees(model, state);
            let definition = layout::of(model, &name, trees, holder_given)?;
            // An edit that leaves it as it is changes only entries, which needs no admin.
            (trees.before.as_ref() != Some(&definition)).then_some(definition)
        } else {
            None
        };
        Ok(Some(BlockPoolEdit::Put(Box::new(PutBlockPool {
            saw,
            definition,
            replace_entries: changes.replace,
            put: changes.put,
            remove: changes.remove,
        }))))
    }
}

fn build_one(show: impl FnOnce(&mut dyn NodeSink) -> Walk) -> Option<DataNode> {
    build(show)?.pop()
}

fn key_change_error(model: &IdManager, edit: &Edit) -> RestconfError {
    invalid_value("the key of an entry cannot be changed")
        .at_path(path::instance(&model.schema, &edit.target))
}
