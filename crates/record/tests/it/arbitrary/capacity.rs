//! Strategies for what is stored about providers and consumers.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use allod_core::capacity::{Inventory, Ratio, Reclaim, Uuid};
use allod_core::event::capacity::{
    AggregatesSet, Allocated, AllocationsExtended, AllocationsReleased, AllocationsSet,
    CapacityEvent, ClassDefined, ClassRemoved, InventoriesSet, InventorySet, ProviderCounted,
    ProviderDefined, ProviderRemoved, TraitDefined, TraitRemoved, TraitsSet,
};
use allod_core::event::{Event, ReleaseCause};
use allod_core::receipt::Outcome;
use allod_core::state::capacity::image::{ConsumerImage, ProviderImage, StockImage};
use allod_core::state::capacity::names::NameEntry;
use allod_record::CheckpointPart;

use super::{number, text};

fn uuid() -> impl Strategy<Value = Uuid> {
    any::<u128>().prop_map(Uuid)
}

fn uuids() -> impl Strategy<Value = Vec<Uuid>> {
    vec(uuid(), 0..4)
}

fn inventory() -> impl Strategy<Value = Inventory> {
    (any::<[u32; 5]>(), any::<f64>()).prop_map(|(numbers, ratio)| {
        let [total, reserved, min_unit, max_unit, step_size] = numbers;
        let allocation_ratio = Ratio(ratio);
        Inventory { total, reserved, min_unit, max_unit, step_size, allocation_ratio }
    })
}

fn reclaim() -> impl Strategy<Value = Reclaim> {
    select(vec![Reclaim::Reap, Reclaim::Keep])
}

fn held() -> impl Strategy<Value = Vec<Allocated>> {
    let one = (uuid(), vec((text(), any::<u32>()), 0..3));
    vec(one.prop_map(|(provider, resources)| Allocated { provider, resources }), 0..3)
}

pub fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        vec((uuid(), option::of(number())), 0..3)
            .prop_map(|consumers| Outcome::Allocated { consumers }),
        any::<bool>().prop_map(|existed| Outcome::Deallocated { existed }),
        (uuid(), number(), option::of(number())).prop_map(|(consumer, generation, expires_ms)| {
            Outcome::Extended { consumer, generation, expires_ms }
        }),
    ]
}

fn set() -> impl Strategy<Value = AllocationsSet> {
    let whose = (text(), text(), option::of(text()));
    let lease = (option::of(number()), reclaim());
    (uuid(), number(), whose, held(), lease, uuids(), number()).prop_map(
        |(consumer, generation, whose, allocations, lease, left, at_ms)| {
            let ((project, user, consumer_type), (expires_ms, reclaim)) = (whose, lease);
            AllocationsSet {
                consumer,
                generation,
                project,
                user,
                consumer_type,
                allocations,
                expires_ms,
                reclaim,
                left,
                at_ms,
            }
        },
    )
}

fn about_provider() -> impl Strategy<Value = Event> {
    let inventories = vec((text(), inventory(), any::<bool>()), 0..4).prop_map(|sets| {
        let set = |(class, inventory, written)| InventorySet { class, inventory, written };
        sets.into_iter().map(set).collect::<Vec<_>>()
    });
    prop_oneof![
        (uuid(), text(), option::of(uuid()), number()).prop_map(
            |(provider, name, parent, at_ms)| Event::Capacity(CapacityEvent::ProviderDefined(
                ProviderDefined { provider, name, parent, at_ms }
            ))
        ),
        (uuid(), text()).prop_map(|(provider, name)| Event::Capacity(
            CapacityEvent::ProviderRemoved(ProviderRemoved { provider, name })
        )),
        (uuid(), number(), number()).prop_map(|(provider, generation, at_ms)| {
            Event::Capacity(CapacityEvent::ProviderCounted(ProviderCounted {
                provider,
                generation,
                at_ms,
            }))
        }),
        (uuid(), number(), inventories, number()).prop_map(
            |(provider, generation, inventories, at_ms)| Event::Capacity(
                CapacityEvent::InventoriesSet(InventoriesSet {
                    provider,
                    generation,
                    inventories,
                    at_ms
                })
            )
        ),
        (uuid(), number(), vec(text(), 0..4), number()).prop_map(
            |(provider, generation, traits, at_ms)| Event::Capacity(CapacityEvent::TraitsSet(
                TraitsSet { provider, generation, traits, at_ms }
            ))
        ),
        (uuid(), number(), uuids(), number()).prop_map(
            |(provider, generation, aggregates, at_ms)| Event::Capacity(
                CapacityEvent::AggregatesSet(AggregatesSet {
                    provider,
                    generation,
                    aggregates,
                    at_ms
                })
            )
        ),
    ]
}

pub fn event() -> impl Strategy<Value = Event> {
    let cause = select(vec![ReleaseCause::Asked, ReleaseCause::Taken, ReleaseCause::Reaped]);
    prop_oneof![
        6 => about_provider().boxed(),
        1 => (text(), option::of(text()), number())
            .prop_map(|(class, was, at_ms)| Event::Capacity(CapacityEvent::ClassDefined(ClassDefined { class, was, at_ms }))),
        1 => text().prop_map(|class| Event::Capacity(CapacityEvent::ClassRemoved(ClassRemoved { class }))),
        1 => (text(), number())
            .prop_map(|(name, at_ms)| Event::Capacity(CapacityEvent::TraitDefined(TraitDefined { name, at_ms }))),
        1 => text().prop_map(|name| Event::Capacity(CapacityEvent::TraitRemoved(TraitRemoved { name }))),
        3 => set().prop_map(Event::from).boxed(),
        1 => (uuid(), number(), option::of(number()), reclaim()).prop_map(
            |(consumer, generation, expires_ms, reclaim)| Event::Capacity(CapacityEvent::AllocationsExtended(
                AllocationsExtended { consumer, generation, expires_ms, reclaim }
            ))
        ),
        1 => (uuid(), number(), text(), text(), cause, held()).prop_map(
            |(consumer, generation, project, user, cause, was)| Event::Capacity(CapacityEvent::AllocationsReleased(
                AllocationsReleased { consumer, generation, project, user, cause, was }
            ))
        ),
    ]
}

fn provider() -> impl Strategy<Value = ProviderImage> {
    let stock = (text(), inventory(), number())
        .prop_map(|(class, inventory, changed_ms)| StockImage { class, inventory, changed_ms });
    let sets = (vec(stock, 0..3), vec(text(), 0..3), uuids());
    (uuid(), text(), number(), option::of(uuid()), sets, number()).prop_map(
        |(uuid, name, generation, parent, (stocks, traits, aggregates), changed_ms)| {
            ProviderImage { uuid, name, generation, parent, stocks, traits, aggregates, changed_ms }
        },
    )
}

fn consumer() -> impl Strategy<Value = ConsumerImage> {
    set().prop_map(|set| ConsumerImage {
        uuid: set.consumer,
        generation: set.generation,
        project: set.project,
        user: set.user,
        consumer_type: set.consumer_type,
        held: set.allocations,
        written_ms: set.at_ms,
        expires_ms: set.expires_ms,
        reclaim: set.reclaim,
    })
}

/// What a checkpoint has of it, in its order.
pub fn parts() -> impl Strategy<Value = Vec<CheckpointPart>> {
    let named = || {
        vec((text(), number()), 0..3).prop_map(|names| {
            names.into_iter().map(|(name, changed_ms)| NameEntry { name, changed_ms })
        })
    };
    (named(), named(), vec(provider(), 0..4), vec(consumer(), 0..4)).prop_map(
        |(classes, traits, providers, consumers)| {
            let mut parts: Vec<CheckpointPart> = classes.map(CheckpointPart::Class).collect();
            parts.extend(traits.map(CheckpointPart::Trait));
            parts.extend(providers.into_iter().map(CheckpointPart::Provider));
            parts.extend(consumers.into_iter().map(CheckpointPart::Consumer));
            parts
        },
    )
}
