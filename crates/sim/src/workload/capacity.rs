//! Few providers with small inventories, and few consumers that compete for them.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Ratio, Reclaim, Uuid};
use allod_core::command::capacity::{
    AllocateOp, CapacityCommand, ChangeInventories, CreateClass, CreateProvider, DeallocateOp,
    ExtendOp, Holding, InventoryChange, LeaseTerms, Parent, RenameClass, Reshape, Reshaped,
    SetAggregates, SetTraits, UpdateProvider,
};
use allod_core::command::{Check, Command, Expect, Op};

use crate::random::SimRandom;

const CLASSES: [&str; 4] = ["VCPU", "DISK_GB", "CUSTOM_A", "CUSTOM_B"];
const TRAITS: [&str; 3] = ["HW_CPU_X86_AVX2", "CUSTOM_FAST", "CUSTOM_SLOW"];

/// Two providers with inventories.
pub(super) fn providers(random: &mut SimRandom) -> Vec<Command> {
    let class = |name: &str| CreateClass { name: name.into(), ensure: true };
    let mut commands = vec![CapacityCommand::CreateClass(class("CUSTOM_A"))];
    for (n, name) in [(0, "host-a"), (1, "host-b")] {
        let (provider, name) = (Uuid(n), name.into());
        let create = CreateProvider { uuid: provider, name, parent: None };
        commands.push(CapacityCommand::CreateProvider(create));
        let one = |class: &&str| (Arc::from(*class), inventory(random));
        let change = InventoryChange::Replace(CLASSES[..3].iter().map(one).collect());
        let change = ChangeInventories { provider, expect: None, change };
        commands.push(CapacityCommand::ChangeInventories(change));
    }
    commands.into_iter().map(Command::Capacity).collect()
}

pub(super) fn command(random: &mut SimRandom) -> Command {
    Command::Capacity(match random.below(20) {
        0..4 => CapacityCommand::CreateProvider(CreateProvider {
            uuid: provider(random),
            name: name(random),
            parent: random.percent(50).then(|| provider(random)),
        }),
        4..6 => {
            let to = random.percent(70).then(|| provider(random));
            let parent = *random.one_of(&[Parent::Keep, Parent::Adopt(to), Parent::Move(to)]);
            let (uuid, name) = (provider(random), name(random));
            CapacityCommand::UpdateProvider(UpdateProvider { uuid, name, parent })
        }
        6 => CapacityCommand::DeleteProvider(provider(random)),
        7..12 => CapacityCommand::ChangeInventories(ChangeInventories {
            provider: provider(random),
            expect: generation(random),
            change: change(random),
        }),
        12 => CapacityCommand::SetTraits(SetTraits {
            provider: provider(random),
            expect: generation(random),
            traits: TRAITS.iter().filter(|_| random.percent(50)).map(|&name| name.into()).collect(),
        }),
        13 => CapacityCommand::SetAggregates(SetAggregates {
            provider: provider(random),
            expect: generation(random),
            aggregates: (0..random.below(3)).map(|n| Uuid(n.into())).collect(),
            counts: random.percent(50),
        }),
        14 => CapacityCommand::CreateClass(CreateClass { name: class(random), ensure: true }),
        15 => CapacityCommand::RenameClass(RenameClass { from: class(random), to: class(random) }),
        16 => CapacityCommand::DeleteClass(class(random)),
        17 => CapacityCommand::CreateTrait((*random.one_of(&TRAITS)).into()),
        18 => CapacityCommand::DeleteTrait((*random.one_of(&TRAITS)).into()),
        _ => CapacityCommand::Reshape(reshape(random)),
    })
}

pub(super) fn op(random: &mut SimRandom) -> Op {
    match random.below(10) {
        0..7 => Op::Allocate(allocate(random)),
        7 => Op::Deallocate(DeallocateOp { consumer: consumer(random), expect: expect(random) }),
        8 => {
            let (consumer, expect) = (consumer(random), expect(random));
            Op::Extend(ExtendOp { consumer, expect, lease: lease(random) })
        }
        _ if random.percent(50) => {
            Op::Check(Check::Provider { provider: provider(random), expect: expect(random) })
        }
        _ => Op::Check(Check::Consumer { consumer: consumer(random), expect: expect(random) }),
    }
}

fn allocate(random: &mut SimRandom) -> AllocateOp {
    AllocateOp {
        consumers: (0..*random.one_of(&[1, 1, 1, 2, 3])).map(|_| holding(random)).collect(),
    }
}

fn holding(random: &mut SimRandom) -> Holding {
    let resources = |random: &mut SimRandom| (class(random), *random.one_of(&[1, 2, 2, 4]));
    Holding {
        consumer: consumer(random),
        expect: expect(random),
        project: (*random.one_of(&["p", "q"])).into(),
        user: (*random.one_of(&["u", "v"])).into(),
        consumer_type: random.one_of(&[None, None, Some("INSTANCE")]).map(Into::into),
        allocations: (0..*random.one_of(&[0, 1, 1, 1, 2]))
            .map(|_| (provider(random), vec![resources(random)]))
            .collect(),
        lease: lease(random),
    }
}

fn lease(random: &mut SimRandom) -> Option<LeaseTerms> {
    let reclaim = *random.one_of(&[Reclaim::Reap, Reclaim::Keep]);
    let ttl_ms = *random.one_of(&[None, None, Some(100), Some(1_500)]);
    ttl_ms.map(|ttl_ms| LeaseTerms { ttl_ms, reclaim })
}

fn change(random: &mut SimRandom) -> InventoryChange {
    match random.below(6) {
        0..3 => InventoryChange::Replace(inventories(random)),
        3 => InventoryChange::Add(class(random), inventory(random)),
        4 => InventoryChange::Update(class(random), inventory(random)),
        _ => InventoryChange::Remove(class(random)),
    }
}

fn inventories(random: &mut SimRandom) -> Vec<(Arc<str>, Inventory)> {
    let mut all: Vec<_> = CLASSES.iter().map(|&class| (class.into(), inventory(random))).collect();
    all.retain(|_| random.percent(60));
    all
}

fn inventory(random: &mut SimRandom) -> Inventory {
    Inventory {
        reserved: random.below(2) as u32,
        step_size: random.between(1, 2) as u32,
        allocation_ratio: Ratio(*random.one_of(&[1.0, 1.0, 1.5])),
        ..Inventory::of(random.between(1, 8) as u32)
    }
}

fn reshape(random: &mut SimRandom) -> Reshape {
    let reshaped = |random: &mut SimRandom| Reshaped {
        provider: provider(random),
        expect: random.below(6),
        inventories: inventories(random),
    };
    let inventories = (0..random.between(1, 2)).map(|_| reshaped(random)).collect();
    Reshape { inventories, allocations: allocate(random) }
}

fn provider(random: &mut SimRandom) -> Uuid {
    Uuid(random.below(4).into())
}

fn name(random: &mut SimRandom) -> Arc<str> {
    (*random.one_of(&["host-a", "host-b", "host-c", "host-d", "host-e"])).into()
}

fn consumer(random: &mut SimRandom) -> Uuid {
    Uuid(100 + u128::from(random.below(5)))
}

fn class(random: &mut SimRandom) -> Arc<str> {
    (*random.one_of(&CLASSES)).into()
}

fn generation(random: &mut SimRandom) -> Option<u64> {
    *random.one_of(&[None, None, Some(0), Some(1), Some(2)])
}

fn expect(random: &mut SimRandom) -> Expect {
    let all = [Expect::Any, Expect::Any, Expect::Absent, Expect::Present, Expect::Is(1)];
    *random.one_of(&all)
}
