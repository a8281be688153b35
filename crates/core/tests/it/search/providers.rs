//! Listing providers by conditions.

use std::sync::Arc;

use allod_core::search::{ProviderFilter, providers};

use crate::search::cloud::Cloud;
use crate::search::query::query;

const CLOUD: &str = "
cn1 VCPU:8 MEMORY_MB:64 +A @x
 numa VCPU:4/4 +B @y
cn2 VCPU:2 +A +B @x @y
cn3 DISK_GB:9
";

/// The request is one group, as in a search, plus `name=` and `uuid=`.
#[track_caller]
fn check(request: &str, expected: &str) {
    let mut cloud = Cloud::new(CLOUD);
    let own = |key: &str| {
        request.split_whitespace().find_map(|word| word.strip_prefix(key)).map(String::from)
    };
    let rest = request
        .split_whitespace()
        .filter(|word| !word.starts_with("name=") && !word.starts_with("uuid="));
    let group =
        query(&mut cloud, &rest.collect::<Vec<_>>().join(" ")).groups.pop().unwrap_or_default();
    let filter = ProviderFilter {
        name: own("name=").map(Arc::from),
        uuid: own("uuid=").map(|name| cloud.uuid(&name)),
        in_tree: group.in_tree,
        resources: group.resources,
        traits: group.traits,
        member_of: group.member_of,
        not_member_of: group.not_member_of,
    };
    let names: Vec<String> =
        providers(cloud.capacity(), &filter).into_iter().map(|ix| cloud.name(ix)).collect();
    assert_eq!(names.join(" "), expected, "{request}");
}

#[test]
fn each_filter_works_alone() {
    check("", "cn1 numa cn2 cn3");
    check("name=numa", "numa");
    check("name=missing", "");
    check("uuid=cn2", "cn2");
    check("uuid=missing", "");
    check("in_tree=numa", "cn1 numa");
    check("in_tree=missing", "");
    check("resources=VCPU:1", "cn1 cn2");
    check("resources=VCPU:3", "cn1");
    check("resources=VCPU:1,MEMORY_MB:1", "cn1");
    check("resources=GPU:1", "");
    check("required=A", "cn1 cn2");
    check("required=A,!B", "cn1");
    check("required=in:A,B", "cn1 numa cn2");
    check("required=!A", "numa cn3");
    check("member_of=x", "cn1 cn2");
    check("member_of=x member_of=y", "cn2");
    check("member_of=in:x,y", "cn1 numa cn2");
    check("member_of=!x", "numa cn3");
    check("member_of=missing", "");
}

#[test]
fn filters_are_combined() {
    check("name=numa uuid=numa", "numa");
    check("name=numa uuid=cn1", "");
    check("name=numa in_tree=cn2", "");
    check("in_tree=cn1 required=B", "numa");
    check("in_tree=cn1 resources=VCPU:1", "cn1");
    check("uuid=cn2 member_of=!x", "");
    check("name=cn1 required=A resources=VCPU:8 member_of=x", "cn1");
}
