//! A naive resource-manager: each pool is a list of numbers, and each search looks at all of them.
//!
//! Not here: notifications, and sequential pools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use allod_core::requests::command::{EditRequests, FindValue, PutRequestPool, RequestPoolEdit};
use allod_core::requests::{Failure, Supply, WantedId};

use crate::values::naive_blocks::Block;
use crate::values::naive_pool::{Asked, Pool, is_sync, moves, wanted_id, wants_parity};

/// The pools, by name.
#[derive(Debug, Clone, Default)]
pub struct Manager {
    pub pools: BTreeMap<String, Pool>,
}

/// Requests to answer, ordered by key, then by pool.
type Turn = BTreeSet<(String, String)>;

impl Manager {
    /// Carries out the whole edit or nothing. Returns whether it did.
    pub fn edit(&mut self, edit: &EditRequests) -> bool {
        let mut after = self.clone();
        let done = after.try_edit(edit).is_some();
        if done {
            *self = after;
        }
        done
    }

    fn try_edit(&mut self, edit: &EditRequests) -> Option<()> {
        // Keys of groups with a member less.
        let mut left = BTreeSet::new();
        for (name, one) in &edit.pools {
            if matches!(one, RequestPoolEdit::Remove)
                && let Some(pool) = self.pools.remove(&**name)
            {
                let sync = pool.asked.iter().filter(|(_, asked)| is_sync(&asked.request));
                left.extend(sync.map(|(key, _)| key.clone()));
                if !pool.others.is_empty() {
                    return None;
                }
            }
        }
        let puts: Vec<(String, &PutRequestPool)> = edit
            .pools
            .iter()
            .filter_map(|(name, edit)| match edit {
                RequestPoolEdit::Put(put) | RequestPoolEdit::PutOver(_, put) => {
                    Some((name.to_string(), &**put))
                }
                RequestPoolEdit::Remove | RequestPoolEdit::Requests(_) => None,
            })
            .collect();
        let (mut displaced, mut new) = (Turn::new(), Turn::new());
        let before = self.clone();
        for (name, put) in &puts {
            self.configure(name, put, &mut displaced)?;
        }
        for (name, put) in &puts {
            self.withdraw(name, put, &mut displaced, &mut left);
        }
        for (name, put) in &puts {
            self.write(name, put, &displaced, &mut new, &mut left)?;
        }
        // A group is answered once.
        let sync = |(key, name): &(String, String)| is_sync(&self.pools[name].asked[key].request);
        let keys: BTreeSet<String> =
            displaced.iter().filter(|turn| sync(turn)).map(|(key, _)| key.clone()).collect();
        displaced.extend(new.extract_if(.., |turn| keys.contains(&turn.0) && sync(turn)));
        // Failed requests are retried only in pools with new free values.
        let mut freed: BTreeMap<String, bool> = BTreeMap::new();
        for (name, after) in &self.pools {
            let before = before.pools.get(name);
            let redefined = before.is_none_or(|before| before.stock() != after.stock());
            if redefined || before.is_some_and(|before| before.gave(after)) {
                freed.insert(name.clone(), redefined);
            }
        }
        self.answer(&displaced);
        self.answer(&new);
        for key in left {
            let waiting = self
                .pools
                .iter()
                .filter(|(_, pool)| pool.has_failed(&key) && is_sync(&pool.asked[&key].request));
            let waiting: Turn = waiting.map(|(name, _)| (key.clone(), name.clone())).collect();
            self.answer(&waiting);
        }
        for (name, redefined) in freed {
            self.retry(&name, redefined);
        }
        Some(())
    }

    fn configure(&mut self, name: &str, put: &PutRequestPool, displaced: &mut Turn) -> Option<()> {
        let Some(config) = &put.config else { return self.pools.get(name).map(drop) };
        let pool = self.pools.entry(name.into()).or_insert_with(|| Pool::new(&config.supply));
        let family = match (&pool.supply, &config.supply) {
            (Supply::Ids(_), Supply::Ids(_)) => true,
            (Supply::Addresses(one), Supply::Addresses(other)) => one.version == other.version,
            _ => return None,
        };
        pool.supply = config.supply.clone();
        let members = pool.members();
        for (key, asked) in &mut pool.asked {
            if let Some(Ok(held)) = &asked.answer
                && !(family && held.addresses().all(|one| members.contains(&one)))
            {
                asked.had = Some(held.first);
                asked.answer = None;
                displaced.insert((key.clone(), name.into()));
            }
        }
        let keys = displaced.iter().filter(|(_, pool)| pool == name).map(|(key, _)| key.clone());
        for key in keys.collect::<Vec<_>>() {
            if is_sync(&self.pools[name].asked[&key].request) {
                self.displace_group(&key, displaced);
            }
        }
        Some(())
    }

    /// All members of the group lose their value.
    fn displace_group(&mut self, key: &str, turn: &mut Turn) {
        for (name, pool) in &mut self.pools {
            if let Some(asked) = pool.asked.get_mut(key).filter(|asked| is_sync(&asked.request))
                && let Some(Ok(held)) = &asked.answer
            {
                asked.had = Some(held.first);
                asked.answer = None;
                turn.insert((key.into(), name.clone()));
            }
        }
    }

    fn withdraw(
        &mut self,
        name: &str,
        put: &PutRequestPool,
        displaced: &mut Turn,
        left: &mut BTreeSet<String>,
    ) {
        let named = |key: &str| put.put.iter().any(|(put, _)| &**put == key);
        let pool = self.pools.get_mut(name).expect("it was configured");
        let withdrawn = pool.asked.extract_if(.., |key, _| {
            put.withdraw.iter().any(|gone| **gone == **key) || (put.replace && !named(key))
        });
        for (key, asked) in withdrawn {
            displaced.remove(&(key.clone(), name.into()));
            if is_sync(&asked.request) {
                left.insert(key);
            }
        }
    }

    fn write(
        &mut self,
        name: &str,
        put: &PutRequestPool,
        displaced: &Turn,
        new: &mut Turn,
        left: &mut BTreeSet<String>,
    ) -> Option<()> {
        for (key, request) in &put.put {
            let turn = (key.to_string(), name.to_string());
            let pools = &self.pools;
            if pools[name].others.contains_key(&turn.0) {
                return None;
            }
            let before = pools[name].asked.get(&turn.0);
            let was_sync = before.is_some_and(|asked| is_sync(&asked.request));
            let held = before.and_then(|asked| asked.answer.as_ref()?.as_ref().ok());
            let had = held.map(|held| held.first).or(before.and_then(|asked| asked.had));
            let gives = held.is_some();
            let keeps = match before {
                Some(asked) if asked.request == *request => continue,
                Some(Asked { answer: Some(Ok(held)), .. }) => {
                    let others = pools.iter().filter(|(other, _)| *other != name);
                    let agrees =
                        others.filter_map(|(_, pool)| pool.asked.get(&turn.0)).all(|asked| {
                            match &asked.answer {
                                Some(Ok(other)) => !is_sync(&asked.request) || other == held,
                                _ => true,
                            }
                        });
                    let keeps =
                        pools[name].serves(held, &request.want) && (agrees || !is_sync(request));
                    keeps.then(|| held.clone())
                }
                _ => None,
            };
            if was_sync && !is_sync(request) {
                left.insert(turn.0.clone());
            }
            let answer = keeps.map(Ok);
            if answer.is_none() && !displaced.contains(&turn) {
                new.insert(turn.clone());
            }
            let moves = gives && answer.is_none() && was_sync && is_sync(request);
            let asked = Asked { request: request.clone(), answer, had };
            let pool = self.pools.get_mut(name).expect("it was configured");
            pool.asked.insert(turn.0.clone(), asked);
            if moves {
                self.displace_group(&turn.0, new);
            }
        }
        Some(())
    }

    /// In the order of the keys: requests without a group in the order of the pools, then the group.
    fn answer(&mut self, turn: &Turn) {
        let keys: BTreeSet<&String> = turn.iter().map(|(key, _)| key).collect();
        for key in keys {
            let mut group = BTreeSet::new();
            for (_, name) in turn.iter().filter(|(of, _)| of == key) {
                let pool = &self.pools[name];
                let request = &pool.asked[key].request;
                if is_sync(request) {
                    group.insert(name.clone());
                } else {
                    // It has left a group that was displaced.
                    let had = pool.asked[key].had.filter(|id| {
                        let odd = |want| wants_parity(want).is_none_or(|odd| (*id % 2 == 1) == odd);
                        let free = pool.free().contains(id);
                        wanted_id(request)
                            .is_some_and(|want| want.id.is_none() && odd(want) && free)
                    });
                    let (found, moves) = match had {
                        Some(id) => (Ok(Block::one(id)), false),
                        None => (pool.find(&request.want), moves(request)),
                    };
                    self.give(name, key, found, moves);
                }
            }
            if !group.is_empty() {
                self.answer_group(key, group);
            }
        }
    }

    fn answer_group(&mut self, key: &str, mut group: BTreeSet<String>) {
        let mut said = None;
        for (name, pool) in &self.pools {
            let Some(asked) = pool.asked.get(key).filter(|asked| is_sync(&asked.request)) else {
                continue;
            };
            match &asked.answer {
                Some(Err(_)) => drop(group.insert(name.clone())),
                Some(Ok(held)) if !group.contains(name) => said = Some(held.first as u32),
                _ => {}
            }
        }
        let wants: Vec<WantedId> = group
            .iter()
            .filter_map(|name| wanted_id(&self.pools[name].asked[key].request).copied())
            .collect();
        if let Some(id) = said {
            for (name, want) in group.iter().zip(wants) {
                let found = match want.id {
                    Some(other) if other != id => Err(Failure::SyncConflict),
                    _ => self.pools[name].exactly(id),
                };
                self.give(name, key, found, true);
            }
            return;
        }
        let had = group.iter().find_map(|name| self.pools[name].asked[key].had);
        let serves = |id: &u128| {
            let free = group.iter().all(|name| self.pools[name].free().contains(id));
            let odd = |want| wants_parity(want).is_none_or(|odd| (*id % 2 == 1) == odd);
            free && wants.iter().all(|want| want.id.is_none() && odd(want))
        };
        if let Some(id) = had.filter(serves) {
            for name in &group {
                self.give(name, key, Ok(Block::one(id)), false);
            }
            return;
        }
        if let ([want], Some(name)) = (&wants[..], group.first()) {
            let found = self.pools[name].find_id(want);
            let moves = moves(&self.pools[name].asked[key].request);
            return self.give(name, key, found, moves);
        }
        let asked: BTreeSet<u32> = wants.iter().filter_map(|want| want.id).collect();
        let parities: BTreeSet<bool> = wants.iter().filter_map(wants_parity).collect();
        let found = match asked.len() {
            0 => {
                let mut common = self.pools[group.first().expect("a group")].free();
                for name in &group {
                    let free = self.pools[name].free();
                    common.retain(|id| free.contains(id));
                }
                common.retain(|id| parities.iter().all(|odd| (id % 2 == 1) == *odd));
                common.first().map(|id| Block::one(*id)).ok_or(Failure::SyncExhausted)
            }
            1 => {
                let id = asked.first().copied().expect("one");
                let denied = |name: &String| self.pools[name].exactly(id).err();
                if group.iter().any(|name| denied(name).is_some()) {
                    for name in &group {
                        let why = self.pools[name].exactly(id).err();
                        self.give(name, key, Err(why.unwrap_or(Failure::SyncExhausted)), false);
                    }
                    return;
                }
                Ok(Block::one(id.into()))
            }
            _ => Err(Failure::SyncConflict),
        };
        for name in &group {
            self.give(name, key, found.clone(), !asked.is_empty());
        }
    }

    fn give(&mut self, name: &str, key: &str, found: Result<Block, Failure>, moves: bool) {
        let pool = self.pools.get_mut(name).expect("a pool");
        if let (Ok(held), true) = (&found, moves) {
            pool.last = Some(held.first);
        }
        let asked = pool.asked.get_mut(key).expect("a request");
        (asked.answer, asked.had) = (Some(found), None);
    }

    /// Answers failed requests again while there are free values. A request that fails again keeps its reason, unless the
    /// pool was redefined.
    fn retry(&mut self, name: &str, redefined: bool) {
        let pool = &self.pools[name];
        let failed: Vec<String> =
            pool.asked.keys().filter(|key| pool.has_failed(key)).cloned().collect();
        for key in failed {
            let pool = &self.pools[name];
            if pool.free().is_empty() {
                return;
            }
            if pool.has_failed(&key) {
                let before = self.clone();
                self.answer(&Turn::from([(key.clone(), name.into())]));
                if !redefined {
                    self.keep_reasons(&before, &key);
                }
            }
        }
    }

    fn keep_reasons(&mut self, before: &Manager, key: &str) {
        for (name, pool) in &mut self.pools {
            if pool.has_failed(key) {
                let asked = pool.asked.get_mut(key).expect("a request");
                asked.answer = before.pools[name].asked[key].answer.clone();
            }
        }
    }

    /// Adds the request if it is granted. Returns whether the pools exist.
    pub fn allocate(&mut self, find: &FindValue) -> bool {
        let put = |name: &Arc<str>| {
            let mut request = find.request.clone();
            let pool = self.pools.get(&**name);
            // The services that have made the request before stay.
            if let Some(before) = pool.and_then(|pool| pool.asked.get(&*find.key)) {
                let all = before.request.services.iter().chain(&find.request.services);
                request.services = all.fold(Vec::new(), |mut all, one| {
                    if !all.contains(one) {
                        all.push(one.clone());
                    }
                    all
                });
                request.redeploy = request.redeploy.or(before.request.redeploy);
            }
            let put = vec![(find.key.clone(), request)];
            RequestPoolEdit::Put(Box::new(PutRequestPool { put, ..PutRequestPool::default() }))
        };
        let pools = find.pools.iter().map(|name| (name.clone(), put(name))).collect();
        let mut after = self.clone();
        let done = after.edit(&EditRequests { seen: 0, seen_all: false, pools });
        let has =
            |name: &Arc<str>| matches!(after.pools[&**name].asked[&*find.key].answer, Some(Ok(_)));
        if done && find.pools.iter().all(has) {
            *self = after;
        }
        done
    }

    /// A native claim takes the lowest id of a pool.
    pub fn claim(&mut self, name: &str, key: &str) {
        let Some(pool) = self.pools.get_mut(name) else { return };
        let lowest = pool.free().first().copied();
        if pool.others.contains_key(key) || pool.asked.contains_key(key) {
            return;
        }
        if let Some(id) = lowest {
            pool.others.insert(key.into(), id);
        }
    }

    pub fn release(&mut self, name: &str, key: &str) {
        let others = self.pools.get_mut(name).map(|pool| &mut pool.others);
        if others.and_then(|others| others.remove(key)).is_some() {
            self.retry(name, false);
        }
    }
}
