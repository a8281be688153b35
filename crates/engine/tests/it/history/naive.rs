//! The same questions, answered by looking at everything.

use allod_core::capacity::Uuid;
use allod_core::claim::Values;
use allod_core::event::Event;
use allod_core::value::Kind;
use allod_engine::history::{ChangeQuery, HistoryEntry, HistoryOrder, Moment};

use crate::history::story::Whole;

fn values(event: &Event) -> Option<(Kind, &Values)> {
    match event {
        Event::ClaimGranted(event) => Some((event.kind.unwrap(), &event.values)),
        Event::LeaseChanged(event) => event.was.as_ref().map(|was| (was.kind, &was.values)),
        Event::ClaimReleased(event) => event.was.as_ref().map(|was| (was.kind, &was.values)),
        Event::QuarantineEnded(event) => event.was.as_ref().map(|was| (was.kind, &was.values)),
        _ => None,
    }
}

pub fn pool(event: &Event) -> Option<&str> {
    Some(match event {
        Event::PoolDefined(event) => &event.pool,
        Event::PoolRemoved(event) => &event.pool,
        Event::ClaimGranted(event) => &event.pool,
        Event::LeaseChanged(event) => &event.pool,
        Event::ClaimReleased(event) => &event.pool,
        Event::QuarantineEnded(event) => &event.pool,
        Event::RequestAnswered(event) => &event.pool,
        Event::RequestWithdrawn(event) => &event.pool,
        Event::AlarmChanged(event) => &event.object,
        _ => return None,
    })
}

fn key(event: &Event) -> Option<&str> {
    match event {
        Event::ClaimGranted(event) => Some(&event.key),
        Event::LeaseChanged(event) => Some(&event.key),
        Event::ClaimReleased(event) => Some(&event.key),
        Event::QuarantineEnded(event) => event.key.as_deref(),
        Event::RequestAnswered(event) => Some(&event.key),
        Event::RequestWithdrawn(event) => Some(&event.key),
        _ => None,
    }
}

fn owner(event: &Event) -> Option<&str> {
    match event {
        Event::ClaimGranted(event) => Some(&event.owner),
        Event::LeaseChanged(event) => event.was.as_ref().map(|was| &*was.owner),
        Event::ClaimReleased(event) => event.was.as_ref().map(|was| &*was.owner),
        Event::QuarantineEnded(event) => event.was.as_ref().map(|was| &*was.owner),
        _ => None,
    }
}

fn providers(event: &Event) -> Vec<Uuid> {
    match event {
        Event::ProviderDefined(event) => vec![event.provider],
        Event::ProviderRemoved(event) => vec![event.provider],
        Event::InventoriesSet(event) => vec![event.provider],
        Event::TraitsSet(event) => vec![event.provider],
        Event::AggregatesSet(event) => vec![event.provider],
        Event::AllocationsSet(event) => {
            let held = event.allocations.iter().map(|held| held.provider);
            held.chain(event.left.iter().copied()).collect()
        }
        Event::AllocationsReleased(event) => event.was.iter().map(|held| held.provider).collect(),
        _ => vec![],
    }
}

fn consumer(event: &Event) -> Option<Uuid> {
    match event {
        Event::AllocationsSet(event) => Some(event.consumer),
        Event::AllocationsExtended(event) => Some(event.consumer),
        Event::AllocationsReleased(event) => Some(event.consumer),
        _ => None,
    }
}

/// Whether it is shown and about no pool.
fn of_capacity(event: &Event) -> bool {
    !matches!(
        event,
        Event::ProviderCounted(_)
            | Event::RequestRemembered(_)
            | Event::RequestForgotten(_)
            | Event::ResourcePoolDefined(_)
    ) && pool(event).is_none()
}

fn fits(ask: &ChangeQuery, event: &Event) -> bool {
    let asked_of_a_pool = ask.pool.is_some()
        || ask.key.is_some()
        || ask.owner.is_some()
        || !ask.values.is_empty()
        || !ask.pool_prefix.is_empty();
    if ask.provider.is_some_and(|asked| !providers(event).contains(&asked))
        || ask.consumer.is_some_and(|asked| consumer(event) != Some(asked))
    {
        return false;
    }
    if of_capacity(event) {
        return !asked_of_a_pool;
    }
    let asked = |asked: &Option<std::sync::Arc<str>>, found: Option<&str>| {
        asked.is_none() || asked.as_deref() == found
    };
    let valued = ask.values.is_empty()
        || values(event).is_some_and(|(kind, values)| {
            let overlaps = |&(of, value): &(Kind, allod_core::span::Span)| {
                of == kind && values.spans().any(|span| span.overlaps(value))
            };
            ask.values.iter().any(overlaps)
        });
    pool(event).is_some_and(|pool| pool.starts_with(&*ask.pool_prefix))
        && asked(&ask.pool, pool(event))
        && asked(&ask.key, key(event))
        && asked(&ask.owner, owner(event))
        && valued
}

/// All changes that fit, from the first position that is kept on, in order; without regard to pages.
pub fn changes(whole: &Whole, ask: &ChangeQuery, oldest: u64) -> Vec<HistoryEntry> {
    let since = |position: u64, at_ms: u64| match ask.since {
        None => true,
        Some(Moment::Position(since)) => position >= since,
        Some(Moment::TimeMs(since)) => at_ms >= since,
    };
    let until = |position: u64, at_ms: u64| match ask.until {
        None => true,
        Some(Moment::Position(until)) => position <= until,
        Some(Moment::TimeMs(until)) => at_ms <= until,
    };
    let mut all = Vec::new();
    for (position, entry) in &whole.entries {
        let events: Vec<Event> =
            entry.events.iter().filter(|event| fits(ask, event)).cloned().collect();
        let within = since(*position, entry.at_ms) && until(*position, entry.at_ms);
        if !events.is_empty() && within && *position >= oldest {
            all.push(HistoryEntry { position: *position, at_ms: entry.at_ms, events });
        }
    }
    if ask.order == HistoryOrder::NewestFirst {
        all.reverse();
    }
    all
}

/// The last position that was made at this time or before.
pub fn position_by(whole: &Whole, at_ms: u64) -> u64 {
    let until = whole.entries.iter().filter(|(_, entry)| entry.at_ms <= at_ms);
    until.map(|(position, _)| *position).max().unwrap_or(0)
}
