//! Parses a request with the parameters of Placement: `resources=VCPU:1,DISK_GB:5 required=A,!B member_of=in:x,y
//! in_tree=cn1 resources_1=VF:1 required_1=in:A,B group_policy=isolate same_subtree=_1,_2 root_required=A,!B limit=10`.
//! Also `old` for a request before 1.29, `deep` for depth-first order, and `seed=7`.

use std::sync::Arc;

use allod_core::search::{CandidateOrder, CandidateQuery, RequestGroup, TraitFilter};

use crate::search::cloud::{Cloud, aggregate};

pub fn query(cloud: &mut Cloud, text: &str) -> CandidateQuery {
    let mut query = CandidateQuery { nested: true, ..CandidateQuery::default() };
    let mut subtrees: Vec<Vec<String>> = Vec::new();
    for word in text.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        match key {
            "old" => query.nested = false,
            "deep" => query.order = CandidateOrder::DepthFirst,
            "seed" => query.seed = Some(value.parse().expect("a number")),
            "limit" => query.limit = Some(value.parse().expect("a number")),
            "group_policy" => query.isolate = value == "isolate",
            "same_subtree" => subtrees.push(value.split(',').map(String::from).collect()),
            "root_required" => traits(cloud, &mut query.root, value),
            _ => group_word(cloud, &mut query.groups, key, value),
        }
    }
    query.groups.sort_by_key(|group| !group.suffix.is_empty());
    let at = |suffix: &String| {
        query.groups.iter().position(|group| *group.suffix == **suffix).expect("a group")
    };
    query.same_subtree = subtrees.iter().map(|set| set.iter().map(at).collect()).collect();
    query
}

fn group_word(cloud: &mut Cloud, groups: &mut Vec<RequestGroup>, key: &str, value: &str) {
    let keys = ["resources", "required", "member_of", "in_tree"];
    let what = keys.into_iter().find(|what| key.starts_with(what)).expect("a known word");
    let suffix: Arc<str> = key[what.len()..].into();
    let at = groups.iter().position(|group| group.suffix == suffix).unwrap_or_else(|| {
        groups.push(RequestGroup { suffix, ..RequestGroup::default() });
        groups.len() - 1
    });
    let group = &mut groups[at];
    match what {
        "resources" => {
            for part in value.split(',') {
                let (class, amount) = part.split_once(':').expect("CLASS:amount");
                let class = cloud.class_ix(class);
                group.resources.push((class, amount.parse().expect("a number")));
            }
        }
        "required" => traits(cloud, &mut group.traits, value),
        "in_tree" => group.in_tree = Some(cloud.uuid(value)),
        _ => {
            let list = value.trim_start_matches('!').trim_start_matches("in:");
            let uuids = list.split(',').map(aggregate);
            match value.starts_with('!') {
                true => group.not_member_of.extend(uuids),
                false => group.member_of.push(uuids.collect()),
            }
        }
    }
}

fn traits(cloud: &mut Cloud, traits: &mut TraitFilter, value: &str) {
    if let Some(list) = value.strip_prefix("in:") {
        let set = list.split(',').map(|name| cloud.trait_ix(name)).collect();
        traits.required.push(set);
        return;
    }
    for name in value.split(',') {
        match name.strip_prefix('!') {
            Some(name) => traits.forbidden.push(cloud.trait_ix(name)),
            None => traits.required.push(vec![cloud.trait_ix(name)]),
        }
    }
}
