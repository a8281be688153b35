//! What can tell a notice to somebody outside.

use std::pin::Pin;
use std::sync::Arc;

use allod_core::state::outbox::Notice;

/// The way that a notice takes: notices of one lane share its room, and those of another do not wait for them.
pub type Lane = usize;

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Whoever was told has said so.
    Yes,
    /// It did not work, or nobody knows whether it did. In words for an operator.
    No(String),
    /// It cannot be told at all, however often it is tried.
    Never(String),
}

/// An attempt that is under way.
pub type Telling = Pin<Box<dyn Future<Output = Told> + Send>>;

/// A way to tell notices: requests to webhooks, or questions to whoever owns a pool.
pub trait Courier: Send + Sync + 'static {
    /// How many lanes there are.
    fn lanes(&self) -> usize;

    /// The lane of this notice, below [`Courier::lanes`]. `None`: nobody is to be told of it.
    fn lane(&self, notice: &Notice) -> Option<Lane>;

    /// Tells a notice of this lane. It may have been told before: what is told must be the same, and carry its name.
    /// Ends in bounded time and takes bounded memory, whatever the other side does.
    fn tell(&self, lane: Lane, notice: Arc<Notice>) -> Telling;
}
