//! Why an import stopped.

/// The kind of an [`ImportError`], for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportErrorKind {
    /// The options or the addresses are wrong.
    Usage,
    /// The target cannot be imported into as it is.
    Refused,
    /// A token is missing or lacks a role.
    Denied,
    /// The same import may succeed later.
    Unavailable,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct ImportError {
    pub kind: ImportErrorKind,
    pub what: String,
    /// What to do about it.
    pub advice: Option<&'static str>,
}

pub(crate) type ImportResult<T> = Result<T, ImportError>;

impl ImportError {
    pub(crate) fn new(kind: ImportErrorKind, what: impl Into<String>) -> ImportError {
        ImportError { kind, what: what.into(), advice: None }
    }

    pub(crate) fn with_advice(self, advice: &'static str) -> ImportError {
        ImportError { advice: Some(advice), ..self }
    }
}
