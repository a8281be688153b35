//! A pool and its children while edits are carried out on them.

use std::sync::Arc;

use allod_core::blocks::command::{BlockPool, BlockPoolEdit, IdEntry, PutBlockPool};
use allod_core::state::State;
use allod_core::view::blocks as view;

use super::entries::{self, Entries};
use super::frame;
use crate::edit::{apply, find, validate};
use crate::fault::{Fault, Tag};
use crate::id_manager::faults::at_pool;
use crate::id_manager::{IdManager, show};
use crate::model::{Edit, Op};
use crate::path;
use crate::tree::{Builder, Node, Siblings, Value};

pub(super) struct Family {
    pub name: Arc<str>,
    /// Whether the snapshot has it.
    was: bool,
    /// Its entries of the list of pools, once an edit has come to them: whoever edits who holds what does not need them.
    trees: Option<Trees>,
    /// Whether an edit has changed these.
    pub framed: bool,
    /// Whether an edit has deleted what the snapshot has.
    removed: bool,
    pub entries: Entries,
}

/// The entries of a family in the list of pools, without who holds what.
#[derive(Default)]
pub(super) struct Trees {
    /// As the snapshot has it, unless it was deleted since.
    pub before: Option<BlockPool>,
    /// `None` when there is no such pool.
    pub parent: Option<Node>,
    pub children: Vec<(Arc<str>, Node)>,
}

impl Trees {
    fn of(model: &IdManager, state: &State, name: &str) -> Trees {
        let nodes = &model.nodes;
        let before = view::definition(state, name, |pool| model.settings.child(pool));
        let parent = before
            .as_ref()
            .and_then(|frame| built(|sink| show::parent(nodes, name, frame, &[], sink)));
        let listed = before.iter().flat_map(|frame| {
            let listed = frame.layout.children.iter().filter(|child| show::is_listed(child));
            listed.map(move |child| (frame, child))
        });
        let children = listed.filter_map(|(frame, child)| {
            let node = built(|sink| show::child(nodes, name, frame, child, &[], sink))?;
            Some((child.name.clone(), node))
        });
        let children = children.collect();
        Trees { before, parent, children }
    }

    pub fn take_child(&mut self, name: &str) -> Option<Node> {
        let at = self.children.iter().position(|(child, _)| &**child == name)?;
        Some(self.children.remove(at).1)
    }
}

impl Family {
    /// What the snapshot has.
    pub fn of(state: &State, name: &Arc<str>) -> Family {
        let (was, name) = (view::is_ids(state, name), name.clone());
        let (trees, entries) = (None, Entries::default());
        Family { name, was, trees, framed: false, removed: false, entries }
    }

    /// Whether there is such a pool now.
    pub fn exists(&self) -> bool {
        self.trees.as_ref().map_or(self.was, |trees| trees.parent.is_some())
    }

    pub fn trees(&mut self, model: &IdManager, state: &State) -> &mut Trees {
        self.trees.get_or_insert_with(|| Trees::of(model, state, &self.name))
    }

    pub fn loaded(&self) -> Option<&Trees> {
        self.trees.as_ref()
    }

    /// The pool goes, with its children and with all that is held of it.
    pub fn remove(&mut self) {
        self.removed = true;
        self.trees = Some(Trees::default());
        self.entries.reset();
    }

    /// Whether the pool is, as far as is known, one with enhanced id allocation.
    fn is_enhanced(&self, state: &State) -> bool {
        !self.removed && view::is_enhanced(state, &self.name)
    }

    pub fn has_entries(&self, state: &State) -> bool {
        self.entries.any(state, &self.name)
    }

    /// An id-entry as part of a larger edit. What is replaced has been cleared before.
    pub fn merge_entry(
        &mut self,
        model: &IdManager,
        state: &State,
        entry: Node,
    ) -> Result<(), Fault> {
        let Some(Value::Text(key)) = entry.value_of(model.nodes.id_key).cloned() else {
            return Err(Fault::application(Tag::MissingElement, "an id-entry has no id-key")
                .at_path(at_pool(&self.name)));
        };
        let mut ids = entries::ids(model, &self.name, &key, &entry)?;
        ids.extend(self.entries.ids(state, &self.name, &key).into_iter().flatten());
        self.entries.set(key, Some(allod_core::span::normalise(ids)));
        Ok(())
    }

    /// An id-entry, or something in it.
    pub fn edit_entry(
        &mut self,
        model: &IdManager,
        state: &State,
        key: &Arc<str>,
        edit: &Edit,
    ) -> Result<bool, Fault> {
        let ids = self.entries.ids(state, &self.name, key);
        let before = ids.and_then(|ids| {
            let entry = IdEntry { key: key.clone(), ids, expires_ms: None };
            built(|sink| show::id_entry(&model.nodes, &entry, sink))
        });
        let there = |node: &Node| find(&model.schema, node, 2, &edit.target).is_some();
        let created = !before.as_ref().is_some_and(there);
        let after = apply(&model.schema, before, 2, edit)?;
        let ids = match after {
            None => None,
            Some(entry) => {
                validate(&model.schema, &entry)?;
                let own = entry.text(model.nodes.id_key).is_some_and(|own| own == &**key);
                if !own {
                    return Err(key_stays(model, edit));
                }
                Some(entries::ids(model, &self.name, key, &entry)?)
            }
        };
        self.entries.set(key.clone(), ids);
        Ok(created)
    }

    /// The allocated-ids-holder of a child, or something in it.
    pub fn edit_allocated(
        &mut self,
        model: &IdManager,
        state: &State,
        child: &Arc<str>,
        edit: &Edit,
    ) -> Result<bool, Fault> {
        let nodes = &model.nodes;
        let steps = &edit.target.steps;
        let goes = super::goes(edit.op);
        let enhanced = self.is_enhanced(state);
        let shown = enhanced && self.has_entries(state);
        let Some(Value::Uint(id)) = steps.get(3).and_then(|step| step.keys.first()) else {
            // The holder, or its list: all of it at once.
            match edit.op {
                Op::Delete if !shown => return Err(super::missing(model, &edit.target)),
                Op::Create if shown => {
                    return Err(super::exists(model, &edit.target));
                }
                Op::Create | Op::Replace | Op::Delete | Op::Remove => {
                    self.entries.forget_leases(child)
                }
                Op::Merge => {}
            }
            if !goes {
                self.entries.holder_given = true;
            }
            for entry in edit.data.iter().flat_map(|data| data.entries(nodes.allocated_entries)) {
                self.entries.lease(nodes, child, entry)?;
            }
            return Ok(!shown && !goes);
        };
        let id = u32::try_from(*id).unwrap_or(u32::MAX);
        let lease = self
            .entries
            .lease_of(state, &self.name, id)
            .filter(|_| enhanced || self.entries.holder_given);
        let before = lease.and_then(|(key, expired_s)| {
            let expires_ms = Some(u64::from(expired_s) * 1000).filter(|ms| *ms > 0);
            let entry = IdEntry { key, ids: vec![], expires_ms };
            built(|sink| show::allocated_entry(nodes, id.into(), &entry, sink))
        });
        let there = |node: &Node| find(&model.schema, node, 3, &edit.target).is_some();
        let created = !before.as_ref().is_some_and(there);
        match apply(&model.schema, before, 3, edit)? {
            Some(after) => {
                if after.uint(nodes.allocated_id) != Some(id.into()) {
                    return Err(key_stays(model, edit));
                }
                self.entries.holder_given = true;
                self.entries.lease(nodes, child, &after)?;
            }
            None => self.entries.forget_lease(id),
        }
        Ok(created)
    }

    /// What all edits come to. `None`: nothing.
    pub fn finish(
        mut self,
        model: &IdManager,
        state: &State,
    ) -> Result<Option<BlockPoolEdit>, Fault> {
        if !self.exists() {
            let orphan = self.trees.as_ref().and_then(|trees| trees.children.first());
            if let Some((child, _)) = orphan {
                let message = format!("there is no pool '{}' to be a child of", self.name);
                return Err(Fault::application(Tag::InvalidValue, message)
                    .at_path(format!("{}/parent-pool-name", at_pool(child))));
            }
            return Ok((self.removed && self.was).then_some(BlockPoolEdit::Remove));
        }
        let changes = self.entries.finish(state, &self.name)?;
        let holder_given = self.entries.holder_given;
        let framed = self.framed || (holder_given && !self.is_enhanced(state));
        if !framed && changes.is_empty() {
            return Ok(None);
        }
        let saw = changes.saw.filter(|_| !framed);
        let definition = if framed {
            let name = self.name.clone();
            Some(frame::of(model, &name, self.trees(model, state), holder_given)?)
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

/// What is shown, as one node.
fn built(show: impl FnOnce(&mut Builder) -> Result<(), crate::tree::Stopped>) -> Option<Node> {
    let mut builder = Builder::new();
    show(&mut builder).ok()?;
    builder.finish().pop()
}

fn key_stays(model: &IdManager, edit: &Edit) -> Fault {
    Fault::protocol(Tag::InvalidValue, "the key of an entry cannot be changed")
        .at_path(path::instance(&model.schema, &edit.target))
}
