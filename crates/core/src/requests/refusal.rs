//! Refusals of commands about request pools. A request that gets no value is not refused: its answer is a failure.

use std::fmt;
use std::sync::Arc;

use crate::refusal::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestsRefusal {
    /// The pool has no requests, or its supply is of another kind (ids, addresses).
    NotRequestPool { pool: Arc<str> },
    /// A command of another interface would change a request pool, or the claim of a request.
    Managed { pool: Arc<str>, key: Option<Arc<str>> },
    /// Something has changed since the state that an edit is based on.
    Changed { at: u64 },
}

impl RequestsRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            RequestsRefusal::NotRequestPool { .. } => "not_resources",
            RequestsRefusal::Managed { .. } => "kept_by_resource_manager",
            RequestsRefusal::Changed { .. } => "resources_changed",
        }
    }

    pub fn advice(&self) -> Advice {
        match self {
            RequestsRefusal::NotRequestPool { .. } | RequestsRefusal::Managed { .. } => {
                Advice::Change
            }
            RequestsRefusal::Changed { .. } => Advice::Reread,
        }
    }
}

impl fmt::Display for RequestsRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestsRefusal::NotRequestPool { pool } => {
                write!(f, "pool '{pool}' is not a resource pool of this kind")
            }
            RequestsRefusal::Managed { pool, key: None } => {
                write!(f, "pool '{pool}' is managed by the resource-manager; change it there")
            }
            RequestsRefusal::Managed { pool, key: Some(key) } => write!(
                f,
                "the claim of '{key}' in pool '{pool}' belongs to a request of the resource-manager; withdraw the request there"
            ),
            RequestsRefusal::Changed { at } => {
                write!(f, "the pools have changed at position {at}, after they were read")
            }
        }
    }
}
