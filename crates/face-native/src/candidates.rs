//! The route that finds candidates for a request for capacity. It allocates nothing.

use std::sync::Arc;

use allod_core::{search, view};
use allod_edge::{Call, Reply};
use http::StatusCode;

use crate::query::QueryParams;
use crate::wire::CandidatesBody;
use crate::{Native, from_wire, refusals, to_wire};

pub(crate) async fn post(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let body = from_wire::candidates::validate(call.json::<CandidatesBody>()?)?;
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
    let answer = answer.map_err(|refusal| refusals::of_query(refusal, &at))?;
    Ok(to_wire::json(StatusCode::OK, &answer, &at))
}
