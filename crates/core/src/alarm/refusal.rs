//! Refusals of commands about alarms.

use std::fmt;
use std::sync::Arc;

use crate::refusal::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmRefusal {
    /// There is no such alarm, or it is still raised.
    NotCleared { object: Arc<str> },
}

impl AlarmRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            AlarmRefusal::NotCleared { .. } => "alarm_not_over",
        }
    }

    pub fn advice(&self) -> Advice {
        match self {
            AlarmRefusal::NotCleared { .. } => Advice::Reread,
        }
    }
}

impl fmt::Display for AlarmRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AlarmRefusal::NotCleared { object } => {
                write!(f, "'{object}' has no cleared alarm of this kind")
            }
        }
    }
}
