//! A change: the events of one position, as in watch, history and `allod journal show`.

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    EachValue, HeldAllocations, Inventory, LabelsOf, OrderedMap, Pool, Time, UuidText, WireValue,
    alarm_kind, alarm_of, allocations, reclaim,
};

/// The events of one position.
#[derive(Debug, Serialize, ToSchema)]
pub struct Change<'a> {
    pub(crate) position: u64,
    pub(crate) at: Time,
    /// The events that match the filter; never empty.
    pub(crate) events: Vec<ChangeEvent<'a>>,
}

/// One event of a change. Members that are unknown because the event is of feature level 1 are omitted.
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
        /// How many claims ended with the pool; they have no `claim_released`. Omitted if there were none.
        #[serde(skip_serializing_if = "is_zero")]
        #[schema(value_type = Option<u64>)]
        claims: u64,
        /// How many requests ended with the pool; they have no `request_withdrawn`. Omitted if there were none.
        #[serde(skip_serializing_if = "is_zero")]
        #[schema(value_type = Option<u64>)]
        requests: u64,
    },
    ClaimGranted {
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<WireValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<WireValue>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
        version: u64,
        /// When the lease ends; null: never.
        expires: Option<Time>,
        #[schema(value_type = BTreeMap<String, String>)]
        labels: LabelsOf<'a>,
    },
    LeaseChanged {
        pool: &'a str,
        key: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<WireValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<WireValue>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
        version: u64,
        /// When the lease ends; null: never.
        expires: Option<Time>,
    },
    ClaimReleased {
        pool: &'a str,
        key: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<WireValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<WireValue>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
        /// The version of the released claim.
        version: u64,
        /// `asked`: released by a request. `taken`: expired, and another claim took its values. `reaped`: expired, and the
        /// pool reaps.
        cause: &'static str,
        /// The end of the quarantine; null: the values are free immediately.
        quarantine_until: Option<Time>,
    },
    QuarantineEnded {
        pool: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        owner: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<WireValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<WireValue>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
    },
    /// A provider was created, or its name or parent changed.
    ProviderDefined {
        provider: UuidText,
        name: &'a str,
        parent: Option<UuidText>,
    },
    /// A provider was removed with its inventories, traits and aggregates.
    ProviderRemoved {
        provider: UuidText,
        name: &'a str,
    },
    /// The inventories of a provider were replaced.
    InventoriesSet {
        provider: UuidText,
        generation: u64,
        #[schema(value_type = BTreeMap<String, Inventory>)]
        inventories: OrderedMap<&'a str, Inventory>,
    },
    TraitsSet {
        provider: UuidText,
        generation: u64,
        traits: Vec<&'a str>,
    },
    AggregatesSet {
        provider: UuidText,
        generation: u64,
        aggregates: Vec<UuidText>,
    },
    ClassDefined {
        class: &'a str,
        /// The former name; null: the class is new.
        was: Option<&'a str>,
    },
    ClassRemoved {
        class: &'a str,
    },
    TraitDefined {
        r#trait: &'a str,
    },
    TraitRemoved {
        r#trait: &'a str,
    },
    /// The allocations of a consumer were replaced.
    AllocationsSet {
        consumer: UuidText,
        generation: u64,
        project: &'a str,
        user: &'a str,
        r#type: Option<&'a str>,
        #[schema(schema_with = allocations)]
        allocations: HeldAllocations<'a>,
        /// Providers on which it had allocations and has none any more.
        left: Vec<UuidText>,
        /// When the lease ends; null: never.
        expires: Option<Time>,
        /// Omitted without a lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(schema_with = reclaim, required = false)]
        reclaim: Option<&'static str>,
    },
    /// The lease of a consumer's allocations changed.
    AllocationsExtended {
        consumer: UuidText,
        generation: u64,
        /// Null: no lease.
        expires: Option<Time>,
        /// Omitted without a lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(schema_with = reclaim, required = false)]
        reclaim: Option<&'static str>,
    },
    /// All allocations of a consumer were released.
    AllocationsReleased {
        consumer: UuidText,
        /// The last generation of the consumer.
        generation: u64,
        project: &'a str,
        user: &'a str,
        /// The released allocations.
        #[schema(schema_with = allocations)]
        allocations: HeldAllocations<'a>,
        /// `asked`: released by a request. `reaped`: the lease expired.
        cause: &'static str,
    },
    /// A standing request was created, changed or answered again. Its values are the claim under its key.
    RequestAnswered {
        pool: &'a str,
        key: &'a str,
        /// The services that wait for the answer.
        services: Vec<&'a str>,
        /// Why the request failed; null: it is granted, or waits for an allocator.
        #[schema(example = "exhausted")]
        failure: Option<&'static str>,
        /// The allocator of its pool has not answered yet. Only present if it is true.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        wanted: bool,
    },
    RequestWithdrawn {
        pool: &'a str,
        key: &'a str,
    },
    /// An authority was created or redefined.
    AuthorityDefined {
        authority: &'a str,
        generation: u64,
    },
    AuthorityRemoved {
        authority: &'a str,
    },
    /// A claim waits for the authority of its pool.
    ClaimWanted {
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
        authority: &'a str,
        reference: UuidText,
    },
    /// A claim in a pool with an authority has another state, or an attempt has failed. A granted value is in the
    /// `claim_granted` of the same change.
    ClaimProgressed {
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
        reference: UuidText,
        state: &'static str,
        /// Why it was refused or has failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
        /// Failed attempts of the present request.
        attempts: u32,
        /// When the next attempt is due; null: none is.
        next_attempt: Option<Time>,
    },
    /// The authority has no grant for the claim any more, or never had one.
    ClaimClosed {
        pool: &'a str,
        key: &'a str,
        owner: &'a str,
        reference: UuidText,
    },
    /// A look-up was requested, or has another state, value or policy.
    LookupChanged {
        authority: &'a str,
        key: &'a str,
        state: &'static str,
        policy: &'static str,
        version: u64,
    },
    LookupRemoved {
        authority: &'a str,
        key: &'a str,
    },
    ReconciliationWanted {
        authority: &'a str,
        number: u64,
    },
    /// A reconciliation has ended. The numbers are those of its findings.
    ReconciliationEnded {
        authority: &'a str,
        number: u64,
        state: &'static str,
        orphans: u64,
        missing: u64,
        drifted: u64,
        conflicts: u64,
    },
    /// An operator has settled a finding of the last reconciliation.
    FindingSettled {
        authority: &'a str,
        reference: UuidText,
    },
    /// An alarm was raised or cleared.
    AlarmChanged {
        /// The pool, the service or the authority.
        object: &'a str,
        #[schema(schema_with = alarm_kind)]
        alarm: &'static str,
        /// The type of the object.
        #[schema(schema_with = alarm_of)]
        of: &'static str,
        /// False: cleared.
        raised: bool,
    },
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
