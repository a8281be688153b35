//! Explanations of searches that find few candidates or none.

use std::fmt::Write;

use allod_core::search::explain::{Constraint, Explanation, Stage, TreeRule};
use allod_core::search::{LimitHit, SearchLimits, explain};

use crate::search::cloud::Cloud;
use crate::search::query::query;

/// Compares the stages that removed a provider, and the fate of the trees, with these lines.
#[track_caller]
fn check(cloud: &str, request: &str, expected: &[&str]) {
    let mut cloud = Cloud::new(cloud);
    let query = query(&mut cloud, request);
    let explanation = explain(cloud.capacity(), &query, &SearchLimits::default());
    assert_eq!(explanation.limit_hit, None);
    assert_eq!(text(&cloud, &query.groups, &explanation), expected, "{request}");
}

fn text(
    cloud: &Cloud,
    groups: &[allod_core::search::RequestGroup],
    explanation: &Explanation,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (group, explained) in groups.iter().zip(&explanation.groups) {
        for part in &explained.parts {
            let class = part.class.map(|class| cloud.class(class)).unwrap_or_default();
            let name = format!("{}{class}", group.suffix);
            let mut before = explanation.providers;
            for stage in &part.stages {
                assert_eq!(
                    stage.before, before,
                    "a stage does not start where the previous one ended"
                );
                before -= stage.removed;
                if stage.removed > 0 {
                    lines.push(format!("{name}: {}", stage_text(cloud, stage)));
                }
            }
            assert_eq!(before, part.left);
            lines.push(format!("{name}: {} left, {} trees", part.left, explained.trees));
        }
    }
    let trees = &explanation.trees;
    assert!(trees.seen == trees.total || trees.seen == 0);
    let mut line = format!("{} trees", trees.total);
    if trees.root_removed > 0 {
        write!(line, ", {} by their root", trees.root_removed).expect("a string");
    }
    if let Some((root, missing)) = &trees.nearest {
        let missing: Vec<&str> = missing.iter().map(|at| &*groups[*at].suffix).collect();
        write!(line, ", {} only lacks '{}'", cloud.name(*root), missing.join(" "))
            .expect("a string");
    }
    write!(line, ", {} with all groups", trees.all_groups).expect("a string");
    for rule in trees.rules.iter().filter(|rule| rule.removed > 0) {
        let name = match rule.rule {
            TreeRule::Traits => "traits",
            TreeRule::Isolation => "isolation",
            TreeRule::Subtree => "subtree",
            TreeRule::SumFits => "room",
            TreeRule::OneProvider => "one provider",
        };
        let example = rule.example.map(|ix| cloud.name(ix)).unwrap_or_default();
        write!(line, ", {name} removes {} of {} like {example}", rule.removed, rule.before)
            .expect("a string");
    }
    write!(line, ", {} with candidates", trees.with_candidates).expect("a string");
    lines.push(line);
    lines
}

fn stage_text(cloud: &Cloud, stage: &Stage) -> String {
    let constraint = match &stage.constraint {
        Constraint::InTree(_) => "in_tree".to_string(),
        Constraint::MemberOf(sets) => format!("member_of {}", sets.len()),
        Constraint::NotMemberOf(_) => "not member_of".to_string(),
        Constraint::Required(set) => format!("required {}", set.len()),
        Constraint::Forbidden(_) => "forbidden".to_string(),
        Constraint::NoCondition => "asks for nothing".to_string(),
        Constraint::HasInventory(class) => format!("has {}", cloud.class(*class)),
        Constraint::Units(class, amount) => format!("portion {}:{amount}", cloud.class(*class)),
        Constraint::Free(class, amount) => format!("room {}:{amount}", cloud.class(*class)),
    };
    let near = stage.nearest.expect("a provider was removed");
    let only = if near.only { "only" } else { "not only" };
    let mut text =
        format!("{constraint} removes {}, {only} {}", stage.removed, cloud.name(near.provider));
    if let Some(available) = near.available {
        write!(
            text,
            " (has {} up to {}, {} missing)",
            available.free,
            available.max_unit.min(99),
            near.missing
        )
        .expect("a string");
    }
    text
}

const HOSTS: &str = "
cn1 VCPU:8/7 MEMORY_MB:64 +A @x
cn2 VCPU:8/5 MEMORY_MB:64 +B @x
cn3 VCPU:8,max=2 MEMORY_MB:64 +A
cn4 MEMORY_MB:64 +A
";

#[test]
fn the_constraints_of_one_class_are_applied_in_order() {
    check(
        HOSTS,
        "resources=VCPU:4",
        &[
            "VCPU: has VCPU removes 1, only cn4",
            "VCPU: portion VCPU:4 removes 1, only cn3 (has 8 up to 2, 0 missing)",
            "VCPU: room VCPU:4 removes 2, only cn2 (has 3 up to 99, 1 missing)",
            "VCPU: 0 left, 0 trees",
            "4 trees, 0 with all groups, 0 with candidates",
        ],
    );
}

#[test]
fn the_constraints_of_a_suffixed_group_are_applied_in_order() {
    check(
        HOSTS,
        "resources_1=VCPU:2 member_of_1=x required_1=A required_1=!B",
        &[
            "_1: member_of 1 removes 2, only cn3",
            "_1: required 1 removes 1, not only cn2",
            "_1: room VCPU:2 removes 1, only cn1 (has 1 up to 99, 1 missing)",
            "_1: 0 left, 0 trees",
            "4 trees, 0 with all groups, 0 with candidates",
        ],
    );
    check(
        HOSTS,
        "resources_1=VCPU:2 member_of_1=!x required_1=!A in_tree_1=cn3",
        &[
            "_1: in_tree removes 3, not only cn1",
            "_1: forbidden removes 1, only cn3",
            "_1: 0 left, 0 trees",
            "4 trees, 0 with all groups, 0 with candidates",
        ],
    );
}

#[test]
fn an_unknown_tree_or_a_group_without_conditions_removes_all_providers() {
    check(
        HOSTS,
        "resources=VCPU:1 in_tree=missing",
        &[
            "VCPU: in_tree removes 4, only cn1",
            "VCPU: 0 left, 0 trees",
            "4 trees, 0 with all groups, 0 with candidates",
        ],
    );
    check(
        HOSTS,
        "required_0=!A resources_1=VCPU:1 same_subtree=_0,_1",
        &[
            "_0: asks for nothing removes 4, only cn2",
            "_0: 0 left, 0 trees",
            "_1: has VCPU removes 1, only cn4",
            "_1: 3 left, 0 trees",
            "4 trees, 0 with all groups, 0 with candidates",
        ],
    );
}

#[test]
fn roots_are_counted_before_their_groups() {
    check(
        HOSTS,
        "resources=MEMORY_MB:1 resources_1=VCPU:3 root_required=A",
        &[
            "MEMORY_MB: 4 left, 3 trees",
            "_1: has VCPU removes 1, only cn4",
            "_1: portion VCPU:3 removes 1, only cn3 (has 8 up to 2, 0 missing)",
            "_1: room VCPU:3 removes 1, only cn1 (has 1 up to 99, 2 missing)",
            "_1: 1 left, 0 trees",
            "4 trees, 1 by their root, cn1 only lacks '_1', 0 with all groups, 0 with candidates",
        ],
    );
}

const TREES: &str = "
cn1 MEMORY_MB:64 +A
 a GPU:1
  a1 VF:4
cn2 MEMORY_MB:64
 b GPU:1
 c GPU:1
 d VF:4
";

#[test]
fn a_rule_removes_whole_trees() {
    check(
        TREES,
        "resources=MEMORY_MB:1 required=A",
        &[
            "MEMORY_MB: has MEMORY_MB removes 5, only a",
            "MEMORY_MB: 2 left, 2 trees",
            "2 trees, 2 with all groups, traits removes 1 of 2 like cn2, 1 with candidates",
        ],
    );
    let two = "resources_1=GPU:1 resources_2=GPU:1";
    let [one, other] = ["_1: has GPU removes 4, only cn1", "_1: 3 left, 2 trees"];
    let [third, fourth] = [one, other].map(|line| line.replace("_1", "_2"));
    check(
        TREES,
        &format!("{two} group_policy=isolate"),
        &[
            one,
            other,
            &third,
            &fourth,
            "2 trees, 2 with all groups, isolation removes 1 of 2 like cn1, 1 with candidates",
        ],
    );
    check(
        TREES,
        two,
        &[
            one,
            other,
            &third,
            &fourth,
            "2 trees, 2 with all groups, room removes 1 of 2 like cn1, 1 with candidates",
        ],
    );
    check(
        TREES,
        "resources_1=GPU:1 resources_2=VF:1 same_subtree=_1,_2",
        &[
            one,
            other,
            "_2: has VF removes 5, only cn1",
            "_2: 2 left, 2 trees",
            "2 trees, 2 with all groups, subtree removes 1 of 2 like cn2, 1 with candidates",
        ],
    );
    check(
        TREES,
        "old resources=MEMORY_MB:1,VF:1",
        &[
            "MEMORY_MB: has MEMORY_MB removes 5, only a",
            "MEMORY_MB: 2 left, 2 trees",
            "VF: has VF removes 5, only cn1",
            "VF: 2 left, 2 trees",
            "2 trees, 2 with all groups, one provider removes 2 of 2 like cn1, 0 with candidates",
        ],
    );
}

#[test]
fn an_explanation_stops_at_the_step_limit() {
    let mut cloud = Cloud::new(HOSTS);
    let query = query(&mut cloud, "resources=VCPU:1");
    let limits = SearchLimits { steps_max: 5, ..SearchLimits::default() };
    let explanation = explain(cloud.capacity(), &query, &limits);
    assert_eq!(explanation.limit_hit, Some(LimitHit::Steps));
    assert!(explanation.trees.seen < explanation.trees.total);
}
