//! JSON forms of alarms and notifications.

use allod_core::alarm::AlarmKind;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Schema;

use super::{Time, words};

pub(super) fn alarm_kind() -> Schema {
    words(&AlarmKind::ALL.map(AlarmKind::name)).into()
}

pub(super) fn alarm_of() -> Schema {
    words(&["id-pool", "ip-address-pool", "service", "authority"]).into()
}

fn how() -> Schema {
    words(&["default", "touch", "reactive-re-deploy", "re-deploy"]).into()
}

/// An alarm, raised or cleared.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Alarm<'a> {
    /// The pool or the service.
    pub object: &'a str,
    #[schema(schema_with = alarm_kind)]
    pub kind: &'static str,
    /// The type of the object.
    #[schema(schema_with = alarm_of)]
    pub of: &'static str,
    pub raised: Time,
    /// Null: it is still raised.
    pub cleared: Option<Time>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AlarmList<'a> {
    pub alarms: Vec<Alarm<'a>>,
    /// The cursor of the next page, for `after`. Null: this is the last page.
    pub next: Option<&'a str>,
}

/// The alarm to delete. It must be cleared.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({ "object": "lan1", "kind": "exhausted" }))]
pub(crate) struct PurgeBody {
    pub object: String,
    #[schema(schema_with = alarm_kind)]
    pub kind: String,
}

/// A notification to a service.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Notice<'a> {
    /// The position at which it was queued, and its index there.
    pub number: String,
    /// The service.
    pub target: &'a str,
    pub user: &'a str,
    #[schema(schema_with = how)]
    pub how: &'static str,
    /// The allocations whose answers changed.
    pub pools: Vec<ChangedAllocation<'a>>,
    pub queued: Time,
    /// The number of delivery attempts.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: Option<&'a str>,
    /// The earliest time of the next attempt; null: no automatic retry.
    pub due: Option<Time>,
    /// All attempts failed; an operator must retry or discard it.
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
    /// The cursor of the next page, for `after`. Null: this is the last page.
    pub next: Option<&'a str>,
}
