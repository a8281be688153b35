//! JSON forms of providers, consumers and allocations.

use std::borrow::Cow;

use allod_core::capacity::Reclaim;
use serde::de::{self, Deserialize, Deserializer};
use serde::{Deserialize as Readable, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use super::{ExpectText, OrderedMap, Seconds, Time, UuidText, lease_schema, words};

/// Amounts by resource class.
pub(crate) type ClassAmounts = OrderedMap<String, u64>;

/// Amounts by provider and resource class.
pub(crate) type AllocationMap = OrderedMap<UuidText, ClassAmounts>;

/// The schema of [`ClassAmounts`].
pub(crate) fn amounts() -> Schema {
    let amount = utoipa::openapi::schema::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::Integer)
        .minimum(Some(1));
    members_of(None, amount.into(), "Amounts by resource class.")
}

/// The schema of [`AllocationMap`].
pub(crate) fn allocations() -> Schema {
    let uuid = <UuidText as utoipa::PartialSchema>::schema();
    members_of(Some(uuid), amounts().into(), "Amounts by provider and resource class.")
}

/// The schema of an object whose members are named by the client.
fn members_of(name: Option<RefOr<Schema>>, member: RefOr<Schema>, about: &str) -> Schema {
    let name = name.and_then(|name| match name {
        RefOr::T(schema) => Some(schema),
        RefOr::Ref(_) => None,
    });
    utoipa::openapi::schema::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::Object)
        .property_names(name)
        .additional_properties(Some(member))
        .description(Some(about))
        .into()
}

wire_enum! {
    /// What happens to the allocations when the lease expires.
    ReclaimName for Reclaim { Reap, Keep }
}

/// The new allocations of one consumer, or of several.
#[derive(Debug)]
pub(crate) enum AllocateBody {
    Each(Vec<HoldingBody>),
    One(Box<HoldingBody>),
}

/// The new allocations of several consumers, applied together: one can get what another releases.
#[derive(Debug, ToSchema)]
#[schema(as = HoldingsBody)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct HoldingsBody {
    #[schema(min_items = 1)]
    consumers: Vec<HoldingBody>,
}

/// The new allocations of a consumer. They replace all that it held before.
#[derive(Debug, ToSchema)]
#[schema(example = json!({"consumer": "00000000-0000-4000-8000-0000000000c1", "project": "p1", "user": "u1", "expect": "absent", "allocations": {"00000000-0000-4000-8000-000000000001": {"VCPU": 2}}}))]
#[serde(deny_unknown_fields)]
pub(crate) struct HoldingBody {
    pub consumer: UuidText,
    /// Precondition on the consumer; a number is its generation. A consumer that holds nothing is absent. Default: `any`.
    pub expect: Option<ExpectText>,
    pub project: String,
    pub user: String,
    /// The consumer type. Default: unchanged.
    pub r#type: Option<String>,
    /// Amounts by provider and resource class. Empty: the consumer releases everything.
    #[schema(schema_with = allocations)]
    pub allocations: AllocationMap,
    /// The lease. Default: none.
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
    /// With `ttl`: what happens when the lease expires. Default: `reap`.
    pub reclaim: Option<ReclaimName>,
}

/// The members of both forms. serde's untagged enums would not report which member is wrong.
#[derive(Readable)]
#[serde(deny_unknown_fields)]
struct AllocateMembers {
    consumers: Option<Vec<HoldingBody>>,
    consumer: Option<UuidText>,
    expect: Option<ExpectText>,
    project: Option<String>,
    user: Option<String>,
    r#type: Option<String>,
    allocations: Option<AllocationMap>,
    ttl: Option<Seconds>,
    reclaim: Option<ReclaimName>,
}

impl AllocateMembers {
    fn one<E: de::Error>(self) -> Result<HoldingBody, E> {
        let missing = E::missing_field;
        if self.reclaim.is_some() && self.ttl.is_none() {
            return Err(E::custom("reclaim needs ttl"));
        }
        Ok(HoldingBody {
            consumer: self.consumer.ok_or_else(|| missing("consumer"))?,
            expect: self.expect,
            project: self.project.ok_or_else(|| missing("project"))?,
            user: self.user.ok_or_else(|| missing("user"))?,
            r#type: self.r#type,
            allocations: self.allocations.ok_or_else(|| missing("allocations"))?,
            ttl: self.ttl,
            reclaim: self.reclaim,
        })
    }

    /// Whether there is any member besides `consumers`.
    fn names_one(&self) -> bool {
        self.consumer.is_some()
            || self.expect.is_some()
            || self.project.is_some()
            || self.user.is_some()
            || self.r#type.is_some()
            || self.allocations.is_some()
            || self.ttl.is_some()
            || self.reclaim.is_some()
    }
}

impl<'de> Deserialize<'de> for HoldingBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HoldingBody, D::Error> {
        let members = AllocateMembers::deserialize(deserializer)?;
        if members.consumers.is_some() {
            return Err(de::Error::custom("consumers cannot contain consumers"));
        }
        members.one()
    }
}

impl<'de> Deserialize<'de> for AllocateBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AllocateBody, D::Error> {
        let mut members = AllocateMembers::deserialize(deserializer)?;
        match members.consumers.take() {
            None => Ok(AllocateBody::One(Box::new(members.one()?))),
            Some(consumers) if consumers.is_empty() => {
                Err(de::Error::custom("consumers is empty; expected at least one"))
            }
            Some(_) if members.names_one() => Err(de::Error::custom(
                "consumers and the members of one consumer exclude each other",
            )),
            Some(consumers) => Ok(AllocateBody::Each(consumers)),
        }
    }
}

impl utoipa::PartialSchema for AllocateBody {
    fn schema() -> RefOr<Schema> {
        let form = |name: &str| utoipa::openapi::schema::Ref::from_schema_name(name);
        utoipa::openapi::schema::OneOfBuilder::new()
            .item(form("HoldingBody"))
            .item(form("HoldingsBody"))
            .description(Some("The new allocations of one consumer, or of several together."))
            .into()
    }
}

impl ToSchema for AllocateBody {
    fn name() -> Cow<'static, str> {
        "AllocateBody".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        let (one, each) = (HoldingBody::name(), HoldingsBody::name());
        schemas.push((one.into_owned(), <HoldingBody as utoipa::PartialSchema>::schema()));
        HoldingBody::schemas(schemas);
        schemas.push((each.into_owned(), <HoldingsBody as utoipa::PartialSchema>::schema()));
    }
}

/// Releases all allocations of a consumer.
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeallocateBody {
    pub consumer: UuidText,
    /// Default: `any`, which also allows a consumer that holds nothing.
    pub expect: Option<ExpectText>,
}

/// Sets a new lease for the allocations of a consumer; without `ttl` it removes the lease.
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendBody {
    pub consumer: UuidText,
    /// Default: `any`.
    pub expect: Option<ExpectText>,
    /// The new lease, from now.
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
    /// With `ttl`: what happens when the lease expires. Default: `reap`.
    pub reclaim: Option<ReclaimName>,
}

/// The provider exists (or is as `expect` says; a number is its generation).
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderCheckBody {
    pub provider: UuidText,
    /// Default: `present`.
    pub expect: Option<ExpectText>,
}

/// The consumer holds something (or is as `expect` says; a number is its generation).
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConsumerCheckBody {
    pub consumer: UuidText,
    /// Default: `present`.
    pub expect: Option<ExpectText>,
}

/// A consumer after an allocation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HoldingAnswer {
    pub consumer: UuidText,
    /// Null: the consumer holds nothing any more.
    pub generation: Option<u64>,
}

pub(crate) fn reclaim() -> Schema {
    let about =
        "`reap`: released as soon as the lease expires. `keep`: held until a client releases it.";
    words(&["reap", "keep"]).description(Some(about)).into()
}

/// A consumer with its allocations.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Consumer<'a> {
    pub uuid: UuidText,
    /// Increases with every change of the allocations.
    pub generation: u64,
    pub project: &'a str,
    pub user: &'a str,
    /// Null: never set.
    pub r#type: Option<&'a str>,
    #[schema(schema_with = allocations)]
    pub allocations: HeldAllocations<'a>,
    /// The time of the last write.
    pub written: Time,
    /// When the lease ends; null: never.
    pub expires: Option<Time>,
    /// The lease has expired. The allocations count until they are reclaimed or released.
    pub expired: bool,
    /// Omitted without a lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = reclaim, required = false)]
    pub reclaim: Option<&'static str>,
}

/// The allocations by provider, as an object of objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeldAllocations<'a>(pub &'a [allod_core::event::capacity::Allocated]);

impl Serialize for HeldAllocations<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct ClassAmountsOf<'a>(&'a [(std::sync::Arc<str>, u32)]);
        impl Serialize for ClassAmountsOf<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(class, amount)| (&**class, amount)))
            }
        }
        let each = |one: &allod_core::event::capacity::Allocated| UuidText(one.provider);
        serializer.collect_map(self.0.iter().map(|one| (each(one), ClassAmountsOf(&one.resources))))
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConsumerList<'a> {
    pub consumers: Vec<Consumer<'a>>,
    /// The cursor of the next page, for `after`. Null: this is the last page. A page may be short and still have a next.
    pub next: Option<&'a str>,
}

/// A provider. Members that `fields` does not name are omitted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Provider<'a> {
    pub uuid: UuidText,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Increases with every change of inventories, traits, aggregates or allocations, not of name or parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Null: a root provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UuidText>)]
    pub parent: Option<Option<UuidText>>,
    /// The root of its tree; the provider itself if it has no parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<UuidText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregates: Option<Vec<UuidText>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traits: Option<Vec<&'a str>>,
    /// By resource class.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, Inventory>>)]
    pub inventories: Option<OrderedMap<&'a str, Inventory>>,
    /// The number of consumers that have allocations on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumers: Option<u64>,
    /// The time of the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Time>,
}

/// The inventory of a class.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Inventory {
    pub total: u32,
    pub reserved: u32,
    pub min_unit: u32,
    pub max_unit: u32,
    pub step_size: u32,
    pub allocation_ratio: f64,
    /// What can be allocated: (total - reserved) * allocation_ratio, rounded down.
    pub capacity: i64,
    /// What is allocated. Not in changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// What can still be allocated; negative after the inventory was reduced. Not in changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProviderList<'a> {
    pub providers: Vec<Provider<'a>>,
    /// The cursor of the next page, for `after`. Null: this is the last page. A page may be short and still have a next.
    pub next: Option<&'a str>,
}

/// The additional members of a refusal about capacity.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct CapacityMembers<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<UuidText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<UuidText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'a str>,
    /// `capacity_exceeded`: the total amount of the request. `portion_violated`: the requested amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    /// `capacity_exceeded`: the capacity of the inventory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<i64>,
    /// `capacity_exceeded`: what other consumers hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// The expected generation; `actual` is the current one, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_unit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_size: Option<u32>,
    /// `not_in_stock`: the providers without an inventory of the classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<UuidText>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<&'a str>,
}
