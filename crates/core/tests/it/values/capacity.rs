//! Script lines about providers and consumers: how they are parsed and how answers are printed.
//!
//! Scripts use short names for providers, consumers and aggregates; a UUID consists of the letters of its name.

use std::fmt::Write;
use std::sync::Arc;

use allod_core::capacity::{Inventory, Ratio, Reclaim, Uuid};
use allod_core::command::capacity::{
    AllocateOp, CapacityCommand, ChangeInventories, CreateClass, CreateProvider, DeallocateOp,
    ExtendOp, Holding, InventoryChange, LeaseTerms, Parent, RenameClass, Reshape, Reshaped,
    Resources, SetAggregates, SetTraits, UpdateProvider,
};
use allod_core::command::{Check, Command, Op};
use allod_core::receipt::Outcome;
use allod_core::state::State;
use allod_core::view;

use crate::values::script::{Words, duration, expect, number, text};

pub fn uuid(name: &str) -> Uuid {
    let mut bytes = [0; 16];
    bytes[16 - name.len()..].copy_from_slice(name.as_bytes());
    Uuid(u128::from_be_bytes(bytes))
}

pub fn name(uuid: Uuid) -> String {
    let bytes = uuid.0.to_be_bytes();
    String::from_utf8_lossy(&bytes).trim_start_matches('\0').to_owned()
}

/// Replaces UUIDs by names. Other UUIDs stay as they are.
pub fn with_names(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        if let Some(found) = rest.get(..36).and_then(|text| text.parse::<Uuid>().ok()) {
            let named = name(found);
            let is_name = named.chars().all(|char| char.is_ascii_graphic());
            out.push_str(if is_name { &named } else { &rest[..36] });
            rest = &rest[36..];
        } else {
            let first = rest.chars().next().expect("it is not empty");
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    out
}

/// `VCPU=8,ratio:1.5,reserved:1`
fn inventory((class, text): (&str, &str)) -> (Arc<str>, Inventory) {
    let mut parts = text.split(',');
    let mut inventory = Inventory::of(number(parts.next().expect("a total")) as u32);
    for (what, value) in parts.filter_map(|part| part.split_once(':')) {
        let whole = || number(value) as u32;
        match what {
            "reserved" => inventory.reserved = whole(),
            "min" => inventory.min_unit = whole(),
            "max" => inventory.max_unit = whole(),
            "step" => inventory.step_size = whole(),
            "ratio" => inventory.allocation_ratio = Ratio(value.parse().expect("a ratio")),
            other => panic!("'{other}' is not part of an inventory"),
        }
    }
    (class.into(), inventory)
}

fn inventories(words: &Words<'_>) -> Vec<(Arc<str>, Inventory)> {
    words.named().filter(|(class, _)| *class != "gen").map(inventory).collect()
}

/// `c1 a:VCPU=2 a:DISK_GB=10 b:VCPU=1 project=p user=u type=T expect=1 ttl=10s keep`
fn holding(words: &Words<'_>) -> Holding {
    let mut allocations: Vec<(Uuid, Resources)> = Vec::new();
    for (what, amount) in words.named() {
        let Some((provider, class)) = what.split_once(':') else { continue };
        let resource = (class.into(), number(amount));
        match allocations.iter_mut().find(|(known, _)| *known == uuid(provider)) {
            Some((_, resources)) => resources.push(resource),
            None => allocations.push((uuid(provider), vec![resource])),
        }
    }
    Holding {
        consumer: uuid(words.plain(0)),
        expect: expect(words, allod_core::command::Expect::Any),
        project: text(words.get("project").unwrap_or("p")),
        user: text(words.get("user").unwrap_or("u")),
        consumer_type: words.get("type").map(text),
        allocations,
        lease: lease(words),
    }
}

fn lease(words: &Words<'_>) -> Option<LeaseTerms> {
    let reclaim = if words.has("keep") { Reclaim::Keep } else { Reclaim::Reap };
    words.get("ttl").map(|ttl| LeaseTerms { ttl_ms: duration(ttl), reclaim })
}

fn holdings(line: &str) -> AllocateOp {
    let parts = line.split('|').map(str::trim).filter(|part| !part.is_empty());
    AllocateOp { consumers: parts.map(|part| holding(&Words::of(&format!("_ {part}")))).collect() }
}

/// A script line that is a command of its own.
pub fn command(line: &str) -> Option<Command> {
    let words = Words::of(line);
    let own = || uuid(words.plain(0));
    let gen_seen = words.get("gen").map(number);
    let parent = |name: &str| (name != "none").then(|| uuid(name));
    let change = |change| {
        CapacityCommand::ChangeInventories(ChangeInventories {
            provider: own(),
            expect: gen_seen,
            change,
        })
    };
    let one = || inventories(&words).remove(0);
    Some(Command::Capacity(match words.verb() {
        "provider" => CapacityCommand::CreateProvider(CreateProvider {
            uuid: own(),
            name: text(words.get("name").unwrap_or(words.plain(0))),
            parent: words.get("parent").and_then(parent),
        }),
        "update" => CapacityCommand::UpdateProvider(UpdateProvider {
            uuid: own(),
            name: text(words.get("name").unwrap_or(words.plain(0))),
            parent: match (words.get("parent"), words.get("adopt")) {
                (Some(to), _) => Parent::Move(parent(to)),
                (_, Some(to)) => Parent::Adopt(parent(to)),
                (None, None) => Parent::Keep,
            },
        }),
        "remove" => CapacityCommand::DeleteProvider(own()),
        "stock" => change(InventoryChange::Replace(inventories(&words))),
        "stock_add" => change(InventoryChange::Add(one().0, one().1)),
        "stock_put" => change(InventoryChange::Update(one().0, one().1)),
        "stock_drop" => change(InventoryChange::Remove(text(words.plain(1)))),
        "traits" => CapacityCommand::SetTraits(SetTraits {
            provider: own(),
            expect: gen_seen,
            traits: words.plains().skip(1).map(text).collect(),
        }),
        "aggregates" => CapacityCommand::SetAggregates(SetAggregates {
            provider: own(),
            expect: gen_seen,
            aggregates: words.plains().skip(1).filter(|name| *name != "old").map(uuid).collect(),
            counts: !words.has("old"),
        }),
        "class" => CapacityCommand::CreateClass(CreateClass {
            name: text(words.plain(0)),
            ensure: words.has("ensure"),
        }),
        "rename_class" => CapacityCommand::RenameClass(RenameClass {
            from: text(words.plain(0)),
            to: text(words.plain(1)),
        }),
        "drop_class" => CapacityCommand::DeleteClass(text(words.plain(0))),
        "trait" => CapacityCommand::CreateTrait(text(words.plain(0))),
        "drop_trait" => CapacityCommand::DeleteTrait(text(words.plain(0))),
        "reshape" => {
            let (stock, held) = line.split_once("=>").unwrap_or((line, ""));
            let stock = stock.trim_start_matches("reshape");
            let reshaped = |part: &str| {
                let line = format!("_ {part}");
                let words = Words::of(&line);
                Reshaped {
                    provider: uuid(words.plain(0)),
                    expect: number(words.get("gen").expect("a generation")),
                    inventories: inventories(&words),
                }
            };
            CapacityCommand::Reshape(Reshape {
                inventories: stock.split('|').map(reshaped).collect(),
                allocations: holdings(held),
            })
        }
        _ => return None,
    }))
}

/// A script line that is an operation of a transaction.
pub fn op(line: &str) -> Option<Op> {
    let words = Words::of(line);
    let any = allod_core::command::Expect::Any;
    let consumer = || uuid(words.plain(0));
    Some(match words.verb() {
        "take" => Op::Allocate(holdings(line.trim_start_matches("take"))),
        "give" => {
            Op::Deallocate(DeallocateOp { consumer: consumer(), expect: expect(&words, any) })
        }
        "extend" => Op::Extend(ExtendOp {
            consumer: consumer(),
            expect: expect(&words, any),
            lease: lease(&words),
        }),
        "check_provider" => Op::Check(Check::Provider {
            provider: uuid(words.plain(0)),
            expect: expect(&words, any),
        }),
        "check_consumer" => Op::Check(Check::Consumer {
            consumer: uuid(words.plain(0)),
            expect: expect(&words, any),
        }),
        _ => return None,
    })
}

pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Allocated { consumers } => {
            let one = |(uuid, generation): &(Uuid, Option<u64>)| match generation {
                Some(generation) => format!("{} at {generation}", name(*uuid)),
                None => format!("{} gone", name(*uuid)),
            };
            consumers.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        Outcome::Deallocated { existed } => {
            if *existed { "given up" } else { "held nothing" }.into()
        }
        Outcome::Extended { generation, expires_ms, .. } => {
            let until = expires_ms.map_or("for ever".into(), |at| format!("until {at}"));
            format!("at {generation} {until}")
        }
        Outcome::Provider(now) => {
            let mut text = format!("{} at {}", now.name, now.generation);
            if let Some(parent) = now.parent {
                let _ = write!(text, " below {} in {}", name(parent), name(now.root));
            }
            text
        }
        Outcome::Named { created, .. } => if *created { "created" } else { "was there" }.into(),
        Outcome::Unnamed => "gone".into(),
        Outcome::Reshaped => "reshaped".into(),
        other => format!("{other:?}"),
    }
}

/// `has a`: the inventories, traits and aggregates of a provider.
pub fn has(state: &State, words: &Words<'_>) -> String {
    let capacity = view::capacity(state);
    let Some(provider) = capacity.provider(uuid(words.plain(0))) else { return "unknown".into() };
    let mut text = format!("at {}", provider.generation());
    for stock in provider.inventories() {
        let (class, used) = (stock.class_name, stock.used);
        let _ = write!(text, " {class} {used}/{}", stock.inventory.capacity());
    }
    for row in provider.traits() {
        let _ = write!(text, " +{}", row.name);
    }
    let mut sets: Vec<String> = provider.aggregates().map(name).collect();
    sets.sort();
    sets.iter().for_each(|set| {
        let _ = write!(text, " @{set}");
    });
    text
}

/// `holds c`: what a consumer holds.
pub fn holds(state: &State, now_ms: u64, words: &Words<'_>) -> String {
    let consumer = view::capacity(state).consumer(uuid(words.plain(0)));
    let Some(consumer) = consumer else { return "nothing".into() };
    let mut held = Vec::new();
    for (provider, amounts) in consumer.by_provider() {
        let one = |(class, amount)| format!("{}:{class}={amount}", name(provider.uuid()));
        held.extend(amounts.map(one));
    }
    let kind = consumer.consumer_type().map_or("-", |kind| &**kind);
    let expired = if consumer.is_expired(now_ms) { " expired" } else { "" };
    let (project, user) = (consumer.project(), consumer.user());
    format!("at {} {} {project}/{user}/{kind}{expired}", consumer.generation(), held.join(" "))
}

/// `uses p user=u`: the usage of a project.
pub fn uses(state: &State, words: &Words<'_>) -> String {
    let capacity = view::capacity(state);
    let rows = capacity.usages(words.plain(0), words.get("user")).map(|(kind, usage)| {
        let kind = kind.map_or("-", |kind| &**kind);
        let used: Vec<String> = usage
            .used
            .iter()
            .map(|(class, amount)| format!("{}={amount}", capacity.classes().name(*class)))
            .collect();
        format!("{kind} {}x {}", usage.consumers, used.join(" "))
    });
    rows.collect::<Vec<_>>().join("; ")
}
