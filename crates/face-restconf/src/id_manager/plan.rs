//! Edits of the tree of pools, as one command.
//!
//! A pool and its children are siblings in the tree and one thing to the core, so that the edits are first carried out on
//! *families* (`family`), each taken from the snapshot when an edit first comes to it; then each family that was touched
//! becomes an edit of one pool (`frame`, `entries`). Who holds what is never part of the trees that edits are applied to: it is
//! looked up key by key, and only what an edit names is.

mod entries;
mod family;
mod frame;

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::blocks::command::{BlockPoolEdit, BlocksCommand, EditBlocks, PutBlockPool};
use allod_core::command::Command;
use allod_core::state::State;
use allod_core::view::blocks as view;
use allod_engine::Snapshot;

use self::family::{Family, Trees};
use super::IdManager;
use super::faults::{at_entry, at_pool};
use super::nodes::Nodes;
use crate::edit::{apply, find};
use crate::fault::{Fault, Tag};
use crate::model::{Edit, Op, Planned, Step, Target};
use crate::path;
use crate::tree::{Node, Siblings, Value};

impl IdManager {
    pub(super) fn planned(
        &self,
        snapshot: &Snapshot<'_>,
        edits: &[Edit],
        unchanged: Option<&Target>,
    ) -> Result<Planned, Fault> {
        let mut work = Work { model: self, state: snapshot.state, families: BTreeMap::new() };
        let mut created = Vec::with_capacity(edits.len());
        for (number, edit) in edits.iter().enumerate() {
            created.push(work.edit(edit).map_err(|fault| fault.of_edit(number))?);
        }
        let mut pools = work.pools()?;
        if pools.is_empty() {
            return Ok(Planned { command: None, created });
        }
        let seen_all = match unchanged.map(|target| self.pool_of(snapshot, target)) {
            None => false,
            Some(None) => true,
            Some(Some(pool)) => {
                // It is held to the pool as a whole, even if it goes, or only some entries of it were looked at.
                for (_, edit) in pools.iter_mut().filter(|(name, _)| *name == pool) {
                    if let BlockPoolEdit::Put(put) = edit {
                        put.saw = None;
                    }
                }
                pools.insert(0, (pool, BlockPoolEdit::Put(Box::new(nothing()))));
                false
            }
        };
        let edit = EditBlocks { seen: snapshot.at.position, seen_all, pools };
        Ok(Planned { command: Some(Command::Blocks(BlocksCommand::Edit(edit))), created })
    }
}

/// An edit that only asks whether the pool is as it was.
fn nothing() -> PutBlockPool {
    PutBlockPool {
        saw: None,
        definition: None,
        replace_entries: false,
        put: vec![],
        remove: vec![],
    }
}

/// Edits under way.
struct Work<'a> {
    model: &'a IdManager,
    state: &'a State,
    /// The pools that edits have come to, with their children.
    families: BTreeMap<Arc<str>, Family>,
}

/// What an entry of the list of pools is.
enum Role {
    Parent,
    /// Of this pool.
    Child(Arc<str>),
}

impl Work<'_> {
    fn nodes(&self) -> &Nodes {
        &self.model.nodes
    }

    /// Carries out an edit. Says whether its target was not there before.
    fn edit(&mut self, edit: &Edit) -> Result<bool, Fault> {
        match &edit.target.steps[..] {
            [pools, ..] if pools.node != self.nodes().id_pools => Err(not_supported()),
            [] => Err(not_supported()),
            [_] => self.edit_all(edit),
            [_, list, ..] => match &list.keys[..] {
                [] if goes(edit.op) => self.edit_all(edit),
                [] => Err(keys_needed()),
                [Value::Text(name), ..] => self.edit_one(edit, &name.clone()),
                _ => Err(not_supported()),
            },
        }
    }

    /// The tree as a whole.
    fn edit_all(&mut self, edit: &Edit) -> Result<bool, Fault> {
        let there = self.names();
        if edit.data.is_none() && !goes(edit.op) {
            return Err(Fault::protocol(Tag::MissingElement, "the data is missing"));
        }
        match edit.op {
            Op::Create if !there.is_empty() => return Err(exists(self.model, &edit.target)),
            Op::Delete if there.is_empty() => return Err(missing(self.model, &edit.target)),
            Op::Create | Op::Replace | Op::Delete | Op::Remove => {
                there.iter().for_each(|name| self.family(name).remove())
            }
            Op::Merge => {}
        }
        let list = self.nodes().id_pool;
        let entries = edit.data.iter().flat_map(|data| data.entries(list));
        let is_child = |entry: &&Node| entry.child(self.nodes().parent_pool_name).is_some();
        let (children, parents): (Vec<&Node>, Vec<&Node>) = entries.partition(is_child);
        // Children after their parents, in whatever order they were sent.
        for entry in parents.into_iter().chain(children) {
            let op = if edit.op == Op::Merge { Op::Merge } else { Op::Replace };
            let pools = Step { node: self.nodes().id_pools, keys: vec![] };
            let step = Step { node: list, keys: entry.keys(&self.model.schema) };
            let target = Target { steps: vec![pools, step] };
            self.edit(&Edit { op, target, data: Some(entry.clone()), place: None })?;
        }
        Ok(there.is_empty())
    }

    /// One entry of the list of pools, or something in it.
    fn edit_one(&mut self, edit: &Edit, name: &Arc<str>) -> Result<bool, Fault> {
        let whole = edit.target.steps.len() == 2;
        match self.role(name, edit.data.as_ref().filter(|_| whole))? {
            Role::Parent if whole => self.edit_parent(edit, name),
            Role::Parent => self.edit_in_parent(edit, name),
            Role::Child(pool) if whole => self.edit_child(edit, &pool, name),
            Role::Child(pool) => self.edit_in_child(edit, &pool, name),
        }
    }

    fn edit_parent(&mut self, edit: &Edit, name: &Arc<str>) -> Result<bool, Fault> {
        let there = self.family(name).exists();
        if goes(edit.op) {
            if !there && edit.op == Op::Delete {
                return Err(missing(self.model, &edit.target));
            }
            self.family(name).remove();
            return Ok(false);
        }
        let parts = Parts::of(self.nodes(), edit);
        if parts.allocated.is_some() {
            return Err(not_of_parents(format!("{}/allocated-ids-holder", at_pool(name))));
        }
        let (model, state) = (self.model, self.state);
        let family = self.family(name);
        let trees = family.trees(model, state);
        trees.parent = apply(&model.schema, trees.parent.take(), 1, &parts.edit)?;
        family.framed = true;
        if edit.op != Op::Merge {
            family.entries.clear();
        }
        for entry in parts.entries {
            family.merge_entry(model, state, entry)?;
        }
        Ok(!there)
    }

    fn edit_in_parent(&mut self, edit: &Edit, name: &Arc<str>) -> Result<bool, Fault> {
        let (model, state) = (self.model, self.state);
        let nodes = &model.nodes;
        let step = &edit.target.steps[2];
        let goes = goes(edit.op);
        if step.node == nodes.id_entries && self.family(name).exists() {
            return match &step.keys[..] {
                [Value::Text(key), ..] => self.family(name).edit_entry(model, state, key, edit),
                _ if goes => {
                    if edit.op == Op::Delete && !self.family(name).has_entries(state) {
                        return Err(missing(self.model, &edit.target));
                    }
                    self.family(name).entries.clear();
                    Ok(false)
                }
                _ => Err(keys_needed()),
            };
        }
        if step.node == nodes.allocated && !goes {
            return Err(not_of_parents(path::instance(&model.schema, &edit.target)));
        }
        let family = self.family(name);
        let trees = family.trees(model, state);
        if step.node == nodes.child_pools && goes && edit.target.steps.len() == 3 {
            let named = |child: &str| match step.keys.first() {
                Some(Value::Text(name)) => &**name == child,
                _ => true,
            };
            if let Some((child, _)) = trees.children.iter().find(|(child, _)| named(child)) {
                let message = format!("the child pool '{child}' is still there; delete it first");
                return Err(Fault::application(Tag::InUse, message).at_path(at_pool(child)));
            }
        }
        let there = |node: &Node| find(&model.schema, node, 1, &edit.target).is_some();
        let created = !trees.parent.as_ref().is_some_and(there);
        trees.parent = apply(&model.schema, trees.parent.take(), 1, edit)?;
        family.framed = true;
        Ok(created)
    }

    fn edit_child(&mut self, edit: &Edit, pool: &Arc<str>, name: &Arc<str>) -> Result<bool, Fault> {
        let (model, state) = (self.model, self.state);
        let parts = Parts::of(&model.nodes, edit);
        if let Some(entry) = parts.entries.first() {
            let key = entry.text(model.nodes.id_key).unwrap_or_default();
            return Err(not_of_children(pool, at_entry(name, key)));
        }
        let family = self.family(pool);
        let trees = family.trees(model, state);
        let before = trees.take_child(name);
        let there = before.is_some();
        if let Some(after) = apply(&model.schema, before, 1, &parts.edit)? {
            trees.children.push((name.clone(), after));
        }
        family.framed = true;
        if let Some(entries) = parts.allocated {
            if edit.op != Op::Merge {
                family.entries.forget_leases(name);
            }
            family.entries.holder_given = true;
            for entry in entries {
                family.entries.lease(&model.nodes, name, &entry)?;
            }
        }
        Ok(!there)
    }

    fn edit_in_child(
        &mut self,
        edit: &Edit,
        pool: &Arc<str>,
        name: &Arc<str>,
    ) -> Result<bool, Fault> {
        let (model, state) = (self.model, self.state);
        if edit.target.steps[2].node == model.nodes.allocated {
            return self.family(pool).edit_allocated(model, state, name, edit);
        }
        if edit.target.steps[2].node == model.nodes.id_entries && !goes(edit.op) {
            return Err(not_of_children(pool, path::instance(&model.schema, &edit.target)));
        }
        let family = self.family(pool);
        let trees = family.trees(model, state);
        let Some(child) = trees.children.iter_mut().find(|(child, _)| child == name) else {
            return Err(missing(self.model, &edit.target));
        };
        let created = find(&model.schema, &child.1, 1, &edit.target).is_none();
        if let Some(after) = apply(&model.schema, Some(child.1.clone()), 1, edit)? {
            child.1 = after;
        }
        family.framed = true;
        Ok(created)
    }

    // --- families ------------------------------------------------------------------------------------------------

    /// The pool and its children, as the edits so far have left them.
    fn family(&mut self, pool: &Arc<str>) -> &mut Family {
        let state = self.state;
        self.families.entry(pool.clone()).or_insert_with(|| Family::of(state, pool))
    }

    /// The names of the pools that there are now.
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

    /// What an entry of this name is, or would become.
    fn role(&mut self, name: &Arc<str>, data: Option<&Node>) -> Result<Role, Fault> {
        let parent = data.and_then(|data| data.text(self.nodes().parent_pool_name));
        if self.is_parent(name) {
            return match parent {
                None => Ok(Role::Parent),
                Some(parent) => {
                    let message =
                        format!("'{name}' is a pool of its own, not a child of '{parent}'");
                    let at = format!("{}/parent-pool-name", at_pool(name));
                    Err(Fault::application(Tag::InvalidValue, message).at_path(at))
                }
            };
        }
        if let Some(parent) = parent {
            return Ok(Role::Child(parent.into()));
        }
        let (model, state) = (self.model, self.state);
        let has = |trees: &Trees| trees.children.iter().any(|(child, _)| child == name);
        let loaded = |family: &Family| family.loaded().is_some_and(has);
        if let Some((pool, _)) = self.families.iter().find(|(_, family)| loaded(family)) {
            return Ok(Role::Child(pool.clone()));
        }
        match model.settings.parent_of(state, name) {
            Some(pool) if has(self.family(&pool).trees(model, state)) => Ok(Role::Child(pool)),
            _ => Ok(Role::Parent),
        }
    }

    fn pools(self) -> Result<Vec<(Arc<str>, BlockPoolEdit)>, Fault> {
        let (model, state) = (self.model, self.state);
        let mut pools = Vec::new();
        for (name, family) in self.families {
            if let Some(edit) = family.finish(model, state)? {
                pools.push((name, edit));
            }
        }
        Ok(pools)
    }
}

fn missing(model: &IdManager, target: &Target) -> Fault {
    Fault::protocol(Tag::DataMissing, "Data specified for delete doesn't exist.")
        .at_path(path::instance(&model.schema, target))
}

fn exists(model: &IdManager, target: &Target) -> Fault {
    Fault::protocol(Tag::DataExists, "Data already exists")
        .at_path(path::instance(&model.schema, target))
}

fn not_supported() -> Fault {
    Fault::application(Tag::OperationNotSupported, "only the tree of id-pools can be edited")
}

fn not_of_parents(at: String) -> Fault {
    Fault::application(Tag::InvalidValue, "only a child pool tells which ids are held").at_path(at)
}

fn not_of_children(pool: &str, at: String) -> Fault {
    let message = format!("who holds what is told by '{pool}', not by a child of it");
    Fault::application(Tag::InvalidValue, message).at_path(at)
}

/// Whether its target goes.
fn goes(op: Op) -> bool {
    matches!(op, Op::Delete | Op::Remove)
}

fn keys_needed() -> Fault {
    Fault::protocol(Tag::InvalidValue, "all entries of a list at once can only be deleted")
}

/// An edit of an entry of the list of pools, without who holds what.
struct Parts {
    edit: Edit,
    /// The id-entries that were in it.
    entries: Vec<Node>,
    /// The entries of the allocated-ids-holder, if that was in it.
    allocated: Option<Vec<Node>>,
}

impl Parts {
    fn of(nodes: &Nodes, edit: &Edit) -> Parts {
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
        let data = edit.data.as_ref().map(|data| Node::inner(data.schema, rest));
        let (op, target) = (edit.op, edit.target.clone());
        Parts { edit: Edit { op, target, data, place: None }, entries, allocated }
    }
}
