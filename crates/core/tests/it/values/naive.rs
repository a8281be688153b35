//! A naive model of the rules: sets of values that it examines one by one.
//!
//! It is written from the rules and not from the code, for pools of a few dozen values. Where the core may choose
//! (random, least recently used) the model gets the choice and checks that it is allowed.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::claim::{Parity, Want};
use allod_core::pool::{PoolSpec, Strategy};
use allod_core::span::{Span, normalise};

use crate::values::naive_pick::{fits, may_be_picked, pick, pick_common, serves};

pub type Refused = &'static str;

#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    pub owner: String,
    pub spans: Vec<Span>,
    pub expires_ms: Option<u64>,
    want: Want,
    ttl_ms: Option<u64>,
}

/// A claim in quarantine.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub key: String,
    pub owner: String,
    pub spans: Vec<Span>,
    pub until_ms: u64,
    pub version: u64,
}

#[derive(Debug, Clone)]
pub struct Pool {
    pub spec: PoolSpec,
    pub held: BTreeMap<String, Held>,
    pub kept: Vec<Kept>,
    pub cursor: Option<u128>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Zone {
    Automatic,
    Manual,
    Draining,
    Excluded,
    Outside,
}

impl Pool {
    pub fn new(spec: PoolSpec) -> Pool {
        Pool { spec, held: BTreeMap::new(), kept: Vec::new(), cursor: None }
    }

    fn zone(&self, value: u128) -> Zone {
        let spec = &self.spec;
        let among = |spans: &[Span]| spans.iter().any(|span| span.contains(value));
        let edge = spec.ranges.iter().any(|range| {
            let subnet = range.subnet_len.is_some() && range.span.len() > 2 && spec.keep_edges;
            subnet && (value == range.span.first || value == range.span.last)
        });
        if !spec.ranges.iter().any(|range| range.span.contains(value)) {
            Zone::Outside
        } else if among(&spec.exclude) || edge {
            Zone::Excluded
        } else if among(&spec.draining) {
            Zone::Draining
        } else if among(&spec.manual) {
            Zone::Manual
        } else {
            Zone::Automatic
        }
    }

    fn worst(&self, span: Span) -> Zone {
        each(span).map(|value| self.zone(value)).max().expect("a span is never empty")
    }

    fn has(&self, value: u128) -> bool {
        let in_spans = |spans: &[Span]| spans.iter().any(|span| span.contains(value));
        self.held.values().any(|held| in_spans(&held.spans))
            || self.kept.iter().any(|kept| in_spans(&kept.spans))
    }

    pub fn free(&self) -> BTreeSet<u128> {
        let members = self.spec.ranges.iter().flat_map(|range| each(range.span));
        members.filter(|value| self.zone(*value) == Zone::Automatic && !self.has(*value)).collect()
    }

    /// The claims that must end so that this owner can have the value in this pool.
    fn in_the_way(&self, value: Span, owner: &str, now_ms: u64) -> Result<Vec<Gone>, Refused> {
        match self.worst(value) {
            Zone::Outside => return Err("value_outside"),
            Zone::Excluded => return Err("value_excluded"),
            Zone::Draining => return Err("value_draining"),
            Zone::Manual | Zone::Automatic => {}
        }
        let mut way: Vec<(Span, Gone)> = Vec::new();
        for (key, held) in &self.held {
            way.extend(held.spans.iter().map(|span| (*span, Gone::Held(key.clone()))));
        }
        for kept in &self.kept {
            way.extend(kept.spans.iter().map(|span| (*span, Gone::Kept(kept.spans[0]))));
        }
        way.retain(|(span, _)| span.overlaps(value));
        way.sort_by_key(|(span, _)| *span);
        for (_, gone) in &way {
            match gone {
                Gone::Held(key) if !expired(&self.held[key], now_ms) => return Err("taken"),
                Gone::Kept(first) => {
                    let kept = self.kept.iter().find(|kept| kept.spans[0] == *first);
                    if kept.is_some_and(|kept| kept.until_ms > now_ms && kept.owner != owner) {
                        return Err("value_quarantined");
                    }
                }
                Gone::Held(_) => {}
            }
        }
        Ok(way.into_iter().map(|(_, gone)| gone).collect())
    }

    fn remove(&mut self, gone: &Gone) {
        match gone {
            Gone::Held(key) => drop(self.held.remove(key)),
            Gone::Kept(first) => self.kept.retain(|kept| kept.spans[0] != *first),
        }
    }

    /// Ends the quarantine whose time was over first.
    fn end_quarantine(&mut self, now_ms: u64) -> bool {
        let over = self.kept.iter().filter(|kept| kept.until_ms <= now_ms);
        let Some(first) = over.min_by_key(|kept| (kept.until_ms, kept.spans[0])) else {
            return false;
        };
        let gone = Gone::Kept(first.spans[0]);
        self.remove(&gone);
        true
    }

    /// Expired claims with suitable values, in the order of expiry.
    fn helpful(&self, want: &Want, now_ms: u64) -> Vec<(u64, Span, String)> {
        let mut found = Vec::new();
        for (key, held) in self.held.iter().filter(|(_, held)| expired(held, now_ms)) {
            if held.spans.iter().any(|span| self.worst(*span) != Zone::Automatic) {
                continue;
            }
            let value = held.spans.iter().find_map(|span| serves(self.spec.kind, want, *span));
            let at = held.expires_ms.unwrap_or_default();
            found.extend(value.map(|value| (at, held.spans[0].first, value, key.clone())));
        }
        found.sort();
        found.into_iter().map(|(at, _, value, key)| (at, value, key)).collect()
    }

    /// The values in quarantine that this key and owner can have back.
    fn given_back(&self, key: &str, owner: &str, want: &Want) -> Option<Vec<Span>> {
        let kept = self.kept.iter().filter(|kept| kept.key == key && kept.owner == owner);
        let kept = kept.filter(|kept| {
            fits(self.spec.kind, want, &kept.spans)
                && kept.spans.iter().all(|span| self.worst(*span) <= Zone::Manual)
        });
        kept.max_by_key(|kept| (kept.version, kept.spans[0])).map(|kept| kept.spans.clone())
    }

    fn release(&mut self, key: &str, now_ms: u64, version: u64) {
        let Some(held) = self.held.remove(key) else { return };
        if self.spec.quarantine_ms > 0 {
            let until_ms = now_ms + self.spec.quarantine_ms;
            let (owner, spans) = (held.owner, held.spans);
            self.kept.push(Kept { key: key.into(), owner, spans, until_ms, version });
        }
    }
}

#[derive(Debug, Clone)]
enum Gone {
    Held(String),
    Kept(Span),
}

#[derive(Debug, Clone, Default)]
pub struct Model {
    pub pools: BTreeMap<String, Pool>,
    pub now_ms: u64,
    /// The position of the next accepted command.
    pub version: u64,
}

pub struct Claiming<'a> {
    pub pools: &'a [String],
    pub key: &'a str,
    pub owner: &'a str,
    pub want: &'a Want,
    pub ttl_ms: Option<u64>,
    /// The values that the core gave in each pool; used where it may choose.
    pub given: Option<&'a [Vec<Span>]>,
}

impl Model {
    /// The values in each pool, and whether any of them is new.
    pub fn claim(&mut self, ask: &Claiming<'_>) -> Result<(bool, Vec<Vec<Span>>), Refused> {
        let mut missing = Vec::new();
        let mut values = BTreeSet::new();
        for name in ask.pools {
            match self.pools.get(name).ok_or("pool_unknown")?.held.get(ask.key) {
                None => missing.push(name.clone()),
                Some(held) => {
                    let same = held.owner == ask.owner
                        && held.want == *ask.want
                        && held.ttl_ms == ask.ttl_ms;
                    if !same {
                        return Err("params_differ");
                    }
                    values.insert(held.spans.clone());
                }
            }
        }
        if ask.pools.len() > 1 && values.len() > 1 {
            return Err("sync_differs");
        }
        if !missing.is_empty() && ask.pools.len() == 1 {
            let spans = self.claim_one(ask, &missing[0])?;
            self.grant(ask, &missing, &spans);
        } else if !missing.is_empty() {
            let value = self.claim_same(ask, &missing, values.first().map(|spans| spans[0]))?;
            self.grant(ask, &missing, &[value]);
        }
        for name in ask.pools {
            let now_ms = self.now_ms;
            let pool = self.pools.get_mut(name).expect("it was there");
            let lease_ms = ask.ttl_ms.or(pool.spec.lease_ms);
            let held = pool.held.get_mut(ask.key).expect("it was granted");
            if expired(held, now_ms) {
                held.expires_ms = lease_ms.map(|lease| now_ms + lease);
            }
        }
        let given = ask.pools.iter().map(|name| self.pools[name].held[ask.key].spans.clone());
        Ok((!missing.is_empty(), given.collect()))
    }

    fn grant(&mut self, ask: &Claiming<'_>, pools: &[String], spans: &[Span]) {
        for name in pools {
            let now_ms = self.now_ms;
            let pool = self.pools.get_mut(name).expect("it was there");
            let held = Held {
                owner: ask.owner.into(),
                spans: spans.to_vec(),
                expires_ms: ask.ttl_ms.or(pool.spec.lease_ms).map(|lease| now_ms + lease),
                want: ask.want.clone(),
                ttl_ms: ask.ttl_ms,
            };
            let free_for_it = spans.iter().all(|span| !each(*span).any(|value| pool.has(value)));
            assert!(free_for_it, "{spans:?} of '{name}' is given twice");
            pool.held.insert(ask.key.into(), held);
        }
    }

    fn claim_one(&mut self, ask: &Claiming<'_>, name: &str) -> Result<Vec<Span>, Refused> {
        let now_ms = self.now_ms;
        let pool = self.pools.get_mut(name).expect("it was there");
        if let Some(value) = ask.want.value {
            match pool.in_the_way(value, ask.owner, now_ms) {
                Ok(way) => {
                    way.iter().for_each(|gone| pool.remove(gone));
                    pool.cursor = Some(value.last);
                    return Ok(vec![value]);
                }
                Err(_) if ask.want.fallback => {}
                Err(refused) => return Err(refused),
            }
        }
        if let Some(spans) = pool.given_back(ask.key, ask.owner, ask.want) {
            pool.remove(&Gone::Kept(spans[0]));
            return Ok(spans);
        }
        let strategy = ask.want.strategy.unwrap_or(pool.spec.strategy);
        let mut room = pool.clone();
        loop {
            let free = room.free();
            let kind = room.spec.kind;
            let picked = match strategy {
                Strategy::Random | Strategy::LeastRecentlyUsed => {
                    // Any allowed value is right; if there is one, the core must have found one.
                    let any = pick(kind, &free, ask.want, Strategy::Lowest, None);
                    any.map(|_| {
                        let given = &ask.given.expect("the core found none, but there is one")[0];
                        assert!(may_be_picked(kind, &free, ask.want, given), "{given:?}");
                        (given.clone(), room.cursor)
                    })
                }
                _ => pick(kind, &free, ask.want, strategy, room.cursor),
            };
            if let Some((spans, cursor)) = picked {
                if strategy == Strategy::Next {
                    room.cursor = cursor;
                }
                *pool = room;
                return Ok(spans);
            }
            if room.end_quarantine(now_ms) {
                continue;
            }
            let Some((_, _, key)) = room.helpful(ask.want, now_ms).into_iter().next() else {
                return Err("exhausted");
            };
            room.remove(&Gone::Held(key));
        }
    }

    fn claim_same(
        &mut self,
        ask: &Claiming<'_>,
        missing: &[String],
        pinned: Option<Span>,
    ) -> Result<Span, Refused> {
        if let Some(value) = pinned.or(ask.want.value) {
            match self.clear(ask, missing, value) {
                Ok(()) => {
                    for name in missing {
                        let pool = self.pools.get_mut(name).expect("it was there");
                        pool.cursor = Some(value.last);
                    }
                    return Ok(value);
                }
                Err(_) if ask.want.fallback && pinned.is_none() => {}
                Err(refused) => return Err(refused),
            }
        }
        for name in missing {
            let back = self.pools[name].given_back(ask.key, ask.owner, ask.want);
            if let Some(spans) = back
                && self.clear(ask, missing, spans[0]).is_ok()
            {
                return Ok(spans[0]);
            }
        }
        let mut room = self.clone();
        loop {
            let free: Vec<_> = missing.iter().map(|name| room.pools[name].free()).collect();
            let kind = self.pools[&missing[0]].spec.kind;
            if let Some(value) = pick_common(kind, &free, ask.want) {
                *self = room;
                return Ok(value);
            }
            let mut ended = false;
            for name in missing {
                let now_ms = room.now_ms;
                ended |= room.pools.get_mut(name).expect("there").end_quarantine(now_ms);
            }
            if !ended {
                break;
            }
        }
        let helpful = missing.iter().flat_map(|name| {
            let found = room.pools[name].helpful(ask.want, self.now_ms);
            found.into_iter().map(|(at, value, _)| (at, value))
        });
        let helpful: BTreeSet<(u64, Span)> = helpful.collect();
        for (_, value) in helpful {
            if room.clear(ask, missing, value).is_ok() {
                *self = room;
                return Ok(value);
            }
        }
        Err("sync_exhausted")
    }

    /// Frees a value in all of the pools, or in none.
    fn clear(&mut self, ask: &Claiming<'_>, pools: &[String], value: Span) -> Result<(), Refused> {
        let ways = pools.iter().map(|name| {
            let way = self.pools[name].in_the_way(value, ask.owner, self.now_ms)?;
            Ok((name.clone(), way))
        });
        for (name, way) in ways.collect::<Result<Vec<_>, Refused>>()? {
            let pool = self.pools.get_mut(&name).expect("it was there");
            way.iter().for_each(|gone| pool.remove(gone));
        }
        Ok(())
    }

    /// Returns whether the key held anything.
    pub fn release(&mut self, pool: &str, key: &str) -> Result<bool, Refused> {
        let (now_ms, version) = (self.now_ms, self.version);
        let pool = self.pools.get_mut(pool).ok_or("pool_unknown")?;
        let held = pool.held.contains_key(key);
        pool.release(key, now_ms, version);
        Ok(held)
    }

    pub fn renew(&mut self, pool: &str, key: &str, ttl_ms: Option<u64>) -> Result<(), Refused> {
        let now_ms = self.now_ms;
        let pool = self.pools.get_mut(pool).ok_or("pool_unknown")?;
        let held = pool.held.get_mut(key).ok_or("claim_unknown")?;
        let lease = ttl_ms.or(held.ttl_ms).or(pool.spec.lease_ms).ok_or("no_lease")?;
        held.expires_ms = Some(now_ms + lease);
        Ok(())
    }

    pub fn confirm(&mut self, pool: &str, key: &str) -> Result<(), Refused> {
        let pool = self.pools.get_mut(pool).ok_or("pool_unknown")?;
        pool.held.get_mut(key).ok_or("claim_unknown")?.expires_ms = None;
        Ok(())
    }

    pub fn tick(&mut self) {
        let (now_ms, version) = (self.now_ms, self.version);
        for pool in self.pools.values_mut() {
            while pool.end_quarantine(now_ms) {}
            if pool.spec.reap {
                let gone = pool.held.iter().filter(|(_, held)| expired(held, now_ms));
                let gone: Vec<String> = gone.map(|(key, _)| key.clone()).collect();
                gone.iter().for_each(|key| pool.release(key, now_ms, version));
            }
        }
    }

    pub fn put(&mut self, name: &str, spec: &PoolSpec, keep_held: bool) -> Result<(), Refused> {
        let Some(pool) = self.pools.get_mut(name) else {
            self.pools.insert(name.into(), Pool::new(spec.clone()));
            return Ok(());
        };
        let inside = |spec: &PoolSpec, value: u128| {
            spec.ranges.iter().any(|range| range.span.contains(value))
        };
        let mut values =
            pool.held.values().flat_map(|held| held.spans.iter()).flat_map(|s| each(*s));
        let lost = values.any(|value| inside(&pool.spec, value) && !inside(spec, value));
        if lost && !keep_held {
            return Err("held_outside");
        }
        pool.spec = spec.clone();
        Ok(())
    }
}

fn expired(held: &Held, now_ms: u64) -> bool {
    held.expires_ms.is_some_and(|at| at <= now_ms)
}

pub fn each(span: Span) -> impl Iterator<Item = u128> {
    span.first..=span.last
}

/// Values as claims have them: consecutive ones as one span.
pub fn as_spans(values: impl IntoIterator<Item = u128>) -> Vec<Span> {
    normalise(values.into_iter().map(Span::one).collect())
}

pub fn of_parity(value: u128, parity: Option<Parity>) -> bool {
    parity.is_none_or(|parity| Parity::of(value) == parity)
}
