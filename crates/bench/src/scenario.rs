//! The scenarios, one file each.

mod authorities;
mod claim_script;
mod claims;
mod core_fixture;
mod core_ops;
mod exactly_once;
mod history;
mod history_fixture;
mod id_script;
mod memory;
mod peer;
mod placement;
mod placement_scale;
mod pool_script;
mod resources;
mod restconf;
mod shared_journal;
mod stalls;
mod watchers;

use std::time::Duration;

use anyhow::Result;

use crate::figure::ScenarioReport;
use crate::load::Length;

pub use stalls::run as stalls;

#[derive(Debug)]
pub struct Scenario {
    pub name: &'static str,
    pub what: &'static str,
    pub run: fn(Effort) -> Result<ScenarioReport>,
}

pub const SCENARIOS: [Scenario; 13] = [
    Scenario {
        name: "authorities",
        what: "pools with an authority: an authority that hangs, grants from another allod, releases that drain",
        run: authorities::run,
    },
    Scenario {
        name: "claims",
        what: "durable claims over HTTP from one pool, compared with a handler that only parses",
        run: claims::run,
    },
    Scenario {
        name: "core",
        what: "every allocation strategy in the core, at different fill levels and sizes",
        run: core_ops::run,
    },
    Scenario {
        name: "exactly-once",
        what: "1,000 claims on 64 connections get each of 1,000 values exactly once",
        run: exactly_once::run,
    },
    Scenario {
        name: "history",
        what: "history queries on a journal of ten million events",
        run: history::run,
    },
    Scenario {
        name: "memory",
        what: "a million claims: memory, start-up, and reads while the server is busy",
        run: memory::run,
    },
    Scenario {
        name: "peer",
        what: "compared with a PostgreSQL table and FOR UPDATE SKIP LOCKED",
        run: peer::run,
    },
    Scenario {
        name: "placement",
        what: "compared with the real Placement with uWSGI on PostgreSQL, and with a bare handler",
        run: placement::run,
    },
    Scenario {
        name: "placement-scale",
        what: "100,000 providers and a million allocations: candidates, memory, start-up",
        run: placement_scale::run,
    },
    Scenario {
        name: "postgres",
        what: "durable claims on a journal in PostgreSQL, compared with the embedded one",
        run: shared_journal::run,
    },
    Scenario {
        name: "restconf",
        what: "id-manager and resource-manager over RESTCONF, compared with native claims; large pools and answers",
        run: restconf::run,
    },
    Scenario {
        name: "stalls",
        what: "the longest pause of 32 small clients beside the largest of everything that the limits allow",
        run: |effort| stalls(effort, None),
    },
    Scenario {
        name: "watchers",
        what: "10,000 idle watchers: memory, and the rate of claims",
        run: watchers::run,
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// For docs/performance.md.
    Full,
    /// A short run, for rough figures.
    Quick,
}

impl Effort {
    /// The number of alternating rounds.
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

/// A pool of 2^32 IDs.
pub const HOT_POOL: &str = r#"{"kind":"id32","ranges":["0-4294967295"],"strategy":"lowest"}"#;
