//! NSO's texts for failed requests. Services compare them, so they must stay identical, including the names of Java classes.

use std::net::{Ipv4Addr, Ipv6Addr};

use allod_core::requests::{Failure, OutsideFailure, Request, Wanted};
use allod_core::value::IpVersion;

const EXHAUSTED: &str = "com.tailf.pkg.idpool.exceptions.PoolExhaustedException";
const IPAM: &str = "com.tailf.pkg.ipam.exceptions";

pub(crate) fn error(pool: &str, request: &Request, failure: &Failure) -> String {
    match failure {
        Failure::Exhausted => format!("{EXHAUSTED}: ID pool {pool} exhausted"),
        Failure::IdUnavailable(id) => {
            format!("{EXHAUSTED}: Requested id ({id}) not available in pool {pool}")
        }
        Failure::SyncExhausted => "sync allocation failed".to_owned(),
        Failure::SyncConflict => {
            "Conflicting id requests: Requested ID does not match previous allocation".to_owned()
        }
        Failure::NoAddresses => {
            format!("{IPAM}.AddressPoolEmptyException: No addresses available")
        }
        Failure::TooBig(lens) => {
            // Each length is followed by a blank, also the last one.
            let lens: String = lens.iter().map(|len| format!("{len} ")).collect();
            format!(
                "{IPAM}.AddressPoolMaskInvalidException: Requested subnet is too big. Available prefix lengths: {lens}"
            )
        }
        Failure::PrefixUnavailable { address, len } => {
            let address = address_of(request, *address);
            format!(
                "{IPAM}.AddressRequestNotAvailableException: Requested subnet /{address}/{len} not available."
            )
        }
        Failure::EdgeAddress { address } => {
            let width = version_of(request).width();
            let address = address_of(request, *address);
            format!(
                "{IPAM}.AddressRequestNotAvailableException: Requested subnet /{address}/{width} is a broadcast address in pool {pool}."
            )
        }
        Failure::Misaligned => {
            format!("{IPAM}.InvalidNetmaskException: Invalid address/cidr pair.")
        }
        // An authority says more, but that is for the administrator: see the claims of the authority.
        Failure::Outside(OutsideFailure { code: Some(code), .. }) => {
            format!("the authority of pool {pool} has refused the request: {}", code.name())
        }
        Failure::Outside(OutsideFailure { code: None, text }) => text.to_string(),
        // Larger than the longest IPv6 prefix.
        Failure::TooLong => {
            format!("{IPAM}.InvalidNetmaskException: IPv4 prefix must be within [0-32]")
        }
    }
}

/// The IP version of the address that the request names.
fn version_of(request: &Request) -> IpVersion {
    match &request.want {
        Wanted::Prefix(want) => want.start.map(|(version, _)| version).unwrap_or_default(),
        Wanted::Id(_) => IpVersion::V4,
    }
}

/// An address as Java writes it, without shortening IPv6.
fn address_of(request: &Request, address: u128) -> String {
    match u32::try_from(address) {
        Ok(four) if version_of(request) == IpVersion::V4 => Ipv4Addr::from(four).to_string(),
        _ => {
            let groups = Ipv6Addr::from(address).segments();
            groups.map(|group| format!("{group:x}")).join(":")
        }
    }
}
