//! Finds what is due at one authority: claims, releases and look-ups.

use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_core::authority::{ExternalClaim, ExternalState, LookUp};
use allod_core::capacity::Uuid;
use allod_core::value::Kind;
use allod_core::view::{self, State};

use super::attempt::situation;
use super::lane::{Lane, Started, Subject};
use crate::authority::decision::{Earlier, NextStep, next_step};

/// The most claims of one authority that one scan looks at, besides those with an attempt in progress.
const SCAN_MAX: usize = 512;
/// The longest delay between two scans. Needed because there is no event when another server stops working.
pub(super) const SCAN_EVERY: Duration = Duration::from_secs(1);

/// What is to be done.
pub(super) enum LaneWork {
    Claim {
        claim: Arc<ExternalClaim>,
        kind: Kind,
        earlier: Earlier,
    },
    LookUp(Arc<LookUp>),
    /// A reconciliation with this number.
    Reconcile(u64),
}

impl LaneWork {
    pub fn subject(&self) -> Subject {
        match self {
            LaneWork::Claim { claim, .. } => Subject::Claim(claim.request.reference),
            LaneWork::LookUp(look_up) => Subject::LookUp(look_up.key.clone()),
            LaneWork::Reconcile(number) => Subject::Reconciliation(*number),
        }
    }
}

/// Finds what is due at one authority.
pub(super) struct LaneScan<'a> {
    pub state: &'a State,
    pub name: &'a Arc<str>,
    /// What was due before this time.
    pub due_ms: u64,
    pub now: Instant,
    pub started: Started,
}

impl LaneScan<'_> {
    /// What is to be done now, and how long there is nothing more to do.
    pub fn run(&self, lane: &mut Lane, now_ms: u64) -> (Vec<LaneWork>, Duration) {
        let authorities = view::authority::authorities(self.state);
        let mut wait = SCAN_EVERY;
        let claim_ms = authorities.due_after(self.name, self.due_ms);
        let look_up_ms = view::authority::lookups_due_after(self.state, self.name, self.due_ms);
        if let Some(due_ms) = claim_ms.into_iter().chain(look_up_ms).min() {
            wait = wait.min(Duration::from_millis(due_ms - self.due_ms));
        }
        if let Some(until) = lane.paused_until(self.now) {
            return (Vec::new(), wait.min(until - self.now));
        }
        // Before the number is read, so that a request that ends in between is not missed.
        lane.set_saturated(true);
        let free = lane.free(self.now);
        let reconcile = self.reconcile(lane);
        if free == 0 {
            return (reconcile.into_iter().collect(), wait);
        }
        // Neither claims nor look-ups may keep the others waiting.
        let look_ups = self.look_ups(lane, free);
        let is_turn = free > 1 || !lane.looked_up_last;
        let kept = if is_turn { look_ups.len().min(free.div_ceil(2)) } else { 0 };
        let mut found = self.claims(lane, free - kept, now_ms, &mut wait);
        let rest = free - found.len();
        lane.looked_up_last = rest > 0 && !look_ups.is_empty();
        found.extend(look_ups.into_iter().take(rest).map(LaneWork::LookUp));
        lane.set_saturated(found.len() >= free);
        found.extend(reconcile);
        (found, wait)
    }

    /// The reconciliation that is wanted, if it has not begun. A server that is not the leader waits until it is overdue.
    fn reconcile(&self, lane: &Lane) -> Option<LaneWork> {
        let wanted = view::authority::reconciliation(self.state, self.name)?;
        let is_due = wanted.is_wanted() && wanted.at_ms <= self.due_ms;
        let work = LaneWork::Reconcile(wanted.number);
        (is_due && !lane.busy.contains(&work.subject())).then_some(work)
    }

    fn look_ups(&self, lane: &Lane, free: usize) -> Vec<Arc<LookUp>> {
        let due = view::authority::lookups_due(self.state, self.name, self.due_ms);
        let is_idle =
            |look_up: &&Arc<LookUp>| !lane.busy.contains(&Subject::LookUp(look_up.key.clone()));
        due.take(SCAN_MAX + lane.busy.len()).filter(is_idle).take(free).cloned().collect()
    }

    fn claims(
        &self,
        lane: &mut Lane,
        free: usize,
        now_ms: u64,
        wait: &mut Duration,
    ) -> Vec<LaneWork> {
        let authorities = view::authority::authorities(self.state);
        let mut found = Vec::new();
        let ready = authorities.ready_from(self.name, (0, Uuid(0)), self.due_ms);
        let remote = lane.remote.clone();
        for claim in ready.take(SCAN_MAX + lane.busy.len()) {
            if found.len() >= free {
                break;
            }
            if lane.busy.contains(&Subject::Claim(claim.request.reference)) {
                continue;
            }
            // An orphan that is being released has no pool, and its value is needed as text only.
            let is_releasing = claim.progress.state == ExternalState::Releasing;
            let kind = view::authority::pool_kind(self.state, &claim.request.pool);
            let Some(kind) = kind.or(is_releasing.then_some(Kind::Id64)) else { continue };
            let (earlier, until) = lane.earlier(claim, &self.started, self.now, now_ms);
            if let Some(remote) = &remote
                && next_step(&situation(claim, remote, earlier), None) == NextStep::Wait
            {
                *wait = (*wait).min(until.saturating_duration_since(self.now));
                continue;
            }
            found.push(LaneWork::Claim { claim: claim.clone(), kind, earlier });
        }
        found
    }
}
