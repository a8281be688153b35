//! The requests of one pool with their answers, and the waiting lists of those that have failed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::event::Retry;
use super::hosts::Hosts;
use super::{Answer, Request, RequestPool, Supply, Wanted, WantedPrefix};
use crate::claim::Parity;
use crate::span::Span;
use crate::spanset::SpanSet;
use crate::state::Slot;
use crate::state::slots::{FrozenSlots, Slots};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredRequest {
    pub key: Arc<str>,
    pub request: Arc<Request>,
    pub answer: Answer,
    /// As in [`super::event::RequestAnswered`].
    pub version: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Requests {
    pub config: Arc<RequestPool>,
    rows: Slots<AnsweredRequest>,
    by_key: HashMap<Arc<str>, Slot>,
    pub waiting: Waiting,
    /// The failed requests that are still to be tried.
    pub retry: Option<Retry>,
    /// The keys of requests that are part of a group.
    pub in_groups: BTreeSet<Arc<str>>,
    /// For pools of addresses.
    pub hosts: Option<Hosts>,
    /// The position at which the configuration or a request last changed.
    pub changed: u64,
}

/// The requests of a pool at one position.
#[derive(Debug, Clone)]
pub struct FrozenRequests(FrozenSlots<AnsweredRequest>);

impl FrozenRequests {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &AnsweredRequest> {
        self.0.iter()
    }
}

impl Requests {
    pub fn new(config: Arc<RequestPool>, changed: u64) -> Requests {
        Requests {
            config,
            rows: Slots::default(),
            by_key: HashMap::new(),
            waiting: Waiting::default(),
            retry: None,
            in_groups: BTreeSet::new(),
            hosts: None,
            changed,
        }
    }

    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn get(&self, key: &str) -> Option<&AnsweredRequest> {
        self.rows.get(*self.by_key.get(key)?)
    }

    pub fn iter(&self) -> impl Iterator<Item = &AnsweredRequest> {
        self.rows.iter().map(|(_, request)| request)
    }

    /// The slot after the last request.
    pub fn end(&self) -> Slot {
        self.rows.end()
    }

    pub fn at(&self, slot: Slot) -> Option<&AnsweredRequest> {
        self.rows.get(slot)
    }

    /// All values of `part` have become free or taken; `free` is the free set after that.
    pub fn free_changed(&mut self, part: Span, free: &SpanSet) {
        self.hosts.iter_mut().for_each(|hosts| hosts.changed(part, free));
    }

    pub fn rebuild_hosts(&mut self, free: &SpanSet) {
        self.hosts = match &self.config.supply {
            Supply::Addresses(supply) => Some(Hosts::new(supply, free)),
            Supply::Ids(_) => None,
        };
    }

    pub fn freeze(&self) -> FrozenRequests {
        FrozenRequests(self.rows.freeze())
    }

    /// Inserts or replaces the request under its key. Returns the previous one.
    pub fn put(&mut self, request: AnsweredRequest) -> Option<AnsweredRequest> {
        let before = self.remove(&request.key.clone());
        let key = request.key.clone();
        if request.answer != Answer::Granted {
            self.waiting.insert(Class::of(&request.request), key.clone());
        }
        if request.request.is_sync() {
            self.in_groups.insert(key.clone());
        }
        let slot = self.rows.insert(request);
        self.by_key.insert(key, slot);
        before
    }

    pub fn remove(&mut self, key: &str) -> Option<AnsweredRequest> {
        let slot = self.by_key.remove(key)?;
        let request = self.rows.remove(slot)?;
        self.waiting.remove(Class::of(&request.request), key);
        self.in_groups.remove(key);
        Some(request)
    }
}

/// Requests of one class can be served by the same values: if one of them cannot be granted, none can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// A request that names its value, or that shares one with a group: no other request says anything about it.
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

/// The keys of failed requests, by class.
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

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first key after this one whose class is not in `without`.
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
