//! Events about notifications.

use std::sync::Arc;

use super::Payload;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxEvent {
    Queued(NotificationQueued),
    DeliveryFailed(DeliveryFailed),
    Closed(NotificationClosed),
}

/// A notification was added to the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationQueued {
    pub number: u128,
    pub target: Arc<str>,
    pub user: Arc<str>,
    pub payload: Payload,
    pub about: Vec<(Arc<str>, Arc<str>)>,
    pub at_ms: u64,
}

/// An attempt has failed, or an operator has asked for another one: then `attempts` is zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFailed {
    pub number: u128,
    pub attempts: u32,
    pub error: Arc<str>,
    /// When to try again. `None`: it is given up.
    pub again_ms: Option<u64>,
}

/// A notification has left the outbox: delivered, or dropped by an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationClosed {
    pub number: u128,
    pub delivered: bool,
}
