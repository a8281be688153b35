//! A request as a handler sees it: its version is negotiated, it is authorised, and its content type is right.

use allod_core::capacity::Uuid;
use allod_edge::Call;
use http::header::HOST;
use serde_json::Value;

use crate::error::{PlacementResult, ReplyContext};
use crate::query::QueryString;
use crate::schema::{self, JsonSchema};
use crate::uuid;
use crate::versions::{Feature, Microversion};

#[derive(Debug)]
pub(crate) struct PlacementRequest {
    pub call: Call,
    pub version: Microversion,
    /// The prefix of the paths in links: where the client reached the API.
    pub prefix: &'static str,
}

impl PlacementRequest {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.version.has(feature)
    }

    /// A path parameter; empty if it cannot be decoded.
    pub(crate) fn param(&self, index: usize) -> String {
        self.call.param(index).map(std::borrow::Cow::into_owned).unwrap_or_default()
    }

    /// A path parameter, if it is a UUID.
    pub(crate) fn uuid(&self, index: usize) -> Option<Uuid> {
        let text = self.call.param(index).ok()?;
        uuid::read(&text)
    }

    pub(crate) fn query(&self) -> QueryString {
        QueryString::read(self.call.head.uri.query().unwrap_or_default())
    }

    pub(crate) fn body(&self, schema: JsonSchema) -> PlacementResult<Value> {
        schema::body(&self.call.body, schema)
    }

    /// The absolute URL of a path of this API.
    pub(crate) fn address(&self, scheme: &str, path: &str) -> String {
        let host = self.call.head.headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| self.call.head.uri.authority().map(|own| own.as_str()));
        format!("{scheme}://{}{}{path}", host.unwrap_or("localhost"), self.prefix)
    }

    pub(crate) fn context<'a>(&'a self, request_id: &'a str) -> ReplyContext<'a> {
        let head = &self.call.head;
        let version = Some(self.version);
        ReplyContext { method: &head.method, headers: &head.headers, request_id, version }
    }
}
