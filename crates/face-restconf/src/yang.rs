//! YANG modules and the schema that follows from them.
//!
//! Modules are texts (`statement` reads them); `compile` turns them into a [`Schema`] once, when the server starts. Features
//! are all supported; `must`, `when` and `if-feature` are kept as text and not evaluated, what they ask for is checked by the
//! model that the module belongs to. Deviations and extensions are not known here.

mod compile;
pub mod embedded;
mod schema;
mod statement;
mod types;
mod typing;
mod well_known;

pub use self::schema::{
    Choice, ChoiceId, InCase, Kind, Module, ModuleId, Must, NodeId, Schema, SchemaNode,
};
pub use self::types::{Base, ModuleNames, Names, Scalar, Type, prefixes, spelled, split_prefix};
pub use self::well_known::WellKnown;

/// Why a module cannot be used.
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
