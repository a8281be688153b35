//! Routes of look-ups: values that an authority knows under a name.

use std::sync::Arc;
use std::time::Duration;

use allod_core::authority::command::{AuthorityCommand, LookUpCommand};
use allod_core::authority::refusal::AuthorityRefusal;
use allod_core::authority::{DriftPolicy, LookUp, LookUpState};
use allod_core::command::Command;
use allod_core::receipt::Outcome;
use allod_core::view;
use allod_edge::{Call, Reply};
use allod_engine::CommitPoint;
use http::StatusCode;

use crate::pools::wrong_outcome;
use crate::query::{self, AFTER, EXAMINED_MAX, LIMIT, Param, QueryParams, unexpected};
use crate::to_wire::ReasonDetail;
use crate::waiters::WaitKey;
use crate::wire::{EmptyBody, HintsBody, LookUpBody, LookUpList};
use crate::{Native, authorities, from_wire, prefer, refusals, to_wire};

const PREFIX: Param = Param { name: "prefix", about: "Only names that start with this." };
const STATE: Param = Param { name: "state", about: "Only look-ups in this state." };

pub(crate) const LIST_QUERY: &[Param] = &[PREFIX, STATE, LIMIT, AFTER];

/// How long a request waits for the authority that does not say how long.
const WAIT: Duration = Duration::from_secs(10);

/// The authority and the name of a look-up.
struct LookUpPath {
    authority: Arc<str>,
    key: Arc<str>,
}

impl LookUpPath {
    fn of(call: &Call) -> Result<LookUpPath, Reply> {
        Ok(LookUpPath { authority: call.param(0)?.into(), key: call.param(1)?.into() })
    }

    fn names(&self) -> (Arc<str>, Arc<str>) {
        (self.authority.clone(), self.key.clone())
    }

    /// Reads the look-up; with `wait`, as soon as it is not pending any more, or after that time.
    async fn wait_while(
        &self,
        native: &Native,
        wait: Duration,
        is_pending: impl Fn(&LookUp) -> bool,
    ) -> Result<(Option<Arc<LookUp>>, CommitPoint), Reply> {
        let (authority, key) = self.names();
        let mut waiter = native.waiters.join(WaitKey::LookUp(authority, key), wait);
        loop {
            let (found, at) = self.read(native)?;
            let pending = found.as_deref().is_some_and(&is_pending);
            match waiter.take().filter(|_| pending) {
                None => return Ok((found, at)),
                Some(waiting) => waiter = waiting.changed().await.then_some(waiting),
            }
        }
    }

    fn read(&self, native: &Native) -> Result<(Option<Arc<LookUp>>, CommitPoint), Reply> {
        native.read(|snapshot| {
            let found = view::authority::lookup(snapshot.state, &self.authority, &self.key);
            (found.cloned(), snapshot.at)
        })
    }

    fn unknown(&self, at: &CommitPoint) -> Reply {
        let (authority, key) = self.names();
        refusals::alone(AuthorityRefusal::LookUpUnknown { authority, key }, at)
    }
}

fn shown(status: StatusCode, look_up: &LookUp, at: &CommitPoint, call: &Call) -> Reply {
    let body = to_wire::lookup::look_up(look_up, ReasonDetail::of(call));
    to_wire::etag(to_wire::json(status, &body, at), look_up.version)
}

async fn submit(native: &Native, command: LookUpCommand) -> Result<(Outcome, CommitPoint), Reply> {
    let command = Command::Authority(AuthorityCommand::LookUp(command));
    let (receipt, at) = native.submit_alone(command).await?;
    let outcome = receipt.outcomes.into_iter().next().ok_or_else(wrong_outcome)?;
    Ok((outcome, at))
}

async fn submit_one(
    native: &Native,
    command: LookUpCommand,
) -> Result<(Arc<LookUp>, CommitPoint), Reply> {
    match submit(native, command).await? {
        (Outcome::LookUp(look_up), at) => Ok((look_up, at)),
        _ => Err(wrong_outcome()),
    }
}

pub(crate) async fn put(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let wait = prefer::wait(&call)?;
    let path = LookUpPath::of(&call)?;
    let body: LookUpBody = call.json()?;
    let (before, _) = path.read(&native)?;
    let usual = before.as_ref().map_or(DriftPolicy::Pin, |before| before.policy);
    let policy = body.policy.map_or(usual, Into::into);
    let ((authority, key), expect) = (path.names(), from_wire::expect(&call)?);
    let (put, at) =
        submit_one(&native, LookUpCommand::Put { authority, key, policy, expect }).await?;
    let (found, at) = match put.state {
        LookUpState::Wanted => {
            let is_wanted = |look_up: &LookUp| look_up.state == LookUpState::Wanted;
            path.wait_while(&native, wait.unwrap_or(WAIT), is_wanted).await?
        }
        _ => (Some(put), at),
    };
    let found = found.ok_or_else(|| path.unknown(&at))?;
    let status = match found.state {
        LookUpState::Wanted => StatusCode::ACCEPTED,
        _ if before.is_none() => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    let reply = shown(status, &found, &at, &call);
    Ok(prefer::applied(reply, wait, native.waiters.limits().wait_ms_max))
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let path = LookUpPath::of(&call)?;
    native.wait_for_position(&call).await?;
    let (found, at) = path.read(&native)?;
    let found = found.ok_or_else(|| path.unknown(&at))?;
    Ok(shown(StatusCode::OK, &found, &at, &call))
}

pub(crate) async fn delete(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (authority, key) = LookUpPath::of(&call)?.names();
    let expect = from_wire::expect(&call)?;
    let (_, at) = submit(&native, LookUpCommand::Delete { authority, key, expect }).await?;
    Ok(to_wire::no_content(&at))
}

/// Asks the authority again, and waits until it has answered.
pub(crate) async fn refresh(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let wait = prefer::wait(&call)?;
    let path = LookUpPath::of(&call)?;
    let EmptyBody {} = call.json()?;
    let (authority, key) = path.names();
    let refresh = LookUpCommand::Refresh { authority, key: Some(key) };
    let (asked, _) = submit_one(&native, refresh).await?;
    let is_pending = |look_up: &LookUp| look_up.checked == asked.checked;
    let (found, at) = path.wait_while(&native, wait.unwrap_or(WAIT), is_pending).await?;
    let found = found.ok_or_else(|| path.unknown(&at))?;
    let status = if is_pending(&found) { StatusCode::ACCEPTED } else { StatusCode::OK };
    let reply = shown(status, &found, &at, &call);
    Ok(prefer::applied(reply, wait, native.waiters.limits().wait_ms_max))
}

pub(crate) async fn accept(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (authority, key) = LookUpPath::of(&call)?.names();
    let EmptyBody {} = call.json()?;
    let expect = from_wire::expect(&call)?;
    let accept = LookUpCommand::Accept { authority, key, expect };
    let (look_up, at) = submit_one(&native, accept).await?;
    Ok(shown(StatusCode::OK, &look_up, &at, &call))
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let authority = call.param(0)?;
    let query = QueryParams::read(&call, LIST_QUERY)?;
    let limit = query.limit()?;
    let state = query.text(STATE.name).map(|text| {
        let known = LookUpState::ALL.map(LookUpState::name).join(", ");
        LookUpState::from_name(text)
            .ok_or_else(|| unexpected(STATE.name, text, &format!("one of: {known}")))
    });
    let state = state.transpose()?;
    native.wait_for_position(&call).await?;
    let prefix = query.text(PREFIX.name).unwrap_or_default();
    let after = query.text(AFTER.name);
    let (page, at) = native.read(|snapshot| {
        if view::authority::authority(snapshot.state, &authority).is_none() {
            return (None, snapshot.at);
        }
        // Names with the prefix are contiguous; the first of them may be the prefix itself.
        let first = (after.is_none_or(|after| after < prefix))
            .then(|| view::authority::lookup(snapshot.state, &authority, prefix))
            .flatten();
        let from = after.filter(|after| *after >= prefix).unwrap_or(prefix);
        let rest = view::authority::lookups_after(snapshot.state, &authority, Some(from));
        let all = first.into_iter().chain(rest).filter(|look_up| !look_up.key.is_empty());
        let all = all.take_while(|look_up| look_up.key.starts_with(prefix));
        let pick = |look_up: &Arc<LookUp>| {
            state.is_none_or(|state| state == look_up.state).then(|| look_up.clone())
        };
        let cursor = |look_up: &Arc<LookUp>| look_up.key.to_string();
        (Some(query::page(all, limit, EXAMINED_MAX, pick, cursor)), snapshot.at)
    })?;
    let page = page.ok_or_else(|| authorities::unknown(&authority, &at))?;
    let detail = ReasonDetail::of(&call);
    let lookups = page.items.iter().map(|one| to_wire::lookup::look_up(one, detail)).collect();
    let next = page.next.as_deref();
    Ok(to_wire::page(&call, &query, &LookUpList { lookups, next }, next, &at))
}

/// Values may have changed at the authority: it is asked again. A hint has no data, because any writer may send one.
pub(crate) async fn hints(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let authority: Arc<str> = call.param(0)?.into();
    let body: HintsBody = call.json()?;
    let keys = match body.keys {
        None => vec![None],
        Some(keys) if keys.len() > HINTS_MAX => {
            let many = keys.len();
            return Err(unexpected(
                "keys",
                &format!("{many} names"),
                &format!("at most {HINTS_MAX} names; none for all look-ups"),
            )
            .into());
        }
        Some(keys) => keys.into_iter().map(|key| Some(Arc::from(key))).collect(),
    };
    let (is_known, mut at) = native.read(|snapshot| {
        (view::authority::authority(snapshot.state, &authority).is_some(), snapshot.at)
    })?;
    if !is_known {
        return Err(authorities::unknown(&authority, &at));
    }
    for key in keys {
        if let Some(key) = &key {
            let known = |snapshot: &allod_engine::Snapshot<'_>| {
                view::authority::lookup(snapshot.state, &authority, key).is_some()
            };
            // A name without a look-up needs no request.
            if !native.read(known)? {
                continue;
            }
        }
        let refresh = LookUpCommand::Refresh { authority: authority.clone(), key };
        (_, at) = submit(&native, refresh).await?;
    }
    let mut reply = to_wire::no_content(&at);
    *reply.status_mut() = StatusCode::ACCEPTED;
    Ok(reply)
}

/// How many names a hint may have. A longer list is as good as none.
const HINTS_MAX: usize = 100;
