//! Alarms, and what services are still to be told.

use std::borrow::Cow;

use allod_core::alarm::AlarmKind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Schema;

use super::{Time, words};

pub(super) fn alarm_kind() -> Schema {
    words(&AlarmKind::ALL.map(AlarmKind::name)).into()
}

pub(super) fn alarm_of() -> Schema {
    words(&["id-pool", "ip-address-pool", "service"]).into()
}

fn how() -> Schema {
    words(&["default", "touch", "reactive-re-deploy", "re-deploy"]).into()
}

/// Something that is wrong, or was.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Alarm<'a> {
    /// The name of the pool, or the service.
    pub object: &'a str,
    #[schema(schema_with = alarm_kind)]
    pub kind: &'static str,
    /// What the object is.
    #[schema(schema_with = alarm_of)]
    pub of: &'static str,
    pub raised: Time,
    /// Null: it is still raised.
    pub cleared: Option<Time>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AlarmList<'a> {
    pub alarms: Vec<Alarm<'a>>,
    /// For `after`; null: there are no more.
    pub next: Option<&'a str>,
}

/// Which alarm is to be forgotten. It must be over.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "object": "lan1", "kind": "exhausted" }))]
pub(crate) struct PurgeBody<'a> {
    #[serde(borrow)]
    pub object: Cow<'a, str>,
    #[serde(borrow)]
    #[schema(schema_with = alarm_kind)]
    pub kind: Cow<'a, str>,
}

/// Something that a service is to be told.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Notice<'a> {
    /// The position at which it was queued, and its place there.
    pub number: String,
    /// The service.
    pub target: &'a str,
    pub user: &'a str,
    #[schema(schema_with = how)]
    pub how: &'static str,
    /// Whose answers have changed.
    pub pools: Vec<ChangedAllocation<'a>>,
    pub queued: Time,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: Option<&'a str>,
    /// When it is tried, at the earliest; null: not by itself any more.
    pub due: Option<Time>,
    /// It was given up, and waits for somebody.
    pub dead: bool,
}

/// An allocation whose answer has changed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Changed)]
pub(crate) struct ChangedAllocation<'a> {
    pub pool: &'a str,
    pub allocation: &'a str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NoticeList<'a> {
    pub notices: Vec<Notice<'a>>,
    /// For `after`; null: there are no more.
    pub next: Option<&'a str>,
}
