//! What a watcher wants to see, and whether an event is that. Pure.

use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::event::Event;
use allod_engine::history::Parties;

use crate::to_wire::{KINDS, kind_index};

/// What of an event a filter looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// Which of [`KINDS`] it is.
    pub kind: usize,
    /// What is about capacity or a service has none.
    pub pool: Option<&'a str>,
    /// Whose claim it is about. An event of a pool has none, and neither has a very old one that does not say.
    pub owner: Option<&'a str>,
    /// Whom a change of capacity concerns; nobody, where it is about a pool.
    pub parties: Parties<'a>,
}

impl About<'_> {
    /// `None` for an event that nobody is shown.
    pub(crate) fn of(event: &Event) -> Option<About<'_>> {
        let kind = kind_index(event)?;
        if let Some(parties) = Parties::of(event) {
            return Some(About { kind, pool: None, owner: None, parties });
        }
        let parties = Parties::default();
        let (pool, was) = match event {
            Event::PoolDefined(event) => (&event.pool, None),
            Event::PoolRemoved(event) => (&event.pool, None),
            Event::ClaimGranted(event) => {
                let (pool, owner) = (Some(&*event.pool), Some(&*event.owner));
                return Some(About { kind, pool, owner, parties });
            }
            Event::AlarmChanged(event) => {
                let pool = event.pool().map(|pool| &**pool);
                return Some(About { kind, pool, owner: None, parties });
            }
            Event::RequestAnswered(event) => (&event.pool, None),
            Event::RequestWithdrawn(event) => (&event.pool, None),
            Event::LeaseChanged(event) => (&event.pool, event.was.as_ref()),
            Event::ClaimReleased(event) => (&event.pool, event.was.as_ref()),
            Event::QuarantineEnded(event) => (&event.pool, event.was.as_ref()),
            _ => return None,
        };
        let owner = was.map(|was| &*was.owner);
        Some(About { kind, pool: Some(pool), owner, parties })
    }
}

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
    /// A bit for each of [`KINDS`]. None: any.
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
        let index = KINDS.iter().position(|known| *known == name);
        self.kinds |= index.map_or(0, |index| 1 << index);
        index.is_some()
    }

    pub(crate) fn picks(&self, about: &About<'_>) -> bool {
        let begins = |text: Option<&str>, with: &Option<Arc<str>>| match with {
            None => true,
            Some(prefix) => text.is_some_and(|text| text.starts_with(&**prefix)),
        };
        let is_pool = |pool: &str| self.pools.binary_search_by(|known| (**known).cmp(pool)).is_ok();
        let among = |uuids: &[Uuid], found: &Uuid| uuids.binary_search(found).is_ok();
        let parties = &about.parties;
        (self.kinds == 0 || self.kinds & (1 << about.kind) != 0)
            && (self.pools.is_empty() || about.pool.is_some_and(is_pool))
            && begins(about.pool, &self.scope)
            && begins(about.owner, &self.owner_prefix)
            && (self.providers.is_empty()
                || parties.providers().any(|found| among(&self.providers, &found)))
            && (self.consumers.is_empty()
                || parties.consumer.is_some_and(|found| among(&self.consumers, &found)))
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
