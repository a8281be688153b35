//! What the driver knows about one authority: requests in progress, when it may be asked again, and requests whose outcome
//! is unknown.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use allod_core::authority::{Authority, ExternalClaim, ExternalState};
use allod_core::capacity::Uuid;

use tokio::sync::Notify;

use super::metrics::AuthorityMetrics;
use super::remote::Remote;
use crate::authority::decision::{Earlier, retry_after_ms};

/// The delay after the first request in a row that had no definite answer.
const PAUSE_FIRST_MS: u64 = 50;

/// The most attempts of one authority whose answer is being stored.
const REPORTS_MAX: usize = 256;

/// When this server began to work, and where the journal ended then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Started {
    pub at: Instant,
    pub position: u64,
    /// Other servers may work on the same claims.
    pub is_shared: bool,
}

/// The requests to one authority that are in progress.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    count: AtomicUsize,
    /// There is more to do than may be in progress.
    is_saturated: AtomicBool,
}

/// The right to send requests. It ends when the authority has answered, before the answer is stored.
#[derive(Debug)]
pub(super) struct Slot {
    of: Arc<InFlight>,
    freed: Arc<Notify>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.of.count.fetch_sub(1, Ordering::SeqCst);
        if self.of.is_saturated.load(Ordering::SeqCst) {
            self.freed.notify_one();
        }
    }
}

/// What an attempt is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    Claim(Uuid),
    LookUp(Arc<str>),
    /// With its number.
    Reconciliation(u64),
}

pub(super) struct Lane {
    pub authority: Arc<Authority>,
    pub metrics: Arc<AuthorityMetrics>,
    /// `None`: there is no connector yet for this definition.
    pub remote: Option<Arc<Remote>>,
    /// The connector must be checked before the next request.
    pub is_doubtful: bool,
    pub is_preparing: bool,
    /// What has an attempt in progress.
    pub busy: HashSet<Subject>,
    in_flight: Arc<InFlight>,
    /// The last free request was used for a look-up.
    pub looked_up_last: bool,
    pause: Option<Pause>,
    /// When a request for a grant ended with an unknown outcome, or was first seen that another process has sent.
    unsettled: HashMap<Uuid, Instant>,
}

/// The authority had no definite answer. After `until` one request at a time is sent.
#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    failures: u32,
}

impl Lane {
    pub fn new(authority: Arc<Authority>, metrics: AuthorityMetrics) -> Lane {
        Lane {
            authority,
            metrics: Arc::new(metrics),
            remote: None,
            is_doubtful: true,
            is_preparing: false,
            busy: HashSet::new(),
            in_flight: Arc::default(),
            looked_up_last: false,
            pause: None,
            unsettled: HashMap::new(),
        }
    }

    /// The authority has another definition, so the reason for a pause may be gone.
    pub fn redefine(&mut self, authority: Arc<Authority>) {
        self.authority = authority;
        self.is_doubtful = true;
        self.pause = None;
    }

    pub fn time_limit(&self) -> Duration {
        Duration::from_millis(self.authority.spec.timeout_ms)
    }

    /// How many further requests may be sent now.
    pub fn free(&self, now: Instant) -> usize {
        let parallel = match (&self.pause, &self.remote) {
            (Some(pause), _) if pause.until > now => 0,
            (Some(_), _) | (None, None) => 1,
            (None, Some(remote)) => remote.parallel(&self.authority.spec),
        };
        let unused = parallel.saturating_sub(self.in_flight.count.load(Ordering::SeqCst));
        // Answers that are not stored yet must not accumulate while the journal is slow.
        unused.min((parallel + REPORTS_MAX).saturating_sub(self.busy.len()))
    }

    /// Whether the end of a request must lead to a scan.
    pub fn is_saturated(&self) -> bool {
        self.in_flight.is_saturated.load(Ordering::SeqCst)
    }

    pub fn set_saturated(&self, is_saturated: bool) {
        self.in_flight.is_saturated.store(is_saturated, Ordering::SeqCst);
    }

    /// Takes one of the free requests.
    pub fn slot(&self, freed: &Arc<Notify>) -> Slot {
        self.in_flight.count.fetch_add(1, Ordering::SeqCst);
        Slot { of: self.in_flight.clone(), freed: freed.clone() }
    }

    /// When the pause ends.
    pub fn paused_until(&self, now: Instant) -> Option<Instant> {
        self.pause.map(|pause| pause.until).filter(|until| *until > now)
    }

    /// A request had no definite answer.
    pub fn has_failed(&mut self, now: Instant, said: Option<Duration>, pause_ms_max: u64) {
        self.is_doubtful = true;
        let failures = match self.pause {
            // It was sent before the pause began.
            Some(pause) if pause.until > now => pause.failures,
            Some(pause) => pause.failures.saturating_add(1),
            None => 0,
        };
        let own_ms = retry_after_ms(PAUSE_FIRST_MS, pause_ms_max, failures);
        let own = now + Duration::from_millis(own_ms);
        let until = said.map_or(own, |said| own.max(now + said));
        let until = self.paused_until(now).map_or(until, |before| before.max(until));
        self.pause = Some(Pause { until, failures });
    }

    /// A request had a definite answer.
    pub fn has_answered(&mut self, now: Instant) {
        // Unless others, which were sent at the same time, had none.
        if self.paused_until(now).is_none() {
            self.pause = None;
        }
    }

    /// A request for a grant may still arrive.
    pub fn note_unsettled(&mut self, subject: &Subject, now: Instant) {
        if let Subject::Claim(reference) = subject {
            self.unsettled.insert(*reference, now);
        }
    }

    /// What is known about requests for this claim that were sent before, and when the last of them can no longer arrive.
    pub fn earlier(
        &mut self,
        claim: &ExternalClaim,
        started: &Started,
        now: Instant,
        now_ms: u64,
    ) -> (Earlier, Instant) {
        let progress = &claim.progress;
        let is_releasing = progress.state == ExternalState::Releasing;
        let limit = self.time_limit();
        let reference = claim.request.reference;
        let sent = if let Some(sent) = self.unsettled.get(&reference) {
            *sent
        } else if progress.version <= started.position {
            // An earlier process may have sent one. If the value is known, it has got its answer.
            if is_releasing && progress.value.is_some() && !progress.asked {
                return (Earlier::None, now);
            }
            started.at
        } else if progress.asked && !(is_releasing && progress.value.is_some()) {
            *self.unsettled.entry(reference).or_insert(now)
        } else if started.is_shared && is_releasing && progress.value.is_none() {
            // Another server may have sent one before the release was requested.
            let ago = Duration::from_millis(now_ms.saturating_sub(progress.since_ms));
            now.checked_sub(ago).unwrap_or(now)
        } else {
            return (Earlier::None, now);
        };
        let until = sent + limit;
        (if until > now { Earlier::Possible } else { Earlier::Ended }, until)
    }

    /// Forgets what is over. `is_open`: whether a claim may still need it.
    pub fn prune(&mut self, now: Instant, is_open: impl Fn(Uuid) -> bool) {
        let limit = self.time_limit();
        self.unsettled.retain(|reference, sent| *sent + limit > now || is_open(*reference));
    }
}
