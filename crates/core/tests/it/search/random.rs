//! Compares the search with the naive one on small random clouds and requests.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::capacity::Uuid;
use allod_core::random;
use allod_core::search::{
    CandidateQuery, Candidates, SearchLimits, candidates, explain, summaries,
};
use allod_core::view;
use allod_core::view::capacity::CapacityView;

use crate::search::check::lines;
use crate::search::cloud::Cloud;
use crate::search::naive::{self, Way};
use crate::search::query::query;

struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        random::next(&mut self.0) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

const CLASSES: [&str; 4] = ["VCPU", "DISK_GB", "SRIOV_NET_VF", "GPU"];
const TRAITS: [&str; 3] = ["A", "B", "C"];
const AGGREGATES: [&str; 3] = ["x", "y", "z"];

fn cloud_text(dice: &mut Dice) -> String {
    let mut text = String::new();
    let flat = dice.one_in(4);
    let sharing = !dice.one_in(3);
    let count = 1 + dice.below(7);
    let mut indent = 0;
    for at in 0..count {
        indent = if at == 0 || flat { 0 } else { dice.below(indent + 2).min(3) };
        text.push_str(&" ".repeat(indent as usize));
        text.push_str(&format!("p{at}"));
        for class in CLASSES {
            if dice.one_in(3) {
                continue;
            }
            let total = 1 + dice.below(5);
            let used = if dice.one_in(4) { 1 + dice.below(total) } else { 0 };
            let extra = match dice.below(10) {
                0 => ",max=2".to_string(),
                1 => ",min=2".to_string(),
                2 => ",step=2".to_string(),
                _ => String::new(),
            };
            let used = if extra.is_empty() { used } else { 0 };
            text.push_str(&format!(" {class}:{total}/{used}{extra}"));
        }
        for name in TRAITS.into_iter().filter(|_| dice.one_in(2)).collect::<Vec<_>>() {
            text.push_str(&format!(" +{name}"));
        }
        for name in AGGREGATES.into_iter().filter(|_| dice.one_in(2)).collect::<Vec<_>>() {
            text.push_str(&format!(" @{name}"));
        }
        if sharing && dice.one_in(3) {
            text.push_str(" +SHARES");
        }
        text.push('\n');
    }
    text
}

fn traits_text(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => format!("!{}", dice.pick(&TRAITS)),
        1 => format!("in:{},{}", dice.pick(&TRAITS), dice.pick(&TRAITS)),
        _ => dice.pick(&TRAITS).to_string(),
    }
}

fn member_text(dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => format!("!{}", dice.pick(&AGGREGATES)),
        1 => format!("in:{},{}", dice.pick(&AGGREGATES), dice.pick(&AGGREGATES)),
        _ => dice.pick(&AGGREGATES).to_string(),
    }
}

fn request_text(dice: &mut Dice) -> String {
    let mut words: Vec<String> = Vec::new();
    let suffixed = dice.below(4);
    let mut suffixes: Vec<String> = (1..=suffixed).map(|n| format!("_{n}")).collect();
    if suffixed == 0 || dice.one_in(2) {
        suffixes.push(String::new());
    }
    let mut subtrees: BTreeSet<String> = BTreeSet::new();
    for suffix in &suffixes {
        let resourceless = suffix == "_1" && suffixed > 1 && dice.one_in(4);
        if resourceless {
            subtrees.extend(["_1".to_string(), "_2".to_string()]);
        } else {
            let classes: BTreeSet<&str> =
                (0..1 + dice.below(2)).map(|_| dice.pick(&CLASSES)).collect();
            let resources: Vec<String> = classes
                .iter()
                .map(|class| format!("{class}:{}", 1 + u64::from(dice.one_in(3))))
                .collect();
            words.push(format!("resources{suffix}={}", resources.join(",")));
        }
        if resourceless || dice.one_in(5) {
            words.push(format!("required{suffix}={}", traits_text(dice)));
        }
        if dice.one_in(10) {
            words.push(format!("required{suffix}={}", traits_text(dice)));
        }
        if dice.one_in(6) {
            words.push(format!("member_of{suffix}={}", member_text(dice)));
        }
        if dice.one_in(16) {
            words.push(format!("in_tree{suffix}=p{}", dice.below(8)));
        }
    }
    if suffixed > 1 && dice.one_in(3) {
        subtrees.extend(
            (1..=suffixed).filter(|_| !dice.one_in(3)).map(|n| format!("_{n}")).collect::<Vec<_>>(),
        );
    }
    if !subtrees.is_empty() {
        words.push(format!("same_subtree={}", subtrees.into_iter().collect::<Vec<_>>().join(",")));
    }
    if dice.one_in(2) {
        words.push("group_policy=isolate".into());
    }
    if dice.one_in(6) {
        let name = dice.pick(&TRAITS);
        words.push(format!("root_required={}{name}", if dice.one_in(2) { "!" } else { "" }));
    }
    if dice.one_in(5) {
        words.push("old".into());
    }
    words.join(" ")
}

fn ways(cloud: &Cloud, found: &Candidates) -> Vec<Way> {
    let uuid = |ix: &u32| cloud.capacity().provider_at(*ix).expect("there").uuid();
    let way = |candidate: allod_core::search::Candidate<'_>| {
        let mut amounts = BTreeMap::new();
        for (provider, class, amount) in candidate.amounts {
            assert_eq!(
                amounts.insert((uuid(provider), *class), *amount),
                None,
                "a class appears twice"
            );
        }
        let mappings: Vec<BTreeSet<Uuid>> =
            candidate.mappings().map(|servers| servers.iter().map(uuid).collect()).collect();
        (amounts, mappings)
    };
    found.iter().map(way).collect()
}

#[test]
fn search_and_naive_search_find_the_same() {
    let mut dice = Dice(1);
    let (mut with, mut without) = (0, 0);
    for round in 0..3000 {
        let text = cloud_text(&mut dice);
        let mut cloud = Cloud::new(&text);
        for _ in 0..4 {
            let request = request_text(&mut dice);
            let all = query(&mut cloud, &request);
            let expected = naive::candidates(cloud.capacity(), &all);
            *if expected.is_empty() { &mut without } else { &mut with } += 1;
            compare(&cloud, &all, &expected, &format!("round {round}:\n{text}\n{request}"));
            explain_agrees(&cloud, &all, &expected, &format!("round {round}:\n{text}\n{request}"));
            let half = CandidateQuery { limit: Some(expected.len() / 2), ..all.clone() };
            compare(
                &cloud,
                &half,
                &expected,
                &format!("half of round {round}:\n{text}\n{request}"),
            );
        }
    }
    assert!(
        with > 3000 && without > 1000,
        "not representative: {with} with and {without} without candidates"
    );
}

#[test]
fn frozen_copy_answers_as_when_it_was_frozen() {
    let mut dice = Dice(2);
    let mut differ = 0;
    for round in 0..500 {
        let text = cloud_text(&mut dice);
        let mut cloud = Cloud::new(&text);
        let request = query(&mut cloud, &request_text(&mut dice));
        let frozen = view::capacity::freeze(&cloud.state);
        let answer = |capacity: CapacityView<'_>| {
            let found = candidates(capacity, &request, &SearchLimits::default());
            let shown: Vec<(Uuid, u64, Vec<u64>)> = summaries(capacity, &found)
                .into_iter()
                .filter_map(|ix| capacity.provider_at(ix))
                .map(|one| {
                    let used = one.inventories().map(|inventory| inventory.used).collect();
                    (one.root(), one.generation(), used)
                })
                .collect();
            let why = explain(capacity, &request, &SearchLimits::default());
            format!("{found:?} {shown:?} {why:?}")
        };
        let before = answer(cloud.capacity());
        for more in 0..3 {
            let name = format!("more{more}");
            let line =
                cloud_text(&mut dice).lines().next().unwrap_or_default().replacen("p0", &name, 1);
            cloud.add(&line, None);
        }
        differ += usize::from(answer(cloud.capacity()) != before);
        assert_eq!(answer(frozen.view()), before, "round {round}:\n{text}");
        assert_eq!(answer(frozen.clone().view()), before, "round {round}:\n{text}");
    }
    assert!(differ > 200, "not representative: {differ}");
}

/// Every order finds the same set; with a limit, a subset of that size.
fn compare(cloud: &Cloud, query: &CandidateQuery, expected: &BTreeSet<Way>, what: &str) {
    use allod_core::search::CandidateOrder::{BreadthFirst, DepthFirst};
    for (order, seed) in [(BreadthFirst, None), (DepthFirst, None), (BreadthFirst, Some(7))] {
        let query = CandidateQuery { order, seed, ..query.clone() };
        let found = candidates(cloud.capacity(), &query, &SearchLimits::default());
        assert_eq!(found.limit_hit, None);
        let ways = ways(cloud, &found);
        let distinct: BTreeSet<Way> = ways.iter().cloned().collect();
        let text = lines(cloud, &query, &found).join("\n");
        assert_eq!(distinct.len(), ways.len(), "duplicate candidate\n{what}\n{text}");
        match query.limit {
            Some(limit) => {
                assert_eq!(ways.len(), limit, "{what}\n{text}");
                assert!(distinct.is_subset(expected), "{what}\n{text}");
            }
            None => assert_eq!(&distinct, expected, "{what}\n{text}"),
        }
    }
}

/// The explanation has trees with candidates exactly if there are candidates, and each other tree has one reason.
fn explain_agrees(cloud: &Cloud, query: &CandidateQuery, expected: &BTreeSet<Way>, what: &str) {
    let explanation = explain(cloud.capacity(), query, &SearchLimits::default());
    let trees = &explanation.trees;
    assert_eq!((explanation.limit_hit, trees.undecided), (None, 0), "{what}");
    assert_eq!(trees.with_candidates > 0, !expected.is_empty(), "{what}\n{explanation:?}");
    let removed: usize = trees.rules.iter().map(|rule| rule.removed).sum();
    assert_eq!(trees.all_groups, trees.with_candidates + removed, "{what}\n{explanation:?}");
    for part in explanation.groups.iter().flat_map(|group| &group.parts) {
        let removed: usize = part.stages.iter().map(|stage| stage.removed).sum();
        assert_eq!(explanation.providers, part.left + removed, "{what}\n{explanation:?}");
    }
}
