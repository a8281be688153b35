//! The schema: what nodes there can be, in one arena.
//!
//! Data does not show choices and cases, so that `parent` and `children` pass over them; which case a node belongs to is told
//! by its `cases`.

use hashbrown::HashMap;

use super::compile;
use super::types::{Type, split_prefix};
use super::{YangError, statement};
use crate::tree::Value;

/// A node of the schema.
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
    /// The newest; empty where the module names none.
    pub revision: String,
    pub features: Vec<String>,
    /// Names and revisions of its submodules.
    pub submodules: Vec<(String, String)>,
    pub text: String,
    /// Whether it has nodes of its own or adds some to others; else it is there to be imported.
    pub implemented: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
    /// Not in data.
    Choice,
    /// Not in data.
    Case,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaNode {
    pub kind: Kind,
    pub name: String,
    /// `module:name`.
    pub full_name: String,
    pub module: ModuleId,
    /// In the data: choices and cases are passed over.
    pub parent: Option<NodeId>,
    pub children: Vec<NodeId>,
    /// From the outermost choice to the innermost.
    pub cases: Vec<InCase>,
    pub config: bool,
    /// Of a list; a list without is only state.
    pub keys: Vec<NodeId>,
    pub mandatory: bool,
    /// Of a leaf, and none for one that is mandatory.
    pub default: Option<Value>,
    pub ty: Option<Type>,
    pub units: Option<String>,
    pub user_ordered: bool,
    pub min_elements: u32,
    pub max_elements: Option<u32>,
    /// Leaves that together differ in every entry of a list.
    pub unique: Vec<Vec<NodeId>>,
    pub musts: Vec<Must>,
    pub when: Option<String>,
    pub if_features: Vec<String>,
    /// As the module has it, with choices and cases.
    pub(super) schema_parent: Option<NodeId>,
    pub(super) schema_children: Vec<NodeId>,
}

/// That a node belongs to a case of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InCase {
    pub choice: ChoiceId,
    /// The node of the case.
    pub case: NodeId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub node: NodeId,
    pub mandatory: bool,
    /// The case whose defaults count when no case is there.
    pub default: Option<NodeId>,
}

/// A rule that the model has to keep, as the module words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Must {
    pub condition: String,
    pub error_message: Option<String>,
}

#[derive(Debug)]
pub struct Schema {
    pub(super) modules: Vec<Module>,
    pub(super) nodes: Vec<SchemaNode>,
    pub(super) choices: Vec<Choice>,
    pub(super) top: Vec<NodeId>,
    /// Where to look first: the parent, the module and the name of every node that data can show.
    pub(super) by_name: HashMap<(Option<NodeId>, ModuleId), HashMap<String, NodeId>>,
}

impl Schema {
    /// The modules of the files, with all that they import among them.
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

    /// Data nodes, RPCs and notifications of the top level, of all modules.
    pub fn top(&self) -> &[NodeId] {
        &self.top
    }

    /// What stands under the parent, or at the top. Without a module the parent's is meant; at the top any, if only one module
    /// has the name.
    pub fn child(
        &self,
        parent: Option<NodeId>,
        module: Option<&str>,
        name: &str,
    ) -> Option<NodeId> {
        let named = |module: ModuleId| self.by_name.get(&(parent, module))?.get(name).copied();
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

    /// The same, but a name without a module may also mean another module's if only one has it there: what somebody may leave
    /// out who has no doubt.
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

    /// The same by the module's id, which XML knows from the namespace.
    pub fn child_of(&self, parent: Option<NodeId>, module: ModuleId, name: &str) -> Option<NodeId> {
        self.by_name.get(&(parent, module))?.get(name).copied()
    }

    /// `/id-manager:id-pools/id-pool/pool-name`, `/id-manager:allocateId/input/pool-name`: a name without a prefix has the
    /// module of its parent.
    pub fn find(&self, path: &str) -> Option<NodeId> {
        let mut at = None;
        for segment in path.strip_prefix('/')?.split('/') {
            let (module, name) = split_prefix(segment);
            at = Some(self.child(at, module, name)?);
        }
        at
    }

    /// Whether its name needs the module's: at the top, and where the module changes.
    pub fn qualified(&self, id: NodeId) -> bool {
        let node = self.node(id);
        node.parent.is_none_or(|parent| self.node(parent).module != node.module)
    }

    /// `module:name`.
    pub fn full_name(&self, id: NodeId) -> &str {
        &self.node(id).full_name
    }

    /// The name, with the module's where it needs it.
    pub fn spelled_name(&self, id: NodeId) -> &str {
        if self.qualified(id) { self.full_name(id) } else { &self.node(id).name }
    }

    /// The schema path of a node, as [`Schema::find`] takes it.
    pub fn path(&self, id: NodeId) -> String {
        let above = self.node(id).parent.map(|parent| self.path(parent)).unwrap_or_default();
        format!("{above}/{}", self.spelled_name(id))
    }

    pub fn is_list(&self, id: NodeId) -> bool {
        self.node(id).kind == Kind::List
    }

    /// Whether it is a leaf or a leaf-list: whether it has a value.
    pub fn is_leaf(&self, id: NodeId) -> bool {
        matches!(self.node(id).kind, Kind::Leaf | Kind::LeafList)
    }

    /// Whether it is a key of the list that it stands in.
    pub fn is_key(&self, id: NodeId) -> bool {
        self.node(id).parent.is_some_and(|parent| self.node(parent).keys.contains(&id))
    }

    /// The RPCs of all modules.
    pub fn rpcs(&self) -> impl Iterator<Item = NodeId> {
        self.top.iter().copied().filter(|id| self.node(*id).kind == Kind::Rpc)
    }

    /// The input of an RPC or an action; every one has it, even when the module leaves it out.
    pub fn input(&self, operation: NodeId) -> Option<NodeId> {
        self.node(operation).children.iter().copied().find(|id| self.node(*id).kind == Kind::Input)
    }

    /// Whether an input may be called by the name of this module: the operation's, or that of a node that an action stands in.
    pub fn may_name_input(&self, input: NodeId, module: ModuleId) -> bool {
        let up = std::iter::successors(Some(input), |at| self.node(*at).parent);
        up.into_iter().any(|at| self.node(at).module == module)
    }

    pub fn output(&self, operation: NodeId) -> Option<NodeId> {
        self.node(operation).children.iter().copied().find(|id| self.node(*id).kind == Kind::Output)
    }
}
