//! Answers that are stored under idempotency keys: when each expires, and how much of the space each client uses.

use std::collections::HashMap;
use std::sync::Arc;

use super::shared_map::SharedMap;

use crate::command::Idempotency;
use crate::event::IdempotencyStored;

#[derive(Debug, Clone, Default)]
pub(crate) struct StoredAnswers {
    by_key: SharedMap<Arc<str>, Arc<IdempotencyStored>>,
    /// When each of them expires.
    due: SharedMap<(u64, Arc<str>), Arc<IdempotencyStored>>,
    clients: HashMap<Box<str>, AnswerUsage>,
    total: AnswerUsage,
}

/// An immutable copy of the stored answers.
#[derive(Debug, Clone)]
pub struct FrozenAnswers(SharedMap<(u64, Arc<str>), Arc<IdempotencyStored>>);

impl FrozenAnswers {
    /// In the order of expiry.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<IdempotencyStored>> {
        self.0.iter().map(|(_, stored)| stored)
    }
}

/// The number of stored answers and their approximate size in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnswerUsage {
    pub keys: u64,
    pub bytes: u64,
}

impl StoredAnswers {
    pub fn get(&self, key: &str) -> Option<&Arc<IdempotencyStored>> {
        self.by_key.get(key)
    }

    /// An immutable copy, which shares memory.
    pub fn freeze(&self) -> FrozenAnswers {
        FrozenAnswers(self.due.clone())
    }

    /// The time and the key of the answer that expires first.
    pub fn next_due(&self) -> Option<&(u64, Arc<str>)> {
        self.due.first().map(|(due, _)| due)
    }

    pub fn total(&self) -> AnswerUsage {
        self.total
    }

    pub fn used_by(&self, client: &str) -> AnswerUsage {
        self.clients.get(client).copied().unwrap_or_default()
    }

    /// Adds an answer under a key that has none.
    pub fn add(&mut self, stored: Arc<IdempotencyStored>) {
        let bytes = stored.bytes();
        let client = self.clients.entry(Idempotency::client_of(&stored.key).into()).or_default();
        for usage in [client, &mut self.total] {
            usage.keys += 1;
            usage.bytes += bytes;
        }
        self.due.insert((stored.until_ms, stored.key.clone()), stored.clone());
        self.by_key.insert(stored.key.clone(), stored);
    }

    pub fn remove(&mut self, key: &str) -> Option<Arc<IdempotencyStored>> {
        let stored = self.by_key.remove(key)?;
        self.due.remove(&(stored.until_ms, stored.key.clone()));
        let (client, bytes) = (Idempotency::client_of(key), stored.bytes());
        for usage in self.clients.get_mut(client).into_iter().chain([&mut self.total]) {
            usage.keys -= 1;
            usage.bytes -= bytes;
        }
        if self.used_by(client).keys == 0 {
            self.clients.remove(client);
        }
        Some(stored)
    }

    /// Whether expiry and usage match the answers.
    pub fn is_consistent(&self) -> bool {
        let mut again = StoredAnswers::default();
        self.by_key.iter().for_each(|(_, stored)| again.add(stored.clone()));
        again.due == self.due && again.clients == self.clients && again.total == self.total
    }
}
