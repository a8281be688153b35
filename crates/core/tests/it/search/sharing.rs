//! Sharing providers, which serve trees other than their own.

use crate::search::check::{check, check_summaries};

const SHARED: &str = "
cn1 VCPU:8 @x
cn2 VCPU:8 DISK_GB:100
 numa VCPU:1 @y
cn3 VCPU:8
ss1 DISK_GB:1000 +SHARES +A @x @y
ss2 DISK_GB:1000 +SHARES @y
";

#[test]
fn a_sharing_provider_serves_trees_with_a_member_in_its_aggregates() {
    check(
        SHARED,
        "resources=VCPU:2,DISK_GB:5",
        &[
            "cn1 VCPU:2; ss1 DISK_GB:5",
            "cn2 DISK_GB:5 VCPU:2",
            "cn2 VCPU:2; ss1 DISK_GB:5",
            "cn2 VCPU:2; ss2 DISK_GB:5",
        ],
    );
    check(
        SHARED,
        "resources=VCPU:2,DISK_GB:500 required=A",
        &["cn1 VCPU:2; ss1 DISK_GB:500", "cn2 VCPU:2; ss1 DISK_GB:500"],
    );
}

#[test]
fn a_candidate_that_several_trees_share_is_returned_once() {
    check(SHARED, "resources=DISK_GB:500", &["ss1 DISK_GB:500", "ss2 DISK_GB:500"]);
    check(
        SHARED,
        "resources_1=DISK_GB:500 resources_2=DISK_GB:500",
        &[
            "ss1 DISK_GB:1000 | _1=ss1 _2=ss1",
            "ss1 DISK_GB:500; ss2 DISK_GB:500 | _1=ss1 _2=ss2",
            "ss1 DISK_GB:500; ss2 DISK_GB:500 | _1=ss2 _2=ss1",
            "ss2 DISK_GB:1000 | _1=ss2 _2=ss2",
        ],
    );
}

#[test]
fn a_sharing_provider_must_be_in_the_aggregate_itself() {
    // For other trees. Within its own tree an aggregate of the root is enough.
    let cloud = "
cn1 VCPU:8 @x @in
ss1 DISK_GB:100 +SHARES @x
root VCPU:8 @in
 ss2 DISK_GB:100 +SHARES
";
    check(cloud, "resources=VCPU:1,DISK_GB:1 member_of=in", &["root VCPU:1; ss2 DISK_GB:1"]);
    check(cloud, "resources=VCPU:1,DISK_GB:1 member_of=x", &["cn1 VCPU:1; ss1 DISK_GB:1"]);
    check(cloud, "resources=VCPU:1,DISK_GB:1 member_of=!in", &[]);
}

#[test]
fn in_tree_excludes_sharing_providers_except_for_suffixed_groups() {
    check(SHARED, "resources=VCPU:1,DISK_GB:500 in_tree=cn1", &[]);
    check(
        SHARED,
        "resources=VCPU:2 resources_1=DISK_GB:500 in_tree_1=ss2",
        &["cn2 VCPU:2; ss2 DISK_GB:500 | =cn2 _1=ss2"],
    );
}

#[test]
fn a_sharing_provider_serves_suffixed_groups() {
    check(
        SHARED,
        "resources_1=VCPU:2 resources_2=DISK_GB:500 required_2=A",
        &[
            "cn1 VCPU:2; ss1 DISK_GB:500 | _1=cn1 _2=ss1",
            "cn2 VCPU:2; ss1 DISK_GB:500 | _1=cn2 _2=ss1",
        ],
    );
}

#[test]
fn root_required_applies_to_the_anchor() {
    check(
        SHARED,
        "resources=VCPU:2,DISK_GB:500 root_required=!A",
        &[
            "cn1 VCPU:2; ss1 DISK_GB:500",
            "cn2 VCPU:2; ss1 DISK_GB:500",
            "cn2 VCPU:2; ss2 DISK_GB:500",
        ],
    );
    check(SHARED, "resources=VCPU:2,DISK_GB:500 root_required=A", &[]);
    // Found for other trees, but not for its own.
    check(SHARED, "resources=DISK_GB:500 root_required=!A required=A", &["ss1 DISK_GB:500"]);
}

#[test]
fn a_sharing_child_does_not_share_its_tree() {
    let cloud = "
cn1 VCPU:8 @x
top IPV4_ADDRESS:8
 low DISK_GB:100 +SHARES @x
 other DISK_GB:100
";
    check(cloud, "resources=VCPU:1,DISK_GB:1", &["cn1 VCPU:1; low DISK_GB:1"]);
    check(cloud, "resources=VCPU:1,IPV4_ADDRESS:1", &[]);
    check_summaries(cloud, "resources=VCPU:1,DISK_GB:1", "cn1 top low other");
    check_summaries(cloud, "old resources=VCPU:1,DISK_GB:1", "cn1 low");
}

#[test]
fn sharing_providers_of_one_tree_can_satisfy_same_subtree() {
    let cloud = "
cn1 VCPU:8 @x
top DISK_GB:10 +SHARES @x
 low IPV4_ADDRESS:8 +SHARES @x
 next VF:8
beside IPV4_ADDRESS:8 +SHARES @x
";
    let request = "resources=VCPU:1 resources_1=DISK_GB:1 resources_2=IPV4_ADDRESS:1";
    check(
        cloud,
        &format!("{request} same_subtree=_1,_2"),
        &["cn1 VCPU:1; low IPV4_ADDRESS:1; top DISK_GB:1 | =cn1 _1=top _2=low"],
    );
}

#[test]
fn summaries_have_only_trees_that_serve() {
    check_summaries(SHARED, "resources=VCPU:2,DISK_GB:500 required=!A", "cn2 numa ss2");
    check_summaries(SHARED, "resources=DISK_GB:500 required=A", "ss1");
}
