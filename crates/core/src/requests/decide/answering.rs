//! Answering open requests in order: records the answers and collects the notifications.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer::{self, Offer};
use super::group;
use super::notify::Notifications;
use super::outside;
use crate::decide::Draft;
use crate::refusal::Refusal;
use crate::requests::event::RequestAnswered;
use crate::requests::{Answer, Failure, Request, RequestPool, Supply};
use crate::span::Span;
use crate::state::pool::Pool;

/// Requests to answer, by key and pool: the members of a group have one key.
pub(super) type OpenRequests = BTreeMap<Arc<str>, BTreeMap<Arc<str>, OpenRequest>>;

#[derive(Clone)]
pub(super) struct OpenRequest {
    pub request: Request,
    /// The answer and the value that it had. `None`: the request is new.
    pub before: Option<(Answer, Option<Span>)>,
    /// Whether a changed answer is not notified.
    pub quiet: bool,
}

/// What happens to the answer of a failed request that fails again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// It gets the present reason.
    UpdateAnswer,
    /// It keeps its reason: then the cost of a release does not depend on the number of waiting requests.
    KeepAnswer,
}

/// Whether the configuration disables notifications of values that a change of the pool has replaced.
pub(super) fn is_quiet(config: &RequestPool) -> bool {
    matches!(&config.supply, Supply::Addresses(supply) if supply.auto_redeploy == Some(false))
}

/// Answers requests in the order of their keys. `later`: requests that are answered after these.
pub(super) fn answer_all(
    draft: &mut Draft<'_>,
    open: OpenRequests,
    later: &OpenRequests,
    on_failure: OnFailure,
    notifications: &mut Notifications,
) -> Result<(), Refusal> {
    for (key, pools) in open {
        let (sync, alone): (Vec<_>, Vec<_>) =
            pools.into_iter().partition(|(_, open)| open.request.is_sync());
        for (name, open) in alone {
            if !super::requests(draft, &name)?.1.config.answers_itself() {
                outside::ask(draft, &name, &key, &open.request)?;
                continue;
            }
            let offer = match former_value(draft, &name, &open) {
                Some(offer) => Ok(offer),
                None => answer::offer(draft, &name, &open.request)?,
            };
            answer_one(draft, &name, &key, open, offer, on_failure, notifications)?;
        }
        if sync.is_empty() {
            continue;
        }
        // Failed requests of the group are answered along with the open ones.
        let open_members = sync.len();
        let mut members: BTreeMap<Arc<str>, OpenRequest> = sync.into_iter().collect();
        for (name, failed) in failed_in_group(draft, &key) {
            if !later.get(&key).is_some_and(|pools| pools.contains_key(&name)) {
                members.entry(name).or_insert(failed);
            }
        }
        draft.touch_requests((members.len() - open_members) as u64)?;
        let wanted: Vec<(Arc<str>, Request)> =
            members.iter().map(|(name, open)| (name.clone(), open.request.clone())).collect();
        let had = members.values().find_map(|open| open.before.as_ref()?.1);
        let mut offers = group::offers(draft, &key, &wanted, had)?;
        for (name, open) in members {
            let offer = offers.remove(&name).unwrap_or(Err(Failure::SyncExhausted));
            answer_one(draft, &name, &key, open, offer, on_failure, notifications)?;
        }
    }
    Ok(())
}

/// The former value of a request that has left its group after the group was displaced, if it still fits.
fn former_value(draft: &Draft<'_>, name: &Arc<str>, open: &OpenRequest) -> Option<Offer> {
    let value = open.before.as_ref()?.1?;
    let alone = [(name.clone(), open.request.clone())];
    let fits = group::fits_all(draft, &alone, value);
    fits.then_some(Offer { value, cursor: None })
}

/// The failed requests of a group.
pub(super) fn failed_in_group(draft: &Draft<'_>, key: &Arc<str>) -> Vec<(Arc<str>, OpenRequest)> {
    let pools = draft.state.sync.get(key).into_iter().flatten();
    let pools = pools.filter_map(|ix| draft.state.pool_at(*ix));
    let failed = pools.filter_map(|pool| {
        let requests = pool.requests()?;
        let failed = requests.get(key).filter(|one| one.answer != Answer::Granted)?;
        let before = Some((failed.answer.clone(), None));
        let (request, quiet) = (Request::clone(&failed.request), is_quiet(&requests.config));
        Some((pool.name.clone(), OpenRequest { request, before, quiet }))
    });
    failed.collect()
}

fn answer_one(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    open: OpenRequest,
    offer: Result<Offer, Failure>,
    on_failure: OnFailure,
    notifications: &mut Notifications,
) -> Result<(), Refusal> {
    if on_failure == OnFailure::KeepAnswer && offer.is_err() {
        return Ok(());
    }
    let (answer, value) = match offer {
        Ok(offer) => {
            answer::grant(draft, name, key, &open.request, offer)?;
            (Answer::Granted, Some(offer.value))
        }
        Err(failure) => (Answer::Failed(failure), None),
    };
    let now = (answer.clone(), value);
    let before = open.before.as_ref();
    let stored = draft.state.pool(name).and_then(Pool::requests).and_then(|all| all.get(key));
    let stored = stored.cloned();
    // All services of a new request are new.
    let knew = stored.as_ref().map(|stored| stored.request.services.clone()).unwrap_or_default();
    let differs =
        stored.is_none_or(|stored| *stored.request != open.request || stored.answer != answer);
    // Another value is a changed answer too, and watchers see only what is recorded.
    if differs || before != Some(&now) {
        record(draft, name, key, &open.request, answer, 0);
    }
    if before == Some(&now) || open.quiet {
        notifications.services_added(name, key, &open.request, &knew);
    } else {
        notifications.answer_changed(name, key, &open.request, &knew);
    }
    Ok(())
}

pub(super) fn record(
    draft: &mut Draft<'_>,
    name: &Arc<str>,
    key: &Arc<str>,
    request: &Request,
    answer: Answer,
    version: u64,
) {
    let (pool, key, request) = (name.clone(), key.clone(), request.clone());
    draft.record(RequestAnswered { pool, key, request, answer, version });
}
