//! Answers that are stored under idempotency keys: when each expires, and how much of the space each client uses.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::shared_map::SharedMap;
use crate::command::Idempotency;
use crate::event::IdempotencyStored;

#[derive(Debug, Clone, Default)]
pub(crate) struct StoredAnswers {
    by_key: HashTable<IdempotencyStored>,
    /// Random in every process, so that clients cannot choose colliding keys.
    hasher: RandomState,
    due: SharedMap<DueAnswer, ()>,
    clients: HashMap<Box<str>, AnswerUsage>,
    total: AnswerUsage,
}

/// An immutable copy of the stored answers.
#[derive(Debug, Clone)]
pub struct FrozenAnswers(SharedMap<DueAnswer, ()>);

impl FrozenAnswers {
    /// In the order of expiry.
    pub fn iter(&self) -> impl Iterator<Item = &IdempotencyStored> {
        self.0.iter().map(|(due, ())| &due.stored)
    }
}

/// Ordered by time, then by key.
#[derive(Debug, Clone)]
struct DueAnswer {
    until_ms: u64,
    stored: IdempotencyStored,
}

impl Ord for DueAnswer {
    fn cmp(&self, other: &DueAnswer) -> Ordering {
        let by_time = self.until_ms.cmp(&other.until_ms);
        by_time.then_with(|| self.stored.key().cmp(other.stored.key()))
    }
}

impl PartialOrd for DueAnswer {
    fn partial_cmp(&self, other: &DueAnswer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for DueAnswer {
    fn eq(&self, other: &DueAnswer) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for DueAnswer {}

impl From<&IdempotencyStored> for DueAnswer {
    fn from(stored: &IdempotencyStored) -> DueAnswer {
        DueAnswer { until_ms: stored.until_ms(), stored: stored.clone() }
    }
}

/// The number of stored answers and their approximate size in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct AnswerUsage {
    pub keys: u64,
    pub bytes: u64,
}

impl StoredAnswers {
    pub fn get(&self, key: &str) -> Option<&IdempotencyStored> {
        self.by_key.find(self.hasher.hash_one(key), |stored| stored.key() == key)
    }

    /// An immutable copy, which shares memory.
    pub fn freeze(&self) -> FrozenAnswers {
        FrozenAnswers(self.due.clone())
    }

    /// The answer that expires first.
    pub fn next_due(&self) -> Option<&IdempotencyStored> {
        self.due.first().map(|(due, ())| &due.stored)
    }

    pub fn total(&self) -> AnswerUsage {
        self.total
    }

    pub fn used_by(&self, client: &str) -> AnswerUsage {
        self.clients.get(client).copied().unwrap_or_default()
    }

    /// Adds an answer, in place of the one under the same key.
    pub fn add(&mut self, stored: IdempotencyStored) {
        self.remove(stored.key());
        let bytes = stored.bytes();
        let client = Idempotency::client_of(stored.key());
        // Most answers are of a client that has others.
        if !self.clients.contains_key(client) {
            self.clients.insert(client.into(), AnswerUsage::default());
        }
        for usage in self.clients.get_mut(client).into_iter().chain([&mut self.total]) {
            usage.keys += 1;
            usage.bytes += bytes;
        }
        self.due.insert(DueAnswer::from(&stored), ());
        let (hasher, hash) = (&self.hasher, self.hasher.hash_one(stored.key()));
        self.by_key.insert_unique(hash, stored, |stored| hasher.hash_one(stored.key()));
    }

    pub fn remove(&mut self, key: &str) -> Option<IdempotencyStored> {
        let found = self.by_key.find_entry(self.hasher.hash_one(key), |stored| stored.key() == key);
        let (stored, _) = found.ok()?.remove();
        self.due.remove(&DueAnswer::from(&stored));
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
        self.by_key.iter().for_each(|stored| again.add(stored.clone()));
        again.due == self.due && again.clients == self.clients && again.total == self.total
    }
}
