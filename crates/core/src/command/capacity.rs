//! What may be asked about providers, inventories and allocations.
//!
//! Allocations are operations of a transaction, so that capacity and values are taken together or not at all. What shapes the
//! stock itself is a command of its own: nobody changes a provider's inventory and claims an address in one breath.

use std::sync::Arc;

use super::Expect;
use crate::capacity::{Inventory, Reclaim, Uuid};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CapacityCommand {
    CreateProvider(CreateProvider),
    UpdateProvider(UpdateProvider),
    DeleteProvider(Uuid),
    ChangeInventories(ChangeInventories),
    SetTraits(SetTraits),
    SetAggregates(SetAggregates),
    CreateClass(CreateClass),
    RenameClass(RenameClass),
    DeleteClass(Arc<str>),
    /// That it exists already is no error.
    CreateTrait(Arc<str>),
    DeleteTrait(Arc<str>),
    Reshape(Reshape),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateProvider {
    pub uuid: Uuid,
    pub name: Arc<str>,
    pub parent: Option<Uuid>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateProvider {
    pub uuid: Uuid,
    pub name: Arc<str>,
    pub parent: Parent,
}

/// What becomes of a provider's place in its tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    Keep,
    /// A root gets a parent; a provider that has another one is left where it is, with a refusal.
    Adopt(Option<Uuid>),
    /// To a new parent, or to none, with all that stands below it.
    Move(Option<Uuid>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeInventories {
    pub provider: Uuid,
    /// The generation that the caller has seen; `None`: it did not look.
    pub expect: Option<u64>,
    pub change: InventoryChange,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InventoryChange {
    /// These and no others.
    Replace(Vec<(Arc<str>, Inventory)>),
    /// One that is not there yet.
    Add(Arc<str>, Inventory),
    /// One that is there.
    Update(Arc<str>, Inventory),
    Remove(Arc<str>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTraits {
    pub provider: Uuid,
    pub expect: Option<u64>,
    pub traits: Vec<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAggregates {
    pub provider: Uuid,
    pub expect: Option<u64>,
    pub aggregates: Vec<Uuid>,
    /// Whether the provider's generation goes up; in the oldest versions of Placement's interface it did not.
    pub counts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateClass {
    pub name: Arc<str>,
    /// That it exists already is no error.
    pub ensure: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameClass {
    pub from: Arc<str>,
    pub to: Arc<str>,
}

/// New inventories for some providers and new allocations for some consumers, all at once: stock moves to other providers
/// and what is held moves with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reshape {
    pub inventories: Vec<Reshaped>,
    pub allocations: AllocateOp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reshaped {
    pub provider: Uuid,
    pub expect: u64,
    pub inventories: Vec<(Arc<str>, Inventory)>,
}

/// From now on these consumers hold exactly this. All of them together: what one gives up, another can have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllocateOp {
    pub consumers: Vec<Holding>,
}

/// Classes, and how much of each.
pub type Resources = Vec<(Arc<str>, u64)>;

/// What a consumer is to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    pub consumer: Uuid,
    /// What must hold of the consumer's generation beforehand; one that holds nothing is absent.
    pub expect: Expect,
    pub project: Arc<str>,
    pub user: Arc<str>,
    /// `None`: whatever it was before.
    pub consumer_type: Option<Arc<str>>,
    /// Empty: nothing any more.
    pub allocations: Vec<(Uuid, Resources)>,
    /// `None`: held until given up.
    pub lease: Option<LeaseAsk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseAsk {
    /// From now.
    pub ttl_ms: u64,
    pub reclaim: Reclaim,
}

/// A consumer gives up all that it holds, by itself and whatever else is going on: no provider's generation changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeallocateOp {
    pub consumer: Uuid,
    /// `Any` also accepts that nothing is held.
    pub expect: Expect,
}

/// A consumer's allocations last longer, or for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendOp {
    pub consumer: Uuid,
    pub expect: Expect,
    /// `None`: held until given up.
    pub lease: Option<LeaseAsk>,
}
