//! A change: what the journal says of one position, as watchers, history and `journal show` see it.

use serde::Serialize;
use utoipa::ToSchema;

// Under its own name utoipa takes it for any JSON value.
use super::Value as Shown;
use super::{EachValue, LabelsOf, Pool, Time};

/// What happened at one position, all at once.
#[derive(Debug, Serialize, ToSchema)]
pub struct Change<'a> {
    pub(crate) position: u64,
    pub(crate) at: Time,
    /// Those that were asked for; never empty.
    pub(crate) events: Vec<ChangeEvent<'a>>,
}

/// One event of a change. Members that are not known of very old ones (of feature level 1) are left out.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ChangeEvent<'a> {
    PoolDefined {
        pool: &'a str,
        generation: u64,
        #[schema(value_type = Pool<'a>)]
        definition: Box<Pool<'a>>,
    },
    PoolRemoved {
        pool: &'a str,
    },
    ClaimGranted {
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Shown>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<Shown>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
        version: u64,
        /// When it may be taken away; null: never.
        expires: Option<Time>,
        #[schema(value_type = std::collections::BTreeMap<String, String>)]
        labels: LabelsOf<'a>,
    },
    LeaseChanged {
        pool: &'a str,
        key: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Shown>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<Shown>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
        version: u64,
        /// When it may be taken away; null: never.
        expires: Option<Time>,
    },
    ClaimReleased {
        pool: &'a str,
        key: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Shown>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<Shown>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
        /// The version that the claim had.
        version: u64,
        /// `asked`: its holder gave it up. `taken`: its lease had run out and another claim took its values. `reaped`: its
        /// lease had run out and the pool reaps.
        cause: &'static str,
        /// Until when its values are kept for the former owner; null: they are free at once.
        quarantine_until: Option<Time>,
    },
    QuarantineEnded {
        pool: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Shown>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<Shown>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
    },
}
