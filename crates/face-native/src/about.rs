//! Routes about the server itself: how it is doing, its limits, and its description.

use std::sync::Arc;

use allod_edge::{Call, Reply};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use crate::query::Query;
use crate::{Native, openapi, to_wire};

/// Answered while the journal is still being replayed, too: whoever asks wants to know just that.
pub(crate) async fn status(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    Query::read(&call, &[]).map_err(|problem| problem.reply())?;
    let status = native.handle.status();
    let at = status.at;
    Ok(to_wire::json(StatusCode::OK, &to_wire::status(status), &at))
}

pub(crate) async fn limits(native: Arc<Native>, _call: Call) -> Result<Reply, Reply> {
    let limits: std::collections::BTreeMap<_, _> = native.limits.iter().copied().collect();
    let bytes =
        serde_json::to_vec(&limits).map_err(|error| crate::refusals::unwritable(&error).reply())?;
    Ok(plain_json(bytes.into()))
}

pub(crate) async fn describe(native: Arc<Native>, _call: Call) -> Result<Reply, Reply> {
    let document = native.openapi.get_or_init(|| Bytes::from(openapi::document()));
    Ok(plain_json(document.clone()))
}

fn plain_json(bytes: Bytes) -> Reply {
    let mut reply = Reply::new(bytes.into());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
