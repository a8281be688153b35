//! Parses YANG modules and compiles them to a schema.
//!
//! `statement` parses the text; `compile` makes a [`Schema`] of it, once, when the server starts. All features are
//! supported. `must`, `when` and `if-feature` are not evaluated; the model that implements the module checks them.
//! Deviations and extensions are not supported.

mod compile;
pub mod embedded;
mod node_macro;
mod pattern;
mod schema;
mod statement;
mod types;
mod typing;
mod well_known;

pub(crate) use self::node_macro::node_set;
pub use self::schema::{
    Choice, ChoiceId, InCase, Module, ModuleId, NodeId, NodeKind, Schema, SchemaNode,
};
pub(crate) use self::types::in_ranges;
pub use self::types::{
    BaseType, JsonScalar, LeafType, ModuleNames, PrefixResolver, prefixes, spelled, split_prefix,
};
pub use self::well_known::WellKnown;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YangError {
    pub file: String,
    pub line: u32,
    pub message: String,
}

impl YangError {
    fn new(file: &str, line: u32, message: impl Into<String>) -> YangError {
        YangError { file: file.to_owned(), line, message: message.into() }
    }
}

impl std::fmt::Display for YangError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for YangError {}
