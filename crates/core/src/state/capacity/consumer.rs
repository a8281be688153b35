//! One consumer: whose it is, and what it holds.

use std::sync::Arc;

use super::names::NameIx;
use super::provider::ProviderIx;
use crate::capacity::{Reclaim, Uuid};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    pub uuid: Uuid,
    pub generation: u64,
    pub project: Arc<str>,
    pub user: Arc<str>,
    /// `None`: nobody ever said.
    pub consumer_type: Option<Arc<str>>,
    /// Never empty, in the order in which it was written: all of one provider together.
    pub held: Box<[Held]>,
    /// When it was written last.
    pub written_ms: u64,
    pub expires_ms: Option<u64>,
    pub reclaim: Reclaim,
}

/// So much of this class of this provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub provider: ProviderIx,
    pub class: NameIx,
    pub amount: u32,
}

impl Consumer {
    /// Whether its lease has run out. It holds what it holds all the same, until that is taken back.
    pub fn expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|at| at <= now_ms)
    }

    /// When time will take back what it holds, if at all.
    pub fn due_ms(&self) -> Option<u64> {
        self.expires_ms.filter(|_| self.reclaim == Reclaim::Reap)
    }

    /// What it holds, provider by provider.
    pub fn by_provider(&self) -> impl Iterator<Item = &[Held]> {
        self.held.chunk_by(|one, next| one.provider == next.provider)
    }
}
