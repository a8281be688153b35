//! Claims in pools with an authority: requests that wait for it, and lists of the claims that have no value.

use std::sync::Arc;
use std::time::Duration;

use allod_core::authority::{ExternalClaim, ExternalState, RefusalCode};
use allod_core::capacity::Uuid;
use allod_core::receipt::ClaimIn;
use allod_core::refusal::Refusal;
use allod_core::view::{self, Page, State};
use allod_edge::{Problem, Reply};
use allod_engine::CommitPoint;
use http::StatusCode;

use crate::query::{self, EXAMINED_MAX};
use crate::to_wire::ReasonDetail;
use crate::waiters::WaitKey;
use crate::wire::RefusalMembers;
use crate::{Native, refusals, to_wire};

/// A claim, and what its authority has to do with it.
#[derive(Debug, Clone)]
pub(crate) struct FoundClaim {
    /// The value that it has here.
    pub held: Option<ClaimIn>,
    pub external: Option<Arc<ExternalClaim>>,
}

impl FoundClaim {
    /// The claim under a key.
    pub(crate) fn of(state: &State, pool: &str, key: &str) -> Option<FoundClaim> {
        let held = view::claim(state, pool, key);
        let external = of_key(state, pool, key);
        (held.is_some() || external.is_some()).then_some(FoundClaim { held, external })
    }

    /// With its value, if it has one.
    pub(crate) fn of_external(state: &State, external: &Arc<ExternalClaim>) -> FoundClaim {
        let request = &external.request;
        // While a later claim is under the key, this one is not in the list of keys.
        let is_current = of_key(state, &request.pool, &request.key)
            .is_some_and(|current| current.request.reference == request.reference);
        let held = is_current.then(|| view::claim(state, &request.pool, &request.key)).flatten();
        FoundClaim { held, external: Some(external.clone()) }
    }

    pub(crate) fn of_held(state: &State, held: ClaimIn) -> FoundClaim {
        let external = of_key(state, &held.pool, &held.claim.key);
        FoundClaim { held: Some(held), external }
    }

    pub(crate) fn shown(
        &self,
        now_ms: u64,
        detail: ReasonDetail,
    ) -> Option<crate::wire::Claim<'_>> {
        match (&self.held, &self.external) {
            (held, Some(external)) => {
                Some(to_wire::authority::claim(held.as_ref(), external, now_ms, detail))
            }
            (Some(held), None) => Some(to_wire::claim(held, now_ms)),
            (None, None) => None,
        }
    }

    /// The claim as a reply, with its version as ETag.
    pub(crate) fn reply(
        &self,
        status: StatusCode,
        now_ms: u64,
        at: &CommitPoint,
        detail: ReasonDetail,
    ) -> Reply {
        let Some(shown) = self.shown(now_ms, detail) else { return crate::pools::wrong_outcome() };
        let version = shown.version;
        to_wire::etag(to_wire::json(status, &shown, at), version)
    }
}

/// The claim under a key, if the pool has an authority.
fn of_key(state: &State, pool: &str, key: &str) -> Option<Arc<ExternalClaim>> {
    view::spec(state, pool)?.authority.as_ref()?;
    view::authority::claim(state, pool, key).cloned()
}

/// What a request has waited for.
pub(crate) struct WaitedClaim {
    /// `None`: the authority has nothing for the reference any more.
    pub found: Option<FoundClaim>,
    pub now_ms: u64,
    pub at: CommitPoint,
}

/// Reads a claim; with `wait`, as soon as it is not in this state any more, or after that time.
pub(crate) async fn wait_while(
    native: &Native,
    reference: Uuid,
    state: ExternalState,
    wait: Option<Duration>,
) -> Result<WaitedClaim, Reply> {
    let mut waiter = wait.and_then(|wait| native.waiters.join(WaitKey::Claim(reference), wait));
    loop {
        let waited = native.read(|snapshot| {
            let claim = view::authority::authorities(snapshot.state).get(reference);
            let found = claim.map(|claim| FoundClaim::of_external(snapshot.state, claim));
            WaitedClaim { found, now_ms: snapshot.now_ms, at: snapshot.at }
        })?;
        let external = waited.found.as_ref().and_then(|found| found.external.as_ref());
        let is_pending = external.is_some_and(|external| external.progress.state == state);
        match waiter.take().filter(|_| is_pending) {
            None => return Ok(waited),
            // After the time has passed, it is read once more.
            Some(waiting) => waiter = waiting.changed().await.then_some(waiting),
        }
    }
}

/// The reply to a claim that an authority has to answer.
pub(crate) async fn claimed(
    native: &Native,
    claim: &ExternalClaim,
    wait: Option<Duration>,
    detail: ReasonDetail,
) -> Result<Reply, Reply> {
    let reference = claim.request.reference;
    let waited = wait_while(native, reference, ExternalState::Wanted, wait).await?;
    let WaitedClaim { found, now_ms, at } = waited;
    let Some(found) = found else {
        let (pool, key) = (claim.request.pool.clone(), claim.request.key.clone());
        return Err(refusals::alone(Refusal::ClaimUnknown { pool, key }, &at));
    };
    let external = found.external.as_deref().unwrap_or(claim);
    Ok(match external.progress.state {
        ExternalState::Refused => refused(external, None, &at, detail),
        ExternalState::Held => found.reply(StatusCode::CREATED, now_ms, &at, detail),
        ExternalState::Wanted
        | ExternalState::Stuck
        | ExternalState::Conflict
        | ExternalState::Releasing => found.reply(StatusCode::ACCEPTED, now_ms, &at, detail),
    })
}

/// The refusal of an authority as a problem.
pub(crate) fn refused(
    claim: &ExternalClaim,
    op: Option<usize>,
    at: &CommitPoint,
    detail: ReasonDetail,
) -> Reply {
    let (code, title, advice) = match claim.progress.code {
        Some(RefusalCode::Taken) => ("taken", "value taken", "wait_for_release"),
        Some(RefusalCode::Exhausted) => ("exhausted", "pool exhausted", "wait_for_release"),
        Some(RefusalCode::Differs) => {
            ("params_differ", "the authority cannot grant what is wanted", "change")
        }
        None => ("transaction_refused", "another part of the transaction was refused", "reread"),
    };
    let authority = &claim.request.authority;
    let reason = to_wire::authority::reason(&claim.progress, detail).unwrap_or(title);
    let problem = Problem::new(
        StatusCode::CONFLICT,
        code,
        title,
        format!("authority '{authority}' has refused: {reason}"),
    );
    let (pool, key) = (Some(&*claim.request.pool), Some(&*claim.request.key));
    let members = RefusalMembers { op, advice, pool, key, ..RefusalMembers::default() };
    to_wire::at_position(problem.reply_with(members), at)
}

/// The reply to a release that an authority must confirm.
pub(crate) async fn released(
    native: &Native,
    claim: &ExternalClaim,
    wait: Option<Duration>,
    detail: ReasonDetail,
) -> Result<Reply, Reply> {
    let reference = claim.request.reference;
    let waited = wait_while(native, reference, ExternalState::Releasing, wait).await?;
    Ok(match waited.found {
        Some(found) => found.reply(StatusCode::ACCEPTED, waited.now_ms, &waited.at, detail),
        None => to_wire::no_content(&waited.at),
    })
}

/// All states but held, in the order of the list.
pub(crate) const UNSETTLED: [ExternalState; 5] = [
    ExternalState::Wanted,
    ExternalState::Refused,
    ExternalState::Stuck,
    ExternalState::Conflict,
    ExternalState::Releasing,
];

/// Where a list of claims of authorities continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExternalCursor {
    authority: Arc<str>,
    state: ExternalState,
    reference: Uuid,
}

impl ExternalCursor {
    /// The begin of every cursor; other lists of claims have cursors that begin with a digit.
    const MARK: char = '~';

    /// Before all claims.
    pub(crate) const FIRST: &'static str = "~";

    pub(crate) fn is_one(text: &str) -> bool {
        text.starts_with(ExternalCursor::MARK)
    }

    /// `Some(None)`: from the beginning. `None`: not a cursor.
    pub(crate) fn read(text: &str) -> Option<Option<ExternalCursor>> {
        let text = text.strip_prefix(ExternalCursor::MARK)?;
        if text.is_empty() {
            return Some(None);
        }
        let mut parts = text.splitn(3, '.');
        let state = ExternalState::from_name(parts.next()?)?;
        let reference = parts.next()?.parse().ok()?;
        Some(Some(ExternalCursor { authority: parts.next()?.into(), state, reference }))
    }

    fn after(claim: &ExternalClaim) -> String {
        let (state, reference) = (claim.progress.state.name(), claim.request.reference);
        format!("{}{state}.{reference}.{}", ExternalCursor::MARK, claim.request.authority)
    }
}

/// A page of claims by authority, state and reference.
pub(crate) fn page(
    state: &State,
    authority: Option<&str>,
    states: &[ExternalState],
    after: Option<&ExternalCursor>,
    limit: usize,
    picks: impl Fn(&FoundClaim) -> bool,
) -> Page<FoundClaim> {
    let all = view::authority::authorities(state);
    let names = view::authority::all(state).map(|(name, _)| name);
    let names = names.filter(|name| authority.is_none_or(|authority| authority == &***name));
    let names = names.skip_while(|name| after.is_some_and(|after| ***name < *after.authority));
    let claims = names.flat_map(|name| {
        let after = after.filter(|after| after.authority == *name);
        let states =
            states.iter().filter(move |state| after.is_none_or(|after| **state >= after.state));
        states.flat_map(move |&state| {
            let last = after.filter(|after| after.state == state).map(|after| after.reference);
            // No claim has the reference 0.
            let from = (state, last.unwrap_or(Uuid(0)));
            all.claims_after(name, Some(from))
                .take_while(move |claim| claim.progress.state == state)
        })
    });
    let pick = |claim: &Arc<ExternalClaim>| {
        Some(FoundClaim::of_external(state, claim)).filter(|found| picks(found))
    };
    query::page(claims, limit, EXAMINED_MAX, pick, |claim| ExternalCursor::after(claim))
}
