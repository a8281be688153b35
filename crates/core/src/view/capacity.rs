//! What faces read about providers, consumers, resource classes and traits.
//!
//! Views borrow from the snapshot and copy nothing. Indexes ([`ProviderIx`], [`NameIx`]) differ between servers and may be
//! reused after a deletion; names and UUIDs are the same everywhere. Searching for candidates is in [`crate::search`].

use std::sync::Arc;

use crate::capacity::{Inventory, Reclaim, Uuid};
use crate::event::capacity::Allocated;
use crate::state::State;
use crate::state::capacity::Capacity;
use crate::state::capacity::bits::Bits;
use crate::state::capacity::consumer::{Consumer, HeldAmount};
use crate::state::capacity::image::FrozenCapacity;
use crate::state::capacity::provider::{Provider, Stock};

pub use crate::state::capacity::column::Availability;
pub use crate::state::capacity::names::{NameEntry, NameIx, NameTable};
pub use crate::state::capacity::provider::ProviderIx;
pub use crate::state::capacity::usage::ProjectUsage;

/// Everything about capacity in one snapshot.
#[derive(Debug, Clone, Copy)]
pub struct CapacityView<'a> {
    pub(crate) capacity: &'a Capacity,
}

/// One provider with its inventories, traits and aggregates.
#[derive(Debug, Clone, Copy)]
pub struct ProviderView<'a> {
    capacity: &'a Capacity,
    provider: &'a Provider,
    ix: ProviderIx,
}

/// One resource class of a provider and how much of it is in use.
#[derive(Debug, Clone, Copy)]
pub struct InventoryView<'a> {
    pub class: NameIx,
    pub class_name: &'a str,
    pub inventory: &'a Inventory,
    pub used: u64,
    pub changed_ms: u64,
}

/// One consumer and what it holds.
#[derive(Debug, Clone, Copy)]
pub struct ConsumerView<'a> {
    capacity: &'a Capacity,
    consumer: &'a Consumer,
}

/// A set of providers that have something in common.
#[derive(Debug, Clone, Copy)]
pub struct ProviderSet<'a>(&'a Bits);

/// A copy of everything about capacity at one position. It costs the same for any number of providers and consumers, and
/// does not change when the state does.
#[derive(Debug, Clone)]
pub struct CapacitySnapshot(FrozenCapacity);

impl CapacitySnapshot {
    pub fn view(&self) -> CapacityView<'_> {
        CapacityView { capacity: &self.0.0 }
    }

    /// A copy that has only these providers with their parents and roots, and the names of classes and traits. It may
    /// live for long: it keeps nothing else in memory.
    pub fn only(&self, providers: impl IntoIterator<Item = ProviderIx>) -> CapacitySnapshot {
        CapacitySnapshot(self.0.only(providers))
    }
}

/// Freezes the capacity part of a state, for searches and lists that take longer than a moment.
pub fn freeze(state: &State) -> CapacitySnapshot {
    CapacitySnapshot(state.capacity.freeze())
}

/// The capacity part of a snapshot.
pub fn capacity(state: &State) -> CapacityView<'_> {
    CapacityView { capacity: &state.capacity }
}

impl<'a> CapacityView<'a> {
    pub fn classes(self) -> &'a NameTable {
        &self.capacity.classes
    }

    pub fn traits(self) -> &'a NameTable {
        &self.capacity.traits
    }

    pub fn provider(self, uuid: Uuid) -> Option<ProviderView<'a>> {
        self.provider_at(self.capacity.provider_ix(uuid)?)
    }

    /// The provider with this index, as a search returns it.
    pub fn provider_at(self, ix: ProviderIx) -> Option<ProviderView<'a>> {
        let provider = self.capacity.at(ix)?;
        Some(ProviderView { capacity: self.capacity, provider, ix })
    }

    pub fn provider_count(self) -> usize {
        self.capacity.provider_count()
    }

    pub fn consumer_count(self) -> usize {
        self.capacity.consumer_count()
    }

    /// All providers with this UUID or a greater one, in the order of their UUIDs.
    pub fn providers_from(self, from: Uuid) -> impl Iterator<Item = ProviderView<'a>> {
        self.capacity.uuids.range_from(&from).filter_map(move |(_, ix)| self.provider_at(*ix))
    }

    /// All providers of the tree that contains this one, parents before their children.
    pub fn tree(self, member: Uuid) -> impl Iterator<Item = ProviderView<'a>> {
        let root = self.capacity.provider(member).map(|member| member.root);
        let tree = root.map(|root| self.capacity.tree(root)).unwrap_or_default();
        tree.into_iter().filter_map(move |ix| self.provider_at(ix))
    }

    pub fn with_trait(self, wanted: NameIx) -> ProviderSet<'a> {
        ProviderSet(self.capacity.with_trait(wanted))
    }

    /// Providers that have an inventory of this class, full or not.
    pub fn with_inventory(self, class: NameIx) -> ProviderSet<'a> {
        ProviderSet(self.capacity.with_class(class))
    }

    pub fn in_aggregate(self, aggregate: Uuid) -> ProviderSet<'a> {
        ProviderSet(self.capacity.members_of(aggregate))
    }

    pub fn consumer(self, uuid: Uuid) -> Option<ConsumerView<'a>> {
        let consumer = self.capacity.consumer(uuid)?;
        Some(ConsumerView { capacity: self.capacity, consumer })
    }

    /// All consumers with this UUID or a greater one, in the order of their UUIDs.
    pub fn consumers_from(self, from: Uuid) -> impl Iterator<Item = ConsumerView<'a>> {
        let consumers = self.capacity.consumers_from(from);
        consumers.map(move |consumer| ConsumerView { capacity: self.capacity, consumer })
    }

    /// What the consumers of a project hold, or those of one of its users, by consumer type.
    pub fn usages(
        self,
        project: &'a str,
        user: Option<&'a str>,
    ) -> impl Iterator<Item = (Option<&'a Arc<str>>, &'a ProjectUsage)> {
        self.capacity.usages.of(project, user)
    }

    /// Grows whenever a resource class is renamed. Valid within one process.
    pub fn class_names_revision(self) -> u64 {
        self.capacity.class_names_revision
    }
}

impl<'a> ProviderView<'a> {
    pub fn ix(self) -> ProviderIx {
        self.ix
    }

    pub fn uuid(self) -> Uuid {
        self.provider.uuid
    }

    pub fn name(self) -> &'a Arc<str> {
        &self.provider.name
    }

    pub fn generation(self) -> u64 {
        self.provider.generation
    }

    pub fn parent(self) -> Option<Uuid> {
        self.capacity.parent(self.provider)
    }

    /// The top of its tree; itself if it has no parent.
    pub fn root(self) -> Uuid {
        self.capacity.root(self.provider)
    }

    pub fn aggregates(self) -> impl Iterator<Item = Uuid> + 'a {
        self.capacity.aggregates(self.provider)
    }

    pub fn traits(self) -> impl Iterator<Item = &'a NameEntry> {
        self.provider.traits.iter().filter_map(move |ix| self.capacity.traits.get(*ix))
    }

    /// In the order of the numbers of the classes: standard ones first.
    pub fn inventories(self) -> impl Iterator<Item = InventoryView<'a>> {
        self.provider.stocks.iter().map(move |stock| self.inventory_view(stock))
    }

    pub fn inventory(self, class: NameIx) -> Option<InventoryView<'a>> {
        self.provider.stock(class).map(|stock| self.inventory_view(stock))
    }

    pub fn consumer_count(self) -> usize {
        self.provider.consumers
    }

    /// Consumers that hold something of this provider, from this UUID on, in the order of their UUIDs.
    pub fn consumers_from(self, from: Uuid) -> impl Iterator<Item = ConsumerView<'a>> {
        let view = CapacityView { capacity: self.capacity };
        self.capacity.consumers_of(self.ix, from).filter_map(move |uuid| view.consumer(uuid))
    }

    pub fn changed_ms(self) -> u64 {
        self.provider.changed_ms
    }

    /// Grows whenever anything about the provider changes. Valid within one process.
    pub fn revision(self) -> u64 {
        self.provider.revision
    }

    fn inventory_view(self, stock: &'a Stock) -> InventoryView<'a> {
        let class = self.capacity.classes.get(stock.class);
        InventoryView {
            class: stock.class,
            class_name: class.map_or("", |class| &class.name),
            inventory: &stock.inventory,
            used: stock.used,
            changed_ms: stock.changed_ms,
        }
    }
}

impl InventoryView<'_> {
    /// Capacity minus usage; negative after the inventory has shrunk below its usage.
    pub fn free(&self) -> i64 {
        self.inventory.capacity().saturating_sub_unsigned(self.used)
    }
}

impl<'a> ConsumerView<'a> {
    pub fn uuid(self) -> Uuid {
        self.consumer.uuid
    }

    pub fn generation(self) -> u64 {
        self.consumer.generation
    }

    pub fn project(self) -> &'a Arc<str> {
        &self.consumer.project
    }

    pub fn user(self) -> &'a Arc<str> {
        &self.consumer.user
    }

    pub fn consumer_type(self) -> Option<&'a Arc<str>> {
        self.consumer.consumer_type.as_ref()
    }

    pub fn written_ms(self) -> u64 {
        self.consumer.written_ms
    }

    pub fn expires_ms(self) -> Option<u64> {
        self.consumer.expires_ms
    }

    pub fn is_expired(self, now_ms: u64) -> bool {
        self.consumer.expired(now_ms)
    }

    pub fn reclaim(self) -> Reclaim {
        self.consumer.reclaim
    }

    /// What it holds, by the names of providers and classes.
    pub fn allocations(self) -> Vec<Allocated> {
        self.capacity.allocated(self.consumer)
    }

    /// What it holds of each provider: resource classes and amounts.
    pub fn by_provider(
        self,
    ) -> impl Iterator<Item = (ProviderView<'a>, impl Iterator<Item = (&'a str, u32)>)> {
        let view = CapacityView { capacity: self.capacity };
        self.consumer.by_provider().filter_map(move |held| {
            let provider = view.provider_at(held.first()?.provider)?;
            Some((provider, held.iter().map(move |held| self.amount(held))))
        })
    }

    /// What it holds of one provider: resource classes and amounts.
    pub fn held_of(self, provider: ProviderView<'a>) -> impl Iterator<Item = (NameIx, u32)> {
        let held = self.consumer.held.iter().filter(move |held| held.provider == provider.ix);
        held.map(|held| (held.class, held.amount))
    }

    fn amount(self, held: &HeldAmount) -> (&'a str, u32) {
        let class = self.capacity.classes.get(held.class);
        (class.map_or("", |class| &class.name), held.amount)
    }
}

impl<'a> ProviderSet<'a> {
    pub fn len(self) -> usize {
        self.0.len()
    }

    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(self, ix: ProviderIx) -> bool {
        self.0.contains(ix)
    }

    pub fn iter(self) -> impl Iterator<Item = ProviderIx> + 'a {
        self.0.iter()
    }
}
