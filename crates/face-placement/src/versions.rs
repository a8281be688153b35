//! Microversions: which one a request asks for, and what each of them changed.
//!
//! Everywhere else the question is whether a version *has a feature*; no other file compares numbers.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::fault::Fault;

pub(crate) const HEADER: HeaderName = HeaderName::from_static("openstack-api-version");

/// The service's name in the header.
const SERVICE: &str = "placement";

/// A version 1.x.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u8);

/// What a version changed; its number is the version 1.x that did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Feature {
    /// What has been there from the beginning.
    Always = 0,
    /// Aggregates of a provider, and the link to them.
    Aggregates = 1,
    /// `/resource_classes`.
    Classes = 2,
    /// Providers by `member_of`.
    ProvidersByAggregate = 3,
    /// Providers by `resources`.
    ProvidersByResources = 4,
    /// All inventories of a provider are deleted in one request.
    DeleteInventories = 5,
    /// `/traits`, traits of a provider, and the link to them.
    Traits = 6,
    /// A class is put by its name alone; before, putting renamed it.
    PutClass = 7,
    /// Allocations say which project and user they are for.
    ConsumerOwner = 8,
    /// `/usages`.
    Usages = 9,
    /// `/allocation_candidates`.
    Candidates = 10,
    /// The link to a provider's allocations.
    AllocationsLink = 11,
    /// Allocations are written by provider and not as a list, as they are read.
    AllocationsByProvider = 12,
    /// Allocations of several consumers in one request.
    PostAllocations = 13,
    /// Parents and roots, and providers by `in_tree`.
    Trees = 14,
    /// `last-modified` and `cache-control`.
    CacheHeaders = 15,
    /// Candidates with a `limit`.
    CandidatesLimit = 16,
    /// Candidates by `required`, and traits in their summaries.
    CandidatesByTraits = 17,
    /// Providers by `required`.
    ProvidersByTraits = 18,
    /// Aggregates are written at a generation, and raise it.
    AggregatesGeneration = 19,
    /// A new provider is shown.
    PostProviderBody = 20,
    /// Candidates by `member_of`.
    CandidatesByAggregate = 21,
    /// `required=!TRAIT`.
    ForbiddenTraits = 22,
    /// Errors have codes.
    ErrorCodes = 23,
    /// `member_of` more than once.
    SeveralMemberOf = 24,
    /// Numbered groups, and what goes with them.
    Groups = 25,
    /// An inventory may be reserved whole.
    ReservedWhole = 26,
    /// Summaries show classes that were not asked for as well.
    AllClassesInSummaries = 27,
    /// Allocations are written at a generation of their consumer.
    ConsumerGenerations = 28,
    /// Candidates of several providers of a tree, and whole trees in the summaries.
    NestedCandidates = 29,
    /// `/reshaper`.
    Reshaper = 30,
    /// Candidates by `in_tree`.
    CandidatesInTree = 31,
    /// `member_of=!AGGREGATE`.
    ForbiddenAggregates = 32,
    /// Groups have names and not only numbers.
    NamedGroups = 33,
    /// Candidates say which provider serves which group.
    Mappings = 34,
    /// Candidates by `root_required`.
    RootRequired = 35,
    /// Candidates by `same_subtree`, and groups without resources.
    SameSubtree = 36,
    /// A provider may get another parent, or none.
    Reparenting = 37,
    /// Consumers have types.
    ConsumerTypes = 38,
    /// `required=in:A,B`, and `required` more than once.
    AnyTraits = 39,
}

impl Version {
    pub(crate) const MIN: Version = Version(Feature::Always as u8);
    pub(crate) const MAX: Version = Version(Feature::AnyTraits as u8);

    /// The version 1.`minor`.
    #[cfg(test)]
    pub(crate) fn tested(minor: u8) -> Version {
        Version(minor)
    }

    pub(crate) fn has(self, feature: Feature) -> bool {
        self.0 >= feature as u8
    }

    /// Of forms that came with features, in the order of these, the newest that this version has.
    pub(crate) fn pick<T: Copy>(self, first: T, later: &[(Feature, T)]) -> T {
        let newest = later.iter().rev().find(|(feature, _)| self.has(*feature));
        newest.map_or(first, |(_, form)| *form)
    }

    /// What the request asks for. More than one service may be named; the last entry that is for this one counts.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Version, Fault> {
        let lines: Vec<_> = headers.get_all(HEADER).iter().flat_map(HeaderValue::to_str).collect();
        let asked = lines.iter().flat_map(|line| line.split(',')).rev().find_map(|entry| {
            let (service, version) = entry.trim().split_once(char::is_whitespace)?;
            service.eq_ignore_ascii_case(SERVICE).then(|| version.trim())
        });
        match asked {
            None => Ok(Version::MIN),
            Some("latest") => Ok(Version::MAX),
            Some(text) => Version::read(text),
        }
    }

    fn read(text: &str) -> Result<Version, Fault> {
        let (major, minor) = text.split_once('.').unwrap_or((text, ""));
        let number = |part: &str| part.trim().parse::<i64>().ok();
        match (number(major), number(minor)) {
            (Some(1), Some(minor)) if (0..=Version::MAX.0.into()).contains(&minor) => {
                Ok(Version(minor as u8))
            }
            (Some(_), Some(_)) => Err(Fault::version_unknown(format!(
                "Invalid microversion: Unacceptable version header: {text}"
            ))),
            _ => Err(Fault::version_malformed(format!(
                "Invalid microversion: invalid version string: {text}; expected two numbers, as in 1.39"
            ))),
        }
    }

    /// As it stands in the header of a reply.
    pub(crate) fn header(self) -> HeaderValue {
        let text = format!("{SERVICE} {self}");
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(SERVICE))
    }
}

impl fmt::Display for Version {
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
        Version::of(&headers)
            .map(|version| version.to_string())
            .map_err(|fault| fault.status.as_u16())
    }

    #[test]
    fn the_version_is_the_last_one_that_is_meant_for_placement() {
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
    fn a_version_has_what_came_with_it_and_before() {
        let version = Version::read("1.28").unwrap();
        assert!(version.has(Feature::ConsumerGenerations) && version.has(Feature::Always));
        assert!(!version.has(Feature::NestedCandidates));
        let later = [(Feature::Aggregates, 1), (Feature::Mappings, 34), (Feature::AnyTraits, 39)];
        assert_eq!(version.pick(0, &later), 1);
        assert_eq!(Version::MIN.pick(0, &later), 0);
        assert_eq!(Version::MAX.pick(0, &later), 39);
    }
}
