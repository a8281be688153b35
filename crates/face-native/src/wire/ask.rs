//! JSON forms of requests.

use std::collections::BTreeMap;

use allod_core::claim::Parity;
use allod_core::pool::Strategy;
use allod_core::value::Kind;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    AllocateBody, ConsumerCheckBody, DeallocateBody, ExpectText, ExtendBody, NameText,
    ProviderCheckBody, Seconds, ValueText, lease_schema,
};

wire_enum! {
    /// The kind of the values of a pool.
    KindName for Kind {
        Id32,
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
}

wire_enum! {
    /// How a value is chosen if the claim names none.
    StrategyName for Strategy { Lowest, Highest, Next, Random, LeastRecentlyUsed }
}

wire_enum! {
    ParityName for Parity { Even, Odd }
}

/// The definition of a pool.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"kind": "id32", "ranges": ["1-4094"], "exclude": ["1", "1002-1005"]}))]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolBody {
    pub kind: KindName,
    /// The values of the pool: single values, `first-last`, or for addresses and prefixes subnets. Ranges must not overlap.
    /// A pool with an authority needs none: then every value that the authority grants is accepted.
    #[serde(default)]
    pub ranges: Vec<ValueText>,
    /// Values that are never allocated. May overlap each other and reach outside the ranges.
    #[serde(default)]
    pub exclude: Vec<ValueText>,
    /// Values that are only allocated to claims that name them.
    #[serde(default)]
    pub manual: Vec<ValueText>,
    /// Ranges that get no new claims; existing claims stay.
    #[serde(default)]
    pub draining: Vec<ValueText>,
    /// Default: `lowest`.
    pub strategy: Option<StrategyName>,
    /// Address pools: do not allocate the first and last address of a subnet with more than two. Default: true.
    pub keep_edges: Option<bool>,
    /// How long a released value is reserved for its former owner.
    pub quarantine: Option<Seconds>,
    /// The default lease of a claim.
    #[schema(schema_with = lease_schema)]
    pub lease: Option<Seconds>,
    /// Release claims as soon as they expire, not only when a value is needed.
    #[serde(default)]
    pub reap: bool,
    /// The authority that grants the values of the pool.
    #[schema(value_type = Option<String>, min_length = 1)]
    pub authority: Option<NameText>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// A claim. Everything is optional: `{}` claims one value that the pool chooses.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({"owner": "tenant-7", "ttl": 3600}))]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimBody {
    /// The value to claim.
    pub value: Option<ValueText>,
    /// With `value`: claim another value if this one is not available.
    #[serde(default)]
    pub fallback: bool,
    /// Number of values. Default: 1.
    #[schema(minimum = 1)]
    pub count: Option<u32>,
    /// Whether the values must be contiguous.
    #[serde(default)]
    pub contiguous: bool,
    /// Prefix pools: the prefix length.
    #[schema(maximum = 128)]
    pub prefix_len: Option<u8>,
    pub parity: Option<ParityName>,
    /// Overrides the strategy of the pool.
    pub strategy: Option<StrategyName>,
    /// The lease. Default: the lease of the pool.
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
    /// The owner. Default: the key.
    #[schema(value_type = Option<String>, min_length = 1)]
    pub owner: Option<NameText>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({"ttl": 3600}))]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewBody {
    /// The new lease, from now. Default: the original lease of the claim.
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
}

/// An empty body.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyBody {}

/// Operations that are carried out atomically.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"dry_run": true, "ops": [{"claim": {"pool": "vlans", "key": "green"}}, {"release": {"pool": "vlans", "key": "blue"}}]}))]
#[serde(deny_unknown_fields)]
pub(crate) struct TransactionBody {
    pub ops: Vec<OpBody>,
    /// Answer as usual, but change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OpBody {
    Claim(ClaimOpBody),
    Release(ReleaseOpBody),
    Renew(RenewOpBody),
    Confirm(ReleaseOpBody),
    Allocate(AllocateBody),
    Deallocate(DeallocateBody),
    Extend(ExtendBody),
    Check(CheckBody),
}

/// A claim in one pool, or of the same value in several pools.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimOpBody {
    #[schema(value_type = Option<String>, min_length = 1)]
    pub pool: Option<NameText>,
    /// Instead of `pool`: pools of one kind in which the same value is claimed.
    #[schema(value_type = Option<Vec<String>>)]
    pub pools: Option<Vec<NameText>>,
    #[schema(value_type = String, min_length = 1)]
    pub key: NameText,
    /// Precondition on the claim under this key. Default: `any`.
    pub expect: Option<ExpectText>,
    pub value: Option<ValueText>,
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
    #[schema(value_type = Option<String>, min_length = 1)]
    pub owner: Option<NameText>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// A release, or a confirmation.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseOpBody {
    #[schema(value_type = String, min_length = 1)]
    pub pool: NameText,
    #[schema(value_type = String, min_length = 1)]
    pub key: NameText,
    pub expect: Option<ExpectText>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewOpBody {
    #[schema(value_type = String, min_length = 1)]
    pub pool: NameText,
    #[schema(value_type = String, min_length = 1)]
    pub key: NameText,
    pub expect: Option<ExpectText>,
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
}

/// A condition that must hold, or the transaction is refused.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckBody {
    Claim(ClaimCheckBody),
    Free(FreeCheckBody),
    Pool(PoolCheckBody),
    Provider(ProviderCheckBody),
    Consumer(ConsumerCheckBody),
}

/// The claim exists (or is as `expect` says) and has this owner and value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimCheckBody {
    #[schema(value_type = String, min_length = 1)]
    pub pool: NameText,
    #[schema(value_type = String, min_length = 1)]
    pub key: NameText,
    /// Default: `present`.
    pub expect: Option<ExpectText>,
    #[schema(value_type = Option<String>, min_length = 1)]
    pub owner: Option<NameText>,
    pub value: Option<ValueText>,
}

/// The value is free for a claim that names it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FreeCheckBody {
    #[schema(value_type = String, min_length = 1)]
    pub pool: NameText,
    pub value: ValueText,
}

/// The pool exists (or is as `expect` says; a number is its generation).
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolCheckBody {
    #[schema(value_type = String, min_length = 1)]
    pub pool: NameText,
    /// Default: `present`.
    pub expect: Option<ExpectText>,
}
