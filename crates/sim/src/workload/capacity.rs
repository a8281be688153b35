//! Few providers with little stock, and few consumers that fight for it.

use std::sync::Arc;

use allod_core::capacity::{Inventory, Ratio, Reclaim, Uuid};
use allod_core::command::capacity::{
    AllocateOp, CapacityCommand, ChangeInventories, CreateClass, CreateProvider, DeallocateOp,
    ExtendOp, Holding, InventoryChange, LeaseAsk, Parent, RenameClass, Reshape, Reshaped,
    SetAggregates, SetTraits, UpdateProvider,
};
use allod_core::command::{Check, Command, Expect, Op};

use crate::dice::Dice;

const CLASSES: [&str; 4] = ["VCPU", "DISK_GB", "CUSTOM_A", "CUSTOM_B"];
const TRAITS: [&str; 3] = ["HW_CPU_X86_AVX2", "CUSTOM_FAST", "CUSTOM_SLOW"];

/// Two providers that have something to give.
pub(super) fn providers(dice: &mut Dice) -> Vec<Command> {
    let class = |name: &str| CreateClass { name: name.into(), ensure: true };
    let mut commands = vec![CapacityCommand::CreateClass(class("CUSTOM_A"))];
    for (n, name) in [(0, "host-a"), (1, "host-b")] {
        let (provider, name) = (Uuid(n), name.into());
        let create = CreateProvider { uuid: provider, name, parent: None };
        commands.push(CapacityCommand::CreateProvider(create));
        let one = |class: &&str| (Arc::from(*class), inventory(dice));
        let change = InventoryChange::Replace(CLASSES[..3].iter().map(one).collect());
        let change = ChangeInventories { provider, expect: None, change };
        commands.push(CapacityCommand::ChangeInventories(change));
    }
    commands.into_iter().map(Command::Capacity).collect()
}

pub(super) fn command(dice: &mut Dice) -> Command {
    Command::Capacity(match dice.below(20) {
        0..4 => CapacityCommand::CreateProvider(CreateProvider {
            uuid: provider(dice),
            name: name(dice),
            parent: dice.percent(50).then(|| provider(dice)),
        }),
        4..6 => {
            let to = dice.percent(70).then(|| provider(dice));
            let parent = *dice.one_of(&[Parent::Keep, Parent::Adopt(to), Parent::Move(to)]);
            let (uuid, name) = (provider(dice), name(dice));
            CapacityCommand::UpdateProvider(UpdateProvider { uuid, name, parent })
        }
        6 => CapacityCommand::DeleteProvider(provider(dice)),
        7..12 => CapacityCommand::ChangeInventories(ChangeInventories {
            provider: provider(dice),
            expect: generation(dice),
            change: change(dice),
        }),
        12 => CapacityCommand::SetTraits(SetTraits {
            provider: provider(dice),
            expect: generation(dice),
            traits: TRAITS.iter().filter(|_| dice.percent(50)).map(|&name| name.into()).collect(),
        }),
        13 => CapacityCommand::SetAggregates(SetAggregates {
            provider: provider(dice),
            expect: generation(dice),
            aggregates: (0..dice.below(3)).map(|n| Uuid(n.into())).collect(),
            counts: dice.percent(50),
        }),
        14 => CapacityCommand::CreateClass(CreateClass { name: class(dice), ensure: true }),
        15 => CapacityCommand::RenameClass(RenameClass { from: class(dice), to: class(dice) }),
        16 => CapacityCommand::DeleteClass(class(dice)),
        17 => CapacityCommand::CreateTrait((*dice.one_of(&TRAITS)).into()),
        18 => CapacityCommand::DeleteTrait((*dice.one_of(&TRAITS)).into()),
        _ => CapacityCommand::Reshape(reshape(dice)),
    })
}

pub(super) fn op(dice: &mut Dice) -> Op {
    match dice.below(10) {
        0..7 => Op::Allocate(allocate(dice)),
        7 => Op::Deallocate(DeallocateOp { consumer: consumer(dice), expect: expect(dice) }),
        8 => {
            let (consumer, expect) = (consumer(dice), expect(dice));
            Op::Extend(ExtendOp { consumer, expect, lease: lease(dice) })
        }
        _ if dice.percent(50) => {
            Op::Check(Check::Provider { provider: provider(dice), expect: expect(dice) })
        }
        _ => Op::Check(Check::Consumer { consumer: consumer(dice), expect: expect(dice) }),
    }
}

fn allocate(dice: &mut Dice) -> AllocateOp {
    AllocateOp { consumers: (0..*dice.one_of(&[1, 1, 1, 2, 3])).map(|_| holding(dice)).collect() }
}

fn holding(dice: &mut Dice) -> Holding {
    let resources = |dice: &mut Dice| (class(dice), *dice.one_of(&[1, 2, 2, 4]));
    Holding {
        consumer: consumer(dice),
        expect: expect(dice),
        project: (*dice.one_of(&["p", "q"])).into(),
        user: (*dice.one_of(&["u", "v"])).into(),
        consumer_type: dice.one_of(&[None, None, Some("INSTANCE")]).map(Into::into),
        allocations: (0..*dice.one_of(&[0, 1, 1, 1, 2]))
            .map(|_| (provider(dice), vec![resources(dice)]))
            .collect(),
        lease: lease(dice),
    }
}

fn lease(dice: &mut Dice) -> Option<LeaseAsk> {
    let reclaim = *dice.one_of(&[Reclaim::Reap, Reclaim::Keep]);
    let ttl_ms = *dice.one_of(&[None, None, Some(100), Some(1_500)]);
    ttl_ms.map(|ttl_ms| LeaseAsk { ttl_ms, reclaim })
}

fn change(dice: &mut Dice) -> InventoryChange {
    match dice.below(6) {
        0..3 => InventoryChange::Replace(inventories(dice)),
        3 => InventoryChange::Add(class(dice), inventory(dice)),
        4 => InventoryChange::Update(class(dice), inventory(dice)),
        _ => InventoryChange::Remove(class(dice)),
    }
}

fn inventories(dice: &mut Dice) -> Vec<(Arc<str>, Inventory)> {
    let mut all: Vec<_> = CLASSES.iter().map(|&class| (class.into(), inventory(dice))).collect();
    all.retain(|_| dice.percent(60));
    all
}

fn inventory(dice: &mut Dice) -> Inventory {
    Inventory {
        reserved: dice.below(2) as u32,
        step_size: dice.between(1, 2) as u32,
        allocation_ratio: Ratio(*dice.one_of(&[1.0, 1.0, 1.5])),
        ..Inventory::of(dice.between(1, 8) as u32)
    }
}

fn reshape(dice: &mut Dice) -> Reshape {
    let reshaped = |dice: &mut Dice| Reshaped {
        provider: provider(dice),
        expect: dice.below(6),
        inventories: inventories(dice),
    };
    let inventories = (0..dice.between(1, 2)).map(|_| reshaped(dice)).collect();
    Reshape { inventories, allocations: allocate(dice) }
}

fn provider(dice: &mut Dice) -> Uuid {
    Uuid(dice.below(4).into())
}

fn name(dice: &mut Dice) -> Arc<str> {
    (*dice.one_of(&["host-a", "host-b", "host-c", "host-d", "host-e"])).into()
}

fn consumer(dice: &mut Dice) -> Uuid {
    Uuid(100 + u128::from(dice.below(5)))
}

fn class(dice: &mut Dice) -> Arc<str> {
    (*dice.one_of(&CLASSES)).into()
}

fn generation(dice: &mut Dice) -> Option<u64> {
    *dice.one_of(&[None, None, Some(0), Some(1), Some(2)])
}

fn expect(dice: &mut Dice) -> Expect {
    let all = [Expect::Any, Expect::Any, Expect::Absent, Expect::Present, Expect::Is(1)];
    *dice.one_of(&all)
}
