//! Why there are no more candidates, as tables: what each constraint left of the providers, and then of the trees.

use serde::Deserialize;

use super::super::table::{Side, Table};

#[derive(Deserialize)]
pub(super) struct Explanation {
    providers: u64,
    groups: Vec<Group>,
    trees: Trees,
}

#[derive(Deserialize)]
struct Group {
    name: String,
    parts: Vec<Part>,
    trees: u64,
}

#[derive(Deserialize)]
struct Part {
    class: Option<String>,
    stages: Vec<Stage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Stage {
    constraint: String,
    class: String,
    amount: u64,
    traits: Vec<String>,
    aggregates: Vec<Vec<String>>,
    in_tree: String,
    before: u64,
    removed: u64,
    nearest: Option<Near>,
}

#[derive(Deserialize)]
struct Near {
    provider: String,
    only: bool,
    free: Option<i64>,
    missing: Option<u64>,
    min_unit: Option<u64>,
    max_unit: Option<u64>,
    step_size: Option<u64>,
}

#[derive(Deserialize)]
struct Trees {
    total: u64,
    seen: u64,
    root_removed: u64,
    all_groups: u64,
    nearest: Option<NearTree>,
    rules: Vec<Rule>,
    with_candidates: u64,
    undecided: u64,
}

#[derive(Deserialize)]
struct NearTree {
    root: String,
    without: Vec<String>,
}

#[derive(Deserialize)]
struct Rule {
    rule: String,
    before: u64,
    removed: u64,
    example: Option<String>,
}

/// What providers are called.
type Names<'a> = &'a dyn Fn(&str) -> String;

/// The group without a name.
fn shown(group: &str) -> String {
    if group.is_empty() { "-".to_owned() } else { group.to_owned() }
}

impl Explanation {
    /// For each group: what each constraint left of the providers.
    pub(super) fn groups(&self, names: Names<'_>) -> Table {
        let mut table = Table::new(&[
            ("GROUP", Side::Left),
            ("CONSTRAINT", Side::Left),
            ("LEFT", Side::Right),
            ("REMOVED", Side::Right),
            ("NEAREST", Side::Left),
        ]);
        for group in &self.groups {
            for part in &group.parts {
                let name = match &part.class {
                    Some(class) => format!("{} {class}", shown(&group.name)),
                    None => shown(&group.name),
                };
                let all = self.providers.to_string();
                table.row([name.clone(), "every provider".to_owned(), all]);
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

    /// What is left of the trees, from all of them to those that have a candidate.
    pub(super) fn trees(&self, names: Names<'_>) -> Table {
        let mut table = Table::new(&[
            ("TREES", Side::Left),
            ("LEFT", Side::Right),
            ("REMOVED", Side::Right),
            ("EXAMPLE", Side::Left),
        ]);
        let trees = &self.trees;
        let mut row = |what: &str, left: u64, removed: Option<u64>, example: String| {
            let removed = removed.map(|removed| removed.to_string()).unwrap_or_default();
            table.row([what.to_owned(), left.to_string(), removed, example]);
        };
        row("every tree", trees.total, None, String::new());
        if trees.seen < trees.total {
            row("looked at", trees.seen, Some(trees.total - trees.seen), String::new());
        }
        let rooted = trees.seen.saturating_sub(trees.root_removed);
        row("the root is as required", rooted, Some(trees.root_removed), String::new());
        for group in &self.groups {
            let what = format!("can serve {}", shown(&group.name));
            row(&what, group.trees, None, String::new());
        }
        let nearest = trees.nearest.as_ref().map(|near| {
            let without: Vec<String> = near.without.iter().map(|group| shown(group)).collect();
            format!("{}, but not {}", names(&near.root), without.join(", "))
        });
        let removed = rooted.saturating_sub(trees.all_groups);
        let nearest = nearest.unwrap_or_default();
        row("can serve every group by itself", trees.all_groups, Some(removed), nearest);
        for rule in &trees.rules {
            let left = rule.before.saturating_sub(rule.removed);
            let example = rule.example.as_deref().map(names).unwrap_or_default();
            row(words(&rule.rule), left, Some(rule.removed), example);
        }
        row("has a candidate", trees.with_candidates, None, String::new());
        if trees.undecided > 0 {
            row("not looked at to the end", trees.undecided, None, String::new());
        }
        table
    }
}

impl Stage {
    fn words(&self) -> String {
        let Stage { class, amount, .. } = self;
        let sets = || {
            let sets = self.aggregates.iter().map(|set| set.join(" or "));
            sets.collect::<Vec<_>>().join(" and ")
        };
        match &*self.constraint {
            "in_tree" => format!("in the tree of {}", self.in_tree),
            "member_of" => format!("in {}", sets()),
            "not_member_of" => format!("not in {}", sets()),
            "required" => format!("has {}", self.traits.join(" or ")),
            "forbidden" => format!("has not {}", self.traits.join(" or ")),
            "anything" => "says what it must have".to_owned(),
            "has" => format!("has {class}"),
            "portion" => format!("gives {amount} of {class}"),
            "room" => format!("has {amount} of {class} left"),
            other => other.to_owned(),
        }
    }
}

impl Near {
    fn words(&self, names: Names<'_>) -> String {
        let mut text = names(&self.provider);
        if let (Some(free), Some(missing)) = (self.free, self.missing) {
            text.push_str(&format!(": {free} left, {missing} short"));
        }
        if let (Some(min), Some(max), Some(step)) = (self.min_unit, self.max_unit, self.step_size) {
            text.push_str(&format!(": {min} to {max} in steps of {step}"));
        }
        if self.only {
            text.push_str(" (nothing else is against it)");
        }
        text
    }
}

fn words(rule: &str) -> &str {
    match rule {
        "traits" => "its providers have the traits together",
        "isolation" => "every group has a provider of its own",
        "subtree" => "what must be in one subtree is",
        "room" => "all groups fit together",
        "one_provider" => "one provider serves everything",
        other => other,
    }
}
