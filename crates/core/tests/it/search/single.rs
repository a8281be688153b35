//! Providers without parents or children: one provider serves the whole request.

use crate::search::check::{check, check_summaries};

const HOSTS: &str = "
cn1 VCPU:8 MEMORY_MB:1024 DISK_GB:100 +A @x
cn2 VCPU:8/6 MEMORY_MB:1024 +A +B @x @y
cn3 VCPU:16,max=2 MEMORY_MB:2048 +B @y
";

#[test]
fn a_provider_must_have_everything_free() {
    check(HOSTS, "resources=VCPU:1", &["cn1 VCPU:1", "cn2 VCPU:1", "cn3 VCPU:1"]);
    check(HOSTS, "resources=VCPU:2", &["cn1 VCPU:2", "cn2 VCPU:2", "cn3 VCPU:2"]);
    check(HOSTS, "resources=VCPU:3", &["cn1 VCPU:3"]);
    check(HOSTS, "resources=VCPU:9", &[]);
    check(HOSTS, "resources=VCPU:1,MEMORY_MB:2000", &["cn3 MEMORY_MB:2000 VCPU:1"]);
    check(HOSTS, "resources=VCPU:1,DISK_GB:1", &["cn1 DISK_GB:1 VCPU:1"]);
    check(HOSTS, "resources=VCPU:1,GPU:1", &[]);
    check("", "resources=VCPU:1", &[]);
}

#[test]
fn amounts_respect_min_unit_max_unit_and_step_size() {
    let cloud = "
cn1 VCPU:8,min=2,step=2,max=6
cn2 VCPU:8,reserved=4,ratio=1.5
";
    check(cloud, "resources=VCPU:1", &["cn2 VCPU:1"]);
    check(cloud, "resources=VCPU:4", &["cn1 VCPU:4", "cn2 VCPU:4"]);
    check(cloud, "resources=VCPU:6", &["cn1 VCPU:6", "cn2 VCPU:6"]);
    check(cloud, "resources=VCPU:7", &[]);
    check(cloud, "resources=VCPU:8", &[]);
}

#[test]
fn traits_can_be_required_and_forbidden() {
    let [one, two, three] = ["cn1 VCPU:1", "cn2 VCPU:1", "cn3 VCPU:1"];
    check(HOSTS, "resources=VCPU:1 required=A", &[one, two]);
    check(HOSTS, "resources=VCPU:1 required=A,B", &[two]);
    check(HOSTS, "resources=VCPU:1 required=A,!B", &[one]);
    check(HOSTS, "resources=VCPU:1 required=!A", &[three]);
    check(HOSTS, "resources=VCPU:1 required=in:A,B", &[one, two, three]);
    check(HOSTS, "resources=VCPU:1 required=in:A,B required=in:B,C", &[two, three]);
    check(HOSTS, "resources=VCPU:1 required=C", &[]);
    check(HOSTS, "resources=VCPU:1 root_required=B,!A", &[three]);
}

#[test]
fn aggregates_can_be_required_and_forbidden() {
    let [one, two, three] = ["cn1 VCPU:1", "cn2 VCPU:1", "cn3 VCPU:1"];
    check(HOSTS, "resources=VCPU:1 member_of=x", &[one, two]);
    check(HOSTS, "resources=VCPU:1 member_of=x member_of=y", &[two]);
    check(HOSTS, "resources=VCPU:1 member_of=in:x,y", &[one, two, three]);
    check(HOSTS, "resources=VCPU:1 member_of=!x", &[three]);
    check(HOSTS, "resources=VCPU:1 member_of=!in:x,y", &[]);
    check(HOSTS, "resources=VCPU:1 member_of=missing", &[]);
    check(HOSTS, "resources=VCPU:1 member_of=!missing", &[one, two, three]);
}

#[test]
fn in_tree_selects_a_single_provider() {
    check(HOSTS, "resources=VCPU:1 in_tree=cn2", &["cn2 VCPU:1"]);
    check(HOSTS, "resources=VCPU:3 in_tree=cn2", &[]);
    check(HOSTS, "resources=VCPU:1 in_tree=missing", &[]);
    let both = "resources=VCPU:1 in_tree=cn2 resources_1=MEMORY_MB:1 in_tree_1=";
    check(HOSTS, &format!("{both}cn2"), &["cn2 MEMORY_MB:1 VCPU:1 | =cn2 _1=cn2"]);
    check(HOSTS, &format!("{both}cn1"), &[]);
}

#[test]
fn amounts_of_groups_add_up_on_one_provider() {
    let request = "resources=VCPU:2 resources_1=VCPU:1 resources_2=VCPU:1";
    check(HOSTS, request, &["cn1 VCPU:4 | =cn1 _1=cn1 _2=cn1"]);
    check(HOSTS, &format!("{request} group_policy=isolate"), &[]);
    check(
        HOSTS,
        "resources=VCPU:2 resources_1=MEMORY_MB:5 group_policy=isolate",
        &[
            "cn1 MEMORY_MB:5 VCPU:2 | =cn1 _1=cn1",
            "cn2 MEMORY_MB:5 VCPU:2 | =cn2 _1=cn2",
            "cn3 MEMORY_MB:5 VCPU:2 | =cn3 _1=cn3",
        ],
    );
}

#[test]
fn units_apply_to_each_group_and_max_unit_to_the_sum() {
    let cloud = "cn1 VCPU:8,min=2,step=2,max=6";
    check(cloud, "resources_1=VCPU:1 resources_2=VCPU:1", &[]);
    check(cloud, "resources_1=VCPU:2 resources_2=VCPU:4", &["cn1 VCPU:6 | _1=cn1 _2=cn1"]);
    check(cloud, "resources_1=VCPU:4 resources_2=VCPU:4", &[]);
}

#[test]
fn summaries_have_the_serving_providers() {
    check_summaries(HOSTS, "resources=VCPU:1 required=A", "cn1 cn2");
    check_summaries(HOSTS, "resources=VCPU:1 required=C", "");
}
