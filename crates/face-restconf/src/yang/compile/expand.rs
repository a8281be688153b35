//! Turns data definitions, groupings and augments into schema nodes.

use super::{
    Compiled, Compiler, EXPANSION_MAX, FileLine, StatementScope, UnresolvedNode, new_node,
};
use crate::yang::schema::{Choice, ModuleId, NodeId, NodeKind};
use crate::yang::statement::Statement;
use crate::yang::types::split_prefix;

impl<'a> Compiler<'a> {
    /// Adds the node of a data definition statement. Other statements are skipped.
    pub(super) fn data(
        &mut self,
        parent: Option<NodeId>,
        module: ModuleId,
        scope: &StatementScope<'_>,
        statement: &Statement,
        depth: usize,
    ) -> Compiled {
        let at = scope.at(statement);
        if depth > EXPANSION_MAX {
            return self.fail(at, "groupings are nested too deeply");
        }
        let kind = match statement.keyword.as_str() {
            "uses" => return self.uses(parent, module, scope, statement, depth),
            "container" => NodeKind::Container { presence: statement.first("presence").is_some() },
            "list" => NodeKind::List,
            "leaf" => NodeKind::Leaf,
            "leaf-list" => NodeKind::LeafList,
            "choice" => NodeKind::Choice,
            "case" => NodeKind::Case,
            "rpc" => NodeKind::Rpc,
            "action" => NodeKind::Action,
            "notification" => NodeKind::Notification,
            "input" => NodeKind::Input,
            "output" => NodeKind::Output,
            "anydata" | "anyxml" => {
                return self.fail(at, "data without a schema is not supported");
            }
            _ => return Ok(()),
        };
        let in_choice =
            parent.is_some_and(|parent| self.nodes[parent.0 as usize].kind == NodeKind::Choice);
        let parent = if in_choice && kind != NodeKind::Case {
            // The short form of a case with one node.
            let case = new_node(NodeKind::Case, &statement.argument, module, parent);
            Some(self.add(parent, case, UnresolvedNode { at, ..UnresolvedNode::default() })?)
        } else {
            parent
        };
        let name = match kind {
            NodeKind::Input => "input",
            NodeKind::Output => "output",
            _ => statement.argument.as_str(),
        };
        let mut node = new_node(kind, name, module, parent);
        let mut draft = UnresolvedNode { at, ..UnresolvedNode::default() };
        let inner = StatementScope { statement, outer: Some(scope), file: scope.file };
        if matches!(kind, NodeKind::Leaf | NodeKind::LeafList) {
            let Some(ty) = statement.first("type") else {
                return self.fail(at, format!("'{name}' has no type"));
            };
            let (ty, default) = self.resolve_type(&inner, ty, 0)?;
            node.ty = Some(ty);
            draft.default = default;
        }
        let id = self.add(parent, node, draft)?;
        self.attributes(id, scope.file, statement)?;
        if kind == NodeKind::Choice {
            let mandatory = self.nodes[id.0 as usize].mandatory;
            self.choices.push(Choice { node: id, mandatory, default: None });
        }
        for below in &statement.inner {
            self.data(Some(id), module, &inner, below, depth + 1)?;
        }
        if matches!(kind, NodeKind::Rpc | NodeKind::Action) {
            for (kind, name) in [(NodeKind::Input, "input"), (NodeKind::Output, "output")] {
                if self.schema_child(Some(id), module, name).is_none() {
                    let draft = UnresolvedNode { at, ..UnresolvedNode::default() };
                    self.add(Some(id), new_node(kind, name, module, Some(id)), draft)?;
                }
            }
        }
        Ok(())
    }

    /// Applies the substatements of a definition or of a `refine`, except child nodes.
    fn attributes(&mut self, id: NodeId, file: usize, statement: &Statement) -> Compiled {
        for inner in &statement.inner {
            let argument = inner.argument.as_str();
            let number = || argument.parse::<u32>().ok();
            let truth = match argument {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            };
            let (node, draft) = (&mut self.nodes[id.0 as usize], &mut self.drafts[id.0 as usize]);
            let mut good = true;
            match inner.keyword.as_str() {
                "config" => {
                    draft.config = truth;
                    good = truth.is_some();
                }
                "mandatory" => {
                    node.mandatory = truth.unwrap_or_default();
                    good = truth.is_some();
                }
                "presence" => node.kind = NodeKind::Container { presence: true },
                "default" => draft.default = Some((argument.to_owned(), file)),
                "key" => draft.keys = Some(argument.to_owned()),
                "unique" => draft.unique.push(argument.to_owned()),
                "ordered-by" => {
                    node.user_ordered = argument == "user";
                    good = matches!(argument, "user" | "system");
                }
                "min-elements" => {
                    node.min_elements = number().unwrap_or_default();
                    good = number().is_some();
                }
                "max-elements" => {
                    node.max_elements = number();
                    good = number().is_some() || argument == "unbounded";
                }
                "when" => node.when = Some(argument.to_owned()),
                _ => {}
            }
            if !good {
                let message = format!("invalid argument '{argument}' of '{}'", inner.keyword);
                return self.fail(FileLine { file, line: inner.line }, message);
            }
        }
        Ok(())
    }

    fn uses(
        &mut self,
        parent: Option<NodeId>,
        module: ModuleId,
        scope: &StatementScope<'_>,
        statement: &Statement,
        depth: usize,
    ) -> Compiled {
        let (grouping, outer) = self.definition(scope, "grouping", statement)?;
        let inner = StatementScope { statement: grouping, outer: Some(&outer), file: outer.file };
        self.content(parent, module, &inner, statement, depth + 1)?;
        for refine in statement.all("refine") {
            let target = self.descendant(parent, module, scope, refine)?;
            self.attributes(target, scope.file, refine)?;
        }
        for augment in statement.all("augment") {
            let target = self.descendant(parent, module, scope, augment)?;
            let inner = StatementScope { statement: augment, outer: Some(scope), file: scope.file };
            self.content(Some(target), module, &inner, augment, depth + 1)?;
        }
        Ok(())
    }

    /// Adds the nodes of a grouping or an augment. `origin` is the `uses` or `augment`, whose `when` each of them gets.
    fn content(
        &mut self,
        parent: Option<NodeId>,
        module: ModuleId,
        scope: &StatementScope<'_>,
        origin: &Statement,
        depth: usize,
    ) -> Compiled {
        let known = self.schema_children(parent).len();
        for below in &scope.statement.inner {
            self.data(parent, module, scope, below, depth)?;
        }
        if let Some(when) = origin.text("when") {
            let added = self.schema_children(parent)[known..].to_vec();
            for id in added {
                self.nodes[id.0 as usize].when.get_or_insert_with(|| when.to_owned());
            }
        }
        Ok(())
    }

    /// The node that a `refine` or `augment` within a `uses` names.
    fn descendant(
        &self,
        parent: Option<NodeId>,
        module: ModuleId,
        scope: &StatementScope<'_>,
        statement: &Statement,
    ) -> Compiled<NodeId> {
        let at = scope.at(statement);
        match self.walk(parent, at, &statement.argument, Some(module))? {
            Some(id) => Ok(id),
            None => self.fail(at, format!("node '{}' does not exist", statement.argument)),
        }
    }

    /// The node at the end of a path; `None` if it does not exist. Names without a prefix are in the module `own`, or else
    /// in that of the file.
    fn walk(
        &self,
        from: Option<NodeId>,
        at: FileLine,
        path: &str,
        own: Option<ModuleId>,
    ) -> Compiled<Option<NodeId>> {
        let mut node = from;
        for segment in path.split('/') {
            let (prefix, name) = split_prefix(segment.trim());
            let module = match (prefix, own) {
                (None, Some(own)) => own,
                _ => self.module_of(at, prefix)?,
            };
            node = self.schema_child(node, module, name);
            if node.is_none() {
                break;
            }
        }
        Ok(node)
    }

    /// Applies the augments of all modules. One may add to nodes of another, so they are retried until none is left.
    pub(super) fn augments(&mut self) -> Compiled {
        let mut left: Vec<(usize, &'a Statement)> = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            left.extend(file.root.all("augment").map(|augment| (index, augment)));
        }
        while !left.is_empty() {
            let before = left.len();
            let mut later = Vec::new();
            for (file, augment) in left {
                let at = FileLine { file, line: augment.line };
                let Some(path) = augment.argument.strip_prefix('/') else {
                    return self.fail(at, "the target is not an absolute path");
                };
                match self.walk(None, at, path, None)? {
                    Some(target) => self.augment(file, augment, target)?,
                    None => later.push((file, augment)),
                }
            }
            if let (true, Some(&(file, augment))) = (later.len() == before, later.first()) {
                let message = format!("node '{}' does not exist", augment.argument);
                return self.fail(FileLine { file, line: augment.line }, message);
            }
            left = later;
        }
        Ok(())
    }

    fn augment(&mut self, file: usize, augment: &'a Statement, target: NodeId) -> Compiled {
        let (root, module) = (self.files[file].root, self.files[file].module);
        let outer = StatementScope { statement: root, outer: None, file };
        let inner = StatementScope { statement: augment, outer: Some(&outer), file };
        self.content(Some(target), module, &inner, augment, 0)
    }
}
