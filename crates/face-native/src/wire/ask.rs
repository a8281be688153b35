//! What clients send.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    AllocateBody, ConsumerCheckBody, DeallocateBody, ExpectText, ExtendBody, ProviderCheckBody,
    Seconds, ValueText, lease_schema,
};

/// What the values of a pool are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
pub(crate) enum KindName {
    #[serde(rename = "id32")]
    Id32,
    #[serde(rename = "id64")]
    Id64,
    #[serde(rename = "ipv4_address")]
    Address4,
    #[serde(rename = "ipv6_address")]
    Address6,
    #[serde(rename = "ipv4_prefix")]
    Prefix4,
    #[serde(rename = "ipv6_prefix")]
    Prefix6,
}

/// How a value is picked when the claim names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StrategyName {
    Lowest,
    Highest,
    Next,
    Random,
    LeastRecentlyUsed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ParityName {
    Even,
    Odd,
}

pub(crate) type LabelMap<'a> = BTreeMap<Cow<'a, str>, Cow<'a, str>>;

/// A pool as its operator defines it.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"kind": "id32", "ranges": ["1-4094"], "exclude": ["1", "1002-1005"]}))]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolBody<'a> {
    pub kind: KindName,
    /// What the pool may hand out: values, `first-last`, or for addresses and prefixes subnets. They may not overlap.
    #[serde(borrow)]
    #[schema(min_items = 1)]
    pub ranges: Vec<ValueText<'a>>,
    /// Never handed out. May overlap each other and reach outside the ranges.
    #[serde(borrow, default)]
    pub exclude: Vec<ValueText<'a>>,
    /// Handed out only to a claim that names the value.
    #[serde(borrow, default)]
    pub manual: Vec<ValueText<'a>>,
    /// No new claims here; what is held stays held.
    #[serde(borrow, default)]
    pub draining: Vec<ValueText<'a>>,
    /// `lowest` unless said otherwise.
    pub strategy: Option<StrategyName>,
    /// Address pools: keep back the first and last address of each subnet of more than two. True unless said otherwise.
    pub keep_edges: Option<bool>,
    /// How long after its release a value is kept for its former owner.
    pub quarantine: Option<Seconds>,
    /// The lease of a claim that asks for none.
    #[schema(schema_with = lease_schema)]
    pub lease: Option<Seconds>,
    /// Release expired claims at once rather than when their value is needed.
    #[serde(default)]
    pub reap: bool,
    #[serde(borrow, default)]
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: LabelMap<'a>,
}

/// What a claim asks for. Everything is optional: `{}` asks for one value, whichever the pool picks.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({"owner": "tenant-7", "ttl": 3600}))]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody<'a> {
    /// Exactly this value.
    #[serde(borrow)]
    pub value: Option<ValueText<'a>>,
    /// With `value`: take another if it cannot be had.
    #[serde(default)]
    pub fallback: bool,
    /// How many values; 1 unless said otherwise.
    #[schema(minimum = 1)]
    pub count: Option<u32>,
    /// Whether the values must follow each other without a gap.
    #[serde(default)]
    pub contiguous: bool,
    /// Prefix pools: how long a prefix.
    #[schema(maximum = 128)]
    pub prefix_len: Option<u8>,
    pub parity: Option<ParityName>,
    /// Instead of the pool's own.
    pub strategy: Option<StrategyName>,
    /// For how long; the pool's own lease when not given.
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
    /// Who holds it; the key itself when not given.
    #[serde(borrow)]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub owner: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: LabelMap<'a>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({"ttl": 3600}))]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewBody {
    /// From now; as long as the claim asked for at first when not given.
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
}

/// A body that has nothing to say.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyBody {}

/// Operations that happen all together or not at all.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"dry_run": true, "ops": [{"claim": {"pool": "vlans", "key": "green"}}, {"release": {"pool": "vlans", "key": "blue"}}]}))]
#[serde(deny_unknown_fields)]
pub(crate) struct TransactionBody<'a> {
    #[serde(borrow)]
    pub ops: Vec<OpBody<'a>>,
    /// Decide and answer, but change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OpBody<'a> {
    #[serde(borrow)]
    Claim(ClaimOpBody<'a>),
    Release(ReleaseOpBody<'a>),
    Renew(RenewOpBody<'a>),
    Confirm(ReleaseOpBody<'a>),
    Allocate(AllocateBody),
    Deallocate(DeallocateBody),
    Extend(ExtendBody),
    Check(CheckBody<'a>),
}

/// A claim in one pool, or of the same value in several pools.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimOpBody<'a> {
    #[serde(borrow)]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub pool: Option<Cow<'a, str>>,
    /// Instead of `pool`: pools of one kind that must all give the same value.
    #[serde(borrow)]
    #[schema(value_type = Option<Vec<String>>)]
    pub pools: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub key: Cow<'a, str>,
    /// What must hold of the claim under this key beforehand; `any` unless said otherwise.
    pub expect: Option<ExpectText>,
    #[serde(borrow)]
    pub value: Option<ValueText<'a>>,
    #[serde(default)]
    pub fallback: bool,
    #[schema(minimum = 1)]
    pub count: Option<u32>,
    #[serde(default)]
    pub contiguous: bool,
    #[schema(maximum = 128)]
    pub prefix_len: Option<u8>,
    pub parity: Option<ParityName>,
    pub strategy: Option<StrategyName>,
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
    #[serde(borrow)]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub owner: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    #[schema(value_type = BTreeMap<String, String>)]
    pub labels: LabelMap<'a>,
}

/// A release, or a confirmation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseOpBody<'a> {
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub pool: Cow<'a, str>,
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub key: Cow<'a, str>,
    pub expect: Option<ExpectText>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewOpBody<'a> {
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub pool: Cow<'a, str>,
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub key: Cow<'a, str>,
    pub expect: Option<ExpectText>,
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
}

/// A condition that must hold for the transaction to happen.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckBody<'a> {
    #[serde(borrow)]
    Claim(ClaimCheckBody<'a>),
    Free(FreeCheckBody<'a>),
    Pool(PoolCheckBody<'a>),
    Provider(ProviderCheckBody),
    Consumer(ConsumerCheckBody),
}

/// The claim is there (or as `expect` says), by this owner, with this value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimCheckBody<'a> {
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub pool: Cow<'a, str>,
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub key: Cow<'a, str>,
    /// `present` unless said otherwise.
    pub expect: Option<ExpectText>,
    #[serde(borrow)]
    #[schema(value_type = Option<String>, min_length = 1)]
    pub owner: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub value: Option<ValueText<'a>>,
}

/// Nobody holds the value, and a claim that names it would get it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FreeCheckBody<'a> {
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub pool: Cow<'a, str>,
    #[serde(borrow)]
    pub value: ValueText<'a>,
}

/// The pool is there (or as `expect` says; a number is its generation).
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolCheckBody<'a> {
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1)]
    pub pool: Cow<'a, str>,
    /// `present` unless said otherwise.
    pub expect: Option<ExpectText>,
}
