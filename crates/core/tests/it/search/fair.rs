//! The order of candidates, which matters when there is a limit.

use std::collections::{BTreeMap, BTreeSet};

use allod_core::search::{Candidates, SearchLimits, candidates};

use crate::search::check::lines;
use crate::search::cloud::Cloud;
use crate::search::query::query;

/// `count` hosts with four devices each.
fn hosts(count: usize) -> String {
    let device = |host: usize, at: usize| format!(" h{host}d{at} GPU:1\n");
    let host = |host: usize| {
        format!("h{host} VCPU:8\n") + &(0..4).map(|at| device(host, at)).collect::<String>()
    };
    (0..count).map(host).collect()
}

fn search(cloud: &mut Cloud, request: &str) -> (Candidates, Vec<String>) {
    let query = query(cloud, request);
    let found = candidates(cloud.capacity(), &query, &SearchLimits::default());
    let text = lines(cloud, &query, &found);
    (found, text)
}

/// The number of candidates of each tree.
fn shares(found: &Candidates) -> Vec<usize> {
    let mut shares: BTreeMap<u32, usize> = BTreeMap::new();
    for candidate in found.iter() {
        *shares.entry(candidate.anchor).or_default() += 1;
    }
    shares.into_values().collect()
}

const TWO_DEVICES: &str =
    "resources=VCPU:1 resources_1=GPU:1 resources_2=GPU:1 group_policy=isolate";

#[test]
fn breadth_first_takes_one_candidate_of_each_tree_in_turn() {
    let mut cloud = Cloud::new(&hosts(6));
    for (limit, expected) in
        [(4, vec![1; 4]), (6, vec![1; 6]), (15, vec![3, 3, 3, 2, 2, 2]), (72, vec![12; 6])]
    {
        let (found, _) = search(&mut cloud, &format!("{TWO_DEVICES} limit={limit}"));
        let mut shares = shares(&found);
        shares.sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(shares, expected, "{limit}");
        assert_eq!(found.limit_hit, None);
    }
}

#[test]
fn depth_first_takes_one_tree_after_the_other() {
    let mut cloud = Cloud::new(&hosts(6));
    let (found, _) = search(&mut cloud, &format!("{TWO_DEVICES} deep limit=30"));
    assert_eq!(shares(&found), [12, 12, 6]);
}

#[test]
fn the_order_is_fixed_for_each_seed_and_differs_between_seeds() {
    for cloud in [hosts(40), (0..400).map(|n| format!("h{n} VCPU:8\n")).collect()] {
        let mut cloud = Cloud::new(&cloud);
        let request = "resources=VCPU:1 limit=5";
        let plain = search(&mut cloud, request).1;
        assert_eq!(search(&mut cloud, request).1, plain);
        let mut answers = BTreeSet::new();
        for seed in 0..20 {
            let request = format!("{request} seed={seed}");
            let answer = search(&mut cloud, &request).1;
            assert_eq!(
                search(&mut cloud, &request).1,
                answer,
                "the same seed gave a different answer"
            );
            answers.insert(answer);
        }
        assert!(answers.len() > 15, "{} different answers", answers.len());
    }
}

#[test]
fn a_seed_changes_the_order_within_a_tree() {
    let mut cloud = Cloud::new(&hosts(1));
    let mut first = |seed| search(&mut cloud, &format!("resources=GPU:1 limit=1 seed={seed}")).1;
    let answers: BTreeSet<Vec<String>> = (0..50).map(&mut first).collect();
    assert_eq!(answers.len(), 4, "{answers:?}");
}

#[test]
fn trees_that_do_not_fit_in_memory_are_searched_again() {
    let mut cloud = Cloud::new(&hosts(1500));
    let (found, text) = search(&mut cloud, "resources=GPU:1 limit=2000");
    assert_eq!(found.len(), 2000);
    assert_eq!(shares(&found).len(), 1500);
    assert_eq!(shares(&found).into_iter().max(), Some(2));
    assert_eq!(text.into_iter().collect::<BTreeSet<_>>().len(), 2000);

    let (found, text) = search(&mut cloud, "resources=GPU:1");
    assert_eq!((found.len(), found.limit_hit), (6000, None));
    assert_eq!(text.into_iter().collect::<BTreeSet<_>>().len(), 6000);
}
