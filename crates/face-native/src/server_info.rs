//! Routes about the server itself: status, limits, OpenAPI document and documentation page.

use std::sync::Arc;

use allod_edge::{Call, Reply};
use bytes::Bytes;
use http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, StatusCode};

use crate::query::QueryParams;
use crate::{Native, docs, openapi, refusals, to_wire};

/// Also answers while the journal is being replayed.
pub(crate) async fn status(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let status = native.handle.status();
    let at = status.at;
    Ok(to_wire::json(StatusCode::OK, &to_wire::status(status), &at))
}

pub(crate) async fn limits(native: Arc<Native>, _call: Call) -> Result<Reply, Reply> {
    let limits: std::collections::BTreeMap<_, _> = native.limits.iter().copied().collect();
    let bytes = serde_json::to_vec(&limits).map_err(|error| refusals::unwritable(&error))?;
    Ok(plain_json(bytes.into()))
}

pub(crate) async fn describe(native: Arc<Native>, _call: Call) -> Result<Reply, Reply> {
    let document = native.openapi.get_or_init(|| Bytes::from(openapi::document()));
    Ok(plain_json(document.clone()))
}

/// The page loads and runs nothing, and no other page may frame it.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn docs(native: Arc<Native>, _call: Call) -> Result<Reply, Reply> {
    let page = native.docs.get_or_init(|| Bytes::from(docs::page(&openapi::document())));
    let mut reply = Reply::new(page.clone().into());
    for (name, value) in [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        reply.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(reply)
}

fn plain_json(bytes: Bytes) -> Reply {
    let mut reply = Reply::new(bytes.into());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}
