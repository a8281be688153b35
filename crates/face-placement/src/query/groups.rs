//! What `GET /allocation_candidates` is asked: groups of resources, each with what its provider must be like, and what
//! holds for the request as a whole.
//!
//! Names are still names here; `crate::candidates` looks them up.

use allod_core::capacity::Uuid;

use super::{Aggregates, Amounts, Query, Traits, read_in_tree, read_resources, read_traits};
use crate::fault::{Code, Fault};
use crate::schema::forms;
use crate::schema::pattern::{is_number, is_suffix};
use crate::schema::python::quoted;
use crate::versions::{Feature, Version};

/// A whole request for candidates.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// In the order in which their first parameters were sent.
    pub groups: Vec<Group>,
    pub limit: Option<usize>,
    pub isolate: bool,
    /// Of the root of each tree.
    pub root: Traits,
    /// Suffixes of groups.
    pub same_subtree: Vec<Vec<String>>,
}

/// Resources that belong together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// Empty: they may come from different providers of a tree.
    pub suffix: String,
    pub resources: Amounts,
    pub traits: Traits,
    pub aggregates: Aggregates,
    pub in_tree: Option<Uuid>,
}

impl Wanted {
    pub(crate) fn read(query: &Query, version: Version) -> Result<Wanted, Fault> {
        query.check(forms::candidates(version))?;
        let mut wanted = Wanted {
            groups: Vec::new(),
            // One that is too large for a number is as good as none.
            limit: query.all("limit").next().and_then(|limit| limit.parse().ok()),
            isolate: query.all("group_policy").next() == Some("isolate"),
            root: root_required(query, version)?,
            same_subtree: same_subtree(query)?,
        };
        for (name, value) in query.pairs() {
            if let Some((parameter, suffix)) = split(name, version) {
                wanted.add(query, version, parameter, suffix, value)?;
            }
        }
        wanted.check(version)?;
        let several = wanted.groups.iter().filter(|group| !group.suffix.is_empty()).count() > 1;
        if several && query.last("group_policy").is_none() {
            return Err(Fault::bad_request(
                "The \"group_policy\" parameter is required when specifying more than one \"resources{N}\" parameter.",
            ));
        }
        Ok(wanted)
    }

    fn add(
        &mut self,
        query: &Query,
        version: Version,
        parameter: Parameter,
        suffix: &str,
        value: &str,
    ) -> Result<(), Fault> {
        let at = self.groups.iter().position(|group| group.suffix == suffix).unwrap_or_else(|| {
            self.groups.push(Group { suffix: suffix.to_owned(), ..Group::default() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        match parameter {
            Parameter::Resources => group.resources = read_resources(value)?,
            Parameter::Required => {
                group.traits = query.traits(&format!("required{suffix}"), version)?;
            }
            Parameter::MemberOf => group.aggregates = query.member_of(suffix, version)?,
            Parameter::InTree => group.in_tree = Some(read_in_tree(value)?),
        }
        Ok(())
    }

    fn check(&self, version: Version) -> Result<(), Fault> {
        if version.has(Feature::SameSubtree) {
            self.check_subtrees()?;
        } else {
            self.check_orphans()?;
        }
        if version.has(Feature::ForbiddenTraits) {
            self.check_conflicts()?;
        }
        Ok(())
    }

    /// A group without resources is only of use as a part of some subtree.
    fn check_subtrees(&self) -> Result<(), Fault> {
        let bare = || self.groups.iter().filter(|group| group.resources.is_empty());
        if bare().count() == self.groups.len() {
            return Err(Fault::bad_request(
                "There must be at least one resources or resources[$S] parameter.",
            )
            .coded(Code::MissingValue));
        }
        let named = || self.same_subtree.iter().flatten();
        let bad: Vec<String> = bare()
            .filter(|group| !named().any(|suffix| *suffix == group.suffix))
            .map(|group| quoted(&group.suffix))
            .collect();
        if !bad.is_empty() {
            return Err(Fault::bad_request(format!(
                "Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - [{}].",
                bad.join(", ")
            ))
            .coded(Code::BadValue));
        }
        let known = |suffix: &String| self.groups.iter().any(|group| group.suffix == **suffix);
        let mut bad: Vec<String> =
            named().filter(|suffix| !known(suffix)).map(|suffix| quoted(suffix)).collect();
        bad.dedup();
        if !bad.is_empty() {
            let own: Vec<String> = self.groups.iter().map(|group| quoted(&group.suffix)).collect();
            return Err(Fault::bad_request(format!(
                "Real suffixes should be specified in `same_subtree`: [{}] not found in [{}].",
                bad.join(", "),
                own.join(", ")
            ))
            .coded(Code::BadValue));
        }
        Ok(())
    }

    /// Before subtrees were known, every group had to ask for resources.
    fn check_orphans(&self) -> Result<(), Fault> {
        let orphans = |name: &str, is_one: fn(&Group) -> bool| {
            let bare = self.groups.iter().filter(|group| group.resources.is_empty());
            let orphans = bare.filter(|group| is_one(group));
            let names: Vec<String> =
                orphans.map(|group| format!("{name}{}", group.suffix)).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        if let Some(names) = orphans("required", |group| !group.traits.required.is_empty()) {
            return Err(Fault::bad_request(format!(
                "All traits parameters must be associated with resources.  Found the following orphaned traits keys: {names}"
            )));
        }
        if let Some(names) = orphans("member_of", |group| group.aggregates != Aggregates::default())
        {
            return Err(Fault::bad_request(format!(
                "All member_of parameters must be associated with resources. Found the following orphaned member_of keys: {names}"
            )));
        }
        if self.groups.iter().any(|group| group.resources.is_empty()) {
            return Err(Fault::bad_request("All request groups must specify resources."));
        }
        if self.groups.is_empty() {
            return Err(Fault::bad_request(
                "At least one request group (`resources` or `resources{$S}`) is required.",
            ));
        }
        Ok(())
    }

    fn check_conflicts(&self) -> Result<(), Fault> {
        let mut conflicts = Vec::new();
        for group in &self.groups {
            for any in &group.traits.required {
                if any.iter().all(|name| group.traits.forbidden.contains(name)) {
                    let mut any = any.clone();
                    any.sort_unstable();
                    conflicts.push(format!("required{}: ({})", group.suffix, any.join(", ")));
                }
            }
        }
        if conflicts.is_empty() {
            return Ok(());
        }
        conflicts.sort_unstable();
        Err(Fault::bad_request(format!(
            "Conflicting required and forbidden traits found in the following traits keys: {}",
            conflicts.join(", ")
        )))
    }
}

#[derive(Debug, Clone, Copy)]
enum Parameter {
    Resources,
    Required,
    MemberOf,
    InTree,
}

/// Of `resources_A` what it says and of which group.
fn split(name: &str, version: Version) -> Option<(Parameter, &str)> {
    let all = [
        ("resources", Parameter::Resources),
        ("required", Parameter::Required),
        ("member_of", Parameter::MemberOf),
        ("in_tree", Parameter::InTree),
    ];
    let (suffix, parameter) = all
        .into_iter()
        .find_map(|(word, parameter)| Some((name.strip_prefix(word)?, parameter)))?;
    let fits = match version.has(Feature::NamedGroups) {
        true => is_suffix(suffix),
        false => is_number(suffix),
    };
    (suffix.is_empty() || fits).then_some((parameter, suffix))
}

fn root_required(query: &Query, version: Version) -> Result<Traits, Fault> {
    let mut all = query.all("root_required");
    let Some(value) = all.next() else { return Ok(Traits::default()) };
    if all.next().is_some() {
        return Err(Fault::bad_request(
            "Query parameter 'root_required' may be specified only once.",
        )
        .coded(Code::DuplicateKey));
    }
    if value.starts_with("in:") {
        return Err(Fault::bad_request(format!(
            "Invalid query string parameters: The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion 1.39. Got: {value}"
        )));
    }
    let traits = read_traits(value, version)?;
    let conflicts: Vec<&str> = traits
        .required
        .iter()
        .flatten()
        .filter(|name| traits.forbidden.contains(name))
        .map(String::as_str)
        .collect();
    if !conflicts.is_empty() {
        return Err(Fault::bad_request(format!(
            "Conflicting required and forbidden traits found in root_required: {}",
            conflicts.join(", ")
        ))
        .coded(Code::BadValue));
    }
    Ok(traits)
}

fn same_subtree(query: &Query) -> Result<Vec<Vec<String>>, Fault> {
    let mut all = Vec::new();
    for value in query.all("same_subtree") {
        let suffixes: Vec<String> = value.split(',').map(|part| part.trim().to_owned()).collect();
        if suffixes.iter().any(String::is_empty) {
            return Err(Fault::bad_request(
                "Empty string (unsuffixed group) can not be specified in `same_subtree` ",
            )
            .coded(Code::BadValue));
        }
        all.push(suffixes);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "7a3f0a5e-0000-4000-8000-00000000000a";

    fn read(text: &str, minor: u8) -> Result<Wanted, Fault> {
        Wanted::read(&Query::read(text), Version::tested(minor))
    }

    #[test]
    fn groups_are_put_together_by_suffix() {
        let text = format!(
            "resources=VCPU:2&required=A,!B&resources_X=SRIOV_NET_VF:1&in_tree_X={TREE}&required_X=in:C,D&required_X=E&resources2=PCPU:1&group_policy=isolate&limit=7&limit=8&root_required=R,!S&same_subtree=_X,2"
        );
        let wanted = read(&text, 39).unwrap();
        let suffixes: Vec<&str> = wanted.groups.iter().map(|group| group.suffix.as_str()).collect();
        assert_eq!(suffixes, ["", "_X", "2"]);
        assert_eq!((wanted.limit, wanted.isolate), (Some(7), true));
        assert_eq!(wanted.groups[0].resources, [("VCPU".to_owned(), 2)]);
        assert_eq!(wanted.groups[0].traits.forbidden, ["B"]);
        assert_eq!(wanted.groups[1].traits.required, [vec!["C", "D"], vec!["E"]]);
        assert_eq!(wanted.groups[1].in_tree.map(|uuid| uuid.to_string()).as_deref(), Some(TREE));
        assert_eq!(wanted.root.forbidden, ["S"]);
        assert_eq!(wanted.same_subtree, [["_X", "2"]]);
    }

    #[test]
    fn what_cannot_be_meant_is_said_with_its_code() {
        for (text, minor, code, words) in [
            ("", 10, Code::Undefined, "'resources' is a required property"),
            (
                "resources=VCPU:1&resources1=VCPU:1",
                24,
                Code::Undefined,
                "'resources1' was unexpected",
            ),
            (
                "",
                25,
                Code::Undefined,
                "At least one request group (`resources` or `resources{$S}`) is required.",
            ),
            (
                "resources=VCPU:1&required1=A&required2=B",
                25,
                Code::Undefined,
                "Found the following orphaned traits keys: required1, required2",
            ),
            (
                "resources=VCPU:1&required1=!A",
                25,
                Code::Undefined,
                "All request groups must specify resources.",
            ),
            (
                "resources1=VCPU:1&resources2=VCPU:1",
                25,
                Code::Undefined,
                "The \"group_policy\" parameter is required",
            ),
            (
                "resources=VCPU:1&required=A,!A",
                22,
                Code::Undefined,
                "following traits keys: required: (A)",
            ),
            (
                "resources=VCPU:1&required=A,!A",
                39,
                Code::Undefined,
                "following traits keys: required: (A)",
            ),
            (
                "resources=VCPU:1&root_required=A&root_required=B",
                35,
                Code::DuplicateKey,
                "may be specified only once.",
            ),
            (
                "resources=VCPU:1&root_required=A,!A",
                35,
                Code::BadValue,
                "found in root_required: A",
            ),
            (
                "resources=VCPU:1&root_required=in:A",
                39,
                Code::Undefined,
                "only supported since microversion 1.39",
            ),
            (
                "resources=VCPU:1&in_tree=x",
                31,
                Code::Undefined,
                "Expected 'in_tree' parameter to be a format of uuid",
            ),
            (
                "required_A=X&same_subtree=_A",
                36,
                Code::MissingValue,
                "There must be at least one resources",
            ),
            ("resources=VCPU:1&required_A=X", 36, Code::BadValue, "bad group(s) - ['_A']."),
            (
                "resources_A=VCPU:1&same_subtree=_A,_B",
                36,
                Code::BadValue,
                "['_B'] not found in ['_A'].",
            ),
            (
                "resources_A=VCPU:1&same_subtree=_A,",
                36,
                Code::BadValue,
                "Empty string (unsuffixed group)",
            ),
        ] {
            let fault = read(text, minor).unwrap_err();
            assert!(fault.message.contains(words), "{text} 1.{minor}: {fault:?}");
            assert_eq!((fault.code, fault.status.as_u16()), (code, 400), "{text} 1.{minor}");
        }
        let long = format!("resources=VCPU:1&member_of3={TREE}&member_of={TREE}");
        let fault = read(&long, 25).unwrap_err();
        assert!(fault.message.contains("orphaned member_of keys: member_of3"), "{fault:?}");
    }
}
