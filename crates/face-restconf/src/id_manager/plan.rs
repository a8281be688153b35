//! Turns edits of the list of pools into one command.
//!
//! A pool and its child pools are separate list entries, but one pool in the core. So the edits are first applied to
//! *families* (`family`), each loaded from the snapshot when an edit first touches it. Then each changed family becomes an
//! edit of one pool (`layout`, `entries`). The trees that edits are applied to do not contain the allocated ids; these are
//! looked up by key, and only if an edit names them.

mod entries;
mod family;
mod layout;

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::blocks::command::{BlockPoolEdit, BlocksCommand, EditBlocks, PutBlockPool};
use allod_core::command::Command;
use allod_core::view::State;
use allod_core::view::blocks as view;
use allod_engine::Snapshot;

use self::family::{FamilyTrees, PoolFamily};
use super::IdManager;
use super::nodes::IdManagerNodes;
use super::refusals::{at_entry, at_pool};
use crate::edit::{apply, data_missing, ensure_possible, is_new};
use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::model::{Edit, EditOp, EditPlan, InstancePath, PathStep, RequestedEdits};
use crate::path;
use crate::tree::{DataNode, LeafValue, Siblings};

impl IdManager {
    pub(super) fn edit_plan(
        &self,
        snapshot: &Snapshot<'_>,
        edits: RequestedEdits<'_>,
    ) -> Result<EditPlan> {
        let mut planner =
            IdEditPlanner { model: self, state: snapshot.state, families: BTreeMap::new() };
        let created = edits.apply_each(|edit| planner.edit(edit))?;
        let mut pools = planner.pools()?;
        if pools.is_empty() {
            return Ok(EditPlan { command: None, created });
        }
        let seen_all = match edits.unchanged.map(|target| self.pool_of(snapshot, target)) {
            None => false,
            Some(None) => true,
            Some(Some(pool)) => {
                // The precondition covers the whole pool, even if it is deleted or the edits read only some of its entries.
                for (_, edit) in pools.iter_mut().filter(|(name, _)| *name == pool) {
                    if let BlockPoolEdit::Put(put) = edit {
                        put.saw = None;
                    }
                }
                pools.insert(0, (pool, BlockPoolEdit::Put(Box::new(no_change()))));
                false
            }
        };
        let edit = EditBlocks { seen: snapshot.at.position, seen_all, pools };
        Ok(EditPlan { command: Some(Command::Blocks(BlocksCommand::Edit(edit))), created })
    }
}

/// An edit that only checks that the pool is unchanged.
fn no_change() -> PutBlockPool {
    let (saw, definition, put, remove) = (None, None, vec![], vec![]);
    PutBlockPool { saw, definition, replace_entries: false, put, remove }
}

struct IdEditPlanner<'a> {
    model: &'a IdManager,
    state: &'a State,
    /// The pools that edits have touched, with their children.
    families: BTreeMap<Arc<str>, PoolFamily>,
}

/// What an entry of the list of pools is.
enum EntryRole {
    Parent,
    /// A child of this pool.
    Child(Arc<str>),
}

impl IdEditPlanner<'_> {
    fn nodes(&self) -> &IdManagerNodes {
        &self.model.nodes
    }

    /// Applies an edit. Returns whether it creates its target.
    fn edit(&mut self, edit: &Edit) -> Result<bool> {
        match &edit.target.steps[..] {
            [pools, ..] if pools.node != self.nodes().id_pools => Err(not_supported()),
            [] => Err(not_supported()),
            [_] => self.edit_all(edit),
            [_, list, ..] => match &list.keys[..] {
                [] if edit.op.is_deletion() => self.edit_all(edit),
                [] => Err(whole_list_error()),
                [LeafValue::Text(name), ..] => self.edit_one(edit, &name.clone()),
                _ => Err(not_supported()),
            },
        }
    }

    /// Applies an edit to the whole list of pools.
    fn edit_all(&mut self, edit: &Edit) -> Result<bool> {
        let names = self.names();
        if edit.data.is_none() && !edit.op.is_deletion() {
            return Err(RestconfError::protocol(ErrorTag::MissingElement, "the data is missing"));
        }
        ensure_possible(&self.model.schema, edit, !names.is_empty())?;
        if edit.op != EditOp::Merge {
            names.iter().for_each(|name| self.family(name).remove());
        }
        let list = self.nodes().id_pool;
        let entries = edit.data.iter().flat_map(|data| data.entries(list));
        let is_child = |entry: &&DataNode| entry.child(self.nodes().parent_pool_name).is_some();
        let (children, parents): (Vec<&DataNode>, Vec<&DataNode>) = entries.partition(is_child);
        // Parents before children, in whatever order the client sent them.
        for entry in parents.into_iter().chain(children) {
            let pools = PathStep { node: self.nodes().id_pools, keys: vec![] };
            let step = PathStep { node: list, keys: entry.keys(&self.model.schema) };
            let target = InstancePath { steps: vec![pools, step] };
            self.edit(&Edit::new(edit.op.of_entries(), target, Some(entry.clone())))?;
        }
        Ok(names.is_empty())
    }

    /// Applies an edit to a list entry, or to a node within it.
    fn edit_one(&mut self, edit: &Edit, name: &Arc<str>) -> Result<bool> {
        let whole = edit.target.steps.len() == 2;
        match self.role(name, edit.data.as_ref().filter(|_| whole))? {
            EntryRole::Parent if whole => self.edit_parent(edit, name),
            EntryRole::Parent => self.edit_in_parent(edit, name),
            EntryRole::Child(pool) if whole => self.edit_child(edit, &pool, name),
            EntryRole::Child(pool) => self.edit_in_child(edit, &pool, name),
        }
    }

    fn edit_parent(&mut self, edit: &Edit, name: &Arc<str>) -> Result<bool> {
        let existed = self.family(name).exists();
        if edit.op.is_deletion() {
            ensure_possible(&self.model.schema, edit, existed)?;
            self.family(name).remove();
            return Ok(false);
        }
        let parts = SplitEdit::of(self.nodes(), edit);
        if parts.allocated.is_some() {
            return Err(only_in_children(format!("{}/allocated-ids-holder", at_pool(name))));
        }
        let (model, state) = (self.model, self.state);
        let family = self.family(name);
        let trees = family.trees(model, state);
        trees.parent = apply(&model.schema, trees.parent.take(), 1, &parts.edit)?;
        family.layout_changed = true;
        if edit.op != EditOp::Merge {
            family.entries.clear();
        }
        for entry in parts.entries {
            family.merge_entry(model, state, entry)?;
        }
        Ok(!existed)
    }

    fn edit_in_parent(&mut self, edit: &Edit, name: &Arc<str>) -> Result<bool> {
        let (model, state) = (self.model, self.state);
        let nodes = &model.nodes;
        let step = &edit.target.steps[2];
        let is_deletion = edit.op.is_deletion();
        if step.node == nodes.id_entries && self.family(name).exists() {
            return match &step.keys[..] {
                [LeafValue::Text(key), ..] => self.family(name).edit_entry(model, state, key, edit),
                _ if is_deletion => {
                    let exists = self.family(name).has_entries(state);
                    ensure_possible(&model.schema, edit, exists)?;
                    self.family(name).entries.clear();
                    Ok(false)
                }
                _ => Err(whole_list_error()),
            };
        }
        if step.node == nodes.allocated && !is_deletion {
            return Err(only_in_children(path::instance(&model.schema, &edit.target)));
        }
        let family = self.family(name);
        let trees = family.trees(model, state);
        if step.node == nodes.child_pools && is_deletion && edit.target.steps.len() == 3 {
            let named = |child: &str| match step.keys.first() {
                Some(LeafValue::Text(name)) => &**name == child,
                _ => true,
            };
            if let Some((child, _)) = trees.children.iter().find(|(child, _)| named(child)) {
                let message = format!("the child pool '{child}' still exists; delete it first");
                return Err(
                    RestconfError::application(ErrorTag::InUse, message).at_path(at_pool(child))
                );
            }
        }
        let created = is_new(&model.schema, trees.parent.as_ref(), 1, edit);
        trees.parent = apply(&model.schema, trees.parent.take(), 1, edit)?;
        family.layout_changed = true;
        Ok(created)
    }

    fn edit_child(&mut self, edit: &Edit, pool: &Arc<str>, name: &Arc<str>) -> Result<bool> {
        let (model, state) = (self.model, self.state);
        let parts = SplitEdit::of(&model.nodes, edit);
        if let Some(entry) = parts.entries.first() {
            let key = entry.text(model.nodes.id_key).unwrap_or_default();
            return Err(only_in_parent(pool, at_entry(name, key)));
        }
        let family = self.family(pool);
        let trees = family.trees(model, state);
        let before = trees.take_child(name);
        let existed = before.is_some();
        if let Some(after) = apply(&model.schema, before, 1, &parts.edit)? {
            trees.children.push((name.clone(), after));
        }
        family.layout_changed = true;
        if let Some(entries) = parts.allocated {
            if edit.op != EditOp::Merge {
                family.entries.forget_leases(name);
            }
            family.entries.holder_given = true;
            for entry in entries {
                family.entries.lease(&model.nodes, name, &entry)?;
            }
        }
        Ok(!existed)
    }

    fn edit_in_child(&mut self, edit: &Edit, pool: &Arc<str>, name: &Arc<str>) -> Result<bool> {
        let (model, state) = (self.model, self.state);
        if edit.target.steps[2].node == model.nodes.allocated {
            return self.family(pool).edit_allocated(model, state, name, edit);
        }
        if edit.target.steps[2].node == model.nodes.id_entries && !edit.op.is_deletion() {
            return Err(only_in_parent(pool, path::instance(&model.schema, &edit.target)));
        }
        let family = self.family(pool);
        let trees = family.trees(model, state);
        let Some(child) = trees.children.iter_mut().find(|(child, _)| child == name) else {
            return Err(data_missing(&self.model.schema, &edit.target));
        };
        let created = is_new(&model.schema, Some(&child.1), 1, edit);
        if let Some(after) = apply(&model.schema, Some(child.1.clone()), 1, edit)? {
            child.1 = after;
        }
        family.layout_changed = true;
        Ok(created)
    }

    /// The pool and its children after the edits so far.
    fn family(&mut self, pool: &Arc<str>) -> &mut PoolFamily {
        let state = self.state;
        self.families.entry(pool.clone()).or_insert_with(|| PoolFamily::of(state, pool))
    }

    /// The pools that exist after the edits so far.
    fn names(&self) -> Vec<Arc<str>> {
        let untouched = view::names(self.state).filter(|name| !self.families.contains_key(*name));
        let touched = self.families.iter().filter(|(_, family)| family.exists());
        untouched.cloned().chain(touched.map(|(name, _)| name.clone())).collect()
    }

    fn is_parent(&self, name: &str) -> bool {
        match self.families.get(name) {
            Some(family) => family.exists(),
            None => view::is_ids(self.state, name),
        }
    }

    /// The role of the list entry with this name; `data`: its new content.
    fn role(&mut self, name: &Arc<str>, data: Option<&DataNode>) -> Result<EntryRole> {
        let parent = data.and_then(|data| data.text(self.nodes().parent_pool_name));
        if self.is_parent(name) {
            return match parent {
                None => Ok(EntryRole::Parent),
                Some(parent) => {
                    let message = format!(
                        "'{name}' already is a parent pool, and cannot become a child of '{parent}'"
                    );
                    let at = format!("{}/parent-pool-name", at_pool(name));
                    Err(RestconfError::wrong_value(message).at_path(at))
                }
            };
        }
        if let Some(parent) = parent {
            return Ok(EntryRole::Child(parent.into()));
        }
        let (model, state) = (self.model, self.state);
        let has = |trees: &FamilyTrees| trees.children.iter().any(|(child, _)| child == name);
        let loaded = |family: &PoolFamily| family.loaded().is_some_and(has);
        if let Some((pool, _)) = self.families.iter().find(|(_, family)| loaded(family)) {
            return Ok(EntryRole::Child(pool.clone()));
        }
        match model.settings.parent_of(state, name) {
            Some(pool) if has(self.family(&pool).trees(model, state)) => Ok(EntryRole::Child(pool)),
            _ => Ok(EntryRole::Parent),
        }
    }

    fn pools(self) -> Result<Vec<(Arc<str>, BlockPoolEdit)>> {
        let (model, state) = (self.model, self.state);
        let mut pools = Vec::new();
        for (name, family) in self.families {
            pools.extend(family.finish(model, state)?.map(|edit| (name, edit)));
        }
        Ok(pools)
    }
}

fn not_supported() -> RestconfError {
    RestconfError::application(
        ErrorTag::OperationNotSupported,
        "only data below id-pools can be edited",
    )
}

fn only_in_children(at: String) -> RestconfError {
    RestconfError::wrong_value("only a child pool can have an allocated-ids-holder").at_path(at)
}

fn only_in_parent(pool: &str, at: String) -> RestconfError {
    let message = format!("only the parent pool '{pool}' can have id-entries");
    RestconfError::wrong_value(message).at_path(at)
}

fn whole_list_error() -> RestconfError {
    invalid_value("a whole list can only be deleted; add the keys of one entry")
}

/// An edit of a list entry, with the allocated ids split off.
struct SplitEdit {
    edit: Edit,
    /// The id-entries in it.
    entries: Vec<DataNode>,
    /// The entries of the allocated-ids-holder, if present.
    allocated: Option<Vec<DataNode>>,
}

impl SplitEdit {
    fn of(nodes: &IdManagerNodes, edit: &Edit) -> SplitEdit {
        let (mut entries, mut allocated, mut rest) = (Vec::new(), None, Vec::new());
        for node in edit.data.iter().flat_map(|data| data.children()).cloned() {
            if node.schema == nodes.id_entries {
                entries.push(node);
            } else if node.schema == nodes.allocated {
                allocated = Some(node.children().to_vec());
            } else {
                rest.push(node);
            }
        }
        let data = edit.data.as_ref().map(|data| DataNode::inner(data.schema, rest));
        let (op, target) = (edit.op, edit.target.clone());
        SplitEdit { edit: Edit::new(op, target, data), entries, allocated }
    }
}
