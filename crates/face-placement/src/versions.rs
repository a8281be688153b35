//! Microversions: how a request selects one, and what each of them changed.
//!
//! Other files ask whether a version *has a feature*; none compares version numbers.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::error::{PlacementError, PlacementResult};

pub(crate) const HEADER: HeaderName = HeaderName::from_static("openstack-api-version");

/// The service type in the version header.
const SERVICE: &str = "placement";

/// The microversion 1.x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Microversion(u8);

/// What a version introduced; the discriminant is the x of version 1.x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Feature {
    /// Exists in all versions.
    Always = 0,
    /// Aggregates of a provider, and a link to them.
    Aggregates = 1,
    /// `/resource_classes`.
    Classes = 2,
    /// `member_of` filter on providers.
    ProvidersByAggregate = 3,
    /// `resources` filter on providers.
    ProvidersByResources = 4,
    /// DELETE on all inventories of a provider.
    DeleteInventories = 5,
    /// `/traits`, traits of a provider, and a link to them.
    Traits = 6,
    /// PUT on a class creates it and takes no body; before, it renamed the class.
    PutClass = 7,
    /// Allocations have a project and a user.
    ConsumerOwner = 8,
    /// `/usages`.
    Usages = 9,
    /// `/allocation_candidates`.
    Candidates = 10,
    /// A link to the allocations of a provider.
    AllocationsLink = 11,
    /// PUT on allocations takes an object by provider instead of a list.
    AllocationsByProvider = 12,
    /// POST on allocations, for several consumers.
    PostAllocations = 13,
    /// Parents and roots of providers, and the `in_tree` filter.
    Trees = 14,
    /// `last-modified` and `cache-control`.
    CacheHeaders = 15,
    /// `limit` on candidates.
    CandidatesLimit = 16,
    /// `required` on candidates, and traits in their summaries.
    CandidatesByTraits = 17,
    /// `required` filter on providers.
    ProvidersByTraits = 18,
    /// PUT on aggregates takes a generation and increments it.
    AggregatesGeneration = 19,
    /// POST on providers returns the provider.
    PostProviderBody = 20,
    /// `member_of` on candidates.
    CandidatesByAggregate = 21,
    /// `required=!TRAIT`.
    ForbiddenTraits = 22,
    /// Errors have codes.
    ErrorCodes = 23,
    /// `member_of` may be repeated.
    SeveralMemberOf = 24,
    /// Numbered groups and `group_policy`.
    Groups = 25,
    /// `reserved` may be equal to `total`.
    ReservedWhole = 26,
    /// Summaries have all classes, not only the requested ones.
    AllClassesInSummaries = 27,
    /// Allocations have a consumer generation.
    ConsumerGenerations = 28,
    /// Candidates may use several providers of a tree, and summaries have whole trees.
    NestedCandidates = 29,
    /// `/reshaper`.
    Reshaper = 30,
    /// `in_tree` on candidates.
    CandidatesInTree = 31,
    /// `member_of=!AGGREGATE`.
    ForbiddenAggregates = 32,
    /// Group suffixes may be any name.
    NamedGroups = 33,
    /// Candidates have mappings from groups to providers.
    Mappings = 34,
    /// `root_required` on candidates.
    RootRequired = 35,
    /// `same_subtree` on candidates, and groups without resources.
    SameSubtree = 36,
    /// The parent of a provider may be changed or removed.
    Reparenting = 37,
    /// Consumers have types.
    ConsumerTypes = 38,
    /// `required=in:A,B`, and `required` may be repeated.
    AnyTraits = 39,
}

impl Microversion {
    pub(crate) const MIN: Microversion = Microversion(Feature::Always as u8);
    pub(crate) const MAX: Microversion = Microversion(Feature::AnyTraits as u8);

    /// The version 1.`minor`.
    #[cfg(test)]
    pub(crate) fn tested(minor: u8) -> Microversion {
        Microversion(minor)
    }

    pub(crate) fn has(self, feature: Feature) -> bool {
        self.0 >= feature as u8
    }

    /// The newest alternative that this version has; `later` is in ascending order of features.
    pub(crate) fn pick<T: Copy>(self, first: T, later: &[(Feature, T)]) -> T {
        let newest = later.iter().rev().find(|(feature, _)| self.has(*feature));
        newest.map_or(first, |(_, form)| *form)
    }

    /// The version that the request asks for. The header may name several services; the last entry for this one counts.
    pub(crate) fn of(headers: &HeaderMap) -> PlacementResult<Microversion> {
        let lines: Vec<_> = headers.get_all(HEADER).iter().flat_map(HeaderValue::to_str).collect();
        let asked = lines.iter().flat_map(|line| line.split(',')).rev().find_map(|entry| {
            let (service, version) = entry.trim().split_once(char::is_whitespace)?;
            service.eq_ignore_ascii_case(SERVICE).then(|| version.trim())
        });
        match asked {
            None => Ok(Microversion::MIN),
            Some("latest") => Ok(Microversion::MAX),
            Some(text) => Microversion::read(text),
        }
    }

    fn read(text: &str) -> PlacementResult<Microversion> {
        let (major, minor) = text.split_once('.').unwrap_or((text, ""));
        let number = |part: &str| part.trim().parse::<i64>().ok();
        match (number(major), number(minor)) {
            (Some(1), Some(minor)) if (0..=Microversion::MAX.0.into()).contains(&minor) => {
                Ok(Microversion(minor as u8))
            }
            (Some(_), Some(_)) => Err(PlacementError::version_unknown(format!(
                "Invalid microversion: Unacceptable version header: {text}"
            ))),
            _ => Err(PlacementError::version_malformed(format!(
                "Invalid microversion: invalid version string: {text}; expected two numbers, as in 1.39"
            ))),
        }
    }

    /// The value of the version header of a reply.
    pub(crate) fn header(self) -> HeaderValue {
        let text = format!("{SERVICE} {self}");
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(SERVICE))
    }
}

impl fmt::Display for Microversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(lines: &[&'static str]) -> Result<String, u16> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(HEADER, HeaderValue::from_static(line));
        }
        Microversion::of(&headers)
            .map(|version| version.to_string())
            .map_err(|error| error.status.as_u16())
    }

    #[test]
    fn the_last_version_for_placement_counts() {
        for (lines, wanted) in [
            (&[][..], Ok("1.0")),
            (&["placement latest"], Ok("1.39")),
            (&["placement 1.10"], Ok("1.10")),
            (&["Placement   1.10 "], Ok("1.10")),
            (&["compute 2.1, placement 1.3,placement 1.4, volume 3"], Ok("1.4")),
            (&["placement 1.3", "placement 1.5"], Ok("1.5")),
            (&["compute 2.90"], Ok("1.0")),
            (&["placement"], Ok("1.0")),
            (&["placement 1.40"], Err(406)),
            (&["placement 0.5"], Err(406)),
            (&["placement 2.0"], Err(406)),
            (&["placement 1.-1"], Err(406)),
            (&["placement 1"], Err(400)),
            (&["placement 1.2.3"], Err(400)),
            (&["placement pony.horse"], Err(400)),
            (&["placement Latest"], Err(400)),
        ] {
            assert_eq!(asked(lines), wanted.map(str::to_owned), "{lines:?}");
        }
    }

    #[test]
    fn a_version_has_its_features_and_all_earlier_ones() {
        let version = Microversion::read("1.28").unwrap();
        assert!(version.has(Feature::ConsumerGenerations) && version.has(Feature::Always));
        assert!(!version.has(Feature::NestedCandidates));
        let later = [(Feature::Aggregates, 1), (Feature::Mappings, 34), (Feature::AnyTraits, 39)];
        assert_eq!(version.pick(0, &later), 1);
        assert_eq!(Microversion::MIN.pick(0, &later), 0);
        assert_eq!(Microversion::MAX.pick(0, &later), 39);
    }
}
