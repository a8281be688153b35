//! What a watcher wants to see, and whether an event is that. Pure.

use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::event::projection::{EventKind, Projection};

/// A filter; what is not said lets everything through. Watchers with equal filters share what is made for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct WatchFilter {
    /// One of these pools. Sorted; empty: any.
    pools: Vec<Arc<str>>,
    /// What the pool's name starts with: the part of the world that the watcher may see at all.
    scope: Option<Arc<str>>,
    owner_prefix: Option<Arc<str>>,
    /// A change of one of these, or of what is held of it. Sorted; empty: any.
    providers: Vec<Uuid>,
    consumers: Vec<Uuid>,
    /// A bit for each [`EventKind`]. None: any.
    kinds: u32,
}

impl WatchFilter {
    pub(crate) fn pool(&mut self, pool: &str) {
        if let Err(place) = self.pools.binary_search_by(|known| (**known).cmp(pool)) {
            self.pools.insert(place, pool.into());
        }
    }

    pub(crate) fn scope(&mut self, scope: &str) {
        self.scope = Some(scope.into());
    }

    pub(crate) fn owner_prefix(&mut self, prefix: &str) {
        self.owner_prefix = Some(prefix.into());
    }

    pub(crate) fn provider(&mut self, provider: Uuid) {
        if let Err(place) = self.providers.binary_search(&provider) {
            self.providers.insert(place, provider);
        }
    }

    pub(crate) fn consumer(&mut self, consumer: Uuid) {
        if let Err(place) = self.consumers.binary_search(&consumer) {
            self.consumers.insert(place, consumer);
        }
    }

    /// Says whether there is such a kind.
    pub(crate) fn kind(&mut self, name: &str) -> bool {
        let index = EventKind::NAMES.iter().position(|known| *known == name);
        self.kinds |= index.map_or(0, |index| 1 << index);
        index.is_some()
    }

    pub(crate) fn picks(&self, about: &Projection<'_>) -> bool {
        let begins = |text: Option<&str>, with: &Option<Arc<str>>| match with {
            None => true,
            Some(prefix) => text.is_some_and(|text| text.starts_with(&**prefix)),
        };
        let is_pool = |pool: &str| self.pools.binary_search_by(|known| (**known).cmp(pool)).is_ok();
        let among = |uuids: &[Uuid], found: &Uuid| uuids.binary_search(found).is_ok();
        let (pool, owner) = (about.pool.map(|pool| &**pool), about.owner.map(|owner| &**owner));
        (self.kinds == 0 || self.kinds & (1 << about.kind as u32) != 0)
            && (self.pools.is_empty() || pool.is_some_and(is_pool))
            && begins(pool, &self.scope)
            && begins(owner, &self.owner_prefix)
            && (self.providers.is_empty()
                || about.providers().any(|found| among(&self.providers, &found)))
            && (self.consumers.is_empty()
                || about.consumer.is_some_and(|found| among(&self.consumers, &found)))
    }

    /// Under what it is to be found.
    pub(super) fn index_key(&self) -> IndexKey<'_> {
        match &self.owner_prefix {
            _ if !self.pools.is_empty() => IndexKey::Pools(&self.pools),
            _ if !self.consumers.is_empty() => IndexKey::Consumers(&self.consumers),
            _ if !self.providers.is_empty() => IndexKey::Providers(&self.providers),
            Some(prefix) if !prefix.is_empty() => IndexKey::OwnerPrefix(prefix),
            _ => IndexKey::Anywhere,
        }
    }
}

/// The part of a filter that narrows it best.
pub(super) enum IndexKey<'a> {
    Pools(&'a [Arc<str>]),
    OwnerPrefix(&'a str),
    Consumers(&'a [Uuid]),
    Providers(&'a [Uuid]),
    Anywhere,
}
