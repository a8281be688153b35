//! Candidates and their explanation as JSON.

use std::collections::BTreeMap;

use allod_core::capacity::Uuid;
use allod_core::search::explain::{
    self, Explanation, GroupExplained, NearMiss, PartExplained, Stage, TreeRule,
};
use allod_core::search::{CandidateQuery, Candidates, LimitHit};
use allod_core::view::capacity::{CapacityView, NameIx, ProviderIx};

use crate::wire::{self, OrderedMap, UuidText};

/// The answer, with names in place of indexes.
pub(crate) fn answer(
    capacity: CapacityView<'_>,
    query: &CandidateQuery,
    found: &Candidates,
    explained: Option<&Explanation>,
) -> wire::CandidatesAnswer {
    let mut names_of = NameResolver { capacity, query, names: BTreeMap::new() };
    let candidates = found.iter().map(|candidate| {
        let mut allocations: Vec<(UuidText, wire::ClassAmounts)> = Vec::new();
        for of_provider in candidate.amounts.chunk_by(|one, next| one.0 == next.0) {
            let amount = |&(_, class, amount): &(ProviderIx, NameIx, u64)| {
                (capacity.classes().name(class).to_string(), amount)
            };
            let amounts = of_provider.iter().map(amount).collect();
            allocations.push((names_of.provider(of_provider[0].0), OrderedMap(amounts)));
        }
        let groups = query.groups.iter().zip(candidate.mappings());
        let mapping = groups.map(|(group, providers)| {
            let providers = providers.iter().map(|ix| names_of.provider(*ix)).collect();
            (group.suffix.to_string(), providers)
        });
        let mappings = OrderedMap(mapping.collect());
        let root = names_of.provider(candidate.anchor);
        wire::Candidate { root, allocations: OrderedMap(allocations), mappings }
    });
    let candidates = candidates.collect();
    let explanation = explained.map(|explained| names_of.explanation(explained));
    let providers = names_of.names.into_iter().map(|(uuid, name)| (UuidText(uuid), name)).collect();
    let cut = found.limit_hit.map(cut);
    wire::CandidatesAnswer { candidates, providers: OrderedMap(providers), cut, explanation }
}

fn cut(limit: LimitHit) -> &'static str {
    match limit {
        LimitHit::Candidates => "candidates",
        LimitHit::Steps => "steps",
    }
}

/// Resolves indexes to names, and collects the providers that occur in the answer.
struct NameResolver<'a> {
    capacity: CapacityView<'a>,
    query: &'a CandidateQuery,
    names: BTreeMap<Uuid, String>,
}

impl NameResolver<'_> {
    fn provider(&mut self, ix: ProviderIx) -> UuidText {
        let provider = self.capacity.provider_at(ix);
        let Some(provider) = provider else { return UuidText(Uuid::default()) };
        self.names.entry(provider.uuid()).or_insert_with(|| provider.name().to_string());
        UuidText(provider.uuid())
    }

    fn class(&self, ix: NameIx) -> String {
        self.capacity.classes().name(ix).to_string()
    }

    fn traits(&self, traits: &[NameIx]) -> Vec<String> {
        traits.iter().map(|ix| self.capacity.traits().name(*ix).to_string()).collect()
    }

    fn group(&self, at: usize) -> String {
        self.query.groups.get(at).map(|group| group.suffix.to_string()).unwrap_or_default()
    }

    fn explanation(&mut self, explained: &Explanation) -> wire::Explanation {
        let groups = explained.groups.iter().enumerate();
        wire::Explanation {
            providers: explained.providers,
            groups: groups.map(|(at, group)| self.group_explained(at, group)).collect(),
            trees: self.trees(&explained.trees),
            cut: explained.limit_hit.map(cut),
        }
    }

    fn group_explained(&mut self, at: usize, group: &GroupExplained) -> wire::GroupExplained {
        let parts = group.parts.iter().map(|part| self.part(part)).collect();
        wire::GroupExplained { name: self.group(at), parts, trees: group.trees }
    }

    fn part(&mut self, part: &PartExplained) -> wire::PartExplained {
        let stages = part.stages.iter().map(|stage| self.stage(stage)).collect();
        let class = part.class.map(|class| self.class(class));
        wire::PartExplained { class, stages, left: part.left }
    }

    fn stage(&mut self, stage: &Stage) -> wire::StageExplained {
        wire::StageExplained {
            constraint: self.constraint(&stage.constraint),
            before: stage.before,
            removed: stage.removed,
            nearest: stage.nearest.as_ref().map(|near| self.nearest(near, &stage.constraint)),
        }
    }

    fn constraint(&self, constraint: &explain::Constraint) -> wire::Constraint {
        use explain::Constraint;
        let names_of = |name| wire::Constraint { constraint: name, ..wire::Constraint::default() };
        let of = |uuids: &[Uuid]| uuids.iter().copied().map(UuidText).collect::<Vec<_>>();
        let class = |class: &NameIx| Some(self.class(*class));
        match constraint {
            Constraint::InTree(uuid) => {
                wire::Constraint { in_tree: Some(UuidText(*uuid)), ..names_of("in_tree") }
            }
            Constraint::MemberOf(sets) => {
                let aggregates = sets.iter().map(|set| of(set)).collect();
                wire::Constraint { aggregates, ..names_of("member_of") }
            }
            Constraint::NotMemberOf(aggregates) => {
                wire::Constraint { aggregates: vec![of(aggregates)], ..names_of("not_member_of") }
            }
            Constraint::Required(traits) => {
                wire::Constraint { traits: self.traits(traits), ..names_of("required") }
            }
            Constraint::Forbidden(traits) => {
                wire::Constraint { traits: self.traits(traits), ..names_of("forbidden") }
            }
            Constraint::NoCondition => names_of("anything"),
            Constraint::HasInventory(of) => {
                wire::Constraint { class: class(of), ..names_of("has") }
            }
            Constraint::Units(of, amount) => {
                wire::Constraint { class: class(of), amount: Some(*amount), ..names_of("portion") }
            }
            Constraint::Free(of, amount) => {
                wire::Constraint { class: class(of), amount: Some(*amount), ..names_of("room") }
            }
        }
    }

    fn nearest(&mut self, near: &NearMiss, constraint: &explain::Constraint) -> wire::Nearest {
        let units = matches!(constraint, explain::Constraint::Units(..));
        let units = near.available.filter(|_| units);
        let missing = matches!(constraint, explain::Constraint::Free(..)).then_some(near.missing);
        wire::Nearest {
            provider: self.provider(near.provider),
            only: near.only,
            free: near.available.map(|available| available.free),
            missing,
            min_unit: units.map(|available| available.min_unit),
            max_unit: units.map(|available| available.max_unit),
            step_size: units.map(|available| available.step_size),
        }
    }

    fn trees(&mut self, trees: &explain::TreesExplained) -> wire::TreesExplained {
        let nearest = trees.nearest.as_ref().map(|(root, without)| wire::NearestTree {
            root: self.provider(*root),
            without: without.iter().map(|at| self.group(*at)).collect(),
        });
        let rules = trees.rules.iter().map(|explained| wire::RuleExplained {
            rule: rule(explained.rule),
            before: explained.before,
            removed: explained.removed,
            example: explained.example.map(|ix| self.provider(ix)),
        });
        wire::TreesExplained {
            total: trees.total,
            seen: trees.seen,
            root_removed: trees.root_removed,
            all_groups: trees.all_groups,
            nearest,
            rules: rules.collect(),
            with_candidates: trees.with_candidates,
            undecided: trees.undecided,
        }
    }
}

fn rule(rule: TreeRule) -> &'static str {
    match rule {
        TreeRule::Traits => "traits",
        TreeRule::Isolation => "isolation",
        TreeRule::Subtree => "subtree",
        TreeRule::SumFits => "room",
        TreeRule::OneProvider => "one_provider",
    }
}
