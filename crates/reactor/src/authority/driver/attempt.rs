//! One attempt for one claim: asks the authority, as `decision` says, and reports the outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_core::authority::command::{AuthorityCommand, GrantedValue, Report};
use allod_core::authority::refusal::AuthorityRefusal;
use allod_core::authority::{Authority, ExternalClaim, ExternalState, RefusalCode};
use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::receipt::Outcome;
use allod_core::refusal::Refusal;
use allod_core::value::Kind;
use allod_core::view;
use allod_engine::{CommandReply, EngineError, Handle};
use serde_json::{Map, Value};
use tracing::{debug, info, warn};

use super::lane::Slot;
use super::metrics::{AuthorityMetrics, Operation};
use super::remote::Remote;
use crate::authority::connector::{self, Ask, AuthorityAnswer, Grant, Known, Wish};
use crate::authority::decision::{
    Call, CallOutcome, Conclusion, Earlier, HolderStep, NextStep, Situation, holder_step,
    next_step, retry_after_ms,
};
use crate::limits::ReactorLimits;

/// The delay before a report that could not be stored is submitted again.
pub(super) const RESUBMIT_AFTER: Duration = Duration::from_millis(500);
/// How often a grant for a claim that has ended meanwhile is released. Reconciliation finds those that remain.
const ORPHAN_ATTEMPTS_MAX: u32 = 5;

/// What the attempts of one authority share.
pub(super) struct AttemptContext {
    pub handle: Handle,
    pub remote: Arc<Remote>,
    pub authority: Arc<Authority>,
    pub limits: ReactorLimits,
    pub metrics: Arc<AuthorityMetrics>,
}

/// What an attempt shows about the authority.
#[derive(Debug, Default)]
pub(super) struct AttemptEnd {
    /// The last request had no definite answer. The delay that the authority has asked for.
    pub trouble: Option<Option<Duration>>,
    /// The authority has answered a request.
    pub has_answered: bool,
    /// A request for a grant may still arrive at the authority.
    pub is_unsettled: bool,
    /// Ends when the driver has processed this, so that no other request is sent before a pause begins.
    pub _slot: Option<Slot>,
}

pub(super) struct Attempt {
    context: Arc<AttemptContext>,
    claim: Arc<ExternalClaim>,
    kind: Kind,
    situation: Situation,
    /// The version of the claim that the reports are about.
    version: u64,
    end: AttemptEnd,
    answer: LastAnswer,
    slot: Option<Slot>,
}

/// The details of the last answer.
#[derive(Debug, Default)]
struct LastAnswer {
    grant: Option<Grant>,
    code: Option<RefusalCode>,
    message: String,
    after: Option<Duration>,
}

/// The situation at the beginning of an attempt.
pub(super) fn situation(claim: &ExternalClaim, remote: &Remote, earlier: Earlier) -> Situation {
    let ExternalClaim { request, progress } = claim;
    let knows_value = match progress.state {
        ExternalState::Releasing => progress.value.is_some(),
        _ => request.params.want.value.is_some(),
    };
    Situation {
        state: progress.state,
        asked: progress.asked,
        knows_value,
        earlier,
        abilities: remote.abilities,
        tried: false,
    }
}

impl Attempt {
    pub fn new(
        context: Arc<AttemptContext>,
        claim: Arc<ExternalClaim>,
        kind: Kind,
        earlier: Earlier,
        slot: Slot,
    ) -> Attempt {
        let situation = situation(&claim, &context.remote, earlier);
        let (version, end) = (claim.progress.version, AttemptEnd::default());
        let answer = LastAnswer::default();
        Attempt { context, claim, kind, situation, version, end, answer, slot: Some(slot) }
    }

    pub async fn make(mut self) -> AttemptEnd {
        let mut last = None;
        loop {
            match next_step(&self.situation, last) {
                NextStep::Wait => return self.end,
                NextStep::Call(Call::StoreAsked) => {
                    let reply = self.report(Report::Asked).await;
                    let Some(Ok(_)) = reply.as_ref().map(|reply| &reply.answer) else {
                        // Another server asks, or the claim was withdrawn.
                        return self.ended();
                    };
                    self.version = reply.map_or(self.version, |reply| reply.at.position);
                    self.situation.asked = true;
                    last = Some((Call::StoreAsked, CallOutcome::Stored));
                }
                NextStep::Call(call) => {
                    let outcome = self.call(call).await;
                    last = Some((call, outcome));
                }
                NextStep::Report(conclusion) => {
                    self.conclude(conclusion).await;
                    return self.ended();
                }
            }
        }
    }

    fn ended(self) -> AttemptEnd {
        AttemptEnd { _slot: self.slot, ..self.end }
    }

    async fn call(&mut self, call: Call) -> CallOutcome {
        let connector = self.context.remote.connector.clone();
        let known = self.known();
        let began = Instant::now();
        match call {
            Call::Grant => {
                self.situation.tried = true;
                // If this process ends during the call, `Earlier` covers it.
                let answer = connector.grant(&self.ask()).await;
                let outcome = self.note(Operation::Grant, began, answer, |grant| Some(Some(grant)));
                if outcome == CallOutcome::Unknown {
                    self.end.is_unsettled = true;
                }
                outcome
            }
            Call::Find => {
                let answer = connector.find(&known).await;
                let outcome = self.note(Operation::Find, began, answer, Some);
                if outcome == CallOutcome::Granted && self.situation.earlier == Earlier::None {
                    // It was the request of this attempt.
                    self.end.is_unsettled = false;
                }
                outcome
            }
            Call::Release => {
                let answer = connector.release(&known).await;
                self.note(Operation::Release, began, answer, |()| Some(None))
            }
            Call::StoreAsked => CallOutcome::Stored,
        }
    }

    /// Stores the details of an answer.
    fn note<T>(
        &mut self,
        operation: Operation,
        began: Instant,
        answer: AuthorityAnswer<T>,
        found: impl FnOnce(T) -> Option<Option<Grant>>,
    ) -> CallOutcome {
        self.context.metrics.called(operation, (&answer).into(), began.elapsed());
        self.end.trouble = None;
        let (outcome, answer) = match answer {
            AuthorityAnswer::Yes(yes) => match found(yes).flatten() {
                Some(grant) => {
                    let grant = Some(grant);
                    (CallOutcome::Granted, LastAnswer { grant, ..LastAnswer::default() })
                }
                None => (CallOutcome::Nothing, LastAnswer::default()),
            },
            AuthorityAnswer::No { code, message } => {
                let code = Some(refusal_code(code));
                (CallOutcome::No, LastAnswer { code, message, ..LastAnswer::default() })
            }
            AuthorityAnswer::NotNow { after, message } => {
                self.end.trouble = Some(after);
                (CallOutcome::NotNow, LastAnswer { after, message, ..LastAnswer::default() })
            }
            AuthorityAnswer::Working { after, message } => {
                let after = Some(after);
                (CallOutcome::Working, LastAnswer { after, message, ..LastAnswer::default() })
            }
            AuthorityAnswer::Unknown { message } => {
                self.end.trouble = Some(None);
                (CallOutcome::Unknown, LastAnswer { message, ..LastAnswer::default() })
            }
            AuthorityAnswer::Unsupported => {
                let code = Some(RefusalCode::Differs);
                let message = unsupported(operation).to_owned();
                (CallOutcome::Unsupported, LastAnswer { code, message, ..LastAnswer::default() })
            }
        };
        self.end.has_answered |= self.end.trouble.is_none();
        let earlier = std::mem::replace(&mut self.answer, answer);
        if self.answer.message.is_empty() {
            // A search that finds nothing says nothing about the failure before it.
            self.answer.message = earlier.message;
        }
        outcome
    }

    async fn conclude(&mut self, conclusion: Conclusion) {
        let request = &self.claim.request;
        let (pool, key, reference) = (&request.pool, &request.key, request.reference);
        let reason: Arc<str> = self.answer.message.as_str().into();
        match conclusion {
            Conclusion::Granted => {
                self.slot = None;
                let grant = self.answer.grant.take();
                if let Some(grant) = grant {
                    self.granted(&grant).await;
                }
            }
            Conclusion::Refused => {
                self.slot = None;
                let code = self.answer.code.unwrap_or(RefusalCode::Differs);
                debug!(%reference, %pool, %key, %reason, "the authority has refused a claim");
                self.report_always(reference, Report::Refused { code, reason }).await;
            }
            Conclusion::Failed { asked, settle } => {
                let again_ms = self.again_ms(settle);
                let authority = &request.authority;
                info!(%authority, %reference, %pool, %key, %reason, "a request to an authority failed, will retry");
                self.report(Report::Failed { reason, again_ms, asked }).await;
            }
            Conclusion::Stuck => {
                warn!(%reference, %pool, %key, %reason, "the outcome of a request is unknown; resolve it");
                let reason = match &*reason {
                    "" => "the server stopped while it asked the authority".into(),
                    _ => reason,
                };
                self.report(Report::Stuck { reason }).await;
            }
            Conclusion::Gone => {
                self.slot = None;
                self.report(Report::Gone).await;
            }
        }
    }

    /// Reports a grant. If another claim holds the value that is being released, asks about that one first.
    async fn granted(&mut self, grant: &Grant) {
        let reference = self.claim.request.reference;
        let mut still_held = None;
        loop {
            let report = Report::Granted(GrantedValue {
                value: grant.value.as_str().into(),
                handle: grant.handle.as_deref().map(Into::into),
                version: grant.version.as_deref().map(Into::into),
                still_held,
            });
            let Some(reply) = self.report_always(reference, report).await else { return };
            let holder = match &reply.answer {
                Ok(receipt) => match receipt.outcomes.as_slice() {
                    [Outcome::Reported { look_up: Some(holder) }] => *holder,
                    _ => return,
                },
                Err(refused) => {
                    let refusal = &refused.refusal;
                    if matches!(
                        refusal,
                        Refusal::Authority(AuthorityRefusal::ReferenceUnknown { .. })
                    ) {
                        self.release_orphan(grant).await;
                    }
                    return;
                }
            };
            if still_held == Some(holder) {
                return;
            }
            match self.look_up_holder(holder).await {
                HolderStep::StillHeld => still_held = Some(holder),
                HolderStep::Gone => {
                    self.report_always(holder, Report::Gone).await;
                }
                HolderStep::Failed | HolderStep::Find => {
                    self.end.is_unsettled = false;
                    self.conclude_later().await;
                    return;
                }
            }
        }
    }

    async fn conclude_later(&mut self) {
        let (again_ms, reason) = (self.again_ms(false), self.answer.message.as_str().into());
        self.report(Report::Failed { reason, again_ms, asked: true }).await;
    }

    /// Asks the authority whether it has a grant for a claim that is being released.
    async fn look_up_holder(&mut self, holder: Uuid) -> HolderStep {
        let finds = self.situation.abilities.finds;
        let step = holder_step(finds, None);
        if step != HolderStep::Find {
            return step;
        }
        let claim = self
            .context
            .handle
            .read(|snapshot| view::authority::authorities(snapshot.state).get(holder).cloned());
        let Ok(Some(claim)) = claim else { return HolderStep::Gone };
        let began = Instant::now();
        let answer = self.context.remote.connector.find(&known(&claim)).await;
        let outcome = self.note(Operation::Find, began, answer, Some);
        holder_step(finds, Some(outcome))
    }

    /// The claim has ended while the authority granted it a value.
    async fn release_orphan(&mut self, grant: &Grant) {
        let known = Known {
            value: Some(grant.value.clone()),
            handle: grant.handle.clone(),
            ..known(&self.claim)
        };
        for attempt in 0..ORPHAN_ATTEMPTS_MAX {
            let began = Instant::now();
            let answer = self.context.remote.connector.release(&known).await;
            if self.note(Operation::Release, began, answer, |()| Some(None)) == CallOutcome::Nothing
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(self.delay_ms(attempt))).await;
        }
        let (reference, value) = (&known.reference, &grant.value);
        warn!(%reference, %value, "a grant for a claim that has ended was not released; reconcile the authority");
    }

    fn delay_ms(&self, attempts: u32) -> u64 {
        let limits = &self.context.limits;
        retry_after_ms(limits.authority_backoff_first_ms, limits.authority_backoff_max_ms, attempts)
    }

    /// When to try again.
    fn again_ms(&self, settle: bool) -> u64 {
        let said_ms = self.answer.after.map_or(0, |after| after.as_millis() as u64);
        // A claim that the authority works on has not failed.
        let is_working = self.answer.after.is_some() && self.end.trouble.is_none();
        let own_ms = if is_working { 0 } else { self.delay_ms(self.claim.progress.attempts) };
        let settled_ms = if settle { self.context.authority.spec.timeout_ms } else { 0 };
        let delay_ms = own_ms.max(said_ms).max(settled_ms);
        self.context.handle.status().now_ms.saturating_add(delay_ms)
    }

    fn known(&self) -> Known {
        let mut known = known(&self.claim);
        if self.situation.state != ExternalState::Releasing {
            let wanted = self.claim.request.params.want.value;
            known.value = wanted.map(|value| self.kind.show(value));
        }
        known
    }

    fn ask(&self) -> Ask {
        let request = &self.claim.request;
        let want = &request.params.want;
        let wish = match (want.value, want.prefix_len) {
            (Some(value), _) => Wish::Value(self.kind.show(value)),
            (None, Some(length)) => Wish::Length(length),
            (None, None) => Wish::Any,
        };
        let labels = request.labels.iter();
        let params: Map<String, Value> =
            labels.map(|(name, text)| (name.to_string(), Value::from(&**text))).collect();
        Ask {
            reference: request.reference.to_string(),
            pool: request.pool.to_string(),
            key: request.key.to_string(),
            owner: request.owner.to_string(),
            wish,
            params,
        }
    }

    /// Reports something that holds only if the claim has not changed since.
    async fn report(&self, report: Report) -> Option<CommandReply> {
        let reference = self.claim.request.reference;
        submit(&self.context.handle, reference, Some(self.version), report).await
    }

    async fn report_always(&self, reference: Uuid, report: Report) -> Option<CommandReply> {
        submit(&self.context.handle, reference, None, report).await
    }
}

fn known(claim: &ExternalClaim) -> Known {
    let ExternalClaim { request, progress } = claim;
    Known {
        reference: request.reference.to_string(),
        pool: request.pool.to_string(),
        key: request.key.to_string(),
        value: progress.value.as_deref().map(str::to_owned),
        handle: progress.handle.as_deref().map(str::to_owned),
    }
}

fn refusal_code(code: connector::RefusalCode) -> RefusalCode {
    match code {
        connector::RefusalCode::Taken => RefusalCode::Taken,
        connector::RefusalCode::Exhausted => RefusalCode::Exhausted,
        connector::RefusalCode::Differs => RefusalCode::Differs,
    }
}

fn unsupported(operation: Operation) -> &'static str {
    match operation {
        Operation::Grant => "the authority grants no values",
        Operation::Release => "the authority cannot release values",
        Operation::Find | Operation::Abilities | Operation::LookUp | Operation::List => {
            "the authority cannot search for a grant"
        }
    }
}

/// Submits a report until it is stored or refused. `None`: the server stops.
pub(super) async fn submit(
    handle: &Handle,
    reference: Uuid,
    version: Option<u64>,
    report: Report,
) -> Option<CommandReply> {
    loop {
        let report = report.clone();
        let command = AuthorityCommand::Report { reference, version, report };
        match handle.submit(Command::Authority(command)).await {
            Ok(reply) => {
                if let Err(refused) = &reply.answer {
                    // An operator, a client or another server was faster.
                    debug!(%reference, refusal = %refused.refusal, "a report about a claim was refused");
                }
                return Some(reply);
            }
            Err(EngineError::Stopping) => return None,
            Err(failure) => {
                debug!(%failure, "the report about a claim cannot be stored yet");
                tokio::time::sleep(RESUBMIT_AFTER).await;
            }
        }
    }
}
