//! Compiles statements to a schema: expands groupings, applies augments, resolves names.
//!
//! `finish` adds what depends on all nodes: inherited `config`, keys, leafref targets, defaults. `typing` resolves types.

mod expand;
mod finish;

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::YangError;
use super::schema::{Choice, Module, ModuleId, NodeId, NodeKind, Schema, SchemaNode};
use super::statement::Statement;
use super::types::split_prefix;

/// Nested groupings and typedefs; more is a cycle.
pub(super) const EXPANSION_MAX: usize = 64;

pub(super) type Compiled<T = ()> = Result<T, YangError>;

/// A place in a file, for errors.
#[derive(Clone, Copy, Default)]
pub(super) struct FileLine {
    pub file: usize,
    pub line: u32,
}

/// A parsed file, with the meaning of its prefixes.
pub(super) struct ModuleFile<'a> {
    pub name: &'a str,
    pub root: &'a Statement,
    pub module: ModuleId,
    pub prefixes: HashMap<&'a str, ModuleId>,
}

/// The scope of a statement. Names are looked up from there outwards.
#[derive(Clone, Copy)]
pub(super) struct StatementScope<'s> {
    pub statement: &'s Statement,
    pub outer: Option<&'s StatementScope<'s>>,
    pub file: usize,
}

impl StatementScope<'_> {
    pub(super) fn at(&self, statement: &Statement) -> FileLine {
        FileLine { file: self.file, line: statement.line }
    }
}

/// Properties of a node that are resolved after all nodes exist.
#[derive(Default, Clone)]
pub(super) struct UnresolvedNode {
    pub at: FileLine,
    pub config: Option<bool>,
    pub default: Option<(String, usize)>,
    pub keys: Option<String>,
    pub unique: Vec<String>,
}

pub(super) struct Compiler<'a> {
    pub files: Vec<ModuleFile<'a>>,
    pub modules: Vec<Module>,
    pub nodes: Vec<SchemaNode>,
    pub drafts: Vec<UnresolvedNode>,
    pub choices: Vec<Choice>,
    pub top: Vec<NodeId>,
    /// Each identity with its direct bases, all as `module:name`.
    pub identities: BTreeMap<String, Vec<String>>,
}

pub(super) fn compile(parsed: &[(&str, &str, Statement)]) -> Compiled<Schema> {
    let mut compiler = Compiler {
        files: Vec::new(),
        modules: Vec::new(),
        nodes: Vec::new(),
        drafts: Vec::new(),
        choices: Vec::new(),
        top: Vec::new(),
        identities: BTreeMap::new(),
    };
    compiler.headers(parsed)?;
    compiler.identities()?;
    for file in 0..compiler.files.len() {
        let (root, module) = (compiler.files[file].root, compiler.files[file].module);
        let scope = StatementScope { statement: root, outer: None, file };
        if let Some(deviation) = root.first("deviation") {
            return compiler.fail(scope.at(deviation), "deviations are not supported");
        }
        for statement in &root.inner {
            compiler.data(None, module, &scope, statement, 0)?;
        }
    }
    compiler.augments()?;
    compiler.finish()
}

impl<'a> Compiler<'a> {
    pub(super) fn fail<T>(&self, at: FileLine, message: impl Into<String>) -> Compiled<T> {
        Err(YangError::new(self.files[at.file].name, at.line, message))
    }

    /// Collects the modules and the prefixes of each file.
    fn headers(&mut self, parsed: &'a [(&'a str, &'a str, Statement)]) -> Compiled {
        for (name, text, root) in parsed.iter().filter(|(_, _, root)| root.keyword == "module") {
            let required = |keyword: &str| {
                root.text(keyword).map(str::to_owned).ok_or_else(|| {
                    YangError::new(name, root.line, format!("'{keyword}' is missing"))
                })
            };
            if self.modules.iter().any(|module| module.name == root.argument) {
                let message = format!("duplicate module '{}'", root.argument);
                return Err(YangError::new(name, root.line, message));
            }
            self.modules.push(Module {
                name: root.argument.clone(),
                namespace: required("namespace")?,
                prefix: required("prefix")?,
                revision: newest(root),
                features: root.all("feature").map(|feature| feature.argument.clone()).collect(),
                submodules: Vec::new(),
                text: (*text).to_owned(),
                implemented: defines_nodes(root),
            });
        }
        for (name, _, root) in parsed {
            let (owner, own_prefix) = match root.keyword.as_str() {
                "module" => (root.argument.as_str(), root.text("prefix")),
                "submodule" => match root.first("belongs-to") {
                    Some(belongs) => (belongs.argument.as_str(), belongs.text("prefix")),
                    None => return Err(YangError::new(name, root.line, "'belongs-to' is missing")),
                },
                _ => {
                    let message = "the file has neither a module nor a submodule";
                    return Err(YangError::new(name, root.line, message));
                }
            };
            let find = |wanted: &str, line: u32| {
                let at = self.modules.iter().position(|module| module.name == wanted);
                at.map(|at| ModuleId(at as u32)).ok_or_else(|| {
                    YangError::new(name, line, format!("module '{wanted}' is missing"))
                })
            };
            let module = find(owner, root.line)?;
            let mut prefixes = HashMap::new();
            prefixes.extend(own_prefix.map(|prefix| (prefix, module)));
            for import in root.all("import") {
                let Some(prefix) = import.text("prefix") else {
                    return Err(YangError::new(name, import.line, "'prefix' is missing"));
                };
                prefixes.insert(prefix, find(&import.argument, import.line)?);
            }
            if root.keyword == "submodule" {
                let module = &mut self.modules[module.0 as usize];
                module.submodules.push((root.argument.clone(), newest(root)));
                module.features.extend(root.all("feature").map(|feature| feature.argument.clone()));
                module.implemented |= defines_nodes(root);
            }
            self.files.push(ModuleFile { name, root, module, prefixes });
        }
        Ok(())
    }

    /// The module of a prefix in a file. No prefix: the module of the file.
    pub(super) fn module_of(&self, at: FileLine, prefix: Option<&str>) -> Compiled<ModuleId> {
        let file = &self.files[at.file];
        let Some(prefix) = prefix else { return Ok(file.module) };
        match file.prefixes.get(prefix) {
            Some(module) => Ok(*module),
            None => self.fail(at, format!("unknown prefix '{prefix}'")),
        }
    }

    pub(super) fn module_name(&self, module: ModuleId) -> &str {
        &self.modules[module.0 as usize].name
    }

    /// `module:name` for a name with or without a prefix.
    pub(super) fn full_name(&self, at: FileLine, name: &str) -> Compiled<String> {
        let (prefix, name) = split_prefix(name);
        let module = self.module_of(at, prefix)?;
        Ok(format!("{}:{name}", self.module_name(module)))
    }

    fn identities(&mut self) -> Compiled {
        for (index, file) in self.files.iter().enumerate() {
            for identity in file.root.all("identity") {
                let bases = self.bases(index, identity)?;
                let name = format!("{}:{}", self.module_name(file.module), identity.argument);
                self.identities.insert(name, bases);
            }
        }
        Ok(())
    }

    /// The bases of an identity or of an identityref, as `module:name`.
    pub(super) fn bases(&self, file: usize, statement: &Statement) -> Compiled<Vec<String>> {
        let bases = statement.all("base");
        bases
            .map(|base| self.full_name(FileLine { file, line: base.line }, &base.argument))
            .collect()
    }

    /// Finds the grouping or typedef that a statement names, and its scope: from here outwards, then anywhere in the module.
    pub(super) fn definition<'s>(
        &self,
        scope: &'s StatementScope<'s>,
        keyword: &str,
        statement: &Statement,
    ) -> Compiled<(&'s Statement, StatementScope<'s>)>
    where
        'a: 's,
    {
        let (prefix, plain) = split_prefix(&statement.argument);
        let module = self.module_of(scope.at(statement), prefix)?;
        let here = |statement: &'s Statement| {
            statement.inner.iter().find(|inner| inner.keyword == keyword && inner.argument == plain)
        };
        if module == self.files[scope.file].module {
            let mut at = Some(scope);
            while let Some(scope) = at {
                if let Some(found) = here(scope.statement) {
                    return Ok((found, *scope));
                }
                at = scope.outer;
            }
        }
        for (index, file) in self.files.iter().enumerate().filter(|(_, file)| file.module == module)
        {
            if let Some(found) = here(file.root) {
                let scope = StatementScope { statement: file.root, outer: None, file: index };
                return Ok((found, scope));
            }
        }
        self.fail(scope.at(statement), format!("unknown {keyword} '{}'", statement.argument))
    }

    pub(super) fn add(
        &mut self,
        parent: Option<NodeId>,
        node: SchemaNode,
        draft: UnresolvedNode,
    ) -> Compiled<NodeId> {
        let id = NodeId(self.nodes.len() as u32);
        if self.schema_child(parent, node.module, &node.name).is_some() {
            return self.fail(draft.at, format!("duplicate node '{}'", node.name));
        }
        match parent {
            Some(parent) => self.nodes[parent.0 as usize].schema_children.push(id),
            None => self.top.push(id),
        }
        self.nodes.push(node);
        self.drafts.push(draft);
        Ok(id)
    }

    pub(super) fn schema_children(&self, parent: Option<NodeId>) -> &[NodeId] {
        match parent {
            Some(parent) => &self.nodes[parent.0 as usize].schema_children,
            None => &self.top,
        }
    }

    /// A child by its name, in the tree that includes choices and cases.
    pub(super) fn schema_child(
        &self,
        parent: Option<NodeId>,
        module: ModuleId,
        name: &str,
    ) -> Option<NodeId> {
        let children = self.schema_children(parent);
        let named = |id: &&NodeId| {
            let node = &self.nodes[id.0 as usize];
            node.name == name && node.module == module
        };
        children.iter().find(named).copied()
    }
}

/// Whether a file defines nodes or augments others.
fn defines_nodes(root: &Statement) -> bool {
    let kinds = [
        "container",
        "list",
        "leaf",
        "leaf-list",
        "choice",
        "uses",
        "rpc",
        "notification",
        "augment",
    ];
    root.inner.iter().any(|inner| kinds.contains(&inner.keyword.as_str()))
}

fn newest(root: &Statement) -> String {
    root.all("revision")
        .map(|revision| revision.argument.as_str())
        .max()
        .unwrap_or_default()
        .to_owned()
}

pub(super) fn new_node(
    kind: NodeKind,
    name: &str,
    module: ModuleId,
    schema_parent: Option<NodeId>,
) -> SchemaNode {
    SchemaNode {
        kind,
        name: name.to_owned(),
        full_name: String::new(),
        module,
        parent: None,
        children: Vec::new(),
        cases: Vec::new(),
        config: true,
        keys: Vec::new(),
        mandatory: false,
        default: None,
        ty: None,
        user_ordered: false,
        min_elements: 0,
        max_elements: None,
        unique: Vec::new(),
        when: None,
        schema_parent,
        schema_children: Vec::new(),
    }
}
