//! A naive implementation of the history queries, which reads everything.

use allod_core::alarm::AlarmEvent;
use allod_core::capacity::Uuid;
use allod_core::claim::Values;
use allod_core::event::capacity::CapacityEvent;
use allod_core::event::{ClaimEvent, Event, PoolEvent};
use allod_core::requests::event::RequestsEvent;
use allod_core::value::Kind;
use allod_engine::history::{ChangeQuery, HistoryEntry, HistoryOrder, Moment};

use crate::history::story::Whole;

fn values(event: &Event) -> Option<(Kind, &Values)> {
    match event {
        Event::Claim(ClaimEvent::Granted(event)) => Some((event.kind.unwrap(), &event.values)),
        Event::Claim(ClaimEvent::LeaseChanged(event)) => {
            event.was.as_ref().map(|was| (was.kind, &was.values))
        }
        Event::Claim(ClaimEvent::Released(event)) => {
            event.was.as_ref().map(|was| (was.kind, &was.values))
        }
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => {
            event.was.as_ref().map(|was| (was.kind, &was.values))
        }
        _ => None,
    }
}

pub fn pool(event: &Event) -> Option<&str> {
    Some(match event {
        Event::Pool(PoolEvent::Defined(event)) => &event.pool,
        Event::Pool(PoolEvent::Removed(event)) => &event.pool,
        Event::Claim(ClaimEvent::Granted(event)) => &event.pool,
        Event::Claim(ClaimEvent::LeaseChanged(event)) => &event.pool,
        Event::Claim(ClaimEvent::Released(event)) => &event.pool,
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => &event.pool,
        Event::Requests(RequestsEvent::Answered(event)) => &event.pool,
        Event::Requests(RequestsEvent::Withdrawn(event)) => &event.pool,
        Event::Alarm(AlarmEvent::Changed(event)) => &event.object,
        _ => return None,
    })
}

fn key(event: &Event) -> Option<&str> {
    match event {
        Event::Claim(ClaimEvent::Granted(event)) => Some(&event.key),
        Event::Claim(ClaimEvent::LeaseChanged(event)) => Some(&event.key),
        Event::Claim(ClaimEvent::Released(event)) => Some(&event.key),
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => event.key.as_deref(),
        Event::Requests(RequestsEvent::Answered(event)) => Some(&event.key),
        Event::Requests(RequestsEvent::Withdrawn(event)) => Some(&event.key),
        _ => None,
    }
}

fn owner(event: &Event) -> Option<&str> {
    match event {
        Event::Claim(ClaimEvent::Granted(event)) => Some(&event.owner),
        Event::Claim(ClaimEvent::LeaseChanged(event)) => event.was.as_ref().map(|was| &*was.owner),
        Event::Claim(ClaimEvent::Released(event)) => event.was.as_ref().map(|was| &*was.owner),
        Event::Claim(ClaimEvent::QuarantineEnded(event)) => {
            event.was.as_ref().map(|was| &*was.owner)
        }
        _ => None,
    }
}

fn providers(event: &Event) -> Vec<Uuid> {
    match event {
        Event::Capacity(CapacityEvent::ProviderDefined(event)) => vec![event.provider],
        Event::Capacity(CapacityEvent::ProviderRemoved(event)) => vec![event.provider],
        Event::Capacity(CapacityEvent::InventoriesSet(event)) => vec![event.provider],
        Event::Capacity(CapacityEvent::TraitsSet(event)) => vec![event.provider],
        Event::Capacity(CapacityEvent::AggregatesSet(event)) => vec![event.provider],
        Event::Capacity(CapacityEvent::AllocationsSet(event)) => {
            let held = event.allocations.iter().map(|held| held.provider);
            held.chain(event.left.iter().copied()).collect()
        }
        Event::Capacity(CapacityEvent::AllocationsReleased(event)) => {
            event.was.iter().map(|held| held.provider).collect()
        }
        _ => vec![],
    }
}

fn consumer(event: &Event) -> Option<Uuid> {
    match event {
        Event::Capacity(CapacityEvent::AllocationsSet(event)) => Some(event.consumer),
        Event::Capacity(CapacityEvent::AllocationsExtended(event)) => Some(event.consumer),
        Event::Capacity(CapacityEvent::AllocationsReleased(event)) => Some(event.consumer),
        _ => None,
    }
}

/// Whether the event is shown and has no pool.
fn of_capacity(event: &Event) -> bool {
    !matches!(
        event,
        Event::Idempotency(_)
            | Event::Capacity(CapacityEvent::ProviderCounted(_))
            | Event::Requests(RequestsEvent::PoolDefined(_) | RequestsEvent::RetryScheduled(_))
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
    // It ends the claims that are asked for.
    if let (Some(of), Event::Pool(PoolEvent::Removed(removed))) = (&ask.pool, event)
        && (removed.claims > 0 || removed.requests > 0)
    {
        return removed.pool == *of && of.starts_with(&*ask.pool_prefix);
    }
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

/// All matching changes from the first available position, in order, without pages.
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

/// The last position at this time or before.
pub fn position_by(whole: &Whole, at_ms: u64) -> u64 {
    let until = whole.entries.iter().filter(|(_, entry)| entry.at_ms <= at_ms);
    until.map(|(position, _)| *position).max().unwrap_or(0)
}
