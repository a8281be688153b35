//! Trees of providers.

use crate::search::check::{check, check_summaries};

const TREES: &str = "
cn1 MEMORY_MB:1024 +A @x
 numa0 VCPU:4 +B
  pf0 VF:2 +C
 numa1 VCPU:4/3
  pf1 VF:2 +D @y
cn2 MEMORY_MB:1024 VCPU:8 +B
";

#[test]
fn each_class_may_come_from_any_provider_of_the_tree() {
    check(
        TREES,
        "resources=VCPU:1,MEMORY_MB:8",
        &[
            "cn1 MEMORY_MB:8; numa0 VCPU:1",
            "cn1 MEMORY_MB:8; numa1 VCPU:1",
            "cn2 MEMORY_MB:8 VCPU:1",
        ],
    );
    check(TREES, "resources=VCPU:2,VF:1", &["numa0 VCPU:2; pf0 VF:1", "numa0 VCPU:2; pf1 VF:1"]);
    check(TREES, "resources=VCPU:8", &["cn2 VCPU:8"]);
}

#[test]
fn the_serving_providers_have_the_required_traits_between_them() {
    let both = "resources=VCPU:1,VF:1";
    check(TREES, &format!("{both} required=B,C"), &["numa0 VCPU:1; pf0 VF:1"]);
    check(
        TREES,
        &format!("{both} required=in:B,C required=in:C,D"),
        &["numa0 VCPU:1; pf0 VF:1", "numa0 VCPU:1; pf1 VF:1", "numa1 VCPU:1; pf0 VF:1"],
    );
    // The root has the trait but serves nothing.
    check(TREES, &format!("{both} required=A"), &[]);
    check(TREES, &format!("{both} root_required=A required=C,B"), &["numa0 VCPU:1; pf0 VF:1"]);
    check(TREES, &format!("{both} root_required=!A"), &[]);
}

#[test]
fn no_provider_that_serves_has_a_forbidden_trait() {
    check(TREES, "resources=VCPU:1,VF:1 required=!B,!C", &["numa1 VCPU:1; pf1 VF:1"]);
    // The root has the trait but serves nothing.
    check(TREES, "resources=VF:1 required=!A,!C", &["pf1 VF:1"]);
}

#[test]
fn an_aggregate_of_the_root_counts_for_its_tree_but_not_for_a_suffixed_group() {
    check(TREES, "resources=VF:1 member_of=x", &["pf0 VF:1", "pf1 VF:1"]);
    check(TREES, "resources=VF:1 member_of=y", &["pf1 VF:1"]);
    check(TREES, "resources=VF:1 member_of=x member_of=y", &[]);
    check(TREES, "resources=VF:1 member_of=!x", &[]);
    check(TREES, "resources=VF:1 member_of=!y", &["pf0 VF:1"]);
    check(TREES, "resources_1=VF:1 member_of_1=x", &[]);
    check(TREES, "resources_1=VF:1 member_of_1=y", &["pf1 VF:1 | _1=pf1"]);
    check(TREES, "resources_1=VF:1 member_of_1=!x", &["pf0 VF:1 | _1=pf0", "pf1 VF:1 | _1=pf1"]);
}

#[test]
fn in_tree_accepts_any_member_of_the_tree() {
    let found = ["cn1 MEMORY_MB:1"];
    check(TREES, "resources=MEMORY_MB:1 in_tree=pf1", &found);
    check(TREES, "resources=MEMORY_MB:1 in_tree=cn1", &found);
    check(TREES, "resources_1=MEMORY_MB:1 in_tree_1=numa0", &["cn1 MEMORY_MB:1 | _1=cn1"]);
}

#[test]
fn one_provider_serves_a_suffixed_group() {
    check(TREES, "resources_1=VCPU:1,MEMORY_MB:8", &["cn2 MEMORY_MB:8 VCPU:1 | _1=cn2"]);
    check(TREES, "resources_1=VF:1 required_1=C", &["pf0 VF:1 | _1=pf0"]);
    check(TREES, "resources_1=VF:1 required_1=C,D", &[]);
    check(
        TREES,
        "resources=MEMORY_MB:8 resources_1=VF:1",
        &["cn1 MEMORY_MB:8; pf0 VF:1 | =cn1 _1=pf0", "cn1 MEMORY_MB:8; pf1 VF:1 | =cn1 _1=pf1"],
    );
}

#[test]
fn requests_before_1_29_get_one_provider_of_each_tree() {
    check(TREES, "old resources=VCPU:1,MEMORY_MB:8", &["cn2 MEMORY_MB:8 VCPU:1"]);
    check(TREES, "old resources=VF:1", &["pf0 VF:1", "pf1 VF:1"]);
    check(
        TREES,
        "old resources_1=VF:1 resources_2=VF:1",
        &["pf0 VF:2 | _1=pf0 _2=pf0", "pf1 VF:2 | _1=pf1 _2=pf1"],
    );
}

#[test]
fn summaries_have_whole_trees_or_only_serving_providers_before_1_29() {
    check_summaries(TREES, "resources=VF:1 required=C", "cn1 numa0 numa1 pf0 pf1");
    check_summaries(TREES, "old resources=VF:1 required=C", "pf0");
    check_summaries(TREES, "resources=VCPU:8", "cn2");
}
