//! Data definitions, groupings and augments become nodes.

use super::{Compiler, Draft, EXPANSION_MAX, Scope, blank, must};
use crate::yang::YangError;
use crate::yang::schema::{Choice, Kind, ModuleId, NodeId};
use crate::yang::statement::Statement;
use crate::yang::types::split_prefix;

impl<'a> Compiler<'a> {
    /// A statement among the data definitions of the parent; other statements are passed over.
    pub(super) fn data(
        &mut self,
        parent: Option<NodeId>,
        module: ModuleId,
        scope: &Scope<'_>,
        statement: &Statement,
        depth: usize,
    ) -> Result<(), YangError> {
        if depth > EXPANSION_MAX {
            return self.fail(scope.file, statement.line, "groupings are nested too deeply");
        }
        let kind = match statement.keyword.as_str() {
            "uses" => return self.uses(parent, module, scope, statement, depth),
            "container" => Kind::Container { presence: statement.first("presence").is_some() },
            "list" => Kind::List,
            "leaf" => Kind::Leaf,
            "leaf-list" => Kind::LeafList,
            "choice" => Kind::Choice,
            "case" => Kind::Case,
            "rpc" => Kind::Rpc,
            "action" => Kind::Action,
            "notification" => Kind::Notification,
            "input" => Kind::Input,
            "output" => Kind::Output,
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
            parent.is_some_and(|parent| self.nodes[parent.0 as usize].kind == Kind::Choice);
        let parent = if in_choice && kind != Kind::Case {
            // The short form of a case with one node.
            let case = blank(Kind::Case, &statement.argument, module, parent);
            let draft = Draft { file: scope.file, line: statement.line, ..Draft::default() };
            Some(self.add(parent, case, draft)?)
        } else {
            parent
        };
        let name = match kind {
            Kind::Input => "input",
            Kind::Output => "output",
            _ => statement.argument.as_str(),
        };
        let mut node = blank(kind, name, module, parent);
        let mut draft = Draft { file: scope.file, line: statement.line, ..Draft::default() };
        let inner = Scope { statement, outer: Some(scope), file: scope.file };
        if matches!(kind, Kind::Leaf | Kind::LeafList) {
            let Some(ty) = statement.first("type") else {
                return self.fail(scope.file, statement.line, format!("'{name}' has no type"));
            };
            let (ty, default) = self.resolve_type(&inner, ty, 0)?;
            node.ty = Some(ty);
            draft.default = default;
        }
        let id = self.add(parent, node, draft)?;
        self.attributes(id, scope.file, statement)?;
        if kind == Kind::Choice {
            let mandatory = self.nodes[id.0 as usize].mandatory;
            self.choices.push(Choice { node: id, mandatory, default: None });
        }
        for below in &statement.inner {
            self.data(Some(id), module, &inner, below, depth + 1)?;
        }
        if matches!(kind, Kind::Rpc | Kind::Action) {
            for (kind, name) in [(Kind::Input, "input"), (Kind::Output, "output")] {
                if self.schema_child(Some(id), module, name).is_none() {
                    let draft =
                        Draft { file: scope.file, line: statement.line, ..Draft::default() };
                    self.add(Some(id), blank(kind, name, module, Some(id)), draft)?;
                }
            }
        }
        Ok(())
    }

    /// What is said of a node beside its children: by its definition, or by a `refine`.
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
                    node.kind = Kind::Container { presence: true };
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
                    format!("'{argument}' is no argument of '{}'", inner.keyword),
                );
            }
        }
        Ok(())
    }

    fn uses(
        &mut self,
        parent: Option<NodeId>,
        module: ModuleId,
        scope: &Scope<'_>,
        statement: &Statement,
        depth: usize,
    ) -> Result<(), YangError> {
        let (grouping, outer) =
            self.definition(scope, "grouping", &statement.argument, statement.line)?;
        let inner = Scope { statement: grouping, outer: Some(&outer), file: outer.file };
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
            let inner = Scope { statement: augment, outer: Some(scope), file: scope.file };
            let known = self.schema_children(Some(target)).len();
            for below in &augment.inner {
                self.data(Some(target), module, &inner, below, depth + 1)?;
            }
            self.condition(Some(target), known, augment);
        }
        Ok(())
    }

    /// What a `uses` or an `augment` depends on, all that it brings depends on: the children of the parent from the given one.
    fn condition(&mut self, parent: Option<NodeId>, from: usize, statement: &Statement) {
        let Some(when) = statement.text("when") else { return };
        for id in self.schema_children(parent).get(from..).unwrap_or_default().to_vec() {
            self.nodes[id.0 as usize].when.get_or_insert_with(|| when.to_owned());
        }
    }

    /// The node that `refine` or `augment` names, from where its grouping is used.
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
                        format!("'{}' is not there", statement.argument),
                    );
                }
            }
        }
        match at {
            Some(id) => Ok(id),
            None => self.fail(file, statement.line, "no node is named"),
        }
    }

    /// The augments of all modules. One may add to what another added, so that they are tried until nothing is left.
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
                    format!("'{}' is not there", augment.argument),
                );
            }
            left = later;
        }
        Ok(())
    }

    fn absolute(&self, file: usize, augment: &Statement) -> Result<Option<NodeId>, YangError> {
        let Some(path) = augment.argument.strip_prefix('/') else {
            return self.fail(file, augment.line, "the target is not a path from the top");
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
        let outer = Scope { statement: root, outer: None, file };
        let inner = Scope { statement: augment, outer: Some(&outer), file };
        let known = self.schema_children(Some(target)).len();
        for below in &augment.inner {
            self.data(Some(target), module, &inner, below, 0)?;
        }
        self.condition(Some(target), known, augment);
        Ok(())
    }
}
