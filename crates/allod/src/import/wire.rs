//! What a Placement says, as far as it is copied and compared. More may be in an answer; it is passed over.
//!
//! Two of these are equal when the two sides agree: generations are beside them, because they are each server's own.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::capacity::Uuid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A provider without what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub uuid: Uuid,
    pub parent: Option<Uuid>,
    pub name: Box<str>,
    pub generation: u64,
}

#[derive(Debug, Deserialize)]
pub struct ProviderRow {
    uuid: String,
    name: Box<str>,
    #[serde(default)]
    generation: u64,
    #[serde(default)]
    parent_provider_uuid: Option<String>,
}

impl ProviderRow {
    pub fn read(self) -> Result<Provider, String> {
        let uuid = |text: String| text.parse::<Uuid>().map_err(|_| format!("'{text}' is no uuid"));
        let parent = self.parent_provider_uuid.map(uuid).transpose()?;
        let ProviderRow { name, generation, .. } = self;
        Ok(Provider { uuid: uuid(self.uuid)?, parent, name, generation })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    pub total: u64,
    pub reserved: u64,
    pub min_unit: u64,
    pub max_unit: u64,
    pub step_size: u64,
    pub allocation_ratio: f64,
}

pub type Inventories = BTreeMap<String, Inventory>;

/// The three things that a provider has and that are set as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    Inventories,
    Traits,
    Aggregates,
}

impl PartKind {
    /// Inventories first: they are what the others only describe.
    pub const ALL: [PartKind; 3] = [PartKind::Inventories, PartKind::Traits, PartKind::Aggregates];

    /// As in the path, and in the body.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Inventories => "inventories",
            PartKind::Traits => "traits",
            PartKind::Aggregates => "aggregates",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Inventories(Inventories),
    Traits(BTreeSet<String>),
    Aggregates(BTreeSet<Uuid>),
}

#[derive(Debug, Deserialize)]
pub struct PartRow {
    #[serde(default)]
    pub resource_provider_generation: u64,
    #[serde(default)]
    inventories: Inventories,
    #[serde(default)]
    traits: BTreeSet<String>,
    #[serde(default)]
    aggregates: Vec<String>,
}

impl PartRow {
    pub fn read(self, kind: PartKind) -> Result<Part, String> {
        Ok(match kind {
            PartKind::Inventories => Part::Inventories(self.inventories),
            PartKind::Traits => Part::Traits(self.traits),
            PartKind::Aggregates => {
                let uuid = |text: &String| text.parse().map_err(|_| format!("'{text}' is no uuid"));
                let read: Result<BTreeSet<Uuid>, String> =
                    self.aggregates.iter().map(uuid).collect();
                Part::Aggregates(read?)
            }
        })
    }
}

impl Part {
    pub fn len(&self) -> usize {
        match self {
            Part::Inventories(all) => all.len(),
            Part::Traits(all) => all.len(),
            Part::Aggregates(all) => all.len(),
        }
    }

    pub fn json(&self) -> Value {
        match self {
            Part::Inventories(all) => json!(all),
            Part::Traits(all) => json!(all),
            Part::Aggregates(all) => all.iter().map(Uuid::to_string).collect(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Usages {
    pub usages: BTreeMap<String, u64>,
}

/// What a consumer holds, and whose it is. One that holds nothing is nobody.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Consumer {
    pub allocations: BTreeMap<String, Held>,
    pub project_id: Option<String>,
    pub user_id: Option<String>,
    pub consumer_type: Option<String>,
    pub consumer_generation: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub resources: BTreeMap<String, u64>,
}

/// What Placement calls the type of a consumer that never got one.
const UNKNOWN_TYPE: &str = "unknown";

impl Consumer {
    pub fn holds_nothing(&self) -> bool {
        self.allocations.is_empty()
    }

    /// How many amounts it holds.
    pub fn rows(&self) -> u64 {
        self.allocations.values().map(|held| held.resources.len() as u64).sum()
    }

    /// Its type, if it has one.
    pub fn kind(&self) -> Option<&str> {
        self.consumer_type.as_deref().filter(|kind| *kind != UNKNOWN_TYPE)
    }

    /// What must be the same on both sides. `typed`: both sides can tell types.
    pub fn json(&self, typed: bool) -> Value {
        if self.holds_nothing() {
            return Value::Null;
        }
        let mut all = json!({
            "allocations": self.allocations,
            "project_id": self.project_id,
            "user_id": self.user_id,
        });
        if typed {
            all["consumer_type"] = json!(self.kind().unwrap_or(UNKNOWN_TYPE));
        }
        all
    }
}
