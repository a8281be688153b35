//! Authorities, their claims, and indexes: by pool and key, by the time of the next attempt, by age.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) use super::lookup::state::LookUpName;
use super::lookup::state::LookUps;
use super::{AuthoritySpec, ExternalClaim, ExternalState, LookUp, LookUpCounts, Reconciliation};
use crate::alarm::{Alarm, AlarmKind, Alarms};
use crate::capacity::Uuid;
use crate::state::shared_map::SharedMap;

/// An authority at one generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    pub generation: u64,
    pub spec: AuthoritySpec,
    /// Look-ups that were last checked before this position are due.
    pub refreshed: u64,
    /// The last reconciliation.
    pub reconciliation: Option<Arc<Reconciliation>>,
}

impl Authority {
    /// When the next scheduled reconciliation is due.
    pub(crate) fn reconcile_due_ms(&self) -> Option<u64> {
        let period_ms = self.spec.reconcile_ms?;
        match &self.reconciliation {
            None => Some(0),
            Some(last) if last.is_wanted() => None,
            Some(last) => Some(last.at_ms.saturating_add(period_ms)),
        }
    }
}

/// The number of claims in each state, in the order of [`ExternalState::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExternalCounts([u64; ExternalState::ALL.len()]);

impl ExternalCounts {
    pub fn of(&self, state: ExternalState) -> u64 {
        self.0[state as usize]
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// The claims of one authority.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClaimsOf {
    pub counts: ExternalCounts,
    /// Open claims by the time of their next attempt.
    pub due: BTreeSet<(u64, Uuid)>,
    /// Open claims by the time when they were requested.
    pub open: BTreeSet<(u64, Uuid)>,
    /// All claims by state.
    pub by_state: BTreeSet<(ExternalState, Uuid)>,
    /// When the oldest open claim raises an alarm.
    pub overdue_ms: Option<u64>,
}

/// All authorities and their claims.
#[derive(Debug, Clone, Default)]
pub struct Authorities {
    /// Part of every reference. Drawn with the first authority.
    pub(crate) identity: Option<u32>,
    pub(crate) by_name: BTreeMap<Arc<str>, Arc<Authority>>,
    pub(crate) claims: SharedMap<Uuid, Arc<ExternalClaim>>,
    pub(crate) keys: BTreeMap<(Arc<str>, Arc<str>), Uuid>,
    /// By authority; without those that have no claims.
    pub(crate) of: BTreeMap<Arc<str>, ClaimsOf>,
    /// Refused claims by the time when they are forgotten.
    pub(crate) refused: BTreeSet<(u64, Uuid)>,
    pub(crate) lookups: LookUps,
    /// Authorities by [`ClaimsOf::overdue_ms`].
    pub(crate) overdue: BTreeSet<(u64, Arc<str>)>,
    /// Authorities by the time of their next scheduled reconciliation.
    pub(crate) reconcile_due: BTreeSet<(u64, Arc<str>)>,
}

impl Authorities {
    /// Whether this journal has drawn the reference.
    pub fn is_own(&self, reference: Uuid) -> bool {
        self.identity == Some(super::identity_of(reference))
    }

    /// The claim under this key.
    pub fn claim(&self, pool: &str, key: &str) -> Option<&Arc<ExternalClaim>> {
        if self.keys.is_empty() {
            return None;
        }
        self.claims.get(self.keys.get(&(Arc::from(pool), Arc::from(key)))?)
    }

    pub fn get(&self, reference: Uuid) -> Option<&Arc<ExternalClaim>> {
        self.claims.get(&reference)
    }

    /// The claims in a pool.
    pub fn claims_in(&self, pool: &str) -> impl Iterator<Item = &Arc<ExternalClaim>> {
        let from = self.keys.range((Arc::from(pool), Arc::from(""))..);
        let keys = from.take_while(move |((name, _), _)| **name == *pool);
        keys.filter_map(|(_, reference)| self.claims.get(reference))
    }

    pub fn counts(&self, authority: &str) -> ExternalCounts {
        self.of.get(authority).map(|claims| claims.counts).unwrap_or_default()
    }

    pub fn lookup_counts(&self, authority: &str) -> LookUpCounts {
        self.lookups.of.get(authority).map(|lookups| lookups.counts).unwrap_or_default()
    }

    /// When the oldest claim or release was requested that the authority has not answered.
    pub fn oldest_ms(&self, authority: &str) -> Option<u64> {
        self.of.get(authority)?.open.first().map(|(since_ms, _)| *since_ms)
    }

    /// The open claims of an authority, oldest first.
    pub fn open(&self, authority: &str) -> impl Iterator<Item = &Arc<ExternalClaim>> {
        let open = self.of.get(authority).map(|claims| &claims.open);
        open.into_iter().flatten().filter_map(|(_, reference)| self.claims.get(reference))
    }

    /// The open claims of an authority whose next attempt is due, from this time and reference on.
    pub fn ready_from(
        &self,
        authority: &str,
        from: (u64, Uuid),
        now_ms: u64,
    ) -> impl Iterator<Item = &Arc<ExternalClaim>> {
        let due = self.of.get(authority).map(|claims| claims.due.range(from..));
        let due = due.into_iter().flatten().take_while(move |(due_ms, _)| *due_ms <= now_ms);
        due.filter_map(|(_, reference)| self.claims.get(reference))
    }

    /// When the next attempt becomes due that is not due yet.
    pub fn due_after(&self, authority: &str, now_ms: u64) -> Option<u64> {
        let due = &self.of.get(authority)?.due;
        due.range((now_ms.saturating_add(1), Uuid(0))..).next().map(|(at, _)| *at)
    }

    /// The claims of an authority by state and reference, after this one.
    pub fn claims_after(
        &self,
        authority: &str,
        after: Option<(ExternalState, Uuid)>,
    ) -> impl Iterator<Item = &Arc<ExternalClaim>> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        let all = self.of.get(authority).map(|claims| claims.by_state.range((from, Unbounded)));
        all.into_iter().flatten().filter_map(|(_, reference)| self.claims.get(reference))
    }

    /// Inserts or replaces a claim; `None` removes it. Returns the previous one.
    pub(crate) fn put(
        &mut self,
        reference: Uuid,
        claim: Option<Arc<ExternalClaim>>,
    ) -> Option<Arc<ExternalClaim>> {
        let before = self.claims.remove(&reference);
        before.iter().for_each(|claim| self.index(claim, false));
        if let Some(claim) = claim {
            self.index(&claim, true);
            self.claims.insert(reference, claim.clone());
            self.index_overdue(&claim.request.authority);
        } else if let Some(before) = &before {
            self.index_overdue(&before.request.authority);
        }
        before
    }

    /// Updates the index by the time when the oldest open claim of an authority raises an alarm.
    pub(crate) fn index_overdue(&mut self, name: &Arc<str>) {
        let Some(claims) = self.of.get_mut(name) else { return };
        let after_ms = self.by_name.get(name).map(|authority| authority.spec.alarm_after_ms);
        let first = claims.open.first().zip(after_ms);
        let now = first.map(|((since_ms, _), after_ms)| since_ms.saturating_add(after_ms));
        let before = std::mem::replace(&mut claims.overdue_ms, now);
        if claims.counts.total() == 0 {
            self.of.remove(name);
        }
        if now != before {
            before.map(|at_ms| self.overdue.remove(&(at_ms, name.clone())));
            self.overdue.extend(now.map(|at_ms| (at_ms, name.clone())));
        }
    }

    /// When the oldest open claim of an authority without a raised alarm raises one, and the name of the authority.
    pub(crate) fn next_overdue(&self, alarms: &Alarms) -> Option<&(u64, Arc<str>)> {
        let is_raised = |name: &Arc<str>| {
            let alarm = alarms.get(&(name.clone(), AlarmKind::Overdue));
            alarm.is_some_and(Alarm::is_raised)
        };
        self.overdue.iter().find(|(_, name)| !is_raised(name))
    }

    fn index(&mut self, claim: &ExternalClaim, add: bool) {
        let ExternalClaim { request, progress } = claim;
        let (reference, state) = (request.reference, progress.state);
        let key = (request.pool.clone(), request.key.clone());
        let refused = progress.due_ms.filter(|_| state == ExternalState::Refused);
        let claims = self.of.entry(request.authority.clone()).or_default();
        let count = &mut claims.counts.0[state as usize];
        let due = progress.due_ms.filter(|_| state.is_open()).map(|at| (at, reference));
        let open = state.is_open().then_some((progress.since_ms, reference));
        if add {
            *count += 1;
            claims.by_state.insert((state, reference));
            claims.due.extend(due);
            claims.open.extend(open);
            self.keys.insert(key, reference);
            self.refused.extend(refused.map(|at| (at, reference)));
            return;
        }
        *count -= 1;
        claims.by_state.remove(&(state, reference));
        due.map(|due| claims.due.remove(&due));
        open.map(|open| claims.open.remove(&open));
        self.keys.remove(&key);
        refused.map(|at| self.refused.remove(&(at, reference)));
    }
}

/// An immutable copy, for a checkpoint.
#[derive(Debug, Clone)]
pub struct FrozenAuthorities {
    pub(crate) identity: Option<u32>,
    pub(crate) by_name: BTreeMap<Arc<str>, Arc<Authority>>,
    pub(crate) claims: SharedMap<Uuid, Arc<ExternalClaim>>,
    pub(crate) lookups: SharedMap<LookUpName, Arc<LookUp>>,
}

impl Authorities {
    pub(crate) fn freeze(&self) -> FrozenAuthorities {
        FrozenAuthorities {
            identity: self.identity,
            by_name: self.by_name.clone(),
            claims: self.claims.clone(),
            lookups: self.lookups.all.clone(),
        }
    }
}
