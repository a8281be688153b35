//! The cost of a search in steps: it depends on what is requested, not on how many candidates exist.

use allod_core::search::{Candidates, LimitHit, SearchLimits, candidates};

use crate::search::cloud::Cloud;
use crate::search::query::query;

fn search(cloud: &str, request: &str) -> Candidates {
    let mut cloud = Cloud::new(cloud);
    let query = query(&mut cloud, request);
    candidates(cloud.capacity(), &query, &SearchLimits::default())
}

/// One host with `count` devices of `each` units.
fn devices(count: usize, each: u64) -> String {
    let device = |at| format!(" d{at} GPU:{each}\n");
    "host VCPU:8\n".to_string() + &(0..count).map(device).collect::<String>()
}

/// `count` groups that request `each` units.
fn groups(count: usize, each: u64) -> String {
    (0..count).map(|at| format!("resources_{at}=GPU:{each} ")).collect()
}

#[track_caller]
fn check_work(cloud: &str, request: &str, candidates: usize, steps_max: u64) {
    let found = search(cloud, request);
    let is_cheap = found.steps <= steps_max;
    assert_eq!((found.len(), found.limit_hit), (candidates, None), "{} steps", found.steps);
    assert!(is_cheap, "{} steps for {request}", found.steps);
}

#[test]
fn many_equal_groups_in_a_wide_tree_are_cheap() {
    for policy in ["group_policy=isolate", ""] {
        let eight = groups(8, 1);
        check_work(&devices(8, 1), &format!("{eight} {policy} limit=1"), 1, 200);
        check_work(&devices(8, 1), &format!("{eight} {policy} limit=1000"), 1000, 50_000);
        check_work(&devices(64, 1), &format!("{eight} {policy} limit=1000"), 1000, 50_000);
        check_work(&devices(8, 1), &format!("{eight} {policy}"), 40_320, 2_000_000);
    }
}

#[test]
fn a_request_that_almost_fits_is_rejected_cheaply() {
    let isolate = "group_policy=isolate";
    check_work(&devices(8, 1), &format!("{} {isolate}", groups(9, 1)), 0, 2_000);
    check_work(&devices(64, 9), &format!("{} {isolate}", groups(65, 1)), 0, 100_000);
    check_work(&devices(8, 1), &groups(9, 1), 0, 2_000);
    check_work(&devices(16, 3), &groups(17, 2), 0, 20_000);
    let mixed = format!("{}resources_a=GPU:3 resources_b=GPU:3 ", groups(10, 2));
    check_work(&devices(11, 3), &mixed, 0, 20_000);
}

#[test]
fn a_request_with_one_impossible_part_is_rejected_cheaply() {
    // Four groups need one of three devices, and six can use any of many.
    let cloud = devices(20, 1) + " x1 GPU:1 +X\n x2 GPU:1 +X\n x3 GPU:1 +X\n";
    let wanted = |at| format!("resources_x{at}=GPU:1 required_x{at}=X ");
    let request = groups(6, 1) + &(0..4).map(wanted).collect::<String>();
    check_work(&cloud, &request, 0, 10_000);
    check_work(&cloud, &format!("{request} group_policy=isolate"), 0, 10_000);
}

#[test]
fn groups_of_one_subtree_are_assigned_together() {
    // No node has both kinds. Without an order, the other groups could be assigned in many ways before that shows.
    let node = |at: usize| {
        let kind = if at.is_multiple_of(2) { "A" } else { "B" };
        format!(" n{at} +NODE\n")
            + &(0..4).map(|d| format!("  n{at}d{d} GPU:1 +{kind}\n")).collect::<String>()
    };
    let cloud = "host\n".to_string() + &(0..8).map(node).collect::<String>();
    let request = groups(6, 1)
        + "required_n=NODE resources_a=GPU:1 required_a=A resources_b=GPU:1 required_b=B";
    check_work(&cloud, &format!("{request} same_subtree=_n,_a,_b"), 0, 10_000);
    check_work(&cloud, &format!("{request} same_subtree=_n,_a limit=100"), 100, 20_000);
}

#[test]
fn combined_traits_are_checked_from_the_start() {
    let cloud: String = "host\n".to_string()
        + &(0..30).map(|at| format!(" p{at} VCPU:1 DISK_GB:1 VF:1 GPU:1\n")).collect::<String>();
    let request = "resources=VCPU:1,DISK_GB:1,VF:1,GPU:1 required=A";
    check_work(&cloud, request, 0, 2_000);
    let cloud = cloud + " x VF:1 +A\n";
    check_work(&cloud, &format!("{request} limit=1000"), 1000, 50_000);
}

#[test]
fn a_flat_cloud_is_walked_only_up_to_the_limit() {
    let cloud: String = (0..5_000).map(|at| format!("h{at} VCPU:8 MEMORY_MB:64\n")).collect();
    check_work(&cloud, "resources=VCPU:1,MEMORY_MB:1 limit=10", 10, 100);
    check_work(&cloud, "resources=VCPU:1,MEMORY_MB:1 limit=10 seed=3", 10, 100);
    check_work(&cloud, "resources=VCPU:1,MEMORY_MB:1", 5_000, 30_000);
    check_work(&cloud, "resources=VCPU:1,MEMORY_MB:1 in_tree=h77", 1, 50);
    check_work(&cloud, "resources=VCPU:1 member_of=x", 0, 50);
}

#[test]
fn only_the_needed_trees_are_examined() {
    let host = |at: usize| format!("h{at} MEMORY_MB:64\n n{at} VCPU:8\n p{at} VF:4\n q{at} VF:4\n");
    let cloud: String =
        (0..1_000).map(host).collect::<String>() + "special MEMORY_MB:64\n s VCPU:8 +X\n";
    let request = "resources=MEMORY_MB:1 resources_1=VCPU:1 resources_2=VF:1 resources_3=VF:1";
    check_work(&cloud, &format!("{request} limit=10"), 10, 1_000);
    check_work(&cloud, "resources=MEMORY_MB:1 resources_1=VCPU:1 required_1=X", 1, 100);
    check_work(&cloud, &format!("{request} in_tree=h7"), 4, 200);
}

#[test]
fn a_search_ends_at_its_limits_and_reports_it() {
    let mut cloud = Cloud::new(&devices(64, 4));
    let query = query(&mut cloud, &groups(8, 1));
    let found = candidates(
        cloud.capacity(),
        &query,
        &SearchLimits { candidates_max: 500, ..SearchLimits::default() },
    );
    assert_eq!((found.len(), found.limit_hit), (500, Some(LimitHit::Candidates)));
    let limits = SearchLimits { steps_max: 3_000, ..SearchLimits::default() };
    let found = candidates(cloud.capacity(), &query, &limits);
    assert_eq!(found.limit_hit, Some(LimitHit::Steps));
    assert!(!found.is_empty() && found.steps < 4_000, "{} steps", found.steps);
    // A result that reaches the limit exactly is complete.
    let mut cloud = Cloud::new("a VCPU:1\nb VCPU:1\n c VCPU:1");
    let query = crate::search::query::query(&mut cloud, "resources=VCPU:1");
    let limits = SearchLimits { candidates_max: 3, ..SearchLimits::default() };
    assert_eq!(candidates(cloud.capacity(), &query, &limits).limit_hit, None);
    let limits = SearchLimits { candidates_max: 2, ..limits };
    assert_eq!(candidates(cloud.capacity(), &query, &limits).limit_hit, Some(LimitHit::Candidates));
}

#[test]
fn an_expensive_tree_does_not_block_the_others() {
    // The first tree is a hard bin-packing problem.
    let bins: String = (0..10).map(|at| format!(" bin{at} GPU:{}\n", 97 + at)).collect();
    let request: String =
        (0..30).map(|at| format!("resources_{at}=GPU:{} ", 25 + at * 7 % 18)).collect();
    let easy: String = (0..3).map(|at| format!("easy{at} GPU:100000\n")).collect();
    let found = search(&format!("host\n{bins}{easy}"), &request);
    assert!(found.iter().count() >= 3, "{} candidates in {} steps", found.len(), found.steps);
    assert!(found.steps < 6_000_000, "{} steps", found.steps);
}

#[test]
fn result_needs_no_more_memory_than_is_computed_from_the_limits() {
    let long = groups(200, 1);
    for (cloud, request) in [
        (devices(8, 1), groups(8, 1)),
        (devices(8, 1), "resources=GPU:1".to_owned()),
        (devices(3, 1000), format!("{long} group_policy=none")),
    ] {
        let mut cloud = Cloud::new(&cloud);
        let query = query(&mut cloud, &request);
        for (candidates_max, steps_max) in
            [(100_000, 2_000_000), (100_000, 20_000), (500, 2_000_000), (1, 2_000_000)]
        {
            let limits = SearchLimits { candidates_max, steps_max };
            let found = candidates(cloud.capacity(), &query, &limits);
            let (bytes, max) = (found.bytes() as u64, limits.bytes_max());
            assert!(!found.is_empty() && bytes <= max, "{bytes} of {max} for {request}");
        }
    }
}
