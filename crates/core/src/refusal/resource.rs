//! Every way in which the core says no to the resource-manager. That a request gets nothing is no refusal: it is its answer.

use std::fmt;
use std::sync::Arc;

use super::Advice;
use crate::state::outbox::notice_name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceRefusal {
    /// The pool was made elsewhere, or holds other resources: the resource-manager has no say in it.
    NotResources {
        pool: Arc<str>,
    },
    /// The resource-manager keeps the pool, or what is held of it: nobody else changes it.
    Kept {
        pool: Arc<str>,
        key: Option<Arc<str>>,
    },
    /// Something has changed since the state that an edit was made on.
    Changed {
        at: u64,
    },
    NoticeUnknown {
        number: u128,
    },
    /// There is no such alarm, or it is still raised.
    AlarmNotOver {
        object: Arc<str>,
    },
}

impl ResourceRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            ResourceRefusal::NotResources { .. } => "not_resources",
            ResourceRefusal::Kept { .. } => "kept_by_resource_manager",
            ResourceRefusal::Changed { .. } => "resources_changed",
            ResourceRefusal::NoticeUnknown { .. } => "notice_unknown",
            ResourceRefusal::AlarmNotOver { .. } => "alarm_not_over",
        }
    }

    pub fn advice(&self) -> Advice {
        match self {
            ResourceRefusal::NotResources { .. } | ResourceRefusal::Kept { .. } => Advice::Change,
            ResourceRefusal::Changed { .. }
            | ResourceRefusal::NoticeUnknown { .. }
            | ResourceRefusal::AlarmNotOver { .. } => Advice::Reread,
        }
    }
}

impl fmt::Display for ResourceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResourceRefusal::NotResources { pool } => {
                write!(f, "pool '{pool}' is not one of these resources")
            }
            ResourceRefusal::Kept { pool, key: None } => {
                write!(f, "pool '{pool}' is kept by the resource-manager; change it there")
            }
            ResourceRefusal::Kept { pool, key: Some(key) } => write!(
                f,
                "what '{key}' has of pool '{pool}' was asked for through the resource-manager; withdraw it there"
            ),
            ResourceRefusal::Changed { at } => {
                write!(f, "something has changed at position {at}, after it was read")
            }
            ResourceRefusal::NoticeUnknown { number } => {
                write!(f, "there is no notice {} in the outbox", notice_name(*number))
            }
            ResourceRefusal::AlarmNotOver { object } => {
                write!(f, "there is no alarm of '{object}' that is over")
            }
        }
    }
}
