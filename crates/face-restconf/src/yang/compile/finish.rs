//! Resolves what depends on all nodes.

use hashbrown::HashMap;

use super::{Compiled, Compiler, EXPANSION_MAX, FileLine};
use crate::yang::schema::{ChoiceId, InCase, ModuleId, NodeId, NodeKind, Schema};
use crate::yang::types::{BaseType, LeafType, PrefixResolver, split_prefix};

impl Compiler<'_> {
    pub(super) fn finish(mut self) -> Compiled<Schema> {
        for id in self.top.clone() {
            let data =
                !matches!(self.nodes[id.0 as usize].kind, NodeKind::Rpc | NodeKind::Notification);
            self.link(id, None, &[], data);
        }
        for id in (0..self.nodes.len() as u32).map(NodeId) {
            self.keys(id)?;
            self.leafref(id)?;
        }
        for id in (0..self.nodes.len() as u32).map(NodeId) {
            self.default(id)?;
        }
        self.default_cases()?;
        let mut by_name: HashMap<_, HashMap<String, NodeId>> = HashMap::new();
        for (id, node) in (0u32..).map(NodeId).zip(&self.nodes) {
            if matches!(node.kind, NodeKind::Choice | NodeKind::Case) {
                continue;
            }
            let names = by_name.entry((node.parent, node.module)).or_default();
            if names.insert(node.name.clone(), id).is_some() {
                let at = self.drafts[id.0 as usize].at;
                return self.fail(at, format!("duplicate data node '{}'", node.name));
            }
        }
        Ok(Schema {
            files: self.files.iter().map(|file| file.name.to_owned()).collect(),
            places: self.drafts.iter().map(|draft| (draft.at.file, draft.at.line)).collect(),
            modules: self.modules,
            nodes: self.nodes,
            choices: self.choices,
            top: self.top,
            by_name,
        })
    }

    /// Sets the position of a node in the data tree, and whether it is configuration. Recursion is as deep as the modules
    /// nest.
    fn link(&mut self, id: NodeId, parent: Option<NodeId>, cases: &[InCase], config: bool) {
        let at = id.0 as usize;
        self.nodes[at].full_name =
            format!("{}:{}", self.module_name(self.nodes[at].module), self.nodes[at].name);
        let config = self.drafts[at].config.unwrap_or(config) && config;
        let kind = self.nodes[at].kind;
        self.nodes[at].config =
            config && !matches!(kind, NodeKind::Action | NodeKind::Notification);
        self.nodes[at].cases = cases.to_vec();
        let mut below_cases = Vec::new();
        let below_parent = match kind {
            NodeKind::Choice | NodeKind::Case => {
                below_cases.extend_from_slice(cases);
                if kind == NodeKind::Case {
                    let choice = self
                        .choices
                        .iter()
                        .position(|one| Some(one.node) == self.nodes[at].schema_parent);
                    let choice = choice.map(|choice| ChoiceId(choice as u32));
                    below_cases.extend(choice.map(|choice| InCase { choice, case: id }));
                }
                parent
            }
            _ => Some(id),
        };
        self.nodes[at].parent = parent;
        if let (Some(parent), false) = (parent, matches!(kind, NodeKind::Choice | NodeKind::Case)) {
            self.nodes[parent.0 as usize].children.push(id);
        }
        let config = self.nodes[at].config;
        // Choices and cases are not data nodes, so their `when` is copied to their children.
        let when = self.nodes[at]
            .when
            .clone()
            .filter(|_| matches!(kind, NodeKind::Choice | NodeKind::Case));
        for child in self.nodes[at].schema_children.clone() {
            let inherited = &mut self.nodes[child.0 as usize].when;
            *inherited = inherited.take().or_else(|| when.clone());
            self.link(child, below_parent, &below_cases, config);
        }
    }

    fn keys(&mut self, id: NodeId) -> Compiled {
        let (draft, node) = (self.drafts[id.0 as usize].clone(), &self.nodes[id.0 as usize]);
        if node.kind != NodeKind::List {
            return Ok(());
        }
        let module = node.module;
        let mut keys = Vec::new();
        for name in draft.keys.as_deref().unwrap_or_default().split_whitespace() {
            let (_, name) = split_prefix(name);
            match self.schema_child(Some(id), module, name) {
                Some(key) if self.nodes[key.0 as usize].kind == NodeKind::Leaf => keys.push(key),
                _ => return self.fail(draft.at, format!("key '{name}' is not a leaf of the list")),
            }
        }
        if keys.is_empty() && node.config {
            return self.fail(draft.at, format!("list '{}' has no key", node.name));
        }
        let mut unique = Vec::new();
        for tuple in &draft.unique {
            let mut leaves = Vec::new();
            for path in tuple.split_whitespace() {
                let mut at = Some(id);
                for segment in path.split('/') {
                    at = at.and_then(|at| self.data_child(at, module, split_prefix(segment).1));
                }
                match at {
                    Some(leaf) => leaves.push(leaf),
                    None => {
                        return self.fail(draft.at, format!("'{path}' is not a node of the list"));
                    }
                }
            }
            unique.push(leaves);
        }
        let node = &mut self.nodes[id.0 as usize];
        node.keys = keys;
        node.unique = unique;
        Ok(())
    }

    fn data_child(&self, parent: NodeId, module: ModuleId, name: &str) -> Option<NodeId> {
        self.nodes[parent.0 as usize].children.iter().copied().find(|child| {
            let child = &self.nodes[child.0 as usize];
            child.name == name && child.module == module
        })
    }

    fn leafref(&mut self, id: NodeId) -> Compiled {
        let Some(mut ty) = self.nodes[id.0 as usize].ty.clone() else { return Ok(()) };
        self.resolve_leafref(id, &mut ty, 0)?;
        self.nodes[id.0 as usize].ty = Some(ty);
        Ok(())
    }

    /// Sets the target type of every leafref in the type.
    fn resolve_leafref(&self, id: NodeId, ty: &mut LeafType, depth: usize) -> Compiled {
        let at = self.drafts[id.0 as usize].at;
        if depth > EXPANSION_MAX {
            return self.fail(at, "leafrefs form a cycle");
        }
        match &mut ty.base {
            BaseType::Union(members) => members
                .iter_mut()
                .try_for_each(|member| self.resolve_leafref(id, member, depth + 1)),
            BaseType::Leafref { path, target } => {
                let leaf = self.follow(id, path);
                let typed =
                    leaf.and_then(|leaf| Some((leaf, self.nodes[leaf.0 as usize].ty.clone()?)));
                let Some((leaf, mut found)) = typed else {
                    return self.fail(at, format!("'{path}' does not lead to a leaf"));
                };
                self.resolve_leafref(leaf, &mut found, depth + 1)?;
                **target = found;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The node that a leafref path (without predicates) leads to.
    fn follow(&self, from: NodeId, path: &str) -> Option<NodeId> {
        let own = self.nodes[from.0 as usize].module;
        let (mut at, steps) = match path.strip_prefix('/') {
            Some(rest) => (None, rest),
            None => (Some(from), path),
        };
        for segment in steps.split('/') {
            let (module, name) = split_prefix(segment.trim());
            at = match name {
                ".." => self.nodes[at?.0 as usize].parent,
                "." => at,
                _ => {
                    let module = match module {
                        Some(module) => self.modules.iter().position(|one| one.name == module)?,
                        None => own.0 as usize,
                    };
                    let module = ModuleId(module as u32);
                    match at {
                        Some(at) => Some(self.data_child(at, module, name)?),
                        None => Some(self.schema_child(None, module, name)?),
                    }
                }
            };
        }
        at
    }

    fn default(&mut self, id: NodeId) -> Compiled {
        let draft = &self.drafts[id.0 as usize];
        let node = &self.nodes[id.0 as usize];
        let (Some((text, file)), Some(ty), false) = (&draft.default, &node.ty, node.mandatory)
        else {
            return Ok(());
        };
        let names = FilePrefixes { compiler: self, at: FileLine { file: *file, line: 0 } };
        match ty.read(text, &names) {
            // Defaults of leaf-lists are not supported; no module here has one.
            Ok(value) if node.kind == NodeKind::Leaf => {
                self.nodes[id.0 as usize].default = Some(value)
            }
            Ok(_) => {}
            Err(message) => return self.fail(draft.at, format!("default: {message}")),
        }
        Ok(())
    }

    fn default_cases(&mut self) -> Compiled {
        for at in 0..self.choices.len() {
            let choice = self.choices[at].node;
            let draft = &self.drafts[choice.0 as usize];
            let node = &self.nodes[choice.0 as usize];
            self.choices[at].mandatory = node.mandatory;
            let Some((name, _)) = &draft.default else { continue };
            match self.schema_child(Some(choice), node.module, split_prefix(name).1) {
                Some(case) => self.choices[at].default = Some(case),
                None => return self.fail(draft.at, format!("case '{name}' does not exist")),
            }
        }
        Ok(())
    }
}

struct FilePrefixes<'c, 'a> {
    compiler: &'c Compiler<'a>,
    at: FileLine,
}

impl PrefixResolver for FilePrefixes<'_, '_> {
    fn module<'n>(&'n self, prefix: Option<&'n str>) -> Option<&'n str> {
        let module = self.compiler.module_of(self.at, prefix).ok()?;
        Some(self.compiler.module_name(module))
    }
}
