//! The bodies of Placement's answers, reduced to what is copied and compared. Unknown members are ignored.
//!
//! Generations are not part of the comparison, because each server counts its own.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::capacity::Uuid;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A provider without its inventories, traits and aggregates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEntry {
    pub uuid: Uuid,
    pub parent: Option<Uuid>,
    pub name: Box<str>,
    pub generation: u64,
}

#[derive(Debug, Deserialize)]
pub struct ProviderBody {
    uuid: String,
    name: Box<str>,
    #[serde(default)]
    generation: u64,
    #[serde(default)]
    parent_provider_uuid: Option<String>,
}

impl ProviderBody {
    pub fn parse(self) -> Result<ProviderEntry, String> {
        let uuid =
            |text: String| text.parse::<Uuid>().map_err(|_| format!("'{text}' is not a UUID"));
        let parent = self.parent_provider_uuid.map(uuid).transpose()?;
        let ProviderBody { name, generation, .. } = self;
        Ok(ProviderEntry { uuid: uuid(self.uuid)?, parent, name, generation })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct InventoryBody {
    pub total: u64,
    pub reserved: u64,
    pub min_unit: u64,
    pub max_unit: u64,
    pub step_size: u64,
    pub allocation_ratio: f64,
}

pub type Inventories = BTreeMap<String, InventoryBody>;

/// The three parts of a provider; each is replaced as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderPartKind {
    Inventories,
    Traits,
    Aggregates,
}

impl ProviderPartKind {
    pub const ALL: [ProviderPartKind; 3] =
        [ProviderPartKind::Inventories, ProviderPartKind::Traits, ProviderPartKind::Aggregates];

    /// The name in the path and in the body.
    pub fn name(self) -> &'static str {
        match self {
            ProviderPartKind::Inventories => "inventories",
            ProviderPartKind::Traits => "traits",
            ProviderPartKind::Aggregates => "aggregates",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ProviderPart {
    Inventories(Inventories),
    Traits(BTreeSet<String>),
    Aggregates(BTreeSet<Uuid>),
}

#[derive(Debug, Deserialize)]
pub struct ProviderPartBody {
    #[serde(default)]
    pub resource_provider_generation: u64,
    #[serde(default)]
    inventories: Inventories,
    #[serde(default)]
    traits: BTreeSet<String>,
    #[serde(default)]
    aggregates: Vec<String>,
}

impl ProviderPartBody {
    pub fn parse(self, kind: ProviderPartKind) -> Result<ProviderPart, String> {
        Ok(match kind {
            ProviderPartKind::Inventories => ProviderPart::Inventories(self.inventories),
            ProviderPartKind::Traits => ProviderPart::Traits(self.traits),
            ProviderPartKind::Aggregates => {
                let uuid =
                    |text: &String| text.parse().map_err(|_| format!("'{text}' is not a UUID"));
                let parsed: Result<BTreeSet<Uuid>, String> =
                    self.aggregates.iter().map(uuid).collect();
                ProviderPart::Aggregates(parsed?)
            }
        })
    }
}

impl ProviderPart {
    pub fn len(&self) -> usize {
        match self {
            ProviderPart::Inventories(all) => all.len(),
            ProviderPart::Traits(all) => all.len(),
            ProviderPart::Aggregates(all) => all.len(),
        }
    }

    pub fn json(&self) -> Value {
        match self {
            ProviderPart::Inventories(all) => json!(all),
            ProviderPart::Traits(all) => json!(all),
            ProviderPart::Aggregates(all) => all.iter().map(Uuid::to_string).collect(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UsagesBody {
    pub usages: BTreeMap<String, u64>,
}

/// A consumer with its allocations, project and user. Placement has no consumer without allocations.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ConsumerBody {
    pub allocations: BTreeMap<String, AllocationBody>,
    pub project_id: Option<String>,
    pub user_id: Option<String>,
    pub consumer_type: Option<String>,
    pub consumer_generation: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationBody {
    pub resources: BTreeMap<String, u64>,
}

/// Placement's name for the type of a consumer without one.
const UNKNOWN_TYPE: &str = "unknown";

impl ConsumerBody {
    pub fn is_empty(&self) -> bool {
        self.allocations.is_empty()
    }

    /// The number of allocations: one for each provider and resource class.
    pub fn allocation_count(&self) -> usize {
        self.allocations.values().map(|held| held.resources.len()).sum()
    }

    pub fn kind(&self) -> Option<&str> {
        self.consumer_type.as_deref().filter(|kind| *kind != UNKNOWN_TYPE)
    }

    /// What must be equal on both sides. Types are compared if both sides have them.
    pub fn json(&self, has_types: bool) -> Value {
        if self.is_empty() {
            return Value::Null;
        }
        let mut all = json!({
            "allocations": self.allocations,
            "project_id": self.project_id,
            "user_id": self.user_id,
        });
        if has_types {
            all["consumer_type"] = json!(self.kind().unwrap_or(UNKNOWN_TYPE));
        }
        all
    }
}
