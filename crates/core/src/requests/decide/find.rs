//! Adding a request only if it is granted, and finding out whether it would be.

use std::sync::Arc;

use super::{edit, requests};
use crate::decide::Draft;
use crate::receipt::Outcome;
use crate::refusal::Refusal;
use crate::requests::command::{EditRequests, FindValue, PutRequestPool, RequestPoolEdit};
use crate::requests::refusal::RequestsRefusal;
use crate::requests::{Answer, Failure, Request, view};
use crate::span::Span;

/// The value in all pools, or the pool that has failed and why.
type FindResult = Result<Span, (Arc<str>, Failure)>;

pub(super) fn allocate(draft: &mut Draft<'_>, find: &FindValue) -> Result<Outcome, Refusal> {
    let mark = draft.mark();
    let found = add(draft, find)?;
    if found.is_err() {
        draft.back_to(mark);
    }
    Ok(Outcome::Found(found))
}

/// Adds the request and takes it back, so that the answer is exactly that of [`allocate`].
pub(super) fn find(draft: &mut Draft<'_>, find: &FindValue) -> Result<Outcome, Refusal> {
    let mark = draft.mark();
    let found = add(draft, find)?;
    draft.back_to(mark);
    Ok(Outcome::Found(found))
}

fn add(draft: &mut Draft<'_>, find: &FindValue) -> Result<FindResult, Refusal> {
    let mut pools = Vec::with_capacity(find.pools.len());
    for name in &find.pools {
        let (_, requests) = requests(draft, name)?;
        if !requests.config.answers_itself() {
            return Err(RequestsRefusal::AnsweredOutside { pool: name.clone() }.into());
        }
        let before = requests.get(&find.key).map(|one| &*one.request);
        let put = vec![(find.key.clone(), joined(before, &find.request))];
        let put = PutRequestPool { put, ..PutRequestPool::default() };
        pools.push((name.clone(), RequestPoolEdit::Put(Box::new(put))));
    }
    let seen = draft.state.position;
    edit::run(draft, &EditRequests { seen, seen_all: false, pools })?;
    Ok(answered(draft, find))
}

/// The request with the services that have made it before: they have not withdrawn it.
fn joined(before: Option<&Request>, request: &Request) -> Request {
    let mut joined = request.clone();
    if let Some(before) = before {
        let mut services = before.services.clone();
        services
            .extend(request.services.iter().filter(|one| !before.services.contains(one)).cloned());
        joined.services = services;
        joined.redeploy = request.redeploy.or(before.redeploy);
        joined.site = before.site.clone();
    }
    joined
}

/// The answer in all pools of the request.
fn answered(draft: &Draft<'_>, find: &FindValue) -> FindResult {
    let mut value = None;
    let mut failed: Option<(Arc<str>, Failure)> = None;
    for name in &find.pools {
        let failure = match view::request(draft.state, name, &find.key) {
            Some((request, held)) => match (&request.answer, held) {
                (Answer::Granted, Some(held)) => {
                    value = Some(held);
                    continue;
                }
                (Answer::Failed(failure), _) => failure.clone(),
                (Answer::Granted, None) | (Answer::Wanted, _) => Failure::SyncExhausted,
            },
            None => Failure::SyncExhausted,
        };
        // `SyncExhausted` only says that another pool of the group has failed: prefer the reason of that pool.
        let known = failed.as_ref().map(|(_, known)| known);
        if known.is_none_or(|known| *known == Failure::SyncExhausted && *known != failure) {
            failed = Some((name.clone(), failure));
        }
    }
    match (failed, value) {
        (Some(failed), _) => Err(failed),
        (None, Some(value)) => Ok(value),
        (None, None) => Err((find.key.clone(), Failure::SyncExhausted)),
    }
}
