//! What is asked of one pool of resources, and how it was answered.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Slot;
use super::slots::{FrozenSlots, Slots};
use crate::resource::{Answer, Request, ResourcePool};

/// A request and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub key: Arc<str>,
    pub request: Arc<Request>,
    pub answer: Answer,
}

#[derive(Debug, Clone)]
pub(crate) struct Requests {
    pub config: Arc<ResourcePool>,
    rows: Slots<Asked>,
    by_key: HashMap<Arc<str>, Slot>,
    /// The keys that have nothing yet, in their order.
    pub failed: BTreeSet<Arc<str>>,
    /// The position at which anything about it last changed.
    pub changed: u64,
}

/// All requests of one moment.
#[derive(Debug, Clone)]
pub struct FrozenRequests(FrozenSlots<Asked>);

impl FrozenRequests {
    pub fn iter(&self) -> impl Iterator<Item = &Asked> {
        self.0.iter()
    }
}

impl Requests {
    pub fn new(config: Arc<ResourcePool>, changed: u64) -> Requests {
        let (rows, by_key, failed) = (Slots::default(), HashMap::new(), BTreeSet::new());
        Requests { config, rows, by_key, failed, changed }
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn get(&self, key: &str) -> Option<&Asked> {
        self.rows.get(*self.by_key.get(key)?)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Asked> {
        self.rows.iter().map(|(_, asked)| asked)
    }

    pub fn freeze(&self) -> FrozenRequests {
        FrozenRequests(self.rows.freeze())
    }

    /// Puts a request in the place of the one under its key. Gives back what was there.
    pub fn put(&mut self, asked: Asked) -> Option<Asked> {
        let before = self.remove(&asked.key.clone());
        let key = asked.key.clone();
        if asked.answer != Answer::Granted {
            self.failed.insert(key.clone());
        }
        let slot = self.rows.insert(asked);
        self.by_key.insert(key, slot);
        before
    }

    pub fn remove(&mut self, key: &str) -> Option<Asked> {
        let slot = self.by_key.remove(key)?;
        self.failed.remove(key);
        self.rows.remove(slot)
    }
}
