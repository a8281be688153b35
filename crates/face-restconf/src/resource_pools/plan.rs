//! Edits of pools and requests, as one command.
//!
//! Each pool that an edit comes to is taken from the snapshot then, without its requests (`draft`); what becomes of requests is
//! kept by key, and only those that an edit names are looked up. So one request to a pool with a hundred thousand of them costs
//! what one request costs.

mod draft;

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::command::Command;
use allod_core::requests::command::{EditRequests, RequestPoolEdit, RequestsCommand};
use allod_core::state::State;
use allod_core::view::requests as view;
use allod_engine::Snapshot;

use self::draft::Draft;
use super::ResourcePools;
use crate::fault::{Fault, Tag};
use crate::model::{Edit, Op, Planned, Step, Target};
use crate::path;
use crate::tree::{Siblings, Value};

impl ResourcePools {
    pub(super) fn planned(
        &self,
        snapshot: &Snapshot<'_>,
        edits: &[Edit],
        unchanged: Option<&Target>,
    ) -> Result<Planned, Fault> {
        let mut work = Work { model: self, state: snapshot.state, drafts: BTreeMap::new() };
        let mut created = Vec::with_capacity(edits.len());
        for (number, edit) in edits.iter().enumerate() {
            created.push(work.edit(edit).map_err(|fault| fault.of_edit(number))?);
        }
        let mut pools = work.finish()?;
        if pools.is_empty() {
            return Ok(Planned { command: None, created });
        }
        let mut seen_all = false;
        if let Some(target) = unchanged {
            match self.pool_of(target) {
                // An edit that only asks whether the pool is as it was.
                Some(pool) if view::config(snapshot.state, pool).is_some() => {
                    pools.insert(0, (pool.clone(), RequestPoolEdit::Put(Box::default())));
                }
                _ => seen_all = true,
            }
        }
        let seen = snapshot.at.position;
        let edit = RequestsCommand::Edit(EditRequests { seen, seen_all, pools });
        Ok(Planned { command: Some(Command::Requests(edit)), created })
    }
}

/// Edits under way.
struct Work<'a> {
    model: &'a ResourcePools,
    state: &'a State,
    /// The pools that edits have come to, by name and kind.
    drafts: BTreeMap<(Arc<str>, usize), Draft<'a>>,
}

impl<'a> Work<'a> {
    /// Carries out an edit. Says whether its target was not there before.
    fn edit(&mut self, edit: &Edit) -> Result<bool, Fault> {
        let (model, top) = (self.model, self.model.top);
        match &edit.target.steps[..] {
            [first] if first.node == top => self.edit_all(edit, None),
            [first, list, rest @ ..] if first.node == top => {
                let kind = model.kinds.iter().position(|kind| kind.nodes().list == list.node);
                let kind = kind.ok_or_else(not_supported)?;
                match (&list.keys[..], rest) {
                    ([Value::Text(name)], _) => self.draft(name, kind).edit(edit),
                    ([], []) => self.edit_all(edit, Some(kind)),
                    _ => Err(not_supported()),
                }
            }
            _ => Err(not_supported()),
        }
    }

    /// All pools, or all of one kind.
    fn edit_all(&mut self, edit: &Edit, only: Option<usize>) -> Result<bool, Fault> {
        let there = self.there(only);
        match edit.op {
            Op::Create if !there.is_empty() => {
                return Err(exists(self.model, &edit.target));
            }
            Op::Delete if there.is_empty() => return Err(missing(self.model, &edit.target)),
            Op::Merge => {}
            Op::Create | Op::Replace | Op::Delete | Op::Remove => {
                for (name, kind) in &there {
                    self.draft(name, *kind).remove();
                }
            }
        }
        let Some(data) = &edit.data else { return Ok(false) };
        let op = if edit.op == Op::Merge { Op::Merge } else { Op::Replace };
        for (kind, list) in self.model.kinds.iter().map(|kind| kind.nodes().list).enumerate() {
            let mut before: Vec<Arc<str>> = Vec::new();
            for entry in data.entries(list) {
                let keys = entry.keys(&self.model.schema);
                let [Value::Text(name)] = &keys[..] else { return Err(not_supported()) };
                let name = name.clone();
                let top = Step { node: self.model.top, keys: vec![] };
                let target = Target { steps: vec![top, Step { node: list, keys }] };
                let edit = Edit { op, target, data: Some(entry.clone()), place: None };
                self.draft(&name, kind).edit(&edit)?;
                before.push(name);
            }
            before.sort_unstable();
            if let Some(pair) = before.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(twice(&pair[0]));
            }
        }
        Ok(there.is_empty())
    }

    /// The pool as the edits so far have left it.
    fn draft(&mut self, name: &Arc<str>, kind: usize) -> &mut Draft<'a> {
        let (model, state) = (self.model, self.state);
        let new = || Draft::of(model, &model.kinds[kind], state, name);
        self.drafts.entry((name.clone(), kind)).or_insert_with(new)
    }

    /// The pools that there are now.
    fn there(&self, only: Option<usize>) -> Vec<(Arc<str>, usize)> {
        let mut there = Vec::new();
        for name in view::names(self.state) {
            let Some(config) = view::config(self.state, name) else { continue };
            let kind = self.model.kinds.iter().position(|kind| kind.is(config));
            there.extend(kind.map(|kind| (name.clone(), kind)));
        }
        there.retain(|pool| !self.drafts.contains_key(pool));
        let touched = self.drafts.iter().filter(|(_, draft)| draft.is_there());
        there.extend(touched.map(|(pool, _)| pool.clone()));
        there.retain(|(_, kind)| only.is_none_or(|only| only == *kind));
        there
    }

    fn finish(self) -> Result<Vec<(Arc<str>, RequestPoolEdit)>, Fault> {
        let mut pools = Vec::new();
        for ((name, _), draft) in self.drafts {
            pools.extend(draft.finish()?.map(|edit| (name, edit)));
        }
        Ok(pools)
    }
}

fn exists(model: &ResourcePools, target: &Target) -> Fault {
    Fault::protocol(Tag::DataExists, "Data already exists")
        .at_path(path::instance(&model.schema, target))
}

fn missing(model: &ResourcePools, target: &Target) -> Fault {
    Fault::protocol(Tag::DataMissing, "Data specified for delete doesn't exist.")
        .at_path(path::instance(&model.schema, target))
}

fn twice(name: &str) -> Fault {
    Fault::protocol(Tag::InvalidValue, format!("'{name}' is there twice"))
}

fn not_supported() -> Fault {
    Fault::application(Tag::OperationNotSupported, "only the tree of resource-pools can be edited")
}
