//! Creates providers for tests. Clients use the Placement interface; tests submit the commands directly, from lines such as
//!
//! ```text
//! provider <uuid> host-1 VCPU=8 MEMORY_MB=4096/512*1.5 +HW_CPU_X86_AVX2 @<aggregate> ^<parent>
//! ```
//!
//! with total, reserved after a slash and the ratio after a star; `step=`, `min=` and `max=` are the units of the last class.

use allod_core::capacity::{Inventory, Ratio, Uuid};
use allod_core::command::Command;
use allod_core::command::capacity::{
    CapacityCommand, ChangeInventories, CreateClass, CreateProvider, InventoryChange,
    SetAggregates, SetTraits,
};
use allod_engine::Handle;

/// Creates the provider; returns the position.
pub async fn provide(handle: &Handle, line: &str) -> u64 {
    let mut words = line.split_whitespace();
    let provider = uuid(words.next().expect("a uuid"));
    let name = words.next().expect("a name").into();
    let (mut parent, mut traits, mut aggregates) = (None, Vec::new(), Vec::new());
    let mut stock: Vec<(std::sync::Arc<str>, Inventory)> = Vec::new();
    for word in words {
        match (word.split_at(1), word.split_once('=')) {
            (("^", of), _) => parent = Some(uuid(of)),
            (("+", name), _) => traits.push(name.into()),
            (("@", of), _) => aggregates.push(uuid(of)),
            (_, Some((unit @ ("step" | "min" | "max"), number))) => {
                let (_, inventory) = stock.last_mut().expect("a class");
                match unit {
                    "step" => inventory.step_size = number.parse().unwrap(),
                    "min" => inventory.min_unit = number.parse().unwrap(),
                    _ => inventory.max_unit = number.parse().unwrap(),
                }
            }
            (_, Some((class, amount))) => stock.push((class.into(), inventory(amount))),
            (_, None) => panic!("{word}: not known"),
        }
    }
    let create = CreateProvider { uuid: provider, name, parent };
    let mut position = submit(handle, CapacityCommand::CreateProvider(create)).await;
    for (class, _) in stock.iter().filter(|(class, _)| class.starts_with("CUSTOM_")) {
        let create = CreateClass { name: class.clone(), ensure: true };
        submit(handle, CapacityCommand::CreateClass(create)).await;
    }
    if !stock.is_empty() {
        let change = InventoryChange::Replace(stock);
        let change = ChangeInventories { provider, expect: None, change };
        position = submit(handle, CapacityCommand::ChangeInventories(change)).await;
    }
    if !traits.is_empty() {
        let set = SetTraits { provider, expect: None, traits };
        position = submit(handle, CapacityCommand::SetTraits(set)).await;
    }
    if !aggregates.is_empty() {
        let set = SetAggregates { provider, expect: None, aggregates, counts: true };
        position = submit(handle, CapacityCommand::SetAggregates(set)).await;
    }
    position
}

async fn submit(handle: &Handle, command: CapacityCommand) -> u64 {
    let reply = handle.submit(Command::Capacity(command)).await.expect("an answer");
    reply.answer.expect("no refusal");
    reply.at.position
}

fn uuid(text: &str) -> Uuid {
    text.parse().expect("a uuid")
}

fn inventory(text: &str) -> Inventory {
    let (text, ratio) = text.split_once('*').unwrap_or((text, "1"));
    let (total, reserved) = text.split_once('/').unwrap_or((text, "0"));
    Inventory {
        reserved: reserved.parse().expect("a number"),
        allocation_ratio: Ratio(ratio.parse().expect("a ratio")),
        ..Inventory::of(total.parse().expect("a number"))
    }
}
