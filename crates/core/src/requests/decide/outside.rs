//! Requests that are answered from outside. A request asks, has no response until the answer arrives, and asks again when
//! what it wants changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::answer::{Offer, grant};
use super::answering::record;
use super::edit::{release_value, value_of};
use super::notify::Notifications;
use super::{follow_up, requests};
use crate::authority::event::AuthorityEvent;
use crate::authority::{self, ExternalState};
use crate::claim::{Parity, Want};
use crate::command::{ClaimOp, Expect, ReleaseOp};
use crate::decide::claim::ParsedClaim;
use crate::decide::{Draft, room, valid};
use crate::event::{ClaimEvent, Event};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::{Holder, Refusal};
use crate::requests::refusal::RequestsRefusal;
use crate::requests::state::AnsweredRequest;
use crate::requests::{
    Answer, AnswerRequest, Failure, OutsideFailure, Request, RequestPool, Response, Wanted,
};
use crate::span::Span;
use crate::state::pool::Pool;

/// Refuses a request that the allocator of the pool cannot be asked for.
pub(super) fn ensure_askable(
    config: &RequestPool,
    key: &Arc<str>,
    request: &Request,
) -> Result<(), Refusal> {
    if config.answers_itself() {
        return Ok(());
    }
    if request.is_sync() {
        return valid::invalid(
            format!(
                "request '{key}' has sync, but the allocator of its pool answers each request alone"
            ),
            "leave sync out",
        );
    }
    let Wanted::Id(want) = &request.want else { return Ok(()) };
    if config.authority().is_some() && (want.parity().is_some() || want.method.is_some()) {
        return valid::invalid(
            format!("request '{key}' has a parity or a method, but an authority chooses the value"),
            "leave them out; a certain id can be requested",
        );
    }
    Ok(())
}

/// Whether the request asks for the same as before, so that its answer stays.
pub(super) fn asks_the_same(before: &Request, now: &Request) -> bool {
    before.want == now.want && before.site == now.site
}

/// Asks for a value. The request has no response until the answer arrives.
pub(super) fn ask(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    request: &Request,
) -> Result<(), Refusal> {
    let (pool, requests) = requests(draft, name)?;
    let config = requests.config.clone();
    let mut answer = Answer::Wanted;
    if let Some(authority) = config.authority() {
        match claim_want(pool, request) {
            Err(failure) => answer = Answer::Failed(failure),
            // A claim that is being released is there until the authority has confirmed it; then the request asks.
            Ok(_) if draft.state.authorities.claim(name, key).is_some() => {}
            Ok(want) => {
                let op = ClaimOp {
                    pools: vec![name.clone()],
                    key: key.clone(),
                    owner: request.services.first().cloned(),
                    want: Want::any(),
                    ttl_ms: None,
                    labels: config.parameters(request),
                    expect: Expect::Any,
                };
                authority::decide::claim(draft, &ParsedClaim { op: &op, want }, authority)?;
            }
        }
    }
    let version = draft.version;
    record(draft, name, key, request, answer, version);
    Ok(())
}

/// What an authority is asked for. An error: it need not be asked.
fn claim_want(pool: &Pool, request: &Request) -> Result<Want, Failure> {
    let kind = pool.spec.kind;
    let (want, unavailable) = match &request.want {
        Wanted::Id(_) if kind.is_prefix() => return Err(Failure::NoAddresses),
        Wanted::Id(want) => {
            let value = want.id.map(|id| Span::one(id.into()));
            (Want { value, ..Want::any() }, want.id.map(Failure::IdUnavailable))
        }
        Wanted::Prefix(_) if !kind.is_prefix() => return Err(Failure::Exhausted),
        Wanted::Prefix(want) => {
            let len = want.len(kind.width()).ok_or(Failure::TooLong)?;
            let start = want.start.map(|(version, address)| {
                let bits = kind.width() - u32::from(len);
                let value =
                    Span::block(if bits >= 128 { 0 } else { address >> bits << bits }, bits);
                let unavailable = Failure::PrefixUnavailable { address, len };
                if version.prefix_kind() != kind {
                    Err(unavailable)
                } else if value.first != address {
                    Err(Failure::Misaligned)
                } else {
                    Ok((value, unavailable))
                }
            });
            let (value, unavailable) = start.transpose()?.unzip();
            (Want { value, prefix_len: Some(len), ..Want::any() }, unavailable)
        }
    };
    match (want.value, unavailable) {
        (Some(value), Some(unavailable)) if !is_available(pool, value) => Err(unavailable),
        _ => Ok(want),
    }
}

/// Whether the pool has the value, and no claim holds it.
fn is_available(pool: &Pool, value: Span) -> bool {
    room::in_zone(pool, value).is_ok() && pool.overlapping(value).next().is_none()
}

/// Withdraws the claim of a request at the authority. Its value stays held until the authority has confirmed that.
pub(super) fn release_at_authority(
    draft: &mut Draft<'_>,
    pool: &Arc<str>,
    key: &Arc<str>,
) -> Result<(), Refusal> {
    let release = ReleaseOp { pool: pool.clone(), key: key.clone(), expect: Expect::Any };
    authority::decide::release(draft, &release).map(drop)
}

/// A client that allocates the values of a pool answers a request. The same answer again changes nothing.
pub(super) fn answer(draft: &mut Draft<'_>, answer: &AnswerRequest) -> Result<Outcome, Refusal> {
    let AnswerRequest { pool: name, key, version, seen, response } = answer;
    let (pool, requests) = requests(draft, name)?;
    if !requests.config.is_external() {
        return Err(RequestsRefusal::AnswersItself { pool: name.clone() }.into());
    }
    let Some(stored) = requests.get(key).cloned() else {
        let (pool, key) = (name.clone(), key.clone());
        return Err(RequestsRefusal::RequestUnknown { pool, key }.into());
    };
    if stored.version != *version || seen.is_some_and(|seen| requests.changed > seen) {
        return Err(RequestsRefusal::Changed { at: requests.changed }.into());
    }
    let held = value_of(pool, key);
    let now = match response {
        Response::Granted(value) if held == Some(*value) => return Ok(Outcome::RequestsEdited),
        Response::Granted(value) => {
            if let Some(wanted) = wants_other(pool, &stored.request.want, *value) {
                let (pool, key) = (name.clone(), key.clone());
                return Err(RequestsRefusal::AnswerDiffers { pool, key, wanted }.into());
            }
            room::in_zone(pool, *value)?;
            release_value(draft, name, key)?;
            ensure_free(draft.pool(name)?, *value)?;
            grant(draft, name, key, &stored.request, Offer { value: *value, cursor: None })?;
            Answer::Granted
        }
        Response::Failed(text) => {
            let max = draft.limits.response_error_bytes_max;
            at_most("response_error_bytes_max", max, text.len() as u64)?;
            valid::representable("error", text, |_| false)?;
            let failure = OutsideFailure { code: None, text: text.clone() };
            let failed = Answer::Failed(Failure::Outside(failure));
            if stored.answer == failed {
                return Ok(Outcome::RequestsEdited);
            }
            release_value(draft, name, key)?;
            failed
        }
    };
    let mut notifications = Notifications::default();
    answered(draft, name, &stored, now, &mut notifications);
    follow_up(draft, notifications)?;
    Ok(Outcome::RequestsEdited)
}

/// Records an answer from outside. All services are notified of it: none of them has waited for it.
fn answered(
    draft: &mut Draft<'_>,
    pool: &Arc<str>,
    stored: &AnsweredRequest,
    answer: Answer,
    notifications: &mut Notifications,
) {
    let AnsweredRequest { key, request, version, .. } = stored;
    record(draft, pool, key, request, answer, *version);
    notifications.answer_changed(pool, key, request, &request.services);
}

/// What the request wants, if it is not this value.
fn wants_other(pool: &Pool, want: &Wanted, value: Span) -> Option<String> {
    let kind = pool.spec.kind;
    match want {
        Wanted::Id(want) => {
            let other = want.id.filter(|id| u128::from(*id) != value.first);
            let parity = want.parity().filter(|parity| *parity != Parity::of(value.first));
            let other = other.map(|id| format!("the id {id}"));
            other.or_else(|| parity.map(|parity| format!("an id that is {}", parity.name())))
        }
        Wanted::Prefix(want) => {
            let Some(len) = want.len(kind.width()) else {
                return Some(format!(
                    "a prefix of length {}, which the pool cannot have",
                    want.size
                ));
            };
            let start = want.start.filter(|(version, address)| {
                version.prefix_kind() != kind || *address != value.first
            });
            let other = start.map(|(version, address)| {
                format!("the prefix {}/{len}", version.prefix_kind().point(address))
            });
            let length = || format!("a prefix of length {len}");
            other.or_else(|| (kind.prefix_len(value) != Some(len)).then(length))
        }
    }
}

/// Refuses a value that another claim holds.
fn ensure_free(pool: &Pool, value: Span) -> Result<(), Refusal> {
    let Some((_, row, _)) = pool.overlapping(value).next() else { return Ok(()) };
    let (key, owner) = (row.key.clone(), row.owner().clone());
    let by = Holder { key, owner, expires_ms: row.expires_ms() };
    let (name, kind) = (pool.name.clone(), pool.spec.kind);
    Err(Refusal::ValueTaken { pool: name, kind, value, by })
}

/// Answers the requests whose claims at authorities this decision has changed.
pub(super) fn claims_changed(
    draft: &mut Draft<'_>,
    notifications: &mut Notifications,
) -> Result<(), Refusal> {
    let mut changed: BTreeSet<(Arc<str>, Arc<str>)> = BTreeSet::new();
    let mut granted: BTreeSet<(Arc<str>, Arc<str>)> = BTreeSet::new();
    for event in &draft.events {
        match event {
            Event::Authority(AuthorityEvent::Progressed(event)) => {
                changed.insert((event.pool.clone(), event.key.clone()));
            }
            Event::Authority(AuthorityEvent::Closed(event)) => {
                changed.insert((event.pool.clone(), event.key.clone()));
            }
            Event::Claim(ClaimEvent::Granted(event)) => {
                granted.insert((event.pool.clone(), event.key.clone()));
            }
            _ => {}
        }
    }
    for changed in changed {
        let (pool, key) = &changed;
        let requests = draft.state.pool(pool).and_then(Pool::requests);
        let Some(stored) = requests.and_then(|requests| requests.get(key)).cloned() else {
            continue;
        };
        let claim = draft.state.authorities.claim(pool, key).map(|claim| claim.progress.clone());
        let now = match claim.as_ref().map(|progress| progress.state) {
            // Its release is confirmed: the request asks again, unless a refusal is its answer.
            None if matches!(stored.answer, Answer::Failed(_)) => continue,
            None => {
                ask(draft, pool, key, &stored.request)?;
                continue;
            }
            Some(ExternalState::Held) => Answer::Granted,
            Some(ExternalState::Refused) => {
                let progress = claim.as_ref();
                let text = progress.and_then(|progress| progress.reason.clone());
                let code = progress.and_then(|progress| progress.code);
                let text = text.unwrap_or_default();
                Answer::Failed(Failure::Outside(OutsideFailure { code, text }))
            }
            // The value is held until the authority has confirmed the release.
            Some(ExternalState::Releasing) => continue,
            Some(ExternalState::Wanted | ExternalState::Stuck | ExternalState::Conflict) => {
                Answer::Wanted
            }
        };
        if now != stored.answer || granted.contains(&changed) {
            match now {
                Answer::Wanted => {
                    record(draft, pool, key, &stored.request, now, stored.version);
                }
                now => answered(draft, pool, &stored, now, notifications),
            }
        }
    }
    Ok(())
}
