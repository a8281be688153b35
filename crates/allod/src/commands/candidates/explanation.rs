//! The explanation of a search as tables: how many providers, and then trees, each constraint left.

use serde::Deserialize;

use crate::output::table::Table;

#[derive(Deserialize)]
pub(super) struct CandidateExplanation {
    providers: u64,
    groups: Vec<ExplainedGroup>,
    trees: ExplainedTrees,
}

#[derive(Deserialize)]
struct ExplainedGroup {
    name: String,
    parts: Vec<ExplainedPart>,
    trees: u64,
}

#[derive(Deserialize)]
struct ExplainedPart {
    class: Option<String>,
    stages: Vec<ExplainedStage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ExplainedStage {
    constraint: String,
    class: String,
    amount: u64,
    traits: Vec<String>,
    aggregates: Vec<Vec<String>>,
    in_tree: String,
    before: u64,
    removed: u64,
    nearest: Option<NearestProvider>,
}

#[derive(Deserialize)]
struct NearestProvider {
    provider: String,
    only: bool,
    free: Option<i64>,
    missing: Option<u64>,
    min_unit: Option<u64>,
    max_unit: Option<u64>,
    step_size: Option<u64>,
}

#[derive(Deserialize)]
struct ExplainedTrees {
    total: u64,
    seen: u64,
    root_removed: u64,
    all_groups: u64,
    nearest: Option<NearestTree>,
    rules: Vec<ExplainedRule>,
    with_candidates: u64,
    undecided: u64,
}

#[derive(Deserialize)]
struct NearestTree {
    root: String,
    without: Vec<String>,
}

#[derive(Deserialize)]
struct ExplainedRule {
    rule: String,
    before: u64,
    removed: u64,
    example: Option<String>,
}

/// Names of providers by UUID.
type ProviderNames<'a> = &'a dyn Fn(&str) -> String;

/// The name of a group, or `-`.
fn shown(group: &str) -> String {
    if group.is_empty() { "-".to_owned() } else { group.to_owned() }
}

impl CandidateExplanation {
    /// For each group, how many providers each constraint left.
    pub(super) fn groups(&self, names: ProviderNames<'_>) -> Table {
        let mut table = Table::new(&["GROUP", "CONSTRAINT", "LEFT", "REMOVED", "NEAREST"])
            .right(&["LEFT", "REMOVED"]);
        for group in &self.groups {
            for part in &group.parts {
                let name = match &part.class {
                    Some(class) => format!("{} {class}", shown(&group.name)),
                    None => shown(&group.name),
                };
                let all = self.providers.to_string();
                table.row([name.clone(), "all providers".to_owned(), all]);
                for stage in &part.stages {
                    let nearest = stage.nearest.as_ref();
                    table.row([
                        name.clone(),
                        stage.words(),
                        stage.before.saturating_sub(stage.removed).to_string(),
                        stage.removed.to_string(),
                        nearest.map(|near| near.words(names)).unwrap_or_default(),
                    ]);
                }
            }
        }
        table
    }

    /// How many trees are left after each step of the search.
    pub(super) fn trees(&self, names: ProviderNames<'_>) -> Table {
        let mut table =
            Table::new(&["TREES", "LEFT", "REMOVED", "EXAMPLE"]).right(&["LEFT", "REMOVED"]);
        let trees = &self.trees;
        let mut row = |what: &str, left: u64, removed: Option<u64>, example: String| {
            let removed = removed.map(|removed| removed.to_string()).unwrap_or_default();
            table.row([what.to_owned(), left.to_string(), removed, example]);
        };
        row("all trees", trees.total, None, String::new());
        if trees.seen < trees.total {
            row("examined", trees.seen, Some(trees.total - trees.seen), String::new());
        }
        let rooted = trees.seen.saturating_sub(trees.root_removed);
        row("root has the required traits", rooted, Some(trees.root_removed), String::new());
        for group in &self.groups {
            let what = format!("satisfies group {}", shown(&group.name));
            row(&what, group.trees, None, String::new());
        }
        let nearest = trees.nearest.as_ref().map(|near| {
            let without: Vec<String> = near.without.iter().map(|group| shown(group)).collect();
            format!("{}, except group {}", names(&near.root), without.join(", "))
        });
        let removed = rooted.saturating_sub(trees.all_groups);
        let nearest = nearest.unwrap_or_default();
        row("satisfies each group on its own", trees.all_groups, Some(removed), nearest);
        for rule in &trees.rules {
            let left = rule.before.saturating_sub(rule.removed);
            let example = rule.example.as_deref().map(names).unwrap_or_default();
            row(words(&rule.rule), left, Some(rule.removed), example);
        }
        row("has a candidate", trees.with_candidates, None, String::new());
        if trees.undecided > 0 {
            row("not fully examined", trees.undecided, None, String::new());
        }
        table
    }
}

impl ExplainedStage {
    fn words(&self) -> String {
        let ExplainedStage { class, amount, .. } = self;
        let sets = || {
            let sets = self.aggregates.iter().map(|set| set.join(" or "));
            sets.collect::<Vec<_>>().join(" and ")
        };
        match &*self.constraint {
            "in_tree" => format!("in the tree of {}", self.in_tree),
            "member_of" => format!("in {}", sets()),
            "not_member_of" => format!("not in {}", sets()),
            "required" => format!("has {}", self.traits.join(" or ")),
            "forbidden" => format!("does not have {}", self.traits.join(" or ")),
            "anything" => "has a constraint".to_owned(),
            "has" => format!("has {class}"),
            "portion" => format!("allows a portion of {amount} {class}"),
            "room" => format!("has {amount} {class} free"),
            other => other.to_owned(),
        }
    }
}

impl NearestProvider {
    fn words(&self, names: ProviderNames<'_>) -> String {
        let mut text = names(&self.provider);
        if let (Some(free), Some(missing)) = (self.free, self.missing) {
            text.push_str(&format!(": {free} free, {missing} short"));
        }
        if let (Some(min), Some(max), Some(step)) = (self.min_unit, self.max_unit, self.step_size) {
            text.push_str(&format!(": {min} to {max} in steps of {step}"));
        }
        if self.only {
            text.push_str(" (this is the only obstacle)");
        }
        text
    }
}

fn words(rule: &str) -> &str {
    match rule {
        "traits" => "its providers together have the traits",
        "isolation" => "each group has its own provider",
        "subtree" => "same_subtree groups are in one subtree",
        "room" => "all groups fit together",
        "one_provider" => "one provider satisfies everything",
        other => other,
    }
}
