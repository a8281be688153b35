//! What is asked of one pool of resources, and how it was answered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::Slot;
use super::slots::{FrozenSlots, Slots};
use crate::claim::Parity;
use crate::resource::{Answer, Request, ResourcePool, Wanted, WantedPrefix};

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
    pub waiting: Waiting,
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
        let (rows, by_key, waiting) = (Slots::default(), HashMap::new(), Waiting::default());
        Requests { config, rows, by_key, waiting, changed }
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
            self.waiting.insert(Class::of(&asked.request), key.clone());
        }
        let slot = self.rows.insert(asked);
        self.by_key.insert(key, slot);
        before
    }

    pub fn remove(&mut self, key: &str) -> Option<Asked> {
        let slot = self.by_key.remove(key)?;
        let asked = self.rows.remove(slot)?;
        self.waiting.remove(Class::of(&asked.request), key);
        Some(asked)
    }
}

/// Requests that can be served by the same: when there is nothing for one of them, there is nothing for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Each wants something of its own: what it has named, or what others of its group can have.
    Own,
    Id(Option<Parity>),
    Prefix {
        size: u8,
        invert: bool,
    },
}

impl Class {
    pub fn of(request: &Request) -> Class {
        match &request.want {
            Wanted::Id(want) if want.id.is_some() || request.is_sync() => Class::Own,
            Wanted::Id(want) => Class::Id(want.parity()),
            Wanted::Prefix(want) if want.start.is_some() => Class::Own,
            Wanted::Prefix(WantedPrefix { size, invert, .. }) => {
                Class::Prefix { size: *size, invert: *invert }
            }
        }
    }
}

/// The keys of requests that have nothing yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting(BTreeMap<Class, BTreeSet<Arc<str>>>);

impl Waiting {
    fn insert(&mut self, class: Class, key: Arc<str>) {
        self.0.entry(class).or_default().insert(key);
    }

    fn remove(&mut self, class: Class, key: &str) {
        if let Some(keys) = self.0.get_mut(&class) {
            keys.remove(key);
            if keys.is_empty() {
                self.0.remove(&class);
            }
        }
    }

    pub fn has(&self, class: Class, key: &str) -> bool {
        self.0.get(&class).is_some_and(|keys| keys.contains(key))
    }

    pub fn len(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    /// The first key after this one, of all classes but these.
    pub fn next(&self, after: Option<&Arc<str>>, without: &[Class]) -> Option<(Class, Arc<str>)> {
        let from = match after {
            None => Bound::Unbounded,
            Some(key) => Bound::Excluded(&**key),
        };
        let classes = self.0.iter().filter(|(class, _)| !without.contains(class));
        let firsts = classes.filter_map(|(class, keys)| {
            let key = keys.range::<str, _>((from, Bound::Unbounded)).next()?;
            Some((key, *class))
        });
        firsts.min().map(|(key, class)| (class, key.clone()))
    }
}
