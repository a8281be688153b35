//! Settings of this face, with the names that Placement uses.

use allod_core::search::SearchLimits;

use crate::policy::PolicySettings;

/// The order in which candidates are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GenerationStrategy {
    /// All candidates of one tree before the next tree.
    #[default]
    DepthFirst,
    /// One candidate of each tree in turn.
    BreadthFirst,
}

impl std::str::FromStr for GenerationStrategy {
    type Err = String;

    fn from_str(text: &str) -> Result<GenerationStrategy, String> {
        match text {
            "depth-first" => Ok(GenerationStrategy::DepthFirst),
            "breadth-first" => Ok(GenerationStrategy::BreadthFirst),
            _ => Err(format!("'{text}' is not one of depth-first, breadth-first")),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementSettings {
    pub policy: PolicySettings,
    /// Return candidates in a random order.
    pub randomize_allocation_candidates: bool,
    /// The maximum number of candidates; negative: no limit.
    pub max_allocation_candidates: i64,
    pub allocation_candidates_generation_strategy: GenerationStrategy,
    /// Owner of allocations without a project and a user, which versions before 1.8 allow.
    pub incomplete_consumer_project_id: String,
    pub incomplete_consumer_user_id: String,
    /// Limits on one search for candidates.
    pub search: SearchLimits,
    /// The scheme of URLs in `Location` headers.
    pub scheme: &'static str,
}

impl Default for PlacementSettings {
    fn default() -> PlacementSettings {
        const NO_OWNER: &str = "00000000-0000-0000-0000-000000000000";
        PlacementSettings {
            policy: PolicySettings::default(),
            randomize_allocation_candidates: false,
            max_allocation_candidates: -1,
            allocation_candidates_generation_strategy: GenerationStrategy::default(),
            incomplete_consumer_project_id: NO_OWNER.to_owned(),
            incomplete_consumer_user_id: NO_OWNER.to_owned(),
            search: SearchLimits::default(),
            scheme: "http",
        }
    }
}
