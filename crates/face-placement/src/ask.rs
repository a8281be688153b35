//! One request as a handler sees it: agreed on a version, allowed, and with a body of the right type.

use allod_core::capacity::Uuid;
use allod_edge::Call;
use http::header::HOST;
use serde_json::Value;

use crate::fault::{Fault, Listener};
use crate::query::Query;
use crate::schema::{self, Schema};
use crate::uuid;
use crate::versions::{Feature, Version};

#[derive(Debug)]
pub(crate) struct Ask {
    pub call: Call,
    pub version: Version,
    /// What stands before the path of every link: where the interface was reached.
    pub prefix: &'static str,
}

impl Ask {
    pub(crate) fn has(&self, feature: Feature) -> bool {
        self.version.has(feature)
    }

    /// The path's parameter with this number. One that cannot be decoded names nothing.
    pub(crate) fn param(&self, index: usize) -> String {
        self.call.param(index).map(std::borrow::Cow::into_owned).unwrap_or_default()
    }

    /// The path's parameter with this number, if it is a uuid.
    pub(crate) fn uuid(&self, index: usize) -> Option<Uuid> {
        let text = self.call.param(index).ok()?;
        uuid::read(&text).map(Uuid)
    }

    pub(crate) fn query(&self) -> Query {
        Query::read(self.call.head.uri.query().unwrap_or_default())
    }

    pub(crate) fn body(&self, schema: Schema) -> Result<Value, Fault> {
        schema::body(&self.call.body, schema)
    }

    /// The whole address of a path of this interface.
    pub(crate) fn address(&self, scheme: &str, path: &str) -> String {
        let host = self.call.head.headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| self.call.head.uri.authority().map(|own| own.as_str()));
        format!("{scheme}://{}{}{path}", host.unwrap_or("localhost"), self.prefix)
    }

    pub(crate) fn listener<'a>(&'a self, request_id: &'a str) -> Listener<'a> {
        let head = &self.call.head;
        let version = Some(self.version);
        Listener { method: &head.method, headers: &head.headers, request_id, version }
    }
}
