//! Takes a state apart for a checkpoint, and rebuilds it from the parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::State;
use super::answers::FrozenAnswers;
use super::capacity::image::{ConsumerImage, FrozenCapacity, ProviderImage};
use super::capacity::names::NameEntry;
use super::pool::Pool;
use super::recent::{RecentReleases, ReleasedSpan};
use super::rows::{FrozenRows, Row};
use crate::alarm::Alarm;
use crate::authority::state::FrozenAuthorities;
use crate::blocks::state::Blocks;
pub use crate::blocks::state::BlocksImage;
use crate::capacity::Uuid;
use crate::claim::Claim;
use crate::event::{Event, IdempotencyStored};
use crate::extension::PoolExtension;
use crate::outbox::Notification;
use crate::pool::PoolSpec;
use crate::requests::RequestPool;
use crate::requests::event::{RequestsEvent, RetryScheduled};
use crate::requests::state::{AnsweredRequest, FrozenRequests, Requests};
use crate::span::{self, Span};
use crate::spanset::SpanSet;

/// A pool without its claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolImage {
    pub name: Arc<str>,
    pub generation: u64,
    pub spec: PoolSpec,
    pub cursor: Option<u128>,
    /// Released values that are still free, oldest first.
    pub released: Vec<Span>,
    /// Block pools only.
    pub blocks: Option<BlocksImage>,
    /// Request pools only: the configuration, and the position of the last change.
    pub requests: Option<(RequestPool, u64)>,
}

/// An immutable copy of a pool.
#[derive(Debug)]
pub struct FrozenPool {
    pub name: Arc<str>,
    generation: u64,
    spec: Arc<PoolSpec>,
    cursor: Option<u128>,
    recent: RecentReleases,
    blocks: Option<BlocksImage>,
    config: Option<(Arc<RequestPool>, u64)>,
    pub rows: FrozenRows,
    pub requests: Option<FrozenRequests>,
}

impl FrozenPool {
    /// Copies little, because writes wait until all pools are frozen.
    fn of(pool: &Pool) -> FrozenPool {
        let requests = pool.requests();
        FrozenPool {
            name: pool.name.clone(),
            generation: pool.generation,
            spec: pool.spec.clone(),
            cursor: pool.cursor,
            recent: pool.recent.clone(),
            blocks: pool.blocks().map(Blocks::image),
            config: requests.map(|requests| (requests.config.clone(), requests.changed)),
            rows: pool.freeze_rows(),
            requests: requests.map(Requests::freeze),
        }
    }

    /// The pool without its claims and requests.
    pub fn image(&self) -> PoolImage {
        PoolImage {
            name: self.name.clone(),
            generation: self.generation,
            spec: PoolSpec::clone(&self.spec),
            cursor: self.cursor,
            released: self.recent.oldest_first().map(|piece| piece.span).collect(),
            blocks: self.blocks.clone(),
            requests: self
                .config
                .as_ref()
                .map(|(config, changed)| (RequestPool::clone(config), *changed)),
        }
    }
}

/// An immutable copy of the state. It is cheap, because it shares data with the original.
#[derive(Debug)]
pub struct Frozen {
    pub position: u64,
    pub now_ms: u64,
    pub pools: Vec<FrozenPool>,
    pub idempotency: FrozenAnswers,
    pub capacity: FrozenCapacity,
    /// Oldest first.
    pub notifications: Vec<Arc<Notification>>,
    pub alarms: Vec<Alarm>,
    pub authorities: FrozenAuthorities,
    /// Requests that are still to be tried.
    pub retries: Vec<RetryScheduled>,
}

impl State {
    pub fn freeze(&self) -> Frozen {
        Frozen {
            position: self.position,
            now_ms: self.now_ms,
            pools: self.pools().map(FrozenPool::of).collect(),
            idempotency: self.answers.freeze(),
            capacity: self.capacity.freeze(),
            notifications: self.outbox.from(0).cloned().collect(),
            alarms: self.alarms.values().cloned().collect(),
            authorities: self.authorities.freeze(),
            retries: self.retries(),
        }
    }
}

impl State {
    /// What is still to be tried, as the events that schedule it.
    fn retries(&self) -> Vec<RetryScheduled> {
        // Only pools with something due can have one.
        let due = self.due.iter().filter_map(|(_, ix)| self.pool_at(*ix));
        let pools = due.filter_map(|pool| {
            let retry = pool.requests()?.retry.clone()?;
            Some(RetryScheduled { pool: Some(pool.name.clone()), retry: Some(retry) })
        });
        let groups = self.retry_groups.clone();
        let groups = groups.map(|retry| RetryScheduled { pool: None, retry: Some(retry) });
        let mut retries: Vec<RetryScheduled> = pools.chain(groups).collect();
        // Copies with the same contents have the same image.
        retries.sort_by(|one, other| one.pool.cmp(&other.pool));
        retries
    }
}

impl Frozen {
    /// The notifications, alarms, authorities with their claims, and scheduled retries, as the events that produce them.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        let notifications = self.notifications.iter().flat_map(|one| one.events());
        let alarms = self.alarms.iter().flat_map(Alarm::events).map(Event::from);
        let authorities = self.authorities.events();
        let events = notifications.chain(alarms).chain(authorities);
        events.chain(self.retries.iter().cloned().map(Event::from))
    }
}

/// Builds a state from its parts. The order is: a pool, then its claims, then the next pool; custom names before the
/// providers that use them; all providers before any consumer.
#[derive(Debug, Default)]
pub struct Restorer {
    state: State,
    pool: Option<(PoolImage, Vec<Row>, Vec<AnsweredRequest>)>,
    /// Providers and their parents, which may follow later.
    parents: Vec<(Uuid, Uuid)>,
    retries: Vec<Event>,
}

impl Restorer {
    pub fn new(position: u64, now_ms: u64) -> Restorer {
        let state = State { position, now_ms, counted_from: position, ..State::default() };
        Restorer { state, ..Restorer::default() }
    }

    pub fn pool(&mut self, image: PoolImage) {
        self.finish_pool();
        self.pool = Some((image, Vec::new(), Vec::new()));
    }

    pub fn claim(&mut self, claim: Claim) {
        if let Some((_, rows, _)) = &mut self.pool {
            rows.push(Row::of(claim));
        }
    }

    /// A request to the pool.
    pub fn request(&mut self, request: AnsweredRequest) {
        if let Some((_, _, all)) = &mut self.pool {
            all.push(request);
        }
    }

    /// An event about a notification, an alarm, an authority or a retry.
    pub fn event(&mut self, event: &Event) {
        match event {
            // Its pool may follow later.
            Event::Requests(RequestsEvent::RetryScheduled(_)) => self.retries.push(event.clone()),
            event => self.state.apply(event),
        }
    }

    pub fn idempotency(&mut self, stored: IdempotencyStored) {
        self.state.answers.add(stored);
    }

    pub fn class(&mut self, named: NameEntry) {
        self.state.capacity.classes.add(named);
    }

    pub fn trait_name(&mut self, named: NameEntry) {
        self.state.capacity.traits.add(named);
    }

    pub fn provider(&mut self, image: ProviderImage) {
        self.parents.extend(self.state.capacity.restore_provider(image));
    }

    pub fn consumer(&mut self, image: ConsumerImage) {
        self.state.capacity.restore_consumer(image);
    }

    pub fn finish(mut self) -> State {
        self.finish_pool();
        self.state.capacity.restore_parents(self.parents);
        self.retries.iter().for_each(|event| self.state.apply(event));
        self.state
    }

    fn finish_pool(&mut self) {
        let Some((image, rows, answered)) = self.pool.take() else { return };
        let mut pool = Pool::new(image.name, image.generation, Arc::new(image.spec));
        pool.load_rows(rows);
        pool.cursor = image.cursor;
        for span in image.released {
            pool.add_piece(ReleasedSpan { span, age: pool.ages });
            pool.ages += 1;
        }
        if let Some(image) = image.blocks {
            pool.extension = PoolExtension::Blocks(Box::new(Blocks::restore(&image)));
        }
        if let Some((config, changed)) = image.requests {
            let mut requests = Requests::new(Arc::new(config), changed);
            answered.into_iter().for_each(|one| drop(requests.put(one)));
            pool.extension = PoolExtension::Requests(Box::new(requests));
            pool.extension.free_rebuilt(&pool.free);
        }
        self.state.add_pool(Box::new(pool));
    }
}

impl Pool {
    /// Fills an empty pool. Sorting the rows first is several times faster than adding them one by one.
    fn load_rows(&mut self, mut rows: Vec<Row>) {
        // The slots then depend only on the claims, not on the order in which they were made.
        rows.sort_unstable_by_key(|row| row.first.first);
        let mut taken: Vec<(Span, super::Slot)> = Vec::with_capacity(rows.len());
        for row in rows {
            let spans = row.values();
            let slot = self.index_row(row);
            taken.extend(spans.spans().map(|span| (span, slot)));
        }
        taken.sort_unstable_by_key(|(span, _)| span.first);
        let spans: Vec<Span> = taken.iter().map(|(span, _)| *span).collect();
        let free = span::subtract(&self.zones.automatic, &spans);
        self.free = SpanSet::from_spans(free);
        self.rebuild_cold();
        self.taken = BTreeMap::from_iter(taken.into_iter().map(|(span, slot)| (span.first, slot)));
    }
}
