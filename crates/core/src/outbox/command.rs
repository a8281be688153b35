//! Commands about notifications: the reactor reports an attempt, or an operator intervenes.

use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxCommand {
    /// The service has accepted it.
    Delivered { number: u128 },
    /// An attempt has failed. `again_ms`: when to try again; `None` gives it up.
    Failed { number: u128, error: Arc<str>, again_ms: Option<u64> },
    /// Tries it again at once, with the number of attempts back at zero.
    Retry { number: u128 },
    /// Removes it without delivering it.
    Drop { number: u128 },
}

impl OutboxCommand {
    pub(crate) fn number(&self) -> u128 {
        match self {
            OutboxCommand::Delivered { number }
            | OutboxCommand::Failed { number, .. }
            | OutboxCommand::Retry { number }
            | OutboxCommand::Drop { number } => *number,
        }
    }
}
