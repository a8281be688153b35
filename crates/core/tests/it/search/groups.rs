//! Requests with several groups.

use crate::search::check::check;

const DEVICES: &str = "
cn1 VCPU:8
 a GPU:2 +A
 b GPU:2 +B
 c GPU:1
";

#[test]
fn groups_share_a_provider_unless_isolated() {
    let request = "resources_1=GPU:1 required_1=A resources_2=GPU:1";
    check(
        DEVICES,
        request,
        &["a GPU:2 | _1=a _2=a", "a GPU:1; b GPU:1 | _1=a _2=b", "a GPU:1; c GPU:1 | _1=a _2=c"],
    );
    check(
        DEVICES,
        &format!("{request} group_policy=isolate"),
        &["a GPU:1; b GPU:1 | _1=a _2=b", "a GPU:1; c GPU:1 | _1=a _2=c"],
    );
}

#[test]
fn every_permutation_of_equal_groups_is_a_candidate() {
    check(
        DEVICES,
        "resources_1=GPU:2 resources_2=GPU:2",
        &["a GPU:2; b GPU:2 | _1=a _2=b", "a GPU:2; b GPU:2 | _1=b _2=a"],
    );
    check(
        DEVICES,
        "resources_1=GPU:1 resources_2=GPU:1 resources_3=GPU:1 group_policy=isolate",
        &[
            "a GPU:1; b GPU:1; c GPU:1 | _1=a _2=b _3=c",
            "a GPU:1; b GPU:1; c GPU:1 | _1=a _2=c _3=b",
            "a GPU:1; b GPU:1; c GPU:1 | _1=b _2=a _3=c",
            "a GPU:1; b GPU:1; c GPU:1 | _1=b _2=c _3=a",
            "a GPU:1; b GPU:1; c GPU:1 | _1=c _2=a _3=b",
            "a GPU:1; b GPU:1; c GPU:1 | _1=c _2=b _3=a",
        ],
    );
}

#[test]
fn the_unsuffixed_group_may_share_a_provider_with_any_group() {
    check(
        DEVICES,
        "resources=GPU:1 resources_1=GPU:1 required_1=B group_policy=isolate",
        &["a GPU:1; b GPU:1 | =a _1=b", "b GPU:1; c GPU:1 | =c _1=b", "b GPU:2 | =b _1=b"],
    );
    check(
        DEVICES,
        "resources=GPU:2 resources_1=GPU:1 required_1=B",
        &["a GPU:2; b GPU:1 | =a _1=b"],
    );
}

#[test]
fn a_request_needs_all_its_groups_in_one_tree() {
    let cloud = "
cn1 VCPU:8
cn2 GPU:8
";
    check(cloud, "resources=VCPU:1 resources_1=GPU:1", &[]);
}

const NUMA: &str = "
cn1 VCPU:8 +ROOT
 numa0 VCPU:8 +NUMA
  pf0 VF:2 +P
  pf1 VF:2 +Q
 numa1 VCPU:8 +NUMA
  pf2 VF:2 +Q
";

#[test]
fn one_provider_of_a_same_subtree_set_is_an_ancestor_of_the_others() {
    check(
        NUMA,
        "resources_1=VCPU:1 resources_2=VF:1 same_subtree=_1,_2",
        &[
            "cn1 VCPU:1; pf0 VF:1 | _1=cn1 _2=pf0",
            "cn1 VCPU:1; pf1 VF:1 | _1=cn1 _2=pf1",
            "cn1 VCPU:1; pf2 VF:1 | _1=cn1 _2=pf2",
            "numa0 VCPU:1; pf0 VF:1 | _1=numa0 _2=pf0",
            "numa0 VCPU:1; pf1 VF:1 | _1=numa0 _2=pf1",
            "numa1 VCPU:1; pf2 VF:1 | _1=numa1 _2=pf2",
        ],
    );
    // Siblings have a common parent, but it serves no group of the set.
    check(
        NUMA,
        "resources_1=VF:1 required_1=P resources_2=VF:1 required_2=Q same_subtree=_1,_2",
        &[],
    );
    check(
        NUMA,
        "resources_1=VF:1 required_1=P resources_2=VF:1 same_subtree=_1,_2",
        &["pf0 VF:2 | _1=pf0 _2=pf0"],
    );
}

#[test]
fn same_subtree_applies_to_all_providers_of_the_unsuffixed_group() {
    check(
        NUMA,
        "resources=VCPU:1,VF:1 resources_1=VF:1 required_1=P same_subtree=,_1 root_required=ROOT",
        &[
            "cn1 VCPU:1; pf0 VF:1; pf1 VF:1 | =cn1+pf1 _1=pf0",
            "cn1 VCPU:1; pf0 VF:1; pf2 VF:1 | =cn1+pf2 _1=pf0",
            "cn1 VCPU:1; pf0 VF:2 | =cn1+pf0 _1=pf0",
            "numa0 VCPU:1; pf0 VF:1; pf1 VF:1 | =numa0+pf1 _1=pf0",
            "numa0 VCPU:1; pf0 VF:2 | =numa0+pf0 _1=pf0",
        ],
    );
}

#[test]
fn a_group_without_resources_can_anchor_a_subtree() {
    let near = "required_0=NUMA resources_1=VF:1 required_1=P resources_2=VF:1 required_2=Q";
    check(
        NUMA,
        &format!("{near} same_subtree=_0,_1,_2"),
        &["pf0 VF:1; pf1 VF:1 | _0=numa0 _1=pf0 _2=pf1"],
    );
    check(
        NUMA,
        &format!("{near} same_subtree=_0,_1"),
        &[
            "pf0 VF:1; pf1 VF:1 | _0=numa0 _1=pf0 _2=pf1",
            "pf0 VF:1; pf2 VF:1 | _0=numa0 _1=pf0 _2=pf2",
        ],
    );
    check(
        NUMA,
        &format!("{near} same_subtree=_0,_1 same_subtree=_0,_2"),
        &["pf0 VF:1; pf1 VF:1 | _0=numa0 _1=pf0 _2=pf1"],
    );
}

#[test]
fn isolation_applies_to_a_group_without_resources() {
    let request = "required_0=NUMA resources_1=VCPU:1 same_subtree=_0,_1";
    check(
        NUMA,
        request,
        &[
            "cn1 VCPU:1 | _0=numa0 _1=cn1",
            "cn1 VCPU:1 | _0=numa1 _1=cn1",
            "numa0 VCPU:1 | _0=numa0 _1=numa0",
            "numa1 VCPU:1 | _0=numa1 _1=numa1",
        ],
    );
    check(
        NUMA,
        &format!("{request} group_policy=isolate"),
        &["cn1 VCPU:1 | _0=numa0 _1=cn1", "cn1 VCPU:1 | _0=numa1 _1=cn1"],
    );
}

#[test]
fn a_group_without_resources_needs_a_positive_condition() {
    let with = |group: &str| format!("{group} resources_1=VF:1 required_1=P same_subtree=_0,_1");
    check(NUMA, &with("required_0=!NUMA"), &[]);
    check(NUMA, &with("member_of_0=!x"), &[]);
    check(NUMA, &with("in_tree_0=cn1"), &[]);
    // `in_tree` is ignored if there is such a tree.
    let two = format!("{NUMA}cn2 VCPU:1\n");
    check(&two, &with("required_0=ROOT in_tree_0=cn2"), &["pf0 VF:1 | _0=cn1 _1=pf0"]);
    check(&two, &with("required_0=ROOT in_tree_0=missing"), &[]);
    check(&two, &with("required_0=in:ROOT,NUMA required_0=!NUMA"), &["pf0 VF:1 | _0=cn1 _1=pf0"]);
}
