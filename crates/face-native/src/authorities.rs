//! Routes of authorities and their claims.

use std::ops::Bound;
use std::sync::Arc;

use allod_core::authority::command::AuthorityCommand;
use allod_core::authority::refusal::AuthorityRefusal;
use allod_core::authority::{Authority, AuthoritySpec, ExternalState};
use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::receipt::Outcome;
use allod_core::view;
use allod_edge::{Call, Reply};
use allod_engine::{CommitPoint, Snapshot};
use http::StatusCode;

use crate::claims::external::{self, ExternalCursor, FoundClaim, UNSETTLED};
use crate::pools::wrong_outcome;
use crate::query::{self, AFTER, LIMIT, Param, QueryParams, unexpected};
use crate::scope::AllowedPools;
use crate::to_wire::ReasonDetail;
use crate::to_wire::authority::AuthorityStatus;
use crate::wire::{AuthorityBody, AuthorityList, ResolveBody};
use crate::{Native, claims, from_wire, refusals, to_wire};

const PREFIX: Param =
    Param { name: "prefix", about: "Only authorities whose name starts with this." };
const STATE: Param =
    Param { name: "state", about: "Only claims in this state. Default: all but `held`." };
const KEY_PREFIX: Param = Param { name: "key_prefix", about: "Only keys that start with this." };

pub(crate) const LIST_QUERY: &[Param] = &[PREFIX, LIMIT, AFTER];
pub(crate) const CLAIMS_QUERY: &[Param] = &[STATE, KEY_PREFIX, LIMIT, AFTER];

pub(crate) async fn put(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let name: Arc<str> = call.param(0)?.into();
    let body: AuthorityBody = call.json()?;
    let spec = from_wire::authority::authority(body)?;
    let expect = from_wire::expect(&call)?;
    let put = AuthorityCommand::Put { name: name.clone(), spec: spec.clone(), expect };
    let (receipt, at) = native.submit_alone(Command::Authority(put)).await?;
    let Some(Outcome::AuthorityPut { created, generation }) = receipt.outcomes.first() else {
        return Err(wrong_outcome());
    };
    let status = if *created { StatusCode::CREATED } else { StatusCode::OK };
    let detail = ReasonDetail::of(&call);
    let now = native.read(|snapshot| AuthorityStatus::of(snapshot, &name, &spec, detail))?;
    Ok(shown(status, &name, (*generation, &spec), &now, &at))
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let name = call.param(0)?;
    QueryParams::read(&call, &[])?;
    native.wait_for_position(&call).await?;
    let detail = ReasonDetail::of(&call);
    let (found, at) = native.read(|snapshot| {
        let found = view::authority::authority(snapshot.state, &name).cloned();
        let found =
            found.map(|known| (AuthorityStatus::of(snapshot, &name, &known.spec, detail), known));
        (found, snapshot.at)
    })?;
    let (now, authority) = found.ok_or_else(|| unknown(&name, &at))?;
    let definition = (authority.generation, &authority.spec);
    Ok(shown(StatusCode::OK, &name, definition, &now, &at))
}

pub(crate) async fn delete(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (name, expect) = (call.param(0)?.into(), from_wire::expect(&call)?);
    let delete = AuthorityCommand::Delete { name, expect };
    let (_, at) = native.submit_alone(Command::Authority(delete)).await?;
    Ok(to_wire::no_content(&at))
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, LIST_QUERY)?;
    let limit = query.limit()?;
    native.wait_for_position(&call).await?;
    let prefix = query.text(PREFIX.name).unwrap_or_default();
    let after = query.text(AFTER.name);
    let detail = ReasonDetail::of(&call);
    let (page, at) = native.read(|snapshot| {
        let all = view::authority::all_after(
            snapshot.state,
            match after {
                Some(after) if after >= prefix => Bound::Excluded(after),
                _ => Bound::Included(prefix),
            },
        );
        let all = all.take_while(|(name, _)| name.starts_with(prefix));
        let pick = |(name, known): (&Arc<str>, &Arc<Authority>)| {
            Some((
                name.clone(),
                known.clone(),
                AuthorityStatus::of(snapshot, name, &known.spec, detail),
            ))
        };
        let cursor = |(name, _): (&Arc<str>, &Arc<Authority>)| name.to_string();
        (query::page(all, limit, usize::MAX, pick, cursor), snapshot.at)
    })?;
    let authorities = page.items.iter();
    let authorities = authorities
        .map(|(name, known, now)| {
            to_wire::authority::authority(name, (known.generation, &known.spec), now)
        })
        .collect();
    let next = page.next.as_deref();
    Ok(to_wire::page(&call, &query, &AuthorityList { authorities, next }, next, &at))
}

/// The claims of an authority that a client may see.
pub(crate) async fn claims(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let name = call.param(0)?;
    let query = QueryParams::read(&call, CLAIMS_QUERY)?;
    let one;
    let states = match query.text(STATE.name) {
        None => &UNSETTLED[..],
        Some(text) => {
            let expected = ExternalState::ALL.map(ExternalState::name).join(", ");
            let state = ExternalState::from_name(text);
            one = [state
                .ok_or_else(|| unexpected(STATE.name, text, &format!("one of: {expected}")))?];
            &one[..]
        }
    };
    let (after, limit) = (query.after(ExternalCursor::read)?.flatten(), query.limit()?);
    let key_prefix = query.text(KEY_PREFIX.name).unwrap_or_default();
    let pools = AllowedPools::of(&call);
    native.wait_for_position(&call).await?;
    let (page, now_ms, at) = native.read(|snapshot| {
        let Snapshot { state, now_ms, at } = *snapshot;
        let picks = |found: &FoundClaim| {
            found.external.as_ref().is_some_and(|claim| {
                claim.request.pool.starts_with(pools.prefix())
                    && claim.request.key.starts_with(key_prefix)
            })
        };
        let page = view::authority::authority(state, &name)
            .map(|_| external::page(state, Some(&name), states, after.as_ref(), limit, picks));
        (page, now_ms, at)
    })?;
    let page = page.ok_or_else(|| unknown(&name, &at))?;
    Ok(claims::listed(&call, &query, &page, now_ms, &at))
}

pub(crate) async fn resolve(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (name, reference) = (call.param(0)?, call.param(1)?);
    let reference: Uuid = query::uuid("the reference", &reference)?;
    let resolution = from_wire::authority::resolution(call.json::<ResolveBody>()?)?;
    let (is_here, at) = native.read(|snapshot| {
        let claim = view::authority::authorities(snapshot.state).get(reference);
        (claim.is_some_and(|claim| *claim.request.authority == *name), snapshot.at)
    })?;
    if !is_here {
        return Err(refusals::alone(AuthorityRefusal::ReferenceUnknown { reference }, &at));
    }
    let resolve = AuthorityCommand::Resolve { reference, resolution };
    let (receipt, at) = native.submit_alone(Command::Authority(resolve)).await?;
    if let Some(Outcome::Reported { look_up: Some(holder) }) = receipt.outcomes.first() {
        return Err(held_by_release(&native, *holder, &at)?);
    }
    let (found, now_ms) = native.read(|snapshot| {
        let claim = view::authority::authorities(snapshot.state).get(reference);
        let found = claim.map(|claim| FoundClaim::of_external(snapshot.state, claim));
        (found, snapshot.now_ms)
    })?;
    Ok(match found {
        Some(found) => found.reply(StatusCode::OK, now_ms, &at, ReasonDetail::of(&call)),
        None => to_wire::no_content(&at),
    })
}

/// The value that an operator names is held by a claim that is being released.
fn held_by_release(native: &Native, holder: Uuid, at: &CommitPoint) -> Result<Reply, Reply> {
    let holder = native.read(|snapshot| {
        let claim = view::authority::authorities(snapshot.state).get(holder)?;
        Some((claim.request.pool.clone(), claim.request.key.clone()))
    })?;
    Ok(match holder {
        Some((pool, key)) => refusals::alone(AuthorityRefusal::StillReleasing { pool, key }, at),
        None => refusals::alone(AuthorityRefusal::ReferenceUnknown { reference: Uuid(0) }, at),
    })
}

fn shown(
    status: StatusCode,
    name: &str,
    definition: (u64, &AuthoritySpec),
    now: &AuthorityStatus,
    at: &CommitPoint,
) -> Reply {
    let body = to_wire::authority::authority(name, definition, now);
    to_wire::etag(to_wire::json(status, &body, at), definition.0)
}

/// The reply to a request about an authority that does not exist.
pub(crate) fn unknown(name: &str, at: &CommitPoint) -> Reply {
    refusals::alone(AuthorityRefusal::AuthorityUnknown { authority: name.into() }, at)
}
