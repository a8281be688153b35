//! The compiled schema: all schema nodes in one arena.
//!
//! Choices and cases are not data nodes, so `parent` and `children` skip them; `cases` says which cases a node is in.

use hashbrown::HashMap;

use super::compile;
use super::types::{LeafType, split_prefix};
use super::{YangError, statement};
use crate::tree::LeafValue;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChoiceId(pub u32);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    pub name: String,
    pub namespace: String,
    pub prefix: String,
    /// The newest revision; empty if the module has none.
    pub revision: String,
    pub features: Vec<String>,
    /// Names and revisions of its submodules.
    pub submodules: Vec<(String, String)>,
    pub text: String,
    /// Whether the module defines or augments nodes. Otherwise it is only imported.
    pub implemented: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    Container {
        presence: bool,
    },
    List,
    Leaf,
    LeafList,
    Rpc,
    Action,
    Input,
    Output,
    Notification,
    /// Not a data node.
    Choice,
    /// Not a data node.
    Case,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaNode {
    pub kind: NodeKind,
    pub name: String,
    /// `module:name`.
    pub full_name: String,
    pub module: ModuleId,
    /// The parent and the children in the data tree, without choices and cases.
    pub parent: Option<NodeId>,
    pub children: Vec<NodeId>,
    /// From the outermost choice to the innermost.
    pub cases: Vec<InCase>,
    pub config: bool,
    /// For a list. Only state may be a list without keys.
    pub keys: Vec<NodeId>,
    pub mandatory: bool,
    /// For a leaf that is not mandatory.
    pub default: Option<LeafValue>,
    pub ty: Option<LeafType>,
    pub user_ordered: bool,
    pub min_elements: u32,
    pub max_elements: Option<u32>,
    /// Sets of leaves whose combined values are unique in the list.
    pub unique: Vec<Vec<NodeId>>,
    pub when: Option<String>,
    /// The parent and the children in the module, with choices and cases.
    pub(super) schema_parent: Option<NodeId>,
    pub(super) schema_children: Vec<NodeId>,
}

/// A node's membership in a case of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InCase {
    pub choice: ChoiceId,
    /// The schema node of the case.
    pub case: NodeId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub node: NodeId,
    pub mandatory: bool,
    /// The case whose defaults apply if no case is present.
    pub default: Option<NodeId>,
}

#[derive(Debug)]
pub struct Schema {
    pub(super) modules: Vec<Module>,
    pub(super) nodes: Vec<SchemaNode>,
    pub(super) choices: Vec<Choice>,
    pub(super) top: Vec<NodeId>,
    /// Every node except choices and cases, by parent, module and name.
    pub(super) by_name: HashMap<(Option<NodeId>, ModuleId), HashMap<String, NodeId>>,
    /// The file names, and for each node the index of its file and the line.
    pub(super) files: Vec<String>,
    pub(super) places: Vec<(usize, u32)>,
}

impl Schema {
    /// Compiles the modules. `files` must contain everything that they import.
    pub fn compile(files: &[(&str, &str)]) -> Result<Schema, YangError> {
        let parsed = files
            .iter()
            .map(|(file, text)| Ok((*file, *text, statement::parse(file, text)?)))
            .collect::<Result<Vec<_>, YangError>>()?;
        compile::compile(&parsed)
    }

    pub fn node(&self, id: NodeId) -> &SchemaNode {
        &self.nodes[id.0 as usize]
    }

    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }

    /// All schema nodes.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// An error about a node, with the place of its definition.
    pub fn error_at(&self, id: NodeId, message: impl Into<String>) -> YangError {
        let (file, line) = self.places.get(id.0 as usize).copied().unwrap_or_default();
        YangError::new(self.files.get(file).map_or("", String::as_str), line, message)
    }

    pub fn choice(&self, id: ChoiceId) -> &Choice {
        &self.choices[id.0 as usize]
    }

    pub fn modules(&self) -> impl Iterator<Item = (ModuleId, &Module)> {
        (0u32..).map(ModuleId).zip(&self.modules)
    }

    pub fn module_named(&self, name: &str) -> Option<ModuleId> {
        self.modules().find_map(|(id, module)| (module.name == name).then_some(id))
    }

    pub fn module_of_namespace(&self, namespace: &str) -> Option<ModuleId> {
        self.modules().find_map(|(id, module)| (module.namespace == namespace).then_some(id))
    }

    /// The top-level data nodes, RPCs and notifications of all modules.
    pub fn top(&self) -> &[NodeId] {
        &self.top
    }

    /// A child of the parent, or a top-level node. Without a module name: the parent's module; at the top, any module if
    /// only one has the name.
    pub fn child(
        &self,
        parent: Option<NodeId>,
        module: Option<&str>,
        name: &str,
    ) -> Option<NodeId> {
        let named = |module: ModuleId| self.child_of(parent, module, name);
        match (module, parent) {
            (Some(module), _) => named(self.module_named(module)?),
            (None, Some(parent)) => named(self.node(parent).module),
            (None, None) => {
                let mut all = self.modules().filter_map(|(id, _)| named(id));
                let first = all.next();
                if all.next().is_some() { None } else { first }
            }
        }
    }

    /// Like [`Schema::child`], but a name without a module also finds a child from another module, if it is unambiguous.
    pub fn child_or_only(
        &self,
        parent: Option<NodeId>,
        module: Option<&str>,
        name: &str,
    ) -> Option<NodeId> {
        let only = || {
            let children = &self.node(parent.filter(|_| module.is_none())?).children;
            let mut all = children.iter().filter(|child| self.node(**child).name == name);
            let first = all.next();
            if all.next().is_some() { None } else { first.copied() }
        };
        self.child(parent, module, name).or_else(only)
    }

    /// A child by module id. XML names modules by namespace.
    pub fn child_of(&self, parent: Option<NodeId>, module: ModuleId, name: &str) -> Option<NodeId> {
        self.by_name.get(&(parent, module))?.get(name).copied()
    }

    /// Finds `/id-manager:id-pools/id-pool/pool-name` or `/id-manager:allocateId/input/pool-name`: a name without a prefix
    /// has the module of its parent.
    pub fn find(&self, path: &str) -> Option<NodeId> {
        let mut at = None;
        for segment in path.strip_prefix('/')?.split('/') {
            let (module, name) = split_prefix(segment);
            at = Some(self.child(at, module, name)?);
        }
        at
    }

    /// Like [`Schema::find`], for a node that a model needs.
    pub fn require(&self, path: &str) -> Result<NodeId, String> {
        self.find(path).ok_or_else(|| format!("the schema has no node {path}"))
    }

    /// Whether its name needs a module prefix: at the top, and where the module changes.
    pub fn qualified(&self, id: NodeId) -> bool {
        let node = self.node(id);
        node.parent.is_none_or(|parent| self.node(parent).module != node.module)
    }

    /// `module:name`.
    pub fn full_name(&self, id: NodeId) -> &str {
        &self.node(id).full_name
    }

    /// The name, with the module prefix where needed.
    pub fn spelled_name(&self, id: NodeId) -> &str {
        if self.qualified(id) { self.full_name(id) } else { &self.node(id).name }
    }

    /// The schema path of a node, as [`Schema::find`] reads it.
    pub fn path(&self, id: NodeId) -> String {
        let above = self.node(id).parent.map(|parent| self.path(parent)).unwrap_or_default();
        format!("{above}/{}", self.spelled_name(id))
    }

    pub fn is_list(&self, id: NodeId) -> bool {
        self.node(id).kind == NodeKind::List
    }

    /// Whether it is a leaf or a leaf-list.
    pub fn is_leaf(&self, id: NodeId) -> bool {
        matches!(self.node(id).kind, NodeKind::Leaf | NodeKind::LeafList)
    }

    /// Whether it is a key of its list.
    pub fn is_key(&self, id: NodeId) -> bool {
        self.node(id).parent.is_some_and(|parent| self.node(parent).keys.contains(&id))
    }

    /// The RPCs of all modules.
    pub fn rpcs(&self) -> impl Iterator<Item = NodeId> {
        self.top.iter().copied().filter(|id| self.node(*id).kind == NodeKind::Rpc)
    }

    /// The `input` node of an RPC or an action. It exists even if the module leaves it out.
    pub fn input(&self, operation: NodeId) -> Option<NodeId> {
        self.child_of_kind(operation, NodeKind::Input)
    }

    pub fn output(&self, operation: NodeId) -> Option<NodeId> {
        self.child_of_kind(operation, NodeKind::Output)
    }

    fn child_of_kind(&self, parent: NodeId, kind: NodeKind) -> Option<NodeId> {
        self.node(parent).children.iter().copied().find(|id| self.node(*id).kind == kind)
    }

    /// Whether a client may prefix `input` with this module: that of the operation, or of an ancestor of an action.
    pub fn may_name_input(&self, input: NodeId, module: ModuleId) -> bool {
        let up = std::iter::successors(Some(input), |at| self.node(*at).parent);
        up.into_iter().any(|at| self.node(at).module == module)
    }
}
