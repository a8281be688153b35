//! JSON forms of reconciliation: how the listing of an authority differs from what is held here.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::Schema;

use super::{NameText, Time, UuidText, words};

fn reconciliation_state() -> Schema {
    words(&["wanted", "done", "failed"]).into()
}

/// The outcome of the last reconciliation. Lists may be shorter than the counts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Reconciliation<'a> {
    pub authority: &'a str,
    /// Counts the reconciliations of this authority.
    pub number: u64,
    /// `wanted`: the authority is being listed; the findings are those of the reconciliation before.
    #[schema(schema_with = reconciliation_state)]
    pub state: &'static str,
    /// When it was requested, or when it ended.
    pub at: Time,
    /// The position at which the findings were stored; null: there are none yet.
    pub position: Option<u64>,
    /// Why it failed. Shortened for clients that are not admins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// Grants at the authority that no claim here has.
    pub orphans: Vec<OrphanAnswer<'a>>,
    /// Claims here for which the authority has no grant.
    pub missing: Vec<MissingAnswer<'a>>,
    /// Claims whose value differs at the authority.
    pub drifted: Vec<DriftedAnswer<'a>>,
    /// Grants of values that another claim holds here.
    pub conflicts: Vec<ConflictAnswer<'a>>,
    pub counts: FindingCountsAnswer,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OrphanAnswer<'a> {
    pub reference: UuidText,
    pub value: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<&'a str>,
    /// Whether this journal has made the reference. Others may belong to another server.
    pub own: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MissingAnswer<'a> {
    pub reference: UuidText,
    pub pool: &'a str,
    pub key: &'a str,
    pub value: &'a str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DriftedAnswer<'a> {
    pub reference: UuidText,
    pub pool: &'a str,
    pub key: &'a str,
    pub value: &'a str,
    /// The value at the authority.
    pub seen: &'a str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConflictAnswer<'a> {
    pub reference: UuidText,
    pub value: &'a str,
    /// The pool and the key of the claim that holds the value here.
    pub pool: &'a str,
    pub key: &'a str,
}

/// All findings, also those that the lists leave out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FindingCountsAnswer {
    pub orphans: u64,
    pub missing: u64,
    pub drifted: u64,
    pub conflicts: u64,
}

/// What to do about a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SettleActionName {
    /// An orphan becomes a claim in `pool` under `key`; a drifted claim takes the value of the authority.
    Adopt,
    /// Release an orphan at the authority.
    Release,
    /// End a missing claim here.
    Forget,
}

/// The classes of findings that can be settled together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FindingClassName {
    Orphans,
    Missing,
    Drifted,
}

/// What to do about one finding, or with `all` about every finding of a class.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reference": "5d3c1f0a-7be2-8a41-9c6d-000000012c00", "action": "release"}))]
pub(crate) struct SettleBody {
    pub action: SettleActionName,
    /// The reference of the finding; not with `all`.
    pub reference: Option<UuidText>,
    /// Settle every finding of `class` in the last findings.
    #[serde(default)]
    pub all: bool,
    /// With `all`: the findings.
    pub class: Option<FindingClassName>,
    /// `adopt` of an orphan: the pool of the claim.
    #[schema(value_type = Option<String>, min_length = 1)]
    pub pool: Option<NameText>,
    /// `adopt` of an orphan: the key of the claim. Default: the reference.
    #[schema(value_type = Option<String>, min_length = 1)]
    pub key: Option<NameText>,
    /// `adopt` of an orphan: the owner of the claim. Default: the key.
    #[schema(value_type = Option<String>, min_length = 1)]
    pub owner: Option<NameText>,
}

/// What became of the findings.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettleAnswer {
    /// How many findings were settled.
    pub settled: u64,
    /// Those that were refused.
    pub refused: Vec<UnsettledAnswer>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UnsettledAnswer {
    pub reference: UuidText,
    pub code: &'static str,
    pub detail: String,
}
