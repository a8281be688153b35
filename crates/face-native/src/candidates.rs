//! The route that finds candidates for a request for capacity. It allocates nothing.

use std::sync::Arc;

use allod_core::refusal::Refusal;
use allod_core::{search, view};
use allod_edge::{Call, Problem, Reply};
use http::StatusCode;

use crate::query::QueryParams;
use crate::wire::CandidatesBody;
use crate::{Native, from_wire, refusals, to_wire};

pub(crate) async fn post(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let read = || {
        QueryParams::read(&call, &[])?;
        from_wire::candidates::validate(call.json::<CandidatesBody>()?)
    };
    let body = read().map_err(|problem: Problem| problem.reply())?;
    native.wait_for_position(&call).await?;
    let (answer, at) = native.read(|snapshot| {
        let capacity = view::capacity(snapshot.state);
        let answer = from_wire::candidates::query(capacity, &body).map(|query| {
            let found = search::candidates(capacity, &query, &native.search);
            let why = body.explain.then(|| search::explain(capacity, &query, &native.search));
            to_wire::candidates::answer(capacity, &query, &found, why.as_ref())
        });
        (answer, snapshot.at)
    })?;
    let unknown = |refusal| refusals::of_query(&Refusal::Capacity(refusal), &at);
    Ok(to_wire::json(StatusCode::OK, &answer.map_err(unknown)?, &at))
}
