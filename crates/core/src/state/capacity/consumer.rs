//! One consumer: its owner and what it holds.

use std::sync::Arc;

use super::names::NameIx;
use super::provider::ProviderIx;
use crate::capacity::{Reclaim, Uuid};

/// `H` is the form of what it holds: in the state by index, in a checkpoint by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer<H = Box<[HeldAmount]>> {
    pub uuid: Uuid,
    pub generation: u64,
    pub project: Arc<str>,
    pub user: Arc<str>,
    /// `None` if no request has given a type.
    pub consumer_type: Option<Arc<str>>,
    /// Never empty. In the order of the request, grouped by provider.
    pub held: H,
    /// When the allocations were last written.
    pub written_ms: u64,
    pub expires_ms: Option<u64>,
    pub reclaim: Reclaim,
}

/// An amount of one class of one provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldAmount {
    pub provider: ProviderIx,
    pub class: NameIx,
    pub amount: u32,
}

impl<H> Consumer<H> {
    /// A copy with what it holds in another form.
    pub fn with_held<T>(&self, held: T) -> Consumer<T> {
        Consumer {
            uuid: self.uuid,
            generation: self.generation,
            project: self.project.clone(),
            user: self.user.clone(),
            consumer_type: self.consumer_type.clone(),
            held,
            written_ms: self.written_ms,
            expires_ms: self.expires_ms,
            reclaim: self.reclaim,
        }
    }
}

impl Consumer {
    /// Whether its lease has expired. It keeps what it holds until that is released.
    pub fn expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|at| at <= now_ms)
    }

    /// When the server will release what it holds, if at all.
    pub fn due_ms(&self) -> Option<u64> {
        self.expires_ms.filter(|_| self.reclaim == Reclaim::Reap)
    }

    /// What it holds, grouped by provider.
    pub fn by_provider(&self) -> impl Iterator<Item = &[HeldAmount]> {
        self.held.chunk_by(|one, next| one.provider == next.provider)
    }
}
