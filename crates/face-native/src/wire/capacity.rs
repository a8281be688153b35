//! What clients send and get about providers, consumers and what these hold.

use std::borrow::Cow;

use serde::de::{self, Deserialize, Deserializer};
use serde::{Deserialize as Readable, Serialize};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use super::{ExpectText, OrderedMap, Seconds, Time, UuidText, lease_schema, words};

/// So much of each resource class.
pub(crate) type ClassAmounts = OrderedMap<String, u64>;

/// What is held, or to be held, of each provider.
pub(crate) type AllocationMap = OrderedMap<UuidText, ClassAmounts>;

/// [`ClassAmounts`] for the document.
pub(crate) fn amounts() -> Schema {
    let amount = utoipa::openapi::schema::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::Integer)
        .minimum(Some(1));
    members_of(None, amount.into(), "So much of each resource class.")
}

/// [`AllocationMap`] for the document.
pub(crate) fn allocations() -> Schema {
    let uuid = <UuidText as utoipa::PartialSchema>::schema();
    members_of(Some(uuid), amounts().into(), "So much of each resource class of each provider.")
}

/// An object whose members are named by the client.
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

/// What becomes of what is held when the lease has run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Readable, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReclaimName {
    Reap,
    Keep,
}

/// What several consumers are to hold from now on, or one: then its members stand here themselves.
#[derive(Debug)]
pub(crate) enum AllocateBody {
    Each(Vec<HoldingBody>),
    One(Box<HoldingBody>),
}

/// What several consumers are to hold from now on, all together: what one gives up, another can have.
#[derive(Debug, ToSchema)]
#[schema(as = HoldingsBody)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "it is there for its schema")]
struct HoldingsBody {
    #[schema(min_items = 1)]
    consumers: Vec<HoldingBody>,
}

/// What a consumer is to hold from now on, instead of all that it held before.
#[derive(Debug, ToSchema)]
#[schema(example = json!({"consumer": "00000000-0000-4000-8000-0000000000c1", "project": "p1", "user": "u1", "expect": "absent", "allocations": {"00000000-0000-4000-8000-000000000001": {"VCPU": 2}}}))]
#[serde(deny_unknown_fields)]
pub(crate) struct HoldingBody {
    pub consumer: UuidText,
    /// What must hold of the consumer beforehand, a number being its generation; one that holds nothing is absent. `any`
    /// unless said otherwise.
    pub expect: Option<ExpectText>,
    pub project: String,
    pub user: String,
    /// What kind of consumer it is; whatever it was before when not given.
    pub r#type: Option<String>,
    /// So much of each class of each provider. Nothing at all: the consumer gives up everything.
    #[schema(schema_with = allocations)]
    pub allocations: AllocationMap,
    /// For how long; until given up when not given.
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
    /// With `ttl`: what becomes of it afterwards; `reap` unless said otherwise.
    pub reclaim: Option<ReclaimName>,
}

/// All members of both forms. They are told apart by hand, because serde would not say which member is wrong.
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
            return Err(E::custom("reclaim says what happens when ttl is over; give ttl, too"));
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

    /// Whether anything beside `consumers` is there.
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
            return Err(de::Error::custom("consumers cannot stand within consumers"));
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
                Err(de::Error::custom("consumers is empty; name at least one"))
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
            .description(Some("What one consumer is to hold from now on, or several together."))
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

/// A consumer gives up all that it holds.
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeallocateBody {
    pub consumer: UuidText,
    /// `any` unless said otherwise: then it may also hold nothing.
    pub expect: Option<ExpectText>,
}

/// What a consumer holds lasts longer, or without `ttl` for ever.
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExtendBody {
    pub consumer: UuidText,
    /// `any` unless said otherwise.
    pub expect: Option<ExpectText>,
    /// From now.
    #[schema(schema_with = lease_schema)]
    pub ttl: Option<Seconds>,
    /// With `ttl`: what becomes of it afterwards; `reap` unless said otherwise.
    pub reclaim: Option<ReclaimName>,
}

/// The provider is there (or as `expect` says; a number is its generation).
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProviderCheckBody {
    pub provider: UuidText,
    /// `present` unless said otherwise.
    pub expect: Option<ExpectText>,
}

/// The consumer holds something (or is as `expect` says; a number is its generation).
#[derive(Debug, Readable, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConsumerCheckBody {
    pub consumer: UuidText,
    /// `present` unless said otherwise.
    pub expect: Option<ExpectText>,
}

/// A consumer after an allocation.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HoldingAnswer {
    pub consumer: UuidText,
    /// Null: it holds nothing any more.
    pub generation: Option<u64>,
}

pub(crate) fn reclaim() -> Schema {
    let about =
        "`reap`: taken back as soon as the lease has run out. `keep`: somebody has to release it.";
    words(&["reap", "keep"]).description(Some(about)).into()
}

/// A consumer, and what it holds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Consumer<'a> {
    pub uuid: UuidText,
    /// Goes up with every change of what it holds.
    pub generation: u64,
    pub project: &'a str,
    pub user: &'a str,
    /// Null: nobody ever said.
    pub r#type: Option<&'a str>,
    #[schema(schema_with = allocations)]
    pub allocations: HeldAllocations<'a>,
    /// When it was written last.
    pub written: Time,
    /// When its lease runs out; null: never.
    pub expires: Option<Time>,
    /// Its lease has run out. What it holds still counts, until it is taken back or released.
    pub expired: bool,
    /// Left out where there is no lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = reclaim, required = false)]
    pub reclaim: Option<&'static str>,
}

/// What is held of each provider, as an object of objects.
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
    /// Where the list goes on: send it as `after`. Null: this was the end. A page may be short and still have a next.
    pub next: Option<&'a str>,
}

/// A provider. Parts that `fields` does not name are left out.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Provider<'a> {
    pub uuid: UuidText,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// Goes up with every change of what it has or gives out, but not with its name or parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Null: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<UuidText>)]
    pub parent: Option<Option<UuidText>>,
    /// The provider at the top of its tree; itself, if it has no parent.
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
    /// How many consumers hold something of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumers: Option<u64>,
    /// When anything about it was written last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<Time>,
}

/// What a provider has of a class, and in which portions it gives it out.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub(crate) struct Inventory {
    pub total: u32,
    pub reserved: u32,
    pub min_unit: u32,
    pub max_unit: u32,
    pub step_size: u32,
    pub allocation_ratio: f64,
    /// How much can be given out: total without reserved, times the ratio, rounded down.
    pub capacity: i64,
    /// How much is given out. Changes do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// What can still be given out; below zero when the inventory has shrunk. Changes do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<i64>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProviderList<'a> {
    pub providers: Vec<Provider<'a>>,
    /// Where the list goes on: send it as `after`. Null: this was the end. A page may be short and still have a next.
    pub next: Option<&'a str>,
}

/// What a refusal about capacity carries.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct CapacityMembers<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<UuidText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<UuidText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'a str>,
    /// `capacity_exceeded`: what the request asks for in all. `portion_violated`: what was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<u64>,
    /// `capacity_exceeded`: what could be given out if nobody else had any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<i64>,
    /// `capacity_exceeded`: what others hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// The generation that was expected; `actual` is the one that it has, if it is there at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_unit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_size: Option<u32>,
    /// `not_in_stock`: the providers that have none of the classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub providers: Vec<UuidText>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traits: Vec<&'a str>,
}
