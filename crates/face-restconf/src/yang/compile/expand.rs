//! Turns data definitions, groupings and augments into schema nodes.

use super::{Compiler, EXPANSION_MAX, StatementScope, UnresolvedNode, must, new_node};
use crate::yang::YangError;
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
    ) -> Result<(), YangError> {
        if depth > EXPANSION_MAX {
            return self.fail(scope.file, statement.line, "groupings are nested too deeply");
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
                return self.fail(
                    scope.file,
                    statement.line,
                    "data without a schema is not supported",
                );
            }
            _ => return Ok(()),
        };
        let in_choice =
            parent.is_some_and(|parent| self.nodes[parent.0 as usize].kind == NodeKind::Choice);
        let parent = if in_choice && kind != NodeKind::Case {
            // The short form of a case with one node.
            let case = new_node(NodeKind::Case, &statement.argument, module, parent);
            let draft = UnresolvedNode {
                file: scope.file,
                line: statement.line,
                ..UnresolvedNode::default()
            };
            Some(self.add(parent, case, draft)?)
        } else {
            parent
        };
        let name = match kind {
            NodeKind::Input => "input",
            NodeKind::Output => "output",
            _ => statement.argument.as_str(),
        };
        let mut node = new_node(kind, name, module, parent);
        let mut draft =
            UnresolvedNode { file: scope.file, line: statement.line, ..UnresolvedNode::default() };
        let inner = StatementScope { statement, outer: Some(scope), file: scope.file };
        if matches!(kind, NodeKind::Leaf | NodeKind::LeafList) {
            let Some(ty) = statement.first("type") else {
                return self.fail(scope.file, statement.line, format!("'{name}' has no type"));
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
                    let draft = UnresolvedNode {
                        file: scope.file,
                        line: statement.line,
                        ..UnresolvedNode::default()
                    };
                    self.add(Some(id), new_node(kind, name, module, Some(id)), draft)?;
                }
            }
        }
        Ok(())
    }

    /// Applies the substatements of a definition or of a `refine`, except child nodes.
    fn attributes(
        &mut self,
        id: NodeId,
        file: usize,
        statement: &Statement,
    ) -> Result<(), YangError> {
        for inner in &statement.inner {
            let line = inner.line;
            let argument = inner.argument.as_str();
            let number = || argument.parse::<u32>().ok();
            let truth = match argument {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            };
            let (node, draft) = (&mut self.nodes[id.0 as usize], &mut self.drafts[id.0 as usize]);
            let good = match inner.keyword.as_str() {
                "config" => {
                    draft.config = truth;
                    truth.is_some()
                }
                "mandatory" => {
                    node.mandatory = truth.unwrap_or_default();
                    truth.is_some()
                }
                "presence" => {
                    node.kind = NodeKind::Container { presence: true };
                    true
                }
                "default" => {
                    draft.default = Some((argument.to_owned(), file));
                    true
                }
                "key" => {
                    draft.keys = Some(argument.to_owned());
                    true
                }
                "unique" => {
                    draft.unique.push(argument.to_owned());
                    true
                }
                "units" => {
                    node.units = Some(argument.to_owned());
                    true
                }
                "ordered-by" => {
                    node.user_ordered = argument == "user";
                    matches!(argument, "user" | "system")
                }
                "min-elements" => {
                    node.min_elements = number().unwrap_or_default();
                    number().is_some()
                }
                "max-elements" => {
                    node.max_elements = number();
                    number().is_some() || argument == "unbounded"
                }
                "must" => {
                    node.musts.push(must(inner));
                    true
                }
                "when" => {
                    node.when = Some(argument.to_owned());
                    true
                }
                "if-feature" => {
                    node.if_features.push(argument.to_owned());
                    true
                }
                _ => true,
            };
            if !good {
                return self.fail(
                    file,
                    line,
                    format!("invalid argument '{argument}' of '{}'", inner.keyword),
                );
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
    ) -> Result<(), YangError> {
        let (grouping, outer) =
            self.definition(scope, "grouping", &statement.argument, statement.line)?;
        let inner = StatementScope { statement: grouping, outer: Some(&outer), file: outer.file };
        let known = self.schema_children(parent).len();
        for below in &grouping.inner {
            self.data(parent, module, &inner, below, depth + 1)?;
        }
        self.condition(parent, known, statement);
        for refine in statement.all("refine") {
            let target = self.descendant(parent, module, scope.file, refine)?;
            self.attributes(target, scope.file, refine)?;
        }
        for augment in statement.all("augment") {
            let target = self.descendant(parent, module, scope.file, augment)?;
            let inner = StatementScope { statement: augment, outer: Some(scope), file: scope.file };
            let known = self.schema_children(Some(target)).len();
            for below in &augment.inner {
                self.data(Some(target), module, &inner, below, depth + 1)?;
            }
            self.condition(Some(target), known, augment);
        }
        Ok(())
    }

    /// Copies the `when` of a `uses` or `augment` to the nodes that it adds: the children from index `from` on.
    fn condition(&mut self, parent: Option<NodeId>, from: usize, statement: &Statement) {
        let Some(when) = statement.text("when") else { return };
        for id in self.schema_children(parent).get(from..).unwrap_or_default().to_vec() {
            self.nodes[id.0 as usize].when.get_or_insert_with(|| when.to_owned());
        }
    }

    /// The node that a `refine` or `augment` within a `uses` names.
    fn descendant(
        &self,
        parent: Option<NodeId>,
        module: ModuleId,
        file: usize,
        statement: &Statement,
    ) -> Result<NodeId, YangError> {
        let mut at = parent;
        for segment in statement.argument.split('/') {
            let (prefix, name) = split_prefix(segment.trim());
            let module = match prefix {
                Some(_) => self.module_of(file, prefix, statement.line)?,
                None => module,
            };
            match self.schema_child(at, module, name) {
                Some(child) => at = Some(child),
                None => {
                    return self.fail(
                        file,
                        statement.line,
                        format!("node '{}' does not exist", statement.argument),
                    );
                }
            }
        }
        match at {
            Some(id) => Ok(id),
            None => self.fail(file, statement.line, "the path names no node"),
        }
    }

    /// Applies the augments of all modules. One may add to nodes of another, so they are retried until none is left.
    pub(super) fn augments(&mut self) -> Result<(), YangError> {
        let mut left: Vec<(usize, &'a Statement)> = Vec::new();
        for (index, file) in self.files.iter().enumerate() {
            left.extend(file.root.all("augment").map(|augment| (index, augment)));
        }
        while !left.is_empty() {
            let before = left.len();
            let mut later = Vec::new();
            for (file, augment) in left {
                match self.absolute(file, augment)? {
                    Some(target) => self.augment(file, augment, target)?,
                    None => later.push((file, augment)),
                }
            }
            if let (true, Some((file, augment))) = (later.len() == before, later.first()) {
                return self.fail(
                    *file,
                    augment.line,
                    format!("node '{}' does not exist", augment.argument),
                );
            }
            left = later;
        }
        Ok(())
    }

    fn absolute(&self, file: usize, augment: &Statement) -> Result<Option<NodeId>, YangError> {
        let Some(path) = augment.argument.strip_prefix('/') else {
            return self.fail(file, augment.line, "the target is not an absolute path");
        };
        let mut at = None;
        for segment in path.split('/') {
            let (prefix, name) = split_prefix(segment.trim());
            let module = self.module_of(file, prefix, augment.line)?;
            match self.schema_child(at, module, name) {
                Some(child) => at = Some(child),
                None => return Ok(None),
            }
        }
        Ok(at)
    }

    fn augment(
        &mut self,
        file: usize,
        augment: &'a Statement,
        target: NodeId,
    ) -> Result<(), YangError> {
        let (root, module) = (self.files[file].root, self.files[file].module);
        let outer = StatementScope { statement: root, outer: None, file };
        let inner = StatementScope { statement: augment, outer: Some(&outer), file };
        let known = self.schema_children(Some(target)).len();
        for below in &augment.inner {
            self.data(Some(target), module, &inner, below, 0)?;
        }
        self.condition(Some(target), known, augment);
        Ok(())
    }
}
