//! What is measured, one file for each scenario.

mod claim_script;
mod claims;
mod core_bed;
mod core_ops;
mod exactly_once;
mod history;
mod id_script;
mod memory;
mod past_bed;
mod peer;
mod placement;
mod placement_scale;
mod pool_script;
mod resources;
mod restconf;
mod shared_journal;
mod watchers;

use std::time::Duration;

use anyhow::Result;

use crate::figure::Report;
use crate::load::Length;

#[derive(Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub what: &'static str,
    pub run: fn(Effort) -> Result<Report>,
}

pub const SCENARIOS: [Scenario; 11] = [
    Scenario {
        name: "claims",
        what: "durable claims over HTTP from one hot pool, beside a handler that only parses",
        run: claims::run,
    },
    Scenario {
        name: "core",
        what: "every way to pick a value, in the core alone, at every fill and size",
        run: core_ops::run,
    },
    Scenario {
        name: "exactly-once",
        what: "each of 1,000 values goes to exactly one of 1,000 claims on 64 connections",
        run: exactly_once::run,
    },
    Scenario {
        name: "history",
        what: "questions about the past on a journal of ten million events",
        run: history::run,
    },
    Scenario {
        name: "memory",
        what: "a million claims: memory, start-up, and reads while the server is busy",
        run: memory::run,
    },
    Scenario {
        name: "peer",
        what: "beside a PostgreSQL table with FOR UPDATE SKIP LOCKED",
        run: peer::run,
    },
    Scenario {
        name: "placement",
        what: "beside the real Placement with uWSGI on PostgreSQL, and beside a bare handler",
        run: placement::run,
    },
    Scenario {
        name: "placement-scale",
        what: "100,000 providers and a million allocations: candidates, memory, start-up",
        run: placement_scale::run,
    },
    Scenario {
        name: "postgres",
        what: "durable claims on a journal in PostgreSQL, beside the embedded one",
        run: shared_journal::run,
    },
    Scenario {
        name: "restconf",
        what: "id-manager and resource-manager over RESTCONF, beside native claims; large pools and answers",
        run: restconf::run,
    },
    Scenario {
        name: "watchers",
        what: "10,000 watchers of what does not happen: memory, and claims beside them",
        run: watchers::run,
    },
];

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// For the document.
    Full,
    /// To see whether it works, and roughly where it stands.
    Quick,
}

impl Effort {
    /// Rounds in which the things to compare take turns.
    pub fn rounds(self) -> usize {
        match self {
            Effort::Full => 7,
            Effort::Quick => 3,
        }
    }

    pub fn round(self) -> Length {
        let (warm_up, measure) = match self {
            Effort::Full => (500, 3000),
            Effort::Quick => (200, 800),
        };
        Length::Timed {
            warm_up: Duration::from_millis(warm_up),
            measure: Duration::from_millis(measure),
        }
    }
}

/// The hot pool of the scenarios that need one: 2^32 ids.
pub const HOT_POOL: &str = r#"{"kind":"id32","ranges":["0-4294967295"],"strategy":"lowest"}"#;
