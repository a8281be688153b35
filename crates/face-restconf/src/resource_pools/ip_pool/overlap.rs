//! Checks the address blocks of an IP pool: one IP version, no overlaps, and exclusions within a subnet. The messages are
//! NSO's.

use allod_core::requests::{AddressSupply, Subnet};
use allod_core::span::Span;

use super::WrittenNetworks;
use crate::error::Result;
use crate::resource_pools::kind::PoolLocation;
use crate::tree::DataNode;

const TOO_LONG: &str = "cidrmask is too long";
const RANGE_VERSIONS: &str = "IP addresses defining a range must agree on IP version.";
const VERSIONS: &str = "Subnets and ranges of a pool must agree on IP version.";
const BACKWARDS: &str = "range end must be greater or equal to range start";

/// Addresses that a list entry adds to the pool.
struct AddressBlock<'n> {
    span: Span,
    entry: &'n DataNode,
    is_range: bool,
    /// Its name in NSO's messages.
    name: String,
}

/// Returns the IP version of the pool; `None` if the pool is empty.
pub(super) fn check(
    location: &PoolLocation<'_>,
    written: &WrittenNetworks<'_>,
) -> Result<Option<bool>> {
    for (six, subnet, entry) in written.subnets.iter().chain(&written.exclude) {
        if u32::from(subnet.len) > width(*six) {
            return Err(location.wrong_entry(entry, TOO_LONG));
        }
    }
    for ((from_six, from), (to_six, to), entry) in &written.ranges {
        if from_six != to_six {
            return Err(location.wrong_entry(entry, RANGE_VERSIONS));
        }
        if to < from {
            return Err(location.wrong_entry(entry, BACKWARDS));
        }
    }
    let networks = written.subnets.iter().map(|(six, _, entry)| (*six, *entry));
    let ranges = written.ranges.iter().map(|((six, _), _, entry)| (*six, *entry));
    let mut version = None;
    for (six, entry) in networks.chain(ranges) {
        if *version.get_or_insert(six) != six {
            return Err(location.wrong_entry(entry, VERSIONS));
        }
    }
    let six = version.unwrap_or_default();
    let parts = parts(written, six);
    if let Some((one, other)) = overlapping(&parts) {
        return Err(location.wrong_entry(other.entry, overlap_message(one, other)));
    }
    check_exclusions(location, written, &parts, six)?;
    Ok(version)
}

fn width(six: bool) -> u32 {
    if six { 128 } else { 32 }
}

/// All blocks of the pool in ascending order; with the same start, the larger first.
fn parts<'n>(written: &WrittenNetworks<'n>, six: bool) -> Vec<AddressBlock<'n>> {
    let subnets = written.subnets.iter().map(|(_, subnet, entry)| {
        let span = subnet.span(width(six));
        AddressBlock { span, entry, is_range: false, name: network(*subnet, six) }
    });
    let kind = kind(six);
    let ranges = written.ranges.iter().map(|((_, first), (_, last), entry)| {
        let name = format!("{{{} {}}}", kind.point(*first), kind.point(*last));
        AddressBlock { span: Span { first: *first, last: *last }, entry, is_range: true, name }
    });
    sorted(subnets.chain(ranges).collect())
}

fn sorted(mut parts: Vec<AddressBlock<'_>>) -> Vec<AddressBlock<'_>> {
    parts.sort_by_key(|part| (part.span.first, std::cmp::Reverse(part.span.last)));
    parts
}

/// Two blocks that overlap.
fn overlapping<'p, 'n>(
    parts: &'p [AddressBlock<'n>],
) -> Option<(&'p AddressBlock<'n>, &'p AddressBlock<'n>)> {
    let pairs = parts.windows(2).filter_map(|pair| match pair {
        [one, other] => Some((one, other)),
        _ => None,
    });
    pairs.into_iter().find(|(one, other)| other.span.first <= one.span.last)
}

fn overlap_message(one: &AddressBlock<'_>, other: &AddressBlock<'_>) -> String {
    let (one_name, other_name) = (&one.name, &other.name);
    match (one.is_range, other.is_range) {
        (false, false) => format!("Subnets {one_name} and {other_name} overlap"),
        (false, true) => format!("Range {other_name} overlaps subnet {one_name}"),
        (true, false) => format!("Subnet {other_name} overlaps range {one_name}"),
        (true, true) => format!("Range {one_name} overlaps range {other_name}"),
    }
}

/// Checks that each exclusion is within a subnet, and that exclusions do not overlap.
fn check_exclusions(
    location: &PoolLocation<'_>,
    written: &WrittenNetworks<'_>,
    parts: &[AddressBlock<'_>],
    six: bool,
) -> Result<()> {
    let mut exclusions = Vec::new();
    for (own, subnet, entry) in &written.exclude {
        let span = subnet.span(width(*own));
        let at = parts.partition_point(|part| part.span.first <= span.first);
        let around = at.checked_sub(1).and_then(|at| parts.get(at));
        let name = network(*subnet, *own);
        let within = around.is_some_and(|part| !part.is_range && part.span.covers(span));
        if *own != six || !within {
            let message = format!("No subnet contains exclusion {name} in ip pool");
            return Err(location.wrong_entry(entry, message));
        }
        exclusions.push(AddressBlock { span, entry, is_range: false, name });
    }
    let exclusions = sorted(exclusions);
    match overlapping(&exclusions) {
        Some((one, other)) => {
            let message = format!("Exclusions {} and {} overlap", one.name, other.name);
            Err(location.wrong_entry(other.entry, message))
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
