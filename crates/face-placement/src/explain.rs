//! Explains in one header line why there are few candidates or none, if the request has the header `allod-explain`.
//!
//! Other clients are not affected. `POST /v1/candidates` of the native API returns the full explanation as JSON.

use std::fmt::Write;

use allod_core::capacity::Uuid;
use allod_core::search::CandidateQuery;
use allod_core::search::explain::{Constraint, Explanation, PartExplained, Stage, TreeRule};
use allod_core::view::capacity::{CapacityView, NameIx};
use http::HeaderName;

/// Request header that asks for the explanation, and reply header that carries it.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("allod-explain");

/// Many proxies limit a header to this length.
const BYTES_MAX: usize = 4000;

pub(crate) fn line(
    capacity: CapacityView<'_>,
    query: &CandidateQuery,
    explained: &Explanation,
) -> String {
    let mut text = words(capacity, query, explained);
    if text.len() > BYTES_MAX {
        let end = (0..=BYTES_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    // Provider names may contain any characters; a header may not.
    text.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect()
}

fn words(capacity: CapacityView<'_>, query: &CandidateQuery, explained: &Explanation) -> String {
    let mut text = format!("{} providers", explained.providers);
    for (group, shown) in query.groups.iter().zip(&explained.groups) {
        for part in &shown.parts {
            let name = if group.suffix.is_empty() { "unsuffixed" } else { &group.suffix };
            let class = part
                .class
                .map_or(String::new(), |class| format!(" {}", capacity.classes().name(class)));
            let _ = write!(text, "; group {name}{class}: ");
            put_part(&mut text, capacity, part);
        }
    }
    let trees = &explained.trees;
    let _ = write!(text, "; {} trees", trees.total);
    if trees.root_removed > 0 {
        let _ = write!(text, ", root_required removed {}", trees.root_removed);
    }
    let _ = write!(text, ", {} can serve each group alone", trees.all_groups);
    for rule in trees.rules.iter().filter(|rule| rule.removed > 0) {
        let _ = write!(text, ", {} removed {}", rule_name(rule.rule), rule.removed);
    }
    let _ = write!(text, ", {} have candidates", trees.with_candidates);
    if let Some((root, without)) = &trees.nearest {
        let groups: Vec<&str> =
            without.iter().filter_map(|at| query.groups.get(*at)).map(|one| &*one.suffix).collect();
        let root = capacity.provider_at(*root).map_or("", |root| root.name());
        let _ = write!(text, ", nearest {root} without group '{}'", groups.join("', '"));
    }
    text
}

fn put_part(text: &mut String, capacity: CapacityView<'_>, part: &PartExplained) {
    for stage in part.stages.iter().filter(|stage| stage.removed > 0) {
        put_stage(text, capacity, stage);
        text.push_str(", ");
    }
    let _ = write!(text, "{} left", part.left);
}

fn put_stage(text: &mut String, capacity: CapacityView<'_>, stage: &Stage) {
    let class = |ix: &NameIx| capacity.classes().name(*ix);
    let traits = |all: &[NameIx]| {
        all.iter().map(|ix| capacity.traits().name(*ix).to_string()).collect::<Vec<_>>().join(",")
    };
    let _ = match &stage.constraint {
        Constraint::InTree(uuid) => write!(text, "in_tree {uuid}"),
        Constraint::MemberOf(sets) => write!(text, "member_of {}", any_of(sets)),
        Constraint::NotMemberOf(uuids) => write!(text, "member_of !{}", joined(uuids)),
        Constraint::Required(all) => write!(text, "required {}", traits(all)),
        Constraint::Forbidden(all) => write!(text, "required !{}", traits(all)),
        Constraint::NoCondition => write!(text, "no condition"),
        Constraint::HasInventory(ix) => write!(text, "inventory of {}", class(ix)),
        Constraint::Units(ix, amount) => write!(text, "units of {}:{amount}", class(ix)),
        Constraint::Free(ix, amount) => write!(text, "room for {}:{amount}", class(ix)),
    };
    let _ = write!(text, " removed {}", stage.removed);
    let Some(near) = &stage.nearest else { return };
    let name = capacity.provider_at(near.provider).map_or("", |provider| provider.name());
    let _ = write!(text, " (nearest {name}");
    if matches!(stage.constraint, Constraint::Free(..)) {
        let _ = write!(text, ", {} missing", near.missing);
    }
    text.push_str(if near.only { ", no other condition fails)" } else { ")" });
}

fn joined(uuids: &[Uuid]) -> String {
    uuids.iter().map(Uuid::to_string).collect::<Vec<_>>().join(",")
}

fn any_of(sets: &[Vec<Uuid>]) -> String {
    sets.iter().map(|set| joined(set)).collect::<Vec<_>>().join(" and ")
}

fn rule_name(rule: TreeRule) -> &'static str {
    match rule {
        TreeRule::Traits => "required traits together",
        TreeRule::Isolation => "group_policy isolate",
        TreeRule::Subtree => "same_subtree",
        TreeRule::SumFits => "room for all groups together",
        TreeRule::OneProvider => "one provider of a tree",
    }
}
