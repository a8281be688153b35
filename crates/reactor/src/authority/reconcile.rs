//! Compares the listing of an authority with the claims here: a function of both, without any I/O.
//!
//! A listing takes time, and both sides change meanwhile. So a grant is an orphan only if it is unknown here after the
//! listing has ended, and a claim is missing only if it was granted before the listing began. A request that was cut off may
//! still arrive, so only what a second listing confirms, after the time limit of requests, is a finding.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use allod_core::capacity::Uuid;
use allod_core::value::Kind;

use super::connector::Listed;

/// A claim that held a value before the listing began, and still holds it after the listing has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldClaim {
    pub reference: Uuid,
    pub kind: Kind,
    pub value: Arc<str>,
}

/// What differs. Grants are named as the authority lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Differences {
    /// Grants that no claim here has.
    pub orphans: BTreeMap<String, Listed>,
    /// Claims without a grant.
    pub missing: BTreeSet<Uuid>,
    /// Claims whose grant has another value, which is here.
    pub drifted: BTreeMap<Uuid, String>,
    /// Grants that no claim here has, with a value that another claim holds without a grant.
    pub conflicts: BTreeMap<String, Uuid>,
}

impl Differences {
    pub fn is_empty(&self) -> bool {
        let Differences { orphans, missing, drifted, conflicts } = self;
        orphans.is_empty() && missing.is_empty() && drifted.is_empty() && conflicts.is_empty()
    }

    /// What the second listing shows too.
    pub fn confirmed_by(mut self, second: &Differences) -> Differences {
        self.orphans.retain(|reference, listed| {
            second.orphans.get(reference).is_some_and(|again| again.value == listed.value)
        });
        self.missing.retain(|reference| second.missing.contains(reference));
        self.drifted.retain(|reference, seen| second.drifted.get(reference) == Some(seen));
        self.conflicts.retain(|reference, holder| second.conflicts.get(reference) == Some(holder));
        self
    }
}

/// Compares a listing, by reference, with claims. `is_known`: whether a claim here, in any state, has this reference after the
/// listing has ended.
pub fn compare(
    listed: &HashMap<String, Listed>,
    held: &[HeldClaim],
    is_known: impl Fn(Uuid) -> bool,
) -> Differences {
    let mut differences = Differences::default();
    for (name, grant) in listed {
        if !name.parse().is_ok_and(&is_known) {
            differences.orphans.insert(name.clone(), grant.clone());
        }
    }
    let by_reference: HashMap<Uuid, &Listed> =
        listed.iter().filter_map(|(name, grant)| Some((name.parse().ok()?, grant))).collect();
    let mut without_grant: HashMap<&str, Uuid> = HashMap::new();
    for claim in held {
        match by_reference.get(&claim.reference) {
            None => {
                differences.missing.insert(claim.reference);
                without_grant.insert(&claim.value, claim.reference);
            }
            Some(grant) if is_same(claim, &grant.value) => {}
            Some(grant) => {
                differences.drifted.insert(claim.reference, grant.value.clone());
            }
        }
    }
    for (name, grant) in &differences.orphans {
        if let Some(holder) = without_grant.get(grant.value.as_str()) {
            differences.conflicts.insert(name.clone(), *holder);
        }
    }
    differences
}

/// Whether both texts are the same value.
fn is_same(claim: &HeldClaim, value: &str) -> bool {
    if *claim.value == *value {
        return true;
    }
    let here = claim.kind.parse(&claim.value);
    here.is_ok_and(|here| claim.kind.parse(value).is_ok_and(|there| here == there))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(grants: &[(&str, &str)]) -> HashMap<String, Listed> {
        let listed = |(reference, value): &(&str, &str)| {
            let (reference, value) = ((*reference).to_owned(), (*value).to_owned());
            (reference.clone(), Listed { reference, value, handle: None, version: None })
        };
        grants.iter().map(listed).collect()
    }

    fn name(number: u128) -> String {
        Uuid(number).to_string()
    }

    fn held(number: u128, value: &str) -> HeldClaim {
        HeldClaim { reference: Uuid(number), kind: Kind::Address4, value: value.into() }
    }

    #[test]
    fn each_difference_has_its_class() {
        let (one, two, three, four) = (name(1), name(2), name(3), name(4));
        let listed = listing(&[
            (&one, "10.0.0.1"),
            (&two, "10.0.0.9"),
            // A claim here that has no answer yet.
            (&three, "10.0.0.3"),
            (&four, "10.0.0.4"),
            ("of another user", "10.0.0.5"),
        ]);
        let claims =
            [held(1, "10.0.0.1"), held(2, "10.0.0.2"), held(5, "10.0.0.5"), held(6, "10.0.0.6")];
        let found = compare(&listed, &claims, |reference| [1, 2, 3, 5, 6].contains(&reference.0));
        assert_eq!(found.orphans.keys().collect::<Vec<_>>(), [&four, "of another user"]);
        assert_eq!(found.missing, BTreeSet::from([Uuid(5), Uuid(6)]));
        assert_eq!(found.drifted, BTreeMap::from([(Uuid(2), "10.0.0.9".to_owned())]));
        assert_eq!(found.conflicts, BTreeMap::from([("of another user".to_owned(), Uuid(5))]));
    }

    #[test]
    fn only_what_a_second_listing_confirms_is_a_finding() {
        let (one, two) = (name(1), name(2));
        let unknown = |_| false;
        let first = compare(
            &listing(&[(&one, "10.0.0.1"), (&two, "10.0.0.2")]),
            &[held(3, "10.0.0.3"), held(4, "10.0.0.4")],
            unknown,
        );
        // One grant has another value now, and one claim was granted again.
        let second = compare(
            &listing(&[(&one, "10.0.0.1"), (&two, "10.0.0.7"), (&name(3), "10.0.0.3")]),
            &[held(3, "10.0.0.3"), held(4, "10.0.0.4")],
            unknown,
        );
        let confirmed = first.confirmed_by(&second);
        assert_eq!(confirmed.orphans.keys().collect::<Vec<_>>(), [&one]);
        assert_eq!(confirmed.missing, BTreeSet::from([Uuid(4)]));
        assert!(!confirmed.is_empty() && Differences::default().is_empty());
    }

    #[test]
    fn a_value_may_be_written_in_another_way() {
        let claim = HeldClaim { kind: Kind::Address6, ..held(1, "fd00::1") };
        let listed = listing(&[(&name(1), "fd00:0:0::1")]);
        assert!(compare(&listed, &[claim], |_| true).is_empty());
    }
}
