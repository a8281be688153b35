//! Builds a cloud from text.
//!
//! Each line is a provider: its name, then `CLASS:total` (`VCPU:8/2` if 2 are in use; `VCPU:8,max=2,step=2,min=2`,
//! `reserved=1` and `ratio=1.5`), `+TRAIT` and `@aggregate`. Indented lines are children of the line above that is
//! indented less. Class and trait names that are not standard become custom ones; `+SHARES` is the trait of sharing
//! providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use allod_core::capacity::{Inventory, Ratio, Uuid, standard};
use allod_core::command::capacity::{
    AllocateOp, CapacityCommand, ChangeInventories, CreateClass, CreateProvider, Holding,
    InventoryChange, SetAggregates, SetTraits,
};
use allod_core::command::{Command, Expect, Op, Stamp, Transact};
use allod_core::decide;
use allod_core::limits::Limits;
use allod_core::state::State;
use allod_core::view;
use allod_core::view::capacity::{CapacityView, NameIx, ProviderIx};

#[derive(Default)]
pub struct Cloud {
    pub state: State,
    uuids: BTreeMap<String, Uuid>,
    consumers: u128,
}

impl Cloud {
    pub fn new(text: &str) -> Cloud {
        let mut cloud = Cloud::default();
        let mut above: Vec<(usize, Uuid)> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let indent = line.len() - line.trim_start().len();
            above.retain(|(other, _)| *other < indent);
            let parent = above.last().map(|(_, uuid)| *uuid);
            let uuid = cloud.add(line.trim(), parent);
            above.push((indent, uuid));
        }
        cloud
    }

    pub fn capacity(&self) -> CapacityView<'_> {
        view::capacity(&self.state)
    }

    /// Adds the provider that a line describes.
    pub fn add(&mut self, line: &str, parent: Option<Uuid>) -> Uuid {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a name");
        let uuid = Uuid(0x1000 + self.uuids.len() as u128);
        self.uuids.insert(name.to_string(), uuid);
        self.run(CapacityCommand::CreateProvider(CreateProvider {
            uuid,
            name: name.into(),
            parent,
        }));
        let (mut stocks, mut traits, mut aggregates, mut used) = (vec![], vec![], vec![], vec![]);
        for word in words {
            if let Some(name) = word.strip_prefix('+') {
                traits.push(self.trait_named(name));
            } else if let Some(name) = word.strip_prefix('@') {
                aggregates.push(aggregate(name));
            } else {
                let (class, inventory, held) = stock(word);
                self.ensure_class(&class);
                stocks.push((class.clone(), inventory));
                used.extend((held > 0).then_some((class, held)));
            }
        }
        let provider = uuid;
        let change = InventoryChange::Replace(stocks);
        let change = ChangeInventories { provider, expect: None, change };
        self.run(CapacityCommand::ChangeInventories(change));
        self.run(CapacityCommand::SetTraits(SetTraits { provider, expect: None, traits }));
        let counts = true;
        let set = SetAggregates { provider, expect: None, aggregates, counts };
        self.run(CapacityCommand::SetAggregates(set));
        if !used.is_empty() {
            self.hold(uuid, used);
        }
        uuid
    }

    fn hold(&mut self, provider: Uuid, used: Vec<(Arc<str>, u64)>) {
        self.consumers += 1;
        let holding = Holding {
            consumer: Uuid(self.consumers),
            expect: Expect::Any,
            project: "p".into(),
            user: "u".into(),
            consumer_type: None,
            allocations: vec![(provider, used)],
            lease: None,
        };
        let op = Op::Allocate(AllocateOp { consumers: vec![holding] });
        self.decide(&Command::Transact(Transact { ops: vec![op], ..Transact::default() }));
    }

    fn run(&mut self, command: CapacityCommand) {
        self.decide(&Command::Capacity(command));
    }

    fn decide(&mut self, command: &Command) {
        let stamp = Stamp { now_ms: 1_000, seed: 0 };
        let answer = decide(&mut self.state, &stamp, command, &Limits::default());
        answer.unwrap_or_else(|refused| panic!("{command:?}: {refused:?}"));
    }

    fn trait_named(&mut self, name: &str) -> Arc<str> {
        let name = trait_name(name);
        if self.capacity().traits().find(&name).is_none() {
            self.run(CapacityCommand::CreateTrait(name.clone()));
        }
        name
    }

    fn ensure_class(&mut self, name: &Arc<str>) {
        if self.capacity().classes().find(name).is_none() {
            let create = CreateClass { name: name.clone(), ensure: true };
            self.run(CapacityCommand::CreateClass(create));
        }
    }

    /// The index of a trait, which is created if it does not exist.
    pub fn trait_ix(&mut self, name: &str) -> NameIx {
        let name = self.trait_named(name);
        self.capacity().traits().find(&name).expect("created")
    }

    pub fn class_ix(&mut self, name: &str) -> NameIx {
        let name = class_name(name);
        self.ensure_class(&name);
        self.capacity().classes().find(&name).expect("created")
    }

    pub fn uuid(&self, name: &str) -> Uuid {
        self.uuids.get(name).copied().unwrap_or(Uuid(0xdead))
    }

    pub fn name(&self, ix: ProviderIx) -> String {
        self.capacity().provider_at(ix).expect("there").name().to_string()
    }

    pub fn class(&self, ix: NameIx) -> String {
        self.capacity().classes().name(ix).trim_start_matches("CUSTOM_").to_string()
    }
}

pub fn aggregate(name: &str) -> Uuid {
    Uuid(name.bytes().fold(0xa99, |all, byte| all << 8 | u128::from(byte)))
}

fn class_name(name: &str) -> Arc<str> {
    custom(name, &standard::CLASSES)
}

fn trait_name(name: &str) -> Arc<str> {
    if name == "SHARES" { standard::SHARES.into() } else { custom(name, &standard::TRAITS) }
}

fn custom(name: &str, standard: &[&str]) -> Arc<str> {
    if standard.contains(&name) { name.into() } else { format!("CUSTOM_{name}").into() }
}

fn stock(word: &str) -> (Arc<str>, Inventory, u64) {
    let (class, rest) = word.split_once(':').expect("CLASS:total");
    let mut parts = rest.split(',');
    let total = parts.next().expect("a total");
    let (total, used) = total.split_once('/').unwrap_or((total, "0"));
    let mut inventory = Inventory::of(total.parse().expect("a number"));
    for part in parts {
        let (what, value) = part.split_once('=').expect("what=value");
        let number = || value.parse::<u32>().expect("a number");
        match what {
            "max" => inventory.max_unit = number(),
            "min" => inventory.min_unit = number(),
            "step" => inventory.step_size = number(),
            "reserved" => inventory.reserved = number(),
            "ratio" => inventory.allocation_ratio = Ratio(value.parse().expect("a ratio")),
            _ => panic!("{what}?"),
        }
    }
    (class_name(class), inventory, used.parse().expect("a number"))
}
