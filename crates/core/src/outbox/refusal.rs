//! Refusals of commands about notifications.

use std::fmt;

use super::notification_name;
use crate::refusal::Advice;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxRefusal {
    NotificationUnknown { number: u128 },
}

impl OutboxRefusal {
    pub fn code(&self) -> &'static str {
        match self {
            OutboxRefusal::NotificationUnknown { .. } => "notice_unknown",
        }
    }

    pub fn advice(&self) -> Advice {
        match self {
            OutboxRefusal::NotificationUnknown { .. } => Advice::Reread,
        }
    }
}

impl fmt::Display for OutboxRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutboxRefusal::NotificationUnknown { number } => {
                write!(f, "notification {} is not in the outbox", notification_name(*number))
            }
        }
    }
}
