//! The filter of a watcher. Pure.

use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::event::projection::{EventKind, Projection};

use crate::to_wire::ReasonDetail;

/// All given conditions must hold. Watchers with equal filters share a group in the hub.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct WatchFilter {
    /// Sorted; empty: any.
    pools: Vec<Arc<str>>,
    /// The pool scope of the watcher's token.
    scope: Option<Arc<str>>,
    owner_prefix: Option<Arc<str>>,
    /// Sorted; empty: any.
    providers: Vec<Uuid>,
    consumers: Vec<Uuid>,
    /// A bit for each [`EventKind`]. None: any.
    kinds: u64,
    /// The watcher may read why authorities refuse and fail, in their own words.
    full_reasons: bool,
}

impl WatchFilter {
    pub(crate) fn pool(&mut self, pool: &str) {
        if let Err(at) = self.pools.binary_search_by(|known| (**known).cmp(pool)) {
            self.pools.insert(at, pool.into());
        }
    }

    pub(crate) fn scope(&mut self, scope: &str) {
        self.scope = Some(scope.into());
    }

    /// The watcher is an admin.
    pub(crate) fn full_reasons(&mut self, full: bool) {
        self.full_reasons = full;
    }

    pub(crate) fn reasons(&self) -> ReasonDetail {
        if self.full_reasons { ReasonDetail::Full } else { ReasonDetail::Short }
    }

    pub(crate) fn owner_prefix(&mut self, prefix: &str) {
        self.owner_prefix = Some(prefix.into());
    }

    pub(crate) fn provider(&mut self, provider: Uuid) {
        if let Err(at) = self.providers.binary_search(&provider) {
            self.providers.insert(at, provider);
        }
    }

    pub(crate) fn consumer(&mut self, consumer: Uuid) {
        if let Err(at) = self.consumers.binary_search(&consumer) {
            self.consumers.insert(at, consumer);
        }
    }

    /// Adds a kind; returns whether it exists.
    pub(crate) fn kind(&mut self, name: &str) -> bool {
        let kind = EventKind::from_name(name);
        self.kinds |= kind.map_or(0, |kind| 1 << kind as u32);
        kind.is_some()
    }

    pub(crate) fn picks(&self, subject: &Projection<'_>) -> bool {
        let begins = |text: Option<&str>, with: &Option<Arc<str>>| match with {
            None => true,
            Some(prefix) => text.is_some_and(|text| text.starts_with(&**prefix)),
        };
        let is_pool = |pool: &str| self.pools.binary_search_by(|known| (**known).cmp(pool)).is_ok();
        let among = |uuids: &[Uuid], found: &Uuid| uuids.binary_search(found).is_ok();
        let (pool, owner) = (subject.pool.map(|pool| &**pool), subject.owner.map(|owner| &**owner));
        (self.kinds == 0 || self.kinds & (1 << subject.kind as u32) != 0)
            && (self.pools.is_empty() || pool.is_some_and(is_pool))
            && begins(pool, &self.scope)
            // The removal of a pool ends the claims of every owner.
            && (subject.ends_claims || begins(owner, &self.owner_prefix))
            && (self.providers.is_empty()
                || subject.providers().any(|found| among(&self.providers, &found)))
            && (self.consumers.is_empty()
                || subject.consumer.is_some_and(|found| among(&self.consumers, &found)))
    }

    /// The part of the filter by which the index finds it.
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

/// The most selective part of a filter.
pub(super) enum IndexKey<'a> {
    Pools(&'a [Arc<str>]),
    OwnerPrefix(&'a str),
    Consumers(&'a [Uuid]),
    Providers(&'a [Uuid]),
    Anywhere,
}
