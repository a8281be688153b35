//! Builds replies: the headers of every reply, and JSON that several routes share.

use allod_core::capacity::Inventory;
use allod_core::receipt::ProviderNow;
use allod_edge::{Reply, time};
use allod_engine::CommitPoint;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, LAST_MODIFIED, LOCATION, VARY};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::error::PlacementResult;
use crate::explain;
use crate::json::{ARRAY, JsonBuffer};
use crate::long_read::ReplyBody;
use crate::request::PlacementRequest;
use crate::versions::{self, Feature};

pub(crate) const POSITION: HeaderName = HeaderName::from_static("allod-position");

pub(crate) type HandlerResult = PlacementResult<PlacementReply>;

/// A successful reply.
#[derive(Debug)]
pub(crate) struct PlacementReply {
    status: StatusCode,
    body: Option<ReplyBody>,
    location: Option<String>,
    modified_ms: Option<u64>,
    explanation: Option<String>,
    at: CommitPoint,
}

impl PlacementReply {
    pub(crate) fn json(at: CommitPoint, out: JsonBuffer) -> PlacementReply {
        PlacementReply::empty(at, StatusCode::OK).body(out)
    }

    pub(crate) fn empty(at: CommitPoint, status: StatusCode) -> PlacementReply {
        let (body, location, modified_ms, explanation) = (None, None, None, None);
        PlacementReply { status, body, location, modified_ms, explanation, at }
    }

    pub(crate) fn body(self, out: JsonBuffer) -> PlacementReply {
        self.with_body(ReplyBody::Whole(out.0))
    }

    pub(crate) fn with_body(self, body: ReplyBody) -> PlacementReply {
        PlacementReply { body: Some(body), ..self }
    }

    pub(crate) fn status(self, status: StatusCode) -> PlacementReply {
        PlacementReply { status, ..self }
    }

    pub(crate) fn location(self, location: String) -> PlacementReply {
        PlacementReply { location: Some(location), ..self }
    }

    /// When the content last changed; sent from 1.15 on.
    pub(crate) fn modified(self, ms: u64) -> PlacementReply {
        PlacementReply { modified_ms: Some(ms), ..self }
    }

    /// The explanation, if the client asked for it.
    pub(crate) fn explained(self, explanation: Option<String>) -> PlacementReply {
        PlacementReply { explanation, ..self }
    }

    pub(crate) fn reply(self, request: &PlacementRequest) -> Reply {
        let mut reply = Reply::new(Bytes::new().into());
        *reply.status_mut() = self.status;
        let headers = reply.headers_mut();
        if self.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(location) = self.location.and_then(|text| HeaderValue::try_from(text).ok()) {
            headers.insert(LOCATION, location);
        }
        if let Some(ms) = self.modified_ms.filter(|_| request.has(Feature::CacheHeaders)) {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            if let Ok(date) = HeaderValue::try_from(time::http_date(ms)) {
                headers.insert(LAST_MODIFIED, date);
            }
        }
        headers.insert(versions::HEADER, request.version.header());
        headers.insert(VARY, HeaderValue::from_static("openstack-api-version"));
        if let Some(text) = self.explanation.and_then(|text| HeaderValue::try_from(text).ok()) {
            headers.insert(explain::HEADER, text);
        }
        headers.insert(POSITION, self.at.position.into());
        if let Some(body) = self.body {
            *reply.body_mut() = body.into_body();
        }
        reply
    }
}

/// The latest of these times. 0 (standard classes and traits) counts as now, and so does an empty list.
pub(crate) fn newest(times: impl IntoIterator<Item = u64>, now_ms: u64) -> u64 {
    times.into_iter().map(|ms| if ms == 0 { now_ms } else { ms }).max().unwrap_or(now_ms)
}

/// A provider, as an element of a list or alone.
pub(crate) fn provider(out: &mut JsonBuffer, request: &PlacementRequest, shown: &ProviderNow) {
    out.raw("{\"uuid\":").uuid(shown.uuid).raw(",\"name\":").text(&shown.name);
    out.raw(",\"generation\":").number(shown.generation).raw(",\"links\":");
    let links = [
        ("self", Feature::Always),
        ("inventories", Feature::Always),
        ("usages", Feature::Always),
        ("aggregates", Feature::Aggregates),
        ("traits", Feature::Traits),
        ("allocations", Feature::AllocationsLink),
    ];
    let links = links.into_iter().filter(|(_, since)| request.has(*since));
    out.list(ARRAY, links, |out, (rel, _)| {
        out.raw("{\"rel\":\"").raw(rel).raw("\",\"href\":\"").raw(request.prefix);
        out.raw("/resource_providers/").0.extend_from_slice(&shown.uuid.text());
        if rel != "self" {
            out.raw("/").raw(rel);
        }
        out.raw("\"}");
    });
    if request.has(Feature::Trees) {
        out.raw(",\"parent_provider_uuid\":").uuid_or_null(shown.parent);
        out.raw(",\"root_provider_uuid\":").uuid(shown.root);
    }
    out.raw("}");
}

/// The members of an inventory, without braces.
pub(crate) fn inventory(out: &mut JsonBuffer, inventory: &Inventory) {
    let Inventory { total, reserved, min_unit, max_unit, step_size, allocation_ratio } = *inventory;
    out.raw("\"total\":").number(total.into()).raw(",\"reserved\":").number(reserved.into());
    out.raw(",\"min_unit\":").number(min_unit.into()).raw(",\"max_unit\":").number(max_unit.into());
    out.raw(",\"step_size\":").number(step_size.into());
    out.raw(",\"allocation_ratio\":").float(allocation_ratio.0);
}
