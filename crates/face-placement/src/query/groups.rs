//! The parameters of `GET /allocation_candidates`: groups of resources with their conditions, and conditions on the
//! whole request.
//!
//! Names are resolved in [`crate::candidates`].

use allod_core::capacity::Uuid;

use super::{
    AggregateParams, QueryString, ResourceAmounts, TraitParams, read_in_tree, read_resources,
    read_traits,
};
use crate::error::{ErrorCode, PlacementError, PlacementResult};
use crate::schema::pattern::{is_number, is_suffix};
use crate::schema::python::quoted;
use crate::schema::schemas;
use crate::versions::{Feature, Microversion};

/// All parameters of a request for candidates.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CandidatesParams {
    /// In the order of their first parameters.
    pub groups: Vec<GroupParams>,
    pub limit: Option<usize>,
    pub isolate: bool,
    /// Conditions on the root of a tree.
    pub root: TraitParams,
    /// Sets of suffixes.
    pub same_subtree: Vec<Vec<String>>,
}

/// The parameters of one group.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupParams {
    /// If empty, different providers of a tree may serve the resources.
    pub suffix: String,
    pub resources: ResourceAmounts,
    pub traits: TraitParams,
    pub aggregates: AggregateParams,
    pub in_tree: Option<Uuid>,
}

impl CandidatesParams {
    pub(crate) fn read(
        query: &QueryString,
        version: Microversion,
    ) -> PlacementResult<CandidatesParams> {
        query.check(schemas::candidates(version))?;
        let mut params = CandidatesParams {
            groups: Vec::new(),
            // A limit that is too large for the type is no limit.
            limit: query.all("limit").next().and_then(|limit| limit.parse().ok()),
            isolate: query.all("group_policy").next() == Some("isolate"),
            root: root_required(query, version)?,
            same_subtree: same_subtree(query)?,
        };
        for (name, value) in query.pairs() {
            if let Some((parameter, suffix)) = split(name, version) {
                params.add(query, version, parameter, suffix, value)?;
            }
        }
        params.check(version)?;
        let several = params.groups.iter().filter(|group| !group.suffix.is_empty()).count() > 1;
        if several && query.last("group_policy").is_none() {
            return Err(PlacementError::bad_request(
                "The \"group_policy\" parameter is required when specifying more than one \"resources{N}\" parameter.",
            ));
        }
        Ok(params)
    }

    fn add(
        &mut self,
        query: &QueryString,
        version: Microversion,
        parameter: Parameter,
        suffix: &str,
        value: &str,
    ) -> PlacementResult<()> {
        let at = self.groups.iter().position(|group| group.suffix == suffix).unwrap_or_else(|| {
            self.groups.push(GroupParams { suffix: suffix.to_owned(), ..GroupParams::default() });
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

    fn check(&self, version: Microversion) -> PlacementResult<()> {
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

    /// A group without resources must be part of a `same_subtree` set.
    fn check_subtrees(&self) -> PlacementResult<()> {
        let bare = || self.groups.iter().filter(|group| group.resources.is_empty());
        if bare().count() == self.groups.len() {
            return Err(PlacementError::bad_request(
                "There must be at least one resources or resources[$S] parameter.",
            )
            .coded(ErrorCode::MissingValue));
        }
        let named = || self.same_subtree.iter().flatten();
        let bad: Vec<String> = bare()
            .filter(|group| !named().any(|suffix| *suffix == group.suffix))
            .map(|group| quoted(&group.suffix))
            .collect();
        if !bad.is_empty() {
            return Err(PlacementError::bad_request(format!(
                "Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - [{}].",
                bad.join(", ")
            ))
            .coded(ErrorCode::BadValue));
        }
        let known = |suffix: &String| self.groups.iter().any(|group| group.suffix == **suffix);
        let mut bad: Vec<String> =
            named().filter(|suffix| !known(suffix)).map(|suffix| quoted(suffix)).collect();
        bad.dedup();
        if !bad.is_empty() {
            let own: Vec<String> = self.groups.iter().map(|group| quoted(&group.suffix)).collect();
            return Err(PlacementError::bad_request(format!(
                "Real suffixes should be specified in `same_subtree`: [{}] not found in [{}].",
                bad.join(", "),
                own.join(", ")
            ))
            .coded(ErrorCode::BadValue));
        }
        Ok(())
    }

    /// Before 1.36 every group had to request resources.
    fn check_orphans(&self) -> PlacementResult<()> {
        let orphans = |name: &str, is_one: fn(&GroupParams) -> bool| {
            let bare = self.groups.iter().filter(|group| group.resources.is_empty());
            let orphans = bare.filter(|group| is_one(group));
            let names: Vec<String> =
                orphans.map(|group| format!("{name}{}", group.suffix)).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        if let Some(names) = orphans("required", |group| !group.traits.required.is_empty()) {
            return Err(PlacementError::bad_request(format!(
                "All traits parameters must be associated with resources.  Found the following orphaned traits keys: {names}"
            )));
        }
        if let Some(names) =
            orphans("member_of", |group| group.aggregates != AggregateParams::default())
        {
            return Err(PlacementError::bad_request(format!(
                "All member_of parameters must be associated with resources. Found the following orphaned member_of keys: {names}"
            )));
        }
        if self.groups.iter().any(|group| group.resources.is_empty()) {
            return Err(PlacementError::bad_request("All request groups must specify resources."));
        }
        if self.groups.is_empty() {
            return Err(PlacementError::bad_request(
                "At least one request group (`resources` or `resources{$S}`) is required.",
            ));
        }
        Ok(())
    }

    fn check_conflicts(&self) -> PlacementResult<()> {
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
        Err(PlacementError::bad_request(format!(
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

/// Splits `resources_A` into the parameter and the suffix.
fn split(name: &str, version: Microversion) -> Option<(Parameter, &str)> {
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

fn root_required(query: &QueryString, version: Microversion) -> PlacementResult<TraitParams> {
    let mut all = query.all("root_required");
    let Some(value) = all.next() else { return Ok(TraitParams::default()) };
    if all.next().is_some() {
        return Err(PlacementError::bad_request(
            "Query parameter 'root_required' may be specified only once.",
        )
        .coded(ErrorCode::DuplicateKey));
    }
    if value.starts_with("in:") {
        return Err(PlacementError::bad_request(format!(
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
        return Err(PlacementError::bad_request(format!(
            "Conflicting required and forbidden traits found in root_required: {}",
            conflicts.join(", ")
        ))
        .coded(ErrorCode::BadValue));
    }
    Ok(traits)
}

fn same_subtree(query: &QueryString) -> PlacementResult<Vec<Vec<String>>> {
    let mut all = Vec::new();
    for value in query.all("same_subtree") {
        let suffixes: Vec<String> = value.split(',').map(|part| part.trim().to_owned()).collect();
        if suffixes.iter().any(String::is_empty) {
            return Err(PlacementError::bad_request(
                "Empty string (unsuffixed group) can not be specified in `same_subtree` ",
            )
            .coded(ErrorCode::BadValue));
        }
        all.push(suffixes);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "7a3f0a5e-0000-4000-8000-00000000000a";

    fn read(text: &str, minor: u8) -> PlacementResult<CandidatesParams> {
        CandidatesParams::read(&QueryString::read(text), Microversion::tested(minor))
    }

    #[test]
    fn parameters_are_grouped_by_suffix() {
        let text = format!(
            "resources=VCPU:2&required=A,!B&resources_X=SRIOV_NET_VF:1&in_tree_X={TREE}&required_X=in:C,D&required_X=E&resources2=PCPU:1&group_policy=isolate&limit=7&limit=8&root_required=R,!S&same_subtree=_X,2"
        );
        let params = read(&text, 39).unwrap();
        let suffixes: Vec<&str> = params.groups.iter().map(|group| group.suffix.as_str()).collect();
        assert_eq!(suffixes, ["", "_X", "2"]);
        assert_eq!((params.limit, params.isolate), (Some(7), true));
        assert_eq!(params.groups[0].resources, [("VCPU".to_owned(), 2)]);
        assert_eq!(params.groups[0].traits.forbidden, ["B"]);
        assert_eq!(params.groups[1].traits.required, [vec!["C", "D"], vec!["E"]]);
        assert_eq!(params.groups[1].in_tree.map(|uuid| uuid.to_string()).as_deref(), Some(TREE));
        assert_eq!(params.root.forbidden, ["S"]);
        assert_eq!(params.same_subtree, [["_X", "2"]]);
    }

    #[test]
    fn invalid_requests_get_an_error_with_a_code() {
        for (text, minor, code, words) in [
            ("", 10, ErrorCode::Undefined, "'resources' is a required property"),
            (
                "resources=VCPU:1&resources1=VCPU:1",
                24,
                ErrorCode::Undefined,
                "'resources1' was unexpected",
            ),
            (
                "",
                25,
                ErrorCode::Undefined,
                "At least one request group (`resources` or `resources{$S}`) is required.",
            ),
            (
                "resources=VCPU:1&required1=A&required2=B",
                25,
                ErrorCode::Undefined,
                "Found the following orphaned traits keys: required1, required2",
            ),
            (
                "resources=VCPU:1&required1=!A",
                25,
                ErrorCode::Undefined,
                "All request groups must specify resources.",
            ),
            (
                "resources1=VCPU:1&resources2=VCPU:1",
                25,
                ErrorCode::Undefined,
                "The \"group_policy\" parameter is required",
            ),
            (
                "resources=VCPU:1&required=A,!A",
                22,
                ErrorCode::Undefined,
                "following traits keys: required: (A)",
            ),
            (
                "resources=VCPU:1&required=A,!A",
                39,
                ErrorCode::Undefined,
                "following traits keys: required: (A)",
            ),
            (
                "resources=VCPU:1&root_required=A&root_required=B",
                35,
                ErrorCode::DuplicateKey,
                "may be specified only once.",
            ),
            (
                "resources=VCPU:1&root_required=A,!A",
                35,
                ErrorCode::BadValue,
                "found in root_required: A",
            ),
            (
                "resources=VCPU:1&root_required=in:A",
                39,
                ErrorCode::Undefined,
                "only supported since microversion 1.39",
            ),
            (
                "resources=VCPU:1&in_tree=x",
                31,
                ErrorCode::Undefined,
                "Expected 'in_tree' parameter to be a format of uuid",
            ),
            (
                "required_A=X&same_subtree=_A",
                36,
                ErrorCode::MissingValue,
                "There must be at least one resources",
            ),
            ("resources=VCPU:1&required_A=X", 36, ErrorCode::BadValue, "bad group(s) - ['_A']."),
            (
                "resources_A=VCPU:1&same_subtree=_A,_B",
                36,
                ErrorCode::BadValue,
                "['_B'] not found in ['_A'].",
            ),
            (
                "resources_A=VCPU:1&same_subtree=_A,",
                36,
                ErrorCode::BadValue,
                "Empty string (unsuffixed group)",
            ),
        ] {
            let error = read(text, minor).unwrap_err();
            assert!(error.message.contains(words), "{text} 1.{minor}: {error:?}");
            assert_eq!((error.code, error.status.as_u16()), (code, 400), "{text} 1.{minor}");
        }
        let long = format!("resources=VCPU:1&member_of3={TREE}&member_of={TREE}");
        let error = read(&long, 25).unwrap_err();
        assert!(error.message.contains("orphaned member_of keys: member_of3"), "{error:?}");
    }
}
