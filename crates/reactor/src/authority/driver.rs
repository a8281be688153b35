//! Asks authorities for what claims and releases need, and reports the outcome as commands.
//!
//! One task finds what is due; every attempt runs in its own task. Each authority has its own limit of parallel requests,
//! and its own pause when it does not answer, so it does not delay others. During a pause the journal is not written.
//!
//! Of several servers that share a journal, the leader works. The others do what is overdue.
//!
//! - `lane`: what is known about one authority
//! - `remote`: the connection to it
//! - `attempt`: one attempt for one claim
//! - `lookups`: one check of a look-up
//! - `reconciliation`: lists the grants of an authority and compares them with the claims here
//! - `scan`: finds what is due at one authority
//! - `metrics`

mod attempt;
mod lane;
mod lookups;
mod metrics;
mod reconciliation;
mod remote;
mod scan;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_core::authority::command::Report;
use allod_core::authority::{ExternalClaim, ExternalState};
use allod_core::view::{self, State};
use allod_engine::{EngineError, Handle, Snapshot};
use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tracing::{error, info};

use self::attempt::{Attempt, AttemptContext, AttemptEnd, submit};
use self::lane::{Lane, Slot, Started, Subject};
use self::metrics::AuthorityMetrics;
use self::remote::{NotReady, Remote, prepare};
use self::scan::{LaneScan, LaneWork, SCAN_EVERY};
use super::decision::retry_after_ms;
use crate::limits::ReactorLimits;

pub use self::remote::{AuthoritySettings, connect};

const PUBLISH_EVERY: Duration = Duration::from_millis(250);
const PRUNE_EVERY: Duration = Duration::from_secs(10);
/// How long to wait for the journal to be replayed.
const NOT_READY: Duration = Duration::from_millis(20);

/// The running driver.
#[derive(Debug)]
pub struct AuthorityDriver {
    task: JoinHandle<()>,
}

impl AuthorityDriver {
    /// Starts to work for the authorities of this engine.
    pub fn start(
        handle: Handle,
        settings: AuthoritySettings,
        limits: ReactorLimits,
    ) -> AuthorityDriver {
        AuthorityDriver { task: tokio::spawn(Runner::new(handle, settings, limits).run()) }
    }

    /// Stops it and cancels the requests in progress. Their outcome is found out after a restart.
    pub async fn stop(self) {
        self.task.abort();
        drop(self.task.await);
    }
}

/// What a task is for.
struct RunningTask {
    authority: Arc<str>,
    subject: Subject,
}

impl RunningTask {
    /// Whether there is something to do about it.
    fn is_due(&self, snapshot: &Snapshot<'_>) -> bool {
        let due_ms = match &self.subject {
            Subject::Claim(reference) => {
                let claim = view::authority::authorities(snapshot.state).get(*reference);
                let progress = claim.map(|claim| &claim.progress);
                progress.filter(|it| it.state.is_open()).and_then(|it| it.due_ms)
            }
            Subject::LookUp(key) => {
                let look_up = view::authority::lookup(snapshot.state, &self.authority, key);
                // All may be due at once, whatever their own time is.
                look_up.map(|look_up| look_up.due_ms.unwrap_or(0).min(snapshot.now_ms))
            }
            Subject::Reconciliation(_) => Some(0),
        };
        due_ms.is_some_and(|due_ms| due_ms <= snapshot.now_ms)
    }
}

enum TaskEnd {
    Prepared(Result<Arc<Remote>, NotReady>),
    Attempted(AttemptEnd),
}

struct Runner {
    handle: Handle,
    settings: Arc<AuthoritySettings>,
    limits: ReactorLimits,
    lanes: BTreeMap<Arc<str>, Lane>,
    tasks: JoinSet<TaskEnd>,
    running: HashMap<Id, RunningTask>,
    started: Option<Started>,
    published: Option<Instant>,
    pruned: Instant,
    /// Other servers may work on the same claims.
    is_shared: bool,
    /// A request has ended.
    freed: Arc<Notify>,
}

impl Runner {
    fn new(handle: Handle, settings: AuthoritySettings, limits: ReactorLimits) -> Runner {
        metrics::describe();
        let is_shared = handle.is_shared();
        let answer_bytes_max = usize::try_from(limits.authority_answer_bytes_max);
        let answer_bytes_max = answer_bytes_max.unwrap_or(usize::MAX);
        Runner {
            handle,
            settings: Arc::new(AuthoritySettings { answer_bytes_max, ..settings }),
            limits,
            lanes: BTreeMap::new(),
            tasks: JoinSet::new(),
            running: HashMap::new(),
            started: None,
            published: None,
            pruned: Instant::now(),
            is_shared,
            freed: Arc::default(),
        }
    }

    async fn run(mut self) {
        let mut changes = self.handle.authority_changes();
        loop {
            changes.borrow_and_update();
            let wait = self.work().unwrap_or(NOT_READY);
            let sleep = tokio::time::sleep(wait);
            tokio::pin!(sleep);
            loop {
                tokio::select! {
                    _ = changes.changed() => break,
                    Some(ended) = self.tasks.join_next_with_id() => {
                        if self.end_all(ended) {
                            break;
                        }
                    }
                    () = self.freed.notified() => break,
                    () = &mut sleep => break,
                }
            }
        }
    }

    /// Ends this task and all others that have ended. Returns whether there may be something to do.
    fn end_all(&mut self, ended: Result<(Id, TaskEnd), JoinError>) -> bool {
        let mut subjects = Vec::new();
        let mut is_needed = self.end(ended, &mut subjects);
        while let Some(ended) = self.tasks.try_join_next_with_id() {
            is_needed |= self.end(ended, &mut subjects);
        }
        // Most changes of a claim have woken this task before. But a claim that changed during its attempt was left out.
        is_needed
            || self
                .handle
                .read(|snapshot| subjects.iter().any(|it| it.is_due(snapshot)))
                .unwrap_or(true)
    }

    /// Starts what is due. Returns how long there is nothing to do.
    fn work(&mut self) -> Result<Duration, EngineError> {
        let handle = self.handle.clone();
        let (is_shared, now) = (self.is_shared, Instant::now());
        // The leader works at once; the others do only what is overdue.
        let patience_ms = if handle.leads() { 0 } else { self.limits.authority_takeover_ms };
        let (found, wait) = handle.read(|snapshot| {
            let position = snapshot.at.position;
            let started = *self.started.get_or_insert(Started { at: now, position, is_shared });
            self.update_lanes(snapshot.state, snapshot.now_ms, now);
            let due_ms = snapshot.now_ms.saturating_sub(patience_ms);
            let mut wait = SCAN_EVERY;
            let mut found = Vec::new();
            for (name, lane) in &mut self.lanes {
                let scan = LaneScan { state: snapshot.state, name, due_ms, now, started };
                let (due, lane_wait) = scan.run(lane, snapshot.now_ms);
                wait = wait.min(lane_wait);
                if !due.is_empty() {
                    found.push((name.clone(), due));
                }
            }
            (found, wait)
        })?;
        for (name, due) in found {
            self.begin(&name, due, now);
        }
        Ok(wait)
    }

    /// Follows the definitions of authorities.
    fn update_lanes(&mut self, state: &State, now_ms: u64, now: Instant) {
        for (name, authority) in view::authority::all(state) {
            match self.lanes.get_mut(name) {
                Some(lane) if lane.authority.generation == authority.generation => {}
                Some(lane) => lane.redefine(authority.clone()),
                None => {
                    let lane = Lane::new(authority.clone(), AuthorityMetrics::new(name));
                    self.lanes.insert(name.clone(), lane);
                }
            }
        }
        self.lanes.retain(|name, lane| {
            let is_defined = view::authority::authority(state, name).is_some();
            if !is_defined {
                lane.metrics.clear();
            }
            is_defined
        });
        let authorities = view::authority::authorities(state);
        if self.published.is_none_or(|at| now - at >= PUBLISH_EVERY) {
            self.published = Some(now);
            self.lanes.values().for_each(|lane| lane.metrics.publish(authorities, now_ms));
        }
        if now - self.pruned >= PRUNE_EVERY {
            self.pruned = now;
            let is_open = |reference| {
                let claim = authorities.get(reference);
                claim.is_some_and(|claim| claim.progress.state.is_open() && claim.progress.asked)
            };
            self.lanes.values_mut().for_each(|lane| lane.prune(now, is_open));
        }
    }

    /// Starts attempts, or checks the connection first.
    fn begin(&mut self, name: &Arc<str>, due: Vec<LaneWork>, now: Instant) {
        let Some(lane) = self.lanes.get_mut(name) else { return };
        let mut due = due.into_iter();
        let remote = lane.remote.clone().filter(|_| !lane.is_doubtful);
        let is_old = remote.as_ref().is_none_or(|remote| remote.needs_check(now));
        if is_old && !lane.is_preparing {
            let Some(first) = due.next() else { return };
            let subject = first.subject();
            lane.busy.insert(subject.clone());
            lane.is_preparing = true;
            let prepare = Prepare {
                handle: self.handle.clone(),
                settings: self.settings.clone(),
                limits: self.limits,
                authority: lane.authority.clone(),
                name: name.clone(),
                metrics: lane.metrics.clone(),
                before: lane.remote.clone(),
                again: lane.is_doubtful,
                work: first,
                _slot: lane.slot(&self.freed),
            };
            let task = self.tasks.spawn(async { TaskEnd::Prepared(prepare.run().await) });
            self.running.insert(task.id(), RunningTask { authority: name.clone(), subject });
        }
        let Some(remote) = remote else { return };
        let context = Arc::new(AttemptContext {
            handle: self.handle.clone(),
            remote,
            authority: lane.authority.clone(),
            limits: self.limits,
            metrics: lane.metrics.clone(),
        });
        for due in due {
            let subject = due.subject();
            lane.busy.insert(subject.clone());
            let context = context.clone();
            let slot = || lane.slot(&self.freed);
            let task = match due {
                LaneWork::Claim { claim, kind, earlier } => {
                    let attempt = Attempt::new(context, claim, kind, earlier, slot());
                    self.tasks.spawn(async { TaskEnd::Attempted(attempt.make().await) })
                }
                LaneWork::LookUp(look_up) => {
                    let check = lookups::check(context, look_up, slot());
                    self.tasks.spawn(async { TaskEnd::Attempted(check.await) })
                }
                LaneWork::Reconcile(number) => {
                    let run = reconciliation::run(context, name.clone(), number);
                    self.tasks.spawn(async {
                        run.await;
                        TaskEnd::Attempted(AttemptEnd::default())
                    })
                }
            };
            self.running.insert(task.id(), RunningTask { authority: name.clone(), subject });
        }
    }

    /// Returns whether there may be something to do, whatever the subject is.
    fn end(
        &mut self,
        ended: Result<(Id, TaskEnd), JoinError>,
        subjects: &mut Vec<RunningTask>,
    ) -> bool {
        let (id, ended) = match ended {
            Ok((id, ended)) => (id, Some(ended)),
            Err(error) => {
                error!(%error, "a request to an authority ended with an internal error");
                (error.id(), None)
            }
        };
        let Some(task) = self.running.remove(&id) else { return true };
        let Some(lane) = self.lanes.get_mut(&task.authority) else { return true };
        let subject = task.subject.clone();
        subjects.push(task);
        lane.busy.remove(&subject);
        let mut is_needed = lane.is_saturated();
        let (now, pause_ms_max) = (Instant::now(), self.limits.authority_pause_ms_max);
        match ended {
            Some(TaskEnd::Prepared(Ok(remote))) => {
                is_needed = true;
                lane.is_preparing = false;
                lane.is_doubtful = !remote.is_for(&lane.authority);
                lane.remote = Some(remote);
            }
            Some(TaskEnd::Prepared(Err(not_ready))) => {
                lane.is_preparing = false;
                is_needed = true;
                lane.has_failed(now, not_ready.after, pause_ms_max);
            }
            Some(TaskEnd::Attempted(end)) => {
                if end.is_unsettled {
                    lane.note_unsettled(&subject, now);
                }
                match end.trouble {
                    Some(after) => lane.has_failed(now, after, pause_ms_max),
                    None if end.has_answered => lane.has_answered(now),
                    None => {}
                }
                is_needed |= end.trouble.is_some();
            }
            // The outcome is unknown after a panic.
            None => {
                lane.is_preparing = false;
                lane.note_unsettled(&subject, now);
                lane.has_failed(now, None, pause_ms_max);
                is_needed = true;
            }
        }
        is_needed
    }
}

/// Checks the connection. If it cannot be used, the work that needed it has failed.
struct Prepare {
    handle: Handle,
    settings: Arc<AuthoritySettings>,
    limits: ReactorLimits,
    authority: Arc<allod_core::authority::Authority>,
    name: Arc<str>,
    metrics: Arc<AuthorityMetrics>,
    before: Option<Arc<Remote>>,
    again: bool,
    work: LaneWork,
    _slot: Slot,
}

impl Prepare {
    async fn run(self) -> Result<Arc<Remote>, NotReady> {
        let Prepare { settings, authority, .. } = &self;
        let prepared =
            prepare(settings, &self.metrics, authority, self.before.clone(), self.again).await;
        if let Err(not_ready) = &prepared {
            self.failed(not_ready).await;
        }
        prepared
    }

    async fn failed(&self, not_ready: &NotReady) {
        let claim = match &self.work {
            LaneWork::Claim { claim, .. } => claim,
            LaneWork::LookUp(look_up) => {
                let NotReady { message, after } = not_ready;
                let report = lookups::failed(&self.handle, &self.limits, look_up, message, *after);
                return lookups::submit(&self.handle, look_up, report).await;
            }
            LaneWork::Reconcile(number) => {
                let report = reconciliation::failed(&self.name, &not_ready.message);
                return reconciliation::submit(&self.handle, &self.name, *number, report).await;
            }
        };
        let ExternalClaim { request, progress } = &**claim;
        let (authority, reason) = (&request.authority, &not_ready.message);
        info!(%authority, reason, "an authority cannot be used at present, will retry");
        let limits = &self.limits;
        let (first_ms, max_ms) =
            (limits.authority_backoff_first_ms, limits.authority_backoff_max_ms);
        let own_ms = retry_after_ms(first_ms, max_ms, progress.attempts);
        let said_ms = not_ready.after.map_or(0, |after| after.as_millis() as u64);
        let again_ms = self.handle.status().now_ms.saturating_add(own_ms.max(said_ms));
        let reason = reason.as_str().into();
        let is_open = matches!(progress.state, ExternalState::Wanted | ExternalState::Releasing);
        if is_open {
            let report = Report::Failed { reason, again_ms, asked: progress.asked };
            submit(&self.handle, request.reference, Some(progress.version), report).await;
        }
    }
}
