//! Finds the filters that may match an event without evaluating all of them. Pure.
//!
//! A filter that names pools, consumers or providers is indexed under each of them, one with an owner prefix under that
//! prefix, and any other in a list. An event is looked up by pool, consumer, providers and by the prefixes of its owner that
//! have a length in use. This takes a few lookups, independent of the number of filters.

use std::collections::BTreeMap;

use allod_core::capacity::Uuid;
use allod_core::event::projection::Projection;
use hashbrown::HashMap;

use super::filter::{IndexKey, WatchFilter};

/// Filters by number; the caller chooses the numbers.
#[derive(Debug, Default)]
pub(crate) struct FilterIndex {
    pools: HashMap<Box<str>, Vec<usize>>,
    prefixes: HashMap<Box<[u8]>, Vec<usize>>,
    /// The number of filters for each length of prefix.
    lengths: BTreeMap<usize, usize>,
    consumers: HashMap<Uuid, Vec<usize>>,
    providers: HashMap<Uuid, Vec<usize>>,
    anywhere: Vec<usize>,
}

impl FilterIndex {
    pub(crate) fn insert(&mut self, filter: &WatchFilter, number: usize) {
        match filter.index_key() {
            IndexKey::Pools(pools) => {
                for pool in pools {
                    self.pools.entry((**pool).into()).or_default().push(number);
                }
            }
            IndexKey::OwnerPrefix(prefix) => {
                self.prefixes.entry(prefix.as_bytes().into()).or_default().push(number);
                *self.lengths.entry(prefix.len()).or_default() += 1;
            }
            IndexKey::Consumers(uuids) => put(&mut self.consumers, uuids, number),
            IndexKey::Providers(uuids) => put(&mut self.providers, uuids, number),
            IndexKey::Anywhere => self.anywhere.push(number),
        }
    }

    pub(crate) fn remove(&mut self, filter: &WatchFilter, number: usize) {
        let without = |numbers: &mut Vec<usize>| {
            numbers.retain(|known| *known != number);
            numbers.is_empty()
        };
        match filter.index_key() {
            IndexKey::Pools(pools) => {
                for pool in pools {
                    if self.pools.get_mut(&**pool).is_some_and(without) {
                        self.pools.remove(&**pool);
                    }
                }
            }
            IndexKey::OwnerPrefix(prefix) => {
                if self.prefixes.get_mut(prefix.as_bytes()).is_some_and(without) {
                    self.prefixes.remove(prefix.as_bytes());
                }
                if let Some(count) = self.lengths.get_mut(&prefix.len()) {
                    *count -= 1;
                    if *count == 0 {
                        self.lengths.remove(&prefix.len());
                    }
                }
            }
            IndexKey::Consumers(uuids) => take(&mut self.consumers, uuids, without),
            IndexKey::Providers(uuids) => take(&mut self.providers, uuids, without),
            IndexKey::Anywhere => drop(without(&mut self.anywhere)),
        }
    }

    /// The numbers of all filters that match the event, each once, and of some that do not match.
    pub(crate) fn candidates(&self, subject: &Projection<'_>) -> impl Iterator<Item = usize> {
        let of_pool = subject.pool.and_then(|pool| self.pools.get(&**pool));
        let of_consumer = subject.consumer.and_then(|uuid| self.consumers.get(&uuid));
        // A filter that names two providers may match an event with both.
        let of_providers = subject.providers().filter_map(|uuid| self.providers.get(&uuid));
        let mut of_providers: Vec<usize> = of_providers.flatten().copied().collect();
        of_providers.sort_unstable();
        of_providers.dedup();
        let owner = subject.owner.map(|owner| owner.as_bytes()).unwrap_or_default();
        let starts = self.lengths.keys().map_while(move |len| owner.get(..*len));
        let of_owner = starts.filter_map(|start| self.prefixes.get(start));
        // The removal of a pool may end claims of any owner.
        let of_any = self.prefixes.values().filter(|_| subject.ends_claims);
        let found = of_pool.into_iter().chain(of_consumer).chain(of_owner).chain(of_any).flatten();
        found.chain(&self.anywhere).copied().chain(of_providers)
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.pools.is_empty()
            && self.prefixes.is_empty()
            && self.lengths.is_empty()
            && self.consumers.is_empty()
            && self.providers.is_empty()
            && self.anywhere.is_empty()
    }
}

fn put(all: &mut HashMap<Uuid, Vec<usize>>, uuids: &[Uuid], number: usize) {
    uuids.iter().for_each(|uuid| all.entry(*uuid).or_default().push(number));
}

/// `without` removes a filter from a list and returns whether the list is empty.
fn take(
    all: &mut HashMap<Uuid, Vec<usize>>,
    uuids: &[Uuid],
    without: impl Fn(&mut Vec<usize>) -> bool,
) {
    for uuid in uuids {
        if all.get_mut(uuid).is_some_and(&without) {
            all.remove(uuid);
        }
    }
}

#[cfg(test)]
mod tests {
    use allod_core::event::capacity::{
        Allocated, AllocationsReleased, AllocationsSet, CapacityEvent, ProviderRemoved,
    };
    use allod_core::event::projection::EventKind;
    use allod_core::event::{Event, ReleaseCause};
    use allod_core::random;

    use super::*;

    const KINDS: [EventKind; 3] =
        [EventKind::PoolDefined, EventKind::ClaimGranted, EventKind::ClaimReleased];
    const NAMES: [&str; 8] = ["", "a", "ab", "abc", "b", "ba", "ä", "äb"];

    fn pick<'a>(seed: &mut u64, from: &[&'a str]) -> &'a str {
        from[(random::next(seed) % from.len() as u64) as usize]
    }

    fn some_uuid(seed: &mut u64) -> Uuid {
        Uuid(u128::from(random::next(seed) % 5))
    }

    /// An event with up to four providers.
    fn some_change(seed: &mut u64) -> Event {
        let (consumer, generation) = (some_uuid(seed), 1);
        let (project, user) = ("p".into(), "u".into());
        let held = |seed: &mut u64| Allocated { provider: some_uuid(seed), resources: vec![] };
        match random::next(seed) % 3 {
            0 => {
                let (provider, name) = (some_uuid(seed), "n".into());
                Event::Capacity(CapacityEvent::ProviderRemoved(ProviderRemoved { provider, name }))
            }
            1 => {
                let (was, cause) = (vec![held(seed), held(seed)], ReleaseCause::Asked);
                let released =
                    AllocationsReleased { consumer, generation, project, user, cause, was };
                Event::Capacity(CapacityEvent::AllocationsReleased(released))
            }
            _ => Event::Capacity(CapacityEvent::AllocationsSet(AllocationsSet {
                consumer,
                generation,
                project,
                user,
                consumer_type: None,
                allocations: vec![held(seed), held(seed)],
                expires_ms: None,
                reclaim: Default::default(),
                left: vec![some_uuid(seed), some_uuid(seed)],
                at_ms: 0,
            })),
        }
    }

    fn some_filter(seed: &mut u64) -> WatchFilter {
        let mut filter = WatchFilter::default();
        for _ in 0..random::next(seed) % 3 {
            filter.pool(pick(seed, &NAMES));
        }
        if random::next(seed).is_multiple_of(2) {
            filter.owner_prefix(pick(seed, &NAMES));
        }
        if random::next(seed).is_multiple_of(4) {
            filter.scope(pick(seed, &NAMES));
        }
        if random::next(seed).is_multiple_of(3) {
            for _ in 0..random::next(seed) % 4 {
                filter.provider(some_uuid(seed));
            }
            for _ in 0..random::next(seed) % 3 {
                filter.consumer(some_uuid(seed));
            }
        }
        for _ in 0..random::next(seed) % 3 {
            assert!(filter.kind(pick(seed, &EventKind::ALL.map(EventKind::name))));
        }
        filter
    }

    #[test]
    fn every_matching_filter_is_found_once() {
        let mut seed = 17;
        let mut index = FilterIndex::default();
        let mut filters: Vec<(usize, WatchFilter)> = Vec::new();
        for round in 0..3000 {
            if filters.len() < 30 || random::next(&mut seed).is_multiple_of(2) {
                let filter = some_filter(&mut seed);
                index.insert(&filter, round);
                filters.push((round, filter));
            } else {
                let at = random::next(&mut seed) as usize % filters.len();
                let (number, filter) = filters.swap_remove(at);
                index.remove(&filter, number);
            }
            let change = some_change(&mut seed);
            let kind = KINDS[random::next(&mut seed) as usize % KINDS.len()];
            let (pool, owner) = (pick(&mut seed, &NAMES).into(), pick(&mut seed, &NAMES).into());
            let mut of_pool = Projection::of_pool(kind, &pool);
            of_pool.owner = random::next(&mut seed).is_multiple_of(3).then_some(&owner);
            let subject = match random::next(&mut seed).is_multiple_of(2) {
                true => of_pool,
                false => Projection::of(&change).unwrap(),
            };
            let mut found: Vec<usize> = index.candidates(&subject).collect();
            let all = found.len();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found.len(), all, "{subject:?}");
            for (number, filter) in &filters {
                if filter.picks(&subject) {
                    assert!(found.contains(number), "{filter:?} {subject:?}");
                }
            }
        }
        filters.iter().for_each(|(number, filter)| index.remove(filter, *number));
        assert!(index.is_empty());
    }

    #[test]
    fn filters_for_other_objects_are_not_found() {
        let mut index = FilterIndex::default();
        for n in 0..10_000 {
            let mut filter = WatchFilter::default();
            match n % 4 {
                0 => filter.pool(&format!("pool-{n}")),
                1 => filter.consumer(Uuid(n as u128)),
                2 => filter.provider(Uuid(n as u128)),
                _ => filter.owner_prefix(&format!("owner-{n:05}")),
            }
            index.insert(&filter, n);
        }
        let candidates = |pool: &str, owner: &str| -> Vec<usize> {
            let (pool, owner) = (pool.into(), owner.into());
            let mut subject = Projection::of_pool(EventKind::ClaimGranted, &pool);
            subject.owner = Some(&owner);
            index.candidates(&subject).collect()
        };
        let removed = |n| {
            let (provider, name) = (Uuid(n), "n".into());
            Event::Capacity(CapacityEvent::ProviderRemoved(ProviderRemoved { provider, name }))
        };
        for (n, wanted) in [(6, vec![6]), (5, vec![]), (10_002, vec![])] {
            let event = removed(n);
            let found: Vec<usize> = index.candidates(&Projection::of(&event).unwrap()).collect();
            assert_eq!(found, wanted);
        }
        assert!(candidates("elsewhere", "another").is_empty());
        assert_eq!(candidates("pool-4", "owner-00007-and-more"), [4, 7]);
    }
}
