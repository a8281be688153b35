//! A change: what the journal says of one position, as watchers, history and `journal show` see it.

use serde::Serialize;
use utoipa::ToSchema;

use super::{
    EachValue, HeldAllocations, Inventory, LabelsOf, OrderedMap, Pool, Time, UuidText, WireValue,
    alarm_kind, alarm_of, allocations, reclaim,
};

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
        value: Option<WireValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<WireValue>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
        version: u64,
        /// When it may be taken away; null: never.
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
        /// When it may be taken away; null: never.
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
        value: Option<WireValue>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Option<Vec<WireValue>>)]
        values: Option<EachValue<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        ranges: Option<Vec<String>>,
    },
    /// A provider has come to be, or has another name or parent.
    ProviderDefined {
        provider: UuidText,
        name: &'a str,
        parent: Option<UuidText>,
    },
    /// With its inventories, traits and aggregates.
    ProviderRemoved {
        provider: UuidText,
        name: &'a str,
    },
    /// What a provider has of everything from now on; whatever is not there is gone.
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
        /// The name that it had until now; null: it is new.
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
    /// A consumer holds exactly this from now on.
    AllocationsSet {
        consumer: UuidText,
        generation: u64,
        project: &'a str,
        user: &'a str,
        r#type: Option<&'a str>,
        #[schema(schema_with = allocations)]
        allocations: HeldAllocations<'a>,
        /// Providers of which it held something and no longer does.
        left: Vec<UuidText>,
        /// When its lease runs out; null: never.
        expires: Option<Time>,
        /// Left out where there is no lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(schema_with = reclaim, required = false)]
        reclaim: Option<&'static str>,
    },
    /// What a consumer holds lasts until another time.
    AllocationsExtended {
        consumer: UuidText,
        generation: u64,
        /// Null: held until given up.
        expires: Option<Time>,
        /// Left out where there is no lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(schema_with = reclaim, required = false)]
        reclaim: Option<&'static str>,
    },
    /// A consumer holds nothing any more.
    AllocationsReleased {
        consumer: UuidText,
        /// The generation that it had.
        generation: u64,
        project: &'a str,
        user: &'a str,
        /// What it held.
        #[schema(schema_with = allocations)]
        allocations: HeldAllocations<'a>,
        /// `asked`: it was given up. `reaped`: its lease had run out.
        cause: &'static str,
    },
    /// A request that stays was made, changed, or is answered anew. What it got is the claim of its key.
    RequestAnswered {
        pool: &'a str,
        key: &'a str,
        /// Those that wait for it.
        services: Vec<&'a str>,
        /// Why it has nothing; null: it has what it asked for.
        #[schema(example = "exhausted")]
        failure: Option<&'static str>,
    },
    RequestWithdrawn {
        pool: &'a str,
        key: &'a str,
    },
    /// Something is wrong, or is no longer.
    AlarmChanged {
        /// The name of the pool, or the service.
        object: &'a str,
        #[schema(schema_with = alarm_kind)]
        alarm: &'static str,
        /// What the object is.
        #[schema(schema_with = alarm_of)]
        of: &'static str,
        /// False: it is over.
        raised: bool,
    },
}
