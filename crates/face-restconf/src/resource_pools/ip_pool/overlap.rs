//! Whether what a pool of addresses consists of can be: of one version of IP, nothing over anything else, and nothing excluded
//! that is not there. What is wrong is said in the words of the original.

use allod_core::requests::{AddressSupply, Subnet};
use allod_core::span::Span;

use super::Written;
use crate::fault::Fault;
use crate::resource_pools::kind::Place;
use crate::tree::Node;

const TOO_LONG: &str = "cidrmask is too long";
const RANGE_VERSIONS: &str = "IP addresses defining a range must agree on IP version.";
const VERSIONS: &str = "Subnets and ranges of a pool must agree on IP version.";
const BACKWARDS: &str = "range end must be greater or equal to range start";

/// Addresses that an entry adds to the pool.
struct Part<'n> {
    span: Span,
    entry: &'n Node,
    is_range: bool,
    /// As the original names it.
    name: String,
}

/// Of which version of IP the pool is. `None`: there is nothing that would say so.
pub(super) fn checked(place: &Place<'_>, written: &Written<'_>) -> Result<Option<bool>, Fault> {
    for (six, subnet, entry) in written.subnets.iter().chain(&written.exclude) {
        if u32::from(subnet.len) > width(*six) {
            return Err(place.wrong_entry(entry, TOO_LONG));
        }
    }
    for ((from_six, from), (to_six, to), entry) in &written.ranges {
        if from_six != to_six {
            return Err(place.wrong_entry(entry, RANGE_VERSIONS));
        }
        if to < from {
            return Err(place.wrong_entry(entry, BACKWARDS));
        }
    }
    let networks = written.subnets.iter().map(|(six, _, entry)| (*six, *entry));
    let ranges = written.ranges.iter().map(|((six, _), _, entry)| (*six, *entry));
    let mut version = None;
    for (six, entry) in networks.chain(ranges) {
        if *version.get_or_insert(six) != six {
            return Err(place.wrong_entry(entry, VERSIONS));
        }
    }
    let six = version.unwrap_or_default();
    let parts = parts(written, six);
    if let Some((one, other)) = overlapping(&parts) {
        return Err(place.wrong_entry(other.entry, said(one, other)));
    }
    excluded(place, written, &parts, six)?;
    Ok(version)
}

fn width(six: bool) -> u32 {
    if six { 128 } else { 32 }
}

/// Everything that the pool consists of, ascending; of what begins with the same address the wider first.
fn parts<'n>(written: &Written<'n>, six: bool) -> Vec<Part<'n>> {
    let subnets = written.subnets.iter().map(|(_, subnet, entry)| {
        let span = subnet.span(width(six));
        Part { span, entry, is_range: false, name: network(*subnet, six) }
    });
    let kind = kind(six);
    let ranges = written.ranges.iter().map(|((_, first), (_, last), entry)| {
        let name = format!("{{{} {}}}", kind.point(*first), kind.point(*last));
        Part { span: Span { first: *first, last: *last }, entry, is_range: true, name }
    });
    sorted(subnets.chain(ranges).collect())
}

fn sorted(mut parts: Vec<Part<'_>>) -> Vec<Part<'_>> {
    parts.sort_by_key(|part| (part.span.first, std::cmp::Reverse(part.span.last)));
    parts
}

/// Two that lie over each other.
fn overlapping<'p, 'n>(parts: &'p [Part<'n>]) -> Option<(&'p Part<'n>, &'p Part<'n>)> {
    let pairs = parts.windows(2).filter_map(|pair| match pair {
        [one, other] => Some((one, other)),
        _ => None,
    });
    pairs.into_iter().find(|(one, other)| other.span.first <= one.span.last)
}

fn said(one: &Part<'_>, other: &Part<'_>) -> String {
    let (one_name, other_name) = (&one.name, &other.name);
    match (one.is_range, other.is_range) {
        (false, false) => format!("Subnets {one_name} and {other_name} overlap"),
        (false, true) => format!("Range {other_name} overlaps subnet {one_name}"),
        (true, false) => format!("Subnet {other_name} overlaps range {one_name}"),
        (true, true) => format!("Range {one_name} overlaps range {other_name}"),
    }
}

/// Each exclusion is within a subnet, and none over another.
fn excluded(
    place: &Place<'_>,
    written: &Written<'_>,
    parts: &[Part<'_>],
    six: bool,
) -> Result<(), Fault> {
    let mut exclusions = Vec::new();
    for (own, subnet, entry) in &written.exclude {
        let span = subnet.span(width(*own));
        let at = parts.partition_point(|part| part.span.first <= span.first);
        let around = at.checked_sub(1).and_then(|at| parts.get(at));
        let name = network(*subnet, *own);
        let within = around.is_some_and(|part| !part.is_range && part.span.covers(span));
        if *own != six || !within {
            let message = format!("No subnet contains exclusion {name} in ip pool");
            return Err(place.wrong_entry(entry, message));
        }
        exclusions.push(Part { span, entry, is_range: false, name });
    }
    let exclusions = sorted(exclusions);
    match overlapping(&exclusions) {
        Some((one, other)) => {
            let message = format!("Exclusions {} and {} overlap", one.name, other.name);
            Err(place.wrong_entry(other.entry, message))
        }
        None => Ok(()),
    }
}

fn kind(six: bool) -> allod_core::value::Kind {
    AddressSupply { six, ..AddressSupply::default() }.kind()
}

/// A network by its first address.
fn network(subnet: Subnet, six: bool) -> String {
    let first = subnet.span(width(six)).first;
    format!("{}/{}", kind(six).point(first), subnet.len)
}
