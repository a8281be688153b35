//! What a watcher wants to see, and whether an event is that. Pure.

use std::sync::Arc;

use allod_core::event::Event;

use crate::to_wire::{KINDS, kind_index};

/// What of an event a filter looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// Which of [`KINDS`] it is.
    pub kind: usize,
    pub pool: &'a str,
    /// Whose claim it is about. An event of a pool has none, and neither has a very old one that does not say.
    pub owner: Option<&'a str>,
}

impl About<'_> {
    /// `None` for an event that nobody is shown.
    pub(crate) fn of(event: &Event) -> Option<About<'_>> {
        let kind = kind_index(event)?;
        let (pool, owner) = match event {
            Event::PoolDefined(event) => (&event.pool, None),
            Event::PoolRemoved(event) => (&event.pool, None),
            Event::ClaimGranted(event) => (&event.pool, Some(&event.owner)),
            Event::LeaseChanged(event) => (&event.pool, event.was.as_ref().map(|was| &was.owner)),
            Event::ClaimReleased(event) => (&event.pool, event.was.as_ref().map(|was| &was.owner)),
            Event::QuarantineEnded(event) => {
                (&event.pool, event.was.as_ref().map(|was| &was.owner))
            }
            Event::RequestRemembered(_) | Event::RequestForgotten(_) => return None,
            Event::ProviderDefined(_)
            | Event::ProviderRemoved(_)
            | Event::ProviderCounted(_)
            | Event::InventoriesSet(_)
            | Event::TraitsSet(_)
            | Event::AggregatesSet(_)
            | Event::ClassDefined(_)
            | Event::ClassRemoved(_)
            | Event::TraitDefined(_)
            | Event::TraitRemoved(_)
            | Event::AllocationsSet(_)
            | Event::AllocationsExtended(_)
            | Event::AllocationsReleased(_) => return None,
        };
        Some(About { kind, pool, owner: owner.map(|owner| &**owner) })
    }
}

/// A filter; what is not said lets everything through. Watchers with equal filters share what is made for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Filter {
    /// One of these pools. Sorted; empty: any.
    pools: Vec<Arc<str>>,
    /// What the pool's name starts with: the part of the world that the watcher may see at all.
    scope: Option<Arc<str>>,
    owner_prefix: Option<Arc<str>>,
    /// A bit for each of [`KINDS`]. None: any.
    kinds: u8,
}

impl Filter {
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
        (self.kinds == 0 || self.kinds & (1 << about.kind) != 0)
            && (self.pools.is_empty()
                || self.pools.binary_search_by(|known| (**known).cmp(about.pool)).is_ok())
            && begins(Some(about.pool), &self.scope)
            && begins(about.owner, &self.owner_prefix)
    }

    /// Under what it is to be found.
    pub(super) fn place(&self) -> Place<'_> {
        match &self.owner_prefix {
            _ if !self.pools.is_empty() => Place::Pools(&self.pools),
            Some(prefix) if !prefix.is_empty() => Place::OwnerPrefix(prefix),
            _ => Place::Anywhere,
        }
    }
}

/// The part of a filter that narrows it best.
pub(super) enum Place<'a> {
    Pools(&'a [Arc<str>]),
    OwnerPrefix(&'a str),
    Anywhere,
}
