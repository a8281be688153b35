//! The naive model: the state that follows from the events of the journal, in plain maps.
//!
//! It rejects impossible events (a value granted twice, the release of a claim that is not held), which is how an
//! incorrect journal is detected. It never decides anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::capacity::CapacityModel;
use allod_core::event::{
    ClaimEvent, ClaimGranted, ClaimReleased, Event, IdempotencyEvent, IdempotencyStored,
    LeaseChanged, PoolEvent, QuarantineEnded, Was,
};
use allod_core::requests::event::RequestsEvent;

use allod_core::claim::{ClaimParams, Want};
use allod_core::pool::{Labels, PoolSpec};
use allod_core::span::Span;
use allod_core::value::Kind;

use crate::history::ClaimSeen;

#[derive(Debug, Default)]
pub struct NaiveModel {
    pub position: u64,
    pub now_ms: u64,
    pub pools: BTreeMap<Arc<str>, ModelPool>,
    pub requests: BTreeMap<Arc<str>, IdempotencyStored>,
    pub capacity: CapacityModel,
    /// The pools of the resource-manager, and the keys of their requests.
    pub wanted: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
}

#[derive(Debug)]
pub struct ModelPool {
    pub generation: u64,
    pub spec: PoolSpec,
    pub held: BTreeMap<Arc<str>, ModelClaim>,
    /// Quarantined claims, by first value.
    pub kept: BTreeMap<u128, ModelClaim>,
    /// Every span that is held or quarantined: its end and its holder.
    pub taken: BTreeMap<u128, (u128, ValueHolder)>,
    pub held_values: u128,
    pub kept_values: u128,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueHolder {
    Held(Arc<str>),
    Kept(u128),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelClaim {
    pub key: Arc<str>,
    pub owner: Arc<str>,
    pub spans: Vec<Span>,
    pub version: u64,
    pub created_ms: u64,
    pub expires_ms: Option<u64>,
    pub until_ms: Option<u64>,
    pub labels: Labels,
    pub params: ClaimParams,
}

impl ModelClaim {
    pub fn expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|at| at <= now_ms)
    }

    fn values(&self) -> u128 {
        self.spans.iter().fold(0, |sum: u128, span| sum.saturating_add(span.len()))
    }
}

/// What the definition of a pool says about a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelZone {
    Outside,
    Excluded,
    Draining,
    Manual,
    Automatic,
}

impl ModelPool {
    fn new(generation: u64, spec: PoolSpec) -> ModelPool {
        ModelPool {
            generation,
            spec,
            held: BTreeMap::new(),
            kept: BTreeMap::new(),
            taken: BTreeMap::new(),
            held_values: 0,
            kept_values: 0,
        }
    }

    /// The holders of values of this span, in order.
    pub fn holders(&self, span: Span) -> Vec<&ValueHolder> {
        let before = self.taken.range(..span.first).next_back();
        let before = before.filter(|(_, (last, _))| *last >= span.first);
        let within = self.taken.range(span.first..=span.last);
        before.into_iter().chain(within).map(|(_, (_, holder))| holder).collect()
    }

    pub fn claim(&self, holder: &ValueHolder) -> Option<&ModelClaim> {
        match holder {
            ValueHolder::Held(key) => self.held.get(key),
            ValueHolder::Kept(first) => self.kept.get(first),
        }
    }

    /// The most restrictive zone of any value of the span. Zones change only at the ends of the listed spans, so
    /// checking those is enough.
    pub fn zone(&self, span: Span) -> ModelZone {
        let spec = &self.spec;
        let lists = [&spec.exclude, &spec.manual, &spec.draining];
        let listed = lists.into_iter().flatten().copied();
        let all = listed.chain(spec.ranges.iter().map(|range| range.span));
        let mut points = vec![span.first, span.last];
        for one in all {
            let around = [
                Some(one.first),
                one.first.checked_sub(1),
                one.first.checked_add(1),
                Some(one.last),
                one.last.checked_add(1),
                one.last.checked_sub(1),
            ];
            points.extend(around.into_iter().flatten().filter(|point| span.contains(*point)));
        }
        let order =
            [ModelZone::Outside, ModelZone::Excluded, ModelZone::Draining, ModelZone::Manual];
        let zones: Vec<ModelZone> = points.into_iter().map(|point| self.zone_of(point)).collect();
        order.into_iter().find(|zone| zones.contains(zone)).unwrap_or(ModelZone::Automatic)
    }

    fn zone_of(&self, point: u128) -> ModelZone {
        let spec = &self.spec;
        let among = |list: &[Span]| list.iter().any(|span| span.contains(point));
        let Some(range) = spec.ranges.iter().find(|range| range.span.contains(point)) else {
            return ModelZone::Outside;
        };
        let wide = range.subnet_len.is_some_and(|len| u32::from(len) + 2 <= spec.kind.width());
        let edge = point == range.span.first || point == range.span.last;
        if among(&spec.exclude) || (spec.kind.is_address() && spec.keep_edges && wide && edge) {
            ModelZone::Excluded
        } else if among(&spec.draining) {
            ModelZone::Draining
        } else if among(&spec.manual) {
            ModelZone::Manual
        } else {
            ModelZone::Automatic
        }
    }

    fn add(&mut self, claim: ModelClaim) -> Result<(), String> {
        let holder = match claim.until_ms {
            None => ValueHolder::Held(claim.key.clone()),
            Some(_) => ValueHolder::Kept(claim.spans[0].first),
        };
        for span in &claim.spans {
            if let Some(other) = self.holders(*span).first() {
                return Err(format!("{span:?} is granted to {holder:?} but held by {other:?}"));
            }
            self.taken.insert(span.first, (span.last, holder.clone()));
        }
        match holder {
            ValueHolder::Held(key) => {
                self.held_values = self.held_values.saturating_add(claim.values());
                self.held.insert(key, claim);
            }
            ValueHolder::Kept(first) => {
                self.kept_values = self.kept_values.saturating_add(claim.values());
                self.kept.insert(first, claim);
            }
        }
        Ok(())
    }

    fn remove(&mut self, holder: &ValueHolder) -> Option<ModelClaim> {
        let claim = match holder {
            ValueHolder::Held(key) => self.held.remove(key),
            ValueHolder::Kept(first) => self.kept.remove(first),
        }?;
        for span in &claim.spans {
            self.taken.remove(&span.first);
        }
        match holder {
            ValueHolder::Held(_) => self.held_values -= claim.values(),
            ValueHolder::Kept(_) => self.kept_values -= claim.values(),
        }
        Some(claim)
    }
}

/// Records of level 1 do not name the claim that an event is about. If an event names it, it must be right.
fn says_whose(was: &Option<Was>, claim: &ModelClaim, kind: Kind) -> Result<(), String> {
    let right = |was: &Was| {
        was.owner == claim.owner && was.kind == kind && was.values.spans().eq(claim.spans.clone())
    };
    if was.as_ref().is_none_or(right) {
        return Ok(());
    }
    Err(format!("the event names {was:?}, but the claim is '{}'", claim.key))
}

impl NaiveModel {
    /// Applies the events of one command. The error says what is impossible.
    pub fn apply(&mut self, at_ms: u64, events: &[Event]) -> Result<(), String> {
        if at_ms < self.now_ms {
            return Err(format!("time goes back to {at_ms}"));
        }
        self.now_ms = at_ms;
        self.position += 1;
        events.iter().try_for_each(|event| self.event(event))?;
        self.capacity.entry_ends()
    }

    fn event(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Pool(PoolEvent::Defined(event)) => {
                let (generation, spec) = (event.generation, event.spec.clone());
                match self.pools.get_mut(&event.pool) {
                    Some(pool) if pool.generation + 1 != generation => {
                        return Err(format!("pool '{}' skips a generation", event.pool));
                    }
                    Some(pool) => (pool.generation, pool.spec) = (generation, spec),
                    None => {
                        self.pools.insert(event.pool.clone(), ModelPool::new(generation, spec));
                    }
                }
            }
            Event::Pool(PoolEvent::Removed(event)) => match self.pools.remove(&event.pool) {
                Some(pool) => {
                    let requests = self.wanted.remove(&event.pool).map_or(0, |keys| keys.len());
                    let there = (pool.held.len() as u64, requests as u64);
                    if there != (event.claims, event.requests) {
                        return Err(format!("{event:?} removes {there:?}"));
                    }
                }
                None => return Err(format!("pool '{}' is removed twice", event.pool)),
            },
            Event::Claim(ClaimEvent::Granted(event)) => self.granted(event)?,
            Event::Claim(ClaimEvent::LeaseChanged(event)) => self.leased(event)?,
            Event::Claim(ClaimEvent::Released(event)) => self.released(event)?,
            Event::Claim(ClaimEvent::QuarantineEnded(event)) => self.quarantine_ended(event)?,
            Event::Idempotency(IdempotencyEvent::Stored(event)) => {
                self.requests.insert(event.key().into(), event.clone());
            }
            Event::Idempotency(IdempotencyEvent::Expired(event)) => {
                self.requests.remove(&event.key);
            }
            Event::Capacity(_) => self.capacity.event(event)?,
            // The order of block allocation does not affect what is held.
            Event::Blocks(_) => {}
            Event::Requests(RequestsEvent::PoolDefined(event)) => {
                self.wanted.entry(event.pool.clone()).or_default();
            }
            Event::Requests(RequestsEvent::Answered(event)) => {
                self.wanted.entry(event.pool.clone()).or_default().insert(event.key.clone());
            }
            // What is tried again is answered in the order of keys; the answers say what is held.
            Event::Requests(RequestsEvent::RetryScheduled(_)) => {}
            Event::Requests(RequestsEvent::Withdrawn(event)) => {
                self.wanted.entry(event.pool.clone()).or_default().remove(&event.key);
            }
            // Neither do alarms and notifications.
            Event::Alarm(_) | Event::Outbox(_) | Event::Authority(_) => {}
        }
        Ok(())
    }

    fn pool(&mut self, name: &str) -> Result<&mut ModelPool, String> {
        self.pools.get_mut(name).ok_or_else(|| format!("pool '{name}' does not exist"))
    }

    fn granted(&mut self, event: &ClaimGranted) -> Result<(), String> {
        let position = self.position;
        let pool = self.pool(&event.pool)?;
        let key = &event.key;
        if event.version != position {
            return Err(format!("claim '{key}' has version {} at {position}", event.version));
        }
        if event.kind.is_some_and(|kind| kind != pool.spec.kind) {
            return Err(format!("claim '{key}' names a kind that its pool does not have"));
        }
        if pool.held.contains_key(key) {
            return Err(format!("claim '{key}' is granted twice"));
        }
        let spans: Vec<Span> = event.values.spans().collect();
        for span in &spans {
            let zone = pool.zone(*span);
            if !matches!(zone, ModelZone::Automatic | ModelZone::Manual) {
                return Err(format!("claim '{key}' gets {span:?}, which is {zone:?}"));
            }
        }
        let plain = || ClaimParams { want: Want::any(), ttl_ms: None };
        pool.add(ModelClaim {
            key: key.clone(),
            owner: event.owner.clone(),
            spans,
            version: event.version,
            created_ms: event.at_ms,
            expires_ms: event.expires_ms,
            until_ms: None,
            labels: event.labels.clone(),
            params: event.params.as_ref().map_or_else(plain, |params| ClaimParams::clone(params)),
        })
    }

    fn leased(&mut self, event: &LeaseChanged) -> Result<(), String> {
        let pool = self.pool(&event.pool)?;
        let Some(claim) = pool.held.get_mut(&event.key) else {
            return Err(format!(
                "the lease of '{}' changes, but no claim is held under it",
                event.key
            ));
        };
        says_whose(&event.was, claim, pool.spec.kind)?;
        (claim.version, claim.expires_ms) = (event.version, event.expires_ms);
        Ok(())
    }

    fn quarantine_ended(&mut self, event: &QuarantineEnded) -> Result<(), String> {
        let pool = self.pool(&event.pool)?;
        let Some(claim) = pool.remove(&ValueHolder::Kept(event.first)) else {
            return Err(format!("nothing is in quarantine at {}", event.first));
        };
        if event.key.as_ref().is_some_and(|key| *key != claim.key) {
            return Err(format!("the quarantine of '{}' is attributed to another key", claim.key));
        }
        says_whose(&event.was, &claim, pool.spec.kind)
    }

    fn released(&mut self, event: &ClaimReleased) -> Result<(), String> {
        let now_ms = self.now_ms;
        let pool = self.pool(&event.pool)?;
        let key = &event.key;
        let Some(mut claim) = pool.remove(&ValueHolder::Held(key.clone())) else {
            return Err(format!("'{key}' is released but not held"));
        };
        if claim.version != event.at_version {
            return Err(format!("'{key}' is released at a version that it does not have"));
        }
        says_whose(&event.was, &claim, pool.spec.kind)?;
        let asked = event.cause == allod_core::event::ReleaseCause::Asked;
        if !asked && !claim.expired(now_ms) {
            return Err(format!("'{key}' is released although its lease has not expired"));
        }
        if event.quarantine_until_ms.is_some() {
            (claim.until_ms, claim.expires_ms) = (event.quarantine_until_ms, None);
            claim.version = event.version;
            pool.add(claim)?;
        }
        Ok(())
    }

    /// The claim as a reader should see it.
    pub fn seen(&self, pool: &str, holder: &ValueHolder) -> Option<ClaimSeen> {
        let known = self.pools.get(pool)?;
        let claim = known.claim(holder)?;
        let kind = known.spec.kind;
        let mut values = Vec::new();
        for span in &claim.spans {
            if kind.is_prefix() {
                values.push(kind.show(*span));
            } else {
                values.extend((span.first..=span.last).map(|value| kind.point(value)));
            }
        }
        let text = |(name, text): &(Arc<str>, Arc<str>)| (name.to_string(), text.to_string());
        Some(ClaimSeen {
            pool: pool.to_string(),
            key: claim.key.to_string(),
            owner: claim.owner.to_string(),
            values,
            version: claim.version,
            held: claim.until_ms.is_none(),
            created_ms: claim.created_ms,
            expires_ms: claim.expires_ms,
            labels: claim.labels.iter().map(text).collect(),
        })
    }
}
