//! Commands about providers, inventories and allocations.
//!
//! Allocations are operations of a transaction, so that capacity and pool values are taken atomically. Changes to
//! providers and inventories are commands of their own.

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
    /// Succeeds if the trait exists.
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

/// What happens to the parent of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    Keep,
    /// Gives a parent to a root; refused if the provider has another parent.
    Adopt(Option<Uuid>),
    /// Moves the provider with its descendants to another parent, or makes it a root.
    Move(Option<Uuid>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeInventories {
    pub provider: Uuid,
    /// The generation that the caller expects; `None`: any.
    pub expect: Option<u64>,
    pub change: InventoryChange,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InventoryChange {
    /// Replaces all inventories.
    Replace(Vec<(Arc<str>, Inventory)>),
    /// Refused if the class has an inventory.
    Add(Arc<str>, Inventory),
    /// Refused if the class has no inventory.
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
    /// Whether to increment the provider's generation; Placement before 1.19 does not.
    pub counts: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateClass {
    pub name: Arc<str>,
    /// Succeed if the class exists.
    pub ensure: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenameClass {
    pub from: Arc<str>,
    pub to: Arc<str>,
}

/// Replaces the inventories of some providers and the allocations of some consumers atomically, to move inventory
/// between providers together with its allocations.
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

/// Replaces the allocations of these consumers, all at once: what one of them gives up, another can take.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllocateOp {
    pub consumers: Vec<Holding>,
}

/// Resource classes and amounts.
pub type Resources = Vec<(Arc<str>, u64)>;

/// The new allocations of one consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    pub consumer: Uuid,
    /// The expected generation; a consumer that holds nothing is absent.
    pub expect: Expect,
    pub project: Arc<str>,
    pub user: Arc<str>,
    /// `None`: unchanged.
    pub consumer_type: Option<Arc<str>>,
    /// If empty, the consumer is removed.
    pub allocations: Vec<(Uuid, Resources)>,
    /// `None`: no expiry.
    pub lease: Option<LeaseTerms>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTerms {
    pub ttl_ms: u64,
    pub reclaim: Reclaim,
}

/// Releases everything that a consumer holds. Does not change the generation of any provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeallocateOp {
    pub consumer: Uuid,
    /// `Any` succeeds even if nothing is held.
    pub expect: Expect,
}

/// Extends the lease of a consumer's allocations, or removes its expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtendOp {
    pub consumer: Uuid,
    pub expect: Expect,
    /// `None`: no expiry.
    pub lease: Option<LeaseTerms>,
}
