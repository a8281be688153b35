//! The route that finds candidates for a request for capacity. It allocates nothing.
//!
//! The search uses a frozen copy and holds no lock. A small one runs on the thread that serves the connection, a larger
//! one on a thread for long reads.

use std::sync::Arc;

use allod_core::refusal::CapacityRefusal;
use allod_core::search::{self, SearchLimits};
use allod_core::view::capacity::CapacityView;
use allod_edge::{Call, Reply};
use http::StatusCode;

use crate::query::QueryParams;
use crate::wire::{CandidatesAnswer, CandidatesBody};
use crate::{Native, from_wire, refusals, to_wire};

pub(crate) async fn post(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let body = from_wire::candidates::validate(call.json::<CandidatesBody>()?)?;
    native.wait_for_position(&call).await?;
    let frozen = native.freeze()?;
    let (at, limits) = (frozen.at, native.search);
    let reply = move |answer: Answer| match answer {
        Ok(answer) => Ok(to_wire::json(StatusCode::OK, &answer, &at)),
        Err(refusal) => Err(refusals::of_query(refusal, &at)),
    };
    if let Some(answer) = search_within(frozen.capacity.view(), &body, &limits.small(), &limits) {
        return reply(answer);
    }
    let whole = native.read_long(move || {
        let capacity = frozen.capacity.view();
        search_within(capacity, &body, &limits, &limits).map(reply)
    });
    whole.await?.unwrap_or_else(|| Err(refusals::internal("the search did not end").reply()))
}

type Answer = Result<CandidatesAnswer, CapacityRefusal>;

/// Searches within some limits. `None`: they are not enough, and the full limits allow more.
fn search_within(
    capacity: CapacityView<'_>,
    body: &CandidatesBody,
    limits: &SearchLimits,
    full: &SearchLimits,
) -> Option<Answer> {
    let query = match from_wire::candidates::query(capacity, body) {
        Ok(query) => query,
        Err(refusal) => return Some(Err(refusal)),
    };
    let is_partial = |steps: u64| limits.steps_max < full.steps_max && steps >= limits.steps_max;
    let found = search::candidates(capacity, &query, limits);
    if is_partial(found.steps) {
        return None;
    }
    let why = body.explain.then(|| search::explain(capacity, &query, limits));
    if why.as_ref().is_some_and(|why| why.limit_hit.is_some() && is_partial(u64::MAX)) {
        return None;
    }
    Some(Ok(to_wire::candidates::answer(capacity, &query, &found, why.as_ref())))
}
