//! Turns edits of pools and requests into one command.
//!
//! A pool is loaded from the snapshot, without its requests, when an edit first touches it (`edited_pool`). Requests are
//! looked up by key, and only those that an edit names. So the cost of an edit does not depend on the number of requests in
//! the pool.

mod edited_pool;
mod state_nodes;

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::command::Command;
use allod_core::requests::command::{EditRequests, RequestPoolEdit, RequestsCommand};
use allod_core::view::State;
use allod_core::view::requests as view;
use allod_engine::Snapshot;

use self::edited_pool::EditedPool;
use super::ResourcePools;
use crate::edit::ensure_possible;
use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::model::{Edit, EditOp, EditPlan, InstancePath, PathStep, RequestedEdits};
use crate::tree::{LeafValue, Siblings};

impl ResourcePools {
    pub(super) fn edit_plan(
        &self,
        snapshot: &Snapshot<'_>,
        edits: RequestedEdits<'_>,
    ) -> Result<EditPlan> {
        if let Some(answer) = self.answer_plan(snapshot, &edits)? {
            return Ok(answer);
        }
        let mut planner = ResourceEditPlanner {
            model: self,
            state: snapshot.state,
            edited_pools: BTreeMap::new(),
        };
        let created = edits.apply_each(|edit| planner.edit(edit))?;
        let mut pools = planner.finish()?;
        if pools.is_empty() {
            return Ok(EditPlan { command: None, created });
        }
        let mut seen_all = false;
        if let Some(target) = edits.unchanged {
            match target.name_at(1) {
                // An edit that only checks that the pool is unchanged.
                Some(pool) if view::config(snapshot.state, pool).is_some() => {
                    pools.insert(0, (pool.clone(), RequestPoolEdit::Put(Box::default())));
                }
                _ => seen_all = true,
            }
        }
        let seen = snapshot.at.position;
        let edit = RequestsCommand::Edit(EditRequests { seen, seen_all, pools });
        Ok(EditPlan { command: Some(Command::Requests(edit)), created })
    }
}

struct ResourceEditPlanner<'a> {
    model: &'a ResourcePools,
    state: &'a State,
    /// The pools that edits have touched, by name and kind.
    edited_pools: BTreeMap<(Arc<str>, usize), EditedPool<'a>>,
}

impl<'a> ResourceEditPlanner<'a> {
    /// Applies an edit. Returns whether it creates its target.
    fn edit(&mut self, edit: &Edit) -> Result<bool> {
        let (model, top) = (self.model, self.model.top);
        match &edit.target.steps[..] {
            [first] if first.node == top => self.edit_all(edit, None),
            [first, list, rest @ ..] if first.node == top => {
                let kind = model.kinds.iter().position(|kind| kind.nodes().list == list.node);
                let kind = kind.ok_or_else(not_supported)?;
                match (&list.keys[..], rest) {
                    ([LeafValue::Text(name)], _) => self.edited_pool(name, kind).edit(edit),
                    ([], []) => self.edit_all(edit, Some(kind)),
                    _ => Err(not_supported()),
                }
            }
            _ => Err(not_supported()),
        }
    }

    /// Applies an edit to all pools, or to all of one kind.
    fn edit_all(&mut self, edit: &Edit, only: Option<usize>) -> Result<bool> {
        let existing = self.existing(only);
        ensure_possible(&self.model.schema, edit, !existing.is_empty())?;
        if edit.op != EditOp::Merge {
            for (name, kind) in &existing {
                self.edited_pool(name, *kind).remove();
            }
        }
        let Some(data) = &edit.data else { return Ok(false) };
        let op = edit.op.of_entries();
        for (kind, list) in self.model.kinds.iter().map(|kind| kind.nodes().list).enumerate() {
            let mut before: Vec<Arc<str>> = Vec::new();
            for entry in data.entries(list) {
                let keys = entry.keys(&self.model.schema);
                let [LeafValue::Text(name)] = &keys[..] else { return Err(not_supported()) };
                let name = name.clone();
                let top = PathStep { node: self.model.top, keys: vec![] };
                let target = InstancePath { steps: vec![top, PathStep { node: list, keys }] };
                let edit = Edit::new(op, target, Some(entry.clone()));
                self.edited_pool(&name, kind).edit(&edit)?;
                before.push(name);
            }
            ensure_distinct(before)?;
        }
        Ok(existing.is_empty())
    }

    /// The pool after the edits so far.
    fn edited_pool(&mut self, name: &Arc<str>, kind: usize) -> &mut EditedPool<'a> {
        let (model, state) = (self.model, self.state);
        let new = || EditedPool::of(model, &model.kinds[kind], state, name);
        self.edited_pools.entry((name.clone(), kind)).or_insert_with(new)
    }

    /// The pools that exist after the edits so far.
    fn existing(&self, only: Option<usize>) -> Vec<(Arc<str>, usize)> {
        let mut existing = Vec::new();
        for name in view::names(self.state) {
            let Some(config) = view::config(self.state, name) else { continue };
            let kind = self.model.kinds.iter().position(|kind| kind.is(config));
            existing.extend(kind.map(|kind| (name.clone(), kind)));
        }
        existing.retain(|pool| !self.edited_pools.contains_key(pool));
        let touched = self.edited_pools.iter().filter(|(_, edited_pool)| edited_pool.exists());
        existing.extend(touched.map(|(pool, _)| pool.clone()));
        existing.retain(|(_, kind)| only.is_none_or(|only| only == *kind));
        existing
    }

    fn finish(self) -> Result<Vec<(Arc<str>, RequestPoolEdit)>> {
        let mut pools = Vec::new();
        for ((name, _), edited_pool) in self.edited_pools {
            pools.extend(edited_pool.finish()?.map(|edit| (name, edit)));
        }
        Ok(pools)
    }
}

fn ensure_distinct(mut names: Vec<Arc<str>>) -> Result<()> {
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(invalid_value(format!("'{}' occurs more than once", pair[0]))),
        None => Ok(()),
    }
}

fn not_supported() -> RestconfError {
    RestconfError::application(
        ErrorTag::OperationNotSupported,
        "only data below resource-pools can be edited",
    )
}
