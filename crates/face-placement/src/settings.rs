//! What an operator can set, under the names that Placement has for it.

use allod_core::search::SearchLimits;

use crate::policy::PolicySettings;

/// In which order candidates are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// All of one tree before the next.
    #[default]
    DepthFirst,
    /// One of each tree in turn.
    BreadthFirst,
}

impl std::str::FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Strategy, String> {
        match text {
            "depth-first" => Ok(Strategy::DepthFirst),
            "breadth-first" => Ok(Strategy::BreadthFirst),
            _ => Err(format!("'{text}' is none of depth-first, breadth-first")),
        }
    }
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub policy: PolicySettings,
    /// Give candidates in another order each time.
    pub randomize_allocation_candidates: bool,
    /// The most candidates that are looked for; below zero: all.
    pub max_allocation_candidates: i64,
    pub allocation_candidates_generation_strategy: Strategy,
    /// Whose allocations are that say nothing about it, as the oldest versions may.
    pub incomplete_consumer_project_id: String,
    pub incomplete_consumer_user_id: String,
    /// How far one search for candidates may go.
    pub search: SearchLimits,
    /// Of the addresses in `Location`: what the server speaks.
    pub scheme: &'static str,
}

impl Default for Settings {
    fn default() -> Settings {
        const NOBODY: &str = "00000000-0000-0000-0000-000000000000";
        Settings {
            policy: PolicySettings::default(),
            randomize_allocation_candidates: false,
            max_allocation_candidates: -1,
            allocation_candidates_generation_strategy: Strategy::default(),
            incomplete_consumer_project_id: NOBODY.to_owned(),
            incomplete_consumer_user_id: NOBODY.to_owned(),
            search: SearchLimits::default(),
            scheme: "http",
        }
    }
}
