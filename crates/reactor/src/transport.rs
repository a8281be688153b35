//! The interface to a means of delivering notifications.

use std::pin::Pin;
use std::sync::Arc;

use allod_core::outbox::Notification;

/// Notifications of one channel share its limit of parallel deliveries, and do not wait for those of other channels.
pub type ChannelId = usize;

/// The outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver has acknowledged it.
    Delivered,
    /// It failed, or its outcome is unknown; a retry may help. The text is for the operator.
    Failed(String),
    /// No retry can help.
    Undeliverable(String),
}

/// An attempt in progress.
pub type Delivery = Pin<Box<dyn Future<Output = DeliveryOutcome> + Send>>;

/// A means of delivering notifications, such as webhooks.
pub trait Transport: Send + Sync + 'static {
    /// The number of channels.
    fn channels(&self) -> usize;

    /// The channel of this notification, below [`Transport::channels`]. `None`: no receiver is configured for it.
    fn channel_for(&self, notification: &Notification) -> Option<ChannelId>;

    /// Delivers a notification of this channel. Retries must send the same contents and the same number, so that the
    /// receiver can recognise duplicates. Must end in bounded time and memory, whatever the receiver does.
    fn deliver(&self, channel: ChannelId, notification: Arc<Notification>) -> Delivery;
}
