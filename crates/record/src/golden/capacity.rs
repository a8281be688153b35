//! Samples of providers and consumers.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Ratio, Reclaim, Uuid};
use allod_core::event::capacity::{
    AggregatesSet, Allocated, AllocationsExtended, AllocationsReleased, AllocationsSet,
    CapacityEvent, ClassDefined, ClassRemoved, InventoriesSet, InventorySet, ProviderCounted,
    ProviderDefined, ProviderRemoved, TraitDefined, TraitRemoved, TraitsSet,
};
use allod_core::event::{Event, IdempotencyEvent, IdempotencyStored, ReleaseCause};
use allod_core::receipt::{Outcome, Receipt};
use allod_core::state::capacity::image::{ConsumerImage, ProviderImage, StockImage};
use allod_core::state::capacity::names::NameEntry;

use super::samples::{AT_MS, Sample, checkpoint};
use crate::checkpoint::CheckpointPart;

const HOST: Uuid = Uuid(0x4e8e_5957_649f_477b_9e5b_f1f7_5b21_c03c);
const NUMA: Uuid = Uuid(1);
const VM: Uuid = Uuid(u128::MAX);

pub(super) fn all() -> Vec<(&'static str, Sample)> {
    let event = |event: Event| Sample::Event(event);
    vec![
        (
            "22-request_remembered-v2",
            event(Event::Idempotency(IdempotencyEvent::Stored(request()))),
        ),
        ("32-provider_defined-v1", event(defined(None))),
        ("32-provider_defined-v1-below", event(defined(Some(NUMA)))),
        ("33-provider_removed-v1", event(removed())),
        ("34-provider_counted-v1", event(counted())),
        ("35-inventories_set-v1", event(inventories())),
        ("36-traits_set-v1", event(traits())),
        ("37-aggregates_set-v1", event(aggregates())),
        ("38-class_defined-v1", event(class(None))),
        ("38-class_defined-v1-renamed", event(class(Some("CUSTOM_OLD".into())))),
        (
            "39-class_removed-v1",
            event(Event::Capacity(CapacityEvent::ClassRemoved(ClassRemoved { class: gpu() }))),
        ),
        ("40-trait_defined-v1", event(trait_defined())),
        (
            "41-trait_removed-v1",
            event(Event::Capacity(CapacityEvent::TraitRemoved(TraitRemoved { name: fast() }))),
        ),
        (
            "42-allocations_set-v1",
            event(Event::Capacity(CapacityEvent::AllocationsSet(plain_set()))),
        ),
        (
            "42-allocations_set-v1-full",
            event(Event::Capacity(CapacityEvent::AllocationsSet(full_set()))),
        ),
        ("43-allocations_extended-v1", event(extended(Some(AT_MS), Reclaim::Keep))),
        ("43-allocations_extended-v1-for-ever", event(extended(None, Reclaim::Reap))),
        ("44-allocations_released-v1", event(released())),
        ("67-checkpoint_ended-v2", checkpoint(&[class_part(), trait_part()])),
        ("68-checkpoint_provider-v1", checkpoint(&[plain_provider(), full_provider()])),
        (
            "69-checkpoint_consumers-v1",
            checkpoint(&[full_provider(), plain_consumer(), full_consumer()]),
        ),
    ]
}

fn gpu() -> Arc<str> {
    "CUSTOM_GPU".into()
}

fn fast() -> Arc<str> {
    "CUSTOM_FAST".into()
}

fn defined(parent: Option<Uuid>) -> Event {
    let (provider, name) = (HOST, "host-1".into());
    Event::Capacity(CapacityEvent::ProviderDefined(ProviderDefined {
        provider,
        name,
        parent,
        at_ms: AT_MS,
    }))
}

fn removed() -> Event {
    Event::Capacity(CapacityEvent::ProviderRemoved(ProviderRemoved {
        provider: HOST,
        name: "host-1".into(),
    }))
}

fn counted() -> Event {
    Event::Capacity(CapacityEvent::ProviderCounted(ProviderCounted {
        provider: HOST,
        generation: 300,
        at_ms: AT_MS,
    }))
}

fn odd_inventory() -> Inventory {
    Inventory {
        total: 2_147_483_647,
        reserved: 1,
        min_unit: 2,
        max_unit: 64,
        step_size: 2,
        allocation_ratio: Ratio(1.6),
    }
}

fn inventories() -> Event {
    let set =
        |class: &str, inventory, written| InventorySet { class: class.into(), inventory, written };
    Event::Capacity(CapacityEvent::InventoriesSet(InventoriesSet {
        provider: HOST,
        generation: 3,
        inventories: vec![
            set("VCPU", Inventory::of(8), false),
            set("DISK_GB", odd_inventory(), true),
        ],
        at_ms: AT_MS,
    }))
}

fn traits() -> Event {
    let traits = vec!["HW_CPU_X86_AVX2".into(), fast()];
    Event::Capacity(CapacityEvent::TraitsSet(TraitsSet {
        provider: HOST,
        generation: 4,
        traits,
        at_ms: AT_MS,
    }))
}

fn aggregates() -> Event {
    let aggregates = vec![NUMA, VM];
    Event::Capacity(CapacityEvent::AggregatesSet(AggregatesSet {
        provider: HOST,
        generation: 5,
        aggregates,
        at_ms: AT_MS,
    }))
}

fn class(was: Option<Arc<str>>) -> Event {
    Event::Capacity(CapacityEvent::ClassDefined(ClassDefined { class: gpu(), was, at_ms: AT_MS }))
}

fn trait_defined() -> Event {
    Event::Capacity(CapacityEvent::TraitDefined(TraitDefined { name: fast(), at_ms: AT_MS }))
}

fn held() -> Vec<Allocated> {
    vec![
        Allocated {
            provider: HOST,
            resources: vec![("VCPU".into(), 2), ("MEMORY_MB".into(), 2_147_483_647)],
        },
        Allocated { provider: NUMA, resources: vec![(gpu(), 1)] },
    ]
}

fn plain_set() -> AllocationsSet {
    AllocationsSet {
        consumer: VM,
        generation: 1,
        project: "p".into(),
        user: "u".into(),
        consumer_type: None,
        allocations: vec![Allocated { provider: HOST, resources: vec![("VCPU".into(), 1)] }],
        expires_ms: None,
        reclaim: Reclaim::Reap,
        left: vec![],
        at_ms: AT_MS,
    }
}

fn full_set() -> AllocationsSet {
    AllocationsSet {
        generation: 300,
        consumer_type: Some("INSTANCE".into()),
        allocations: held(),
        expires_ms: Some(AT_MS + 1),
        reclaim: Reclaim::Keep,
        left: vec![NUMA],
        ..plain_set()
    }
}

fn extended(expires_ms: Option<u64>, reclaim: Reclaim) -> Event {
    let (consumer, generation) = (VM, 2);
    Event::Capacity(CapacityEvent::AllocationsExtended(AllocationsExtended {
        consumer,
        generation,
        expires_ms,
        reclaim,
    }))
}

fn released() -> Event {
    Event::Capacity(CapacityEvent::AllocationsReleased(AllocationsReleased {
        consumer: VM,
        generation: 300,
        project: "p".into(),
        user: "u".into(),
        cause: ReleaseCause::Reaped,
        was: held(),
    }))
}

fn request() -> IdempotencyStored {
    let outcomes = vec![
        Outcome::Checked,
        Outcome::Allocated { consumers: vec![(VM, Some(300)), (HOST, None)] },
        Outcome::Deallocated { existed: true },
        Outcome::Extended { consumer: VM, generation: 2, expires_ms: Some(AT_MS) },
    ];
    IdempotencyStored::new("order 17", [7; 32], AT_MS, &Receipt::of(outcomes))
}

fn class_part() -> CheckpointPart {
    CheckpointPart::Class(NameEntry { name: gpu(), changed_ms: AT_MS })
}

fn trait_part() -> CheckpointPart {
    CheckpointPart::Trait(NameEntry { name: fast(), changed_ms: 0 })
}

fn plain_provider() -> CheckpointPart {
    CheckpointPart::Provider(ProviderImage {
        uuid: NUMA,
        name: "numa-0".into(),
        generation: 0,
        parent: Some(HOST),
        stocks: vec![],
        traits: vec![],
        aggregates: vec![],
        changed_ms: 0,
    })
}

fn full_provider() -> CheckpointPart {
    let stock =
        |class: &str, inventory| StockImage { class: class.into(), inventory, changed_ms: AT_MS };
    CheckpointPart::Provider(ProviderImage {
        uuid: HOST,
        name: "host-1".into(),
        generation: 300,
        parent: None,
        stocks: vec![stock("VCPU", Inventory::of(8)), stock("CUSTOM_GPU", odd_inventory())],
        traits: vec!["HW_CPU_X86_AVX2".into(), fast()],
        aggregates: vec![VM],
        changed_ms: AT_MS,
    })
}

fn plain_consumer() -> CheckpointPart {
    CheckpointPart::Consumer(ConsumerImage {
        uuid: VM,
        generation: 1,
        project: "p".into(),
        user: "u".into(),
        consumer_type: None,
        held: plain_set().allocations,
        written_ms: AT_MS,
        expires_ms: None,
        reclaim: Reclaim::Reap,
    })
}

fn full_consumer() -> CheckpointPart {
    CheckpointPart::Consumer(ConsumerImage {
        uuid: NUMA,
        generation: 300,
        project: "zürich".into(),
        user: "u".into(),
        consumer_type: Some("MIGRATION".into()),
        held: held(),
        written_ms: AT_MS,
        expires_ms: Some(AT_MS),
        reclaim: Reclaim::Keep,
    })
}
