//! Validates the parts of a command that do not depend on claims: sizes, and fields that contradict each other.

use std::sync::Arc;

use super::Draft;
use crate::claim::{Parity, Want};
use crate::command::ClaimOp;
use crate::limits::{Limits, at_most};
use crate::pool::{Labels, PoolSpec};
use crate::refusal::Refusal;
use crate::requests::{Request, RequestPool, SiteNode, SiteNodes, Supply};
use crate::span::Span;
use crate::state::pool::Pool;
use crate::value::{Kind, NotAValue, ValueText};

pub(crate) fn invalid<T>(what: impl Into<String>, fix: &'static str) -> Result<T, Refusal> {
    Err(Refusal::Invalid { what: what.into(), fix })
}

pub(crate) fn pool_name(text: &str, limits: &Limits) -> Result<(), Refusal> {
    name("pool's name", text, limits)
}

/// The name of a pool or of an authority.
pub(crate) fn name(what: &str, name: &str, limits: &Limits) -> Result<(), Refusal> {
    at_most("pool_name_bytes_max", limits.pool_name_bytes_max, name.len() as u64)?;
    if name.is_empty() || name.chars().any(char::is_control) {
        return invalid(
            format!("the {what} is empty or has control characters"),
            "give it a printable name",
        );
    }
    representable(what, name, char::is_control)
}

/// Refuses a text that not every interface can represent: XML and YANG have neither most control characters nor
/// noncharacters, so that what is exported could not be written back. `is_refused`: further characters to refuse.
pub(crate) fn representable(
    what: &str,
    text: &str,
    is_refused: impl Fn(char) -> bool,
) -> Result<(), Refusal> {
    let never = |char: char| {
        let plane_end = u32::from(char) & 0xfffe == 0xfffe;
        let is_noncharacter = plane_end || ('\u{fdd0}'..='\u{fdef}').contains(&char);
        is_noncharacter || (char < ' ' && !matches!(char, '\t' | '\n' | '\r'))
    };
    match text.chars().find(|char| never(*char) || is_refused(*char)) {
        None => Ok(()),
        Some(char) => invalid(
            format!("the {what} has the character U+{:04X}", u32::from(char)),
            "leave out control characters and noncharacters, which not every interface can represent",
        ),
    }
}

pub(crate) fn provider_name(name: &str, limits: &Limits) -> Result<(), Refusal> {
    let chars = name.chars().count() as u64;
    at_most("provider_name_chars_max", limits.provider_name_chars_max, chars)?;
    if name.is_empty() { invalid("the provider's name is empty", "give it one") } else { Ok(()) }
}

pub(crate) fn key(key: &str, limits: &Limits) -> Result<(), Refusal> {
    at_most("key_bytes_max", limits.key_bytes_max, key.len() as u64)?;
    if key.is_empty() { invalid("the key is empty", "give the claim a key") } else { Ok(()) }
}

/// Validates a new owner.
pub(crate) fn new_owner(owner: &str, limits: &Limits) -> Result<(), Refusal> {
    at_most("owner_bytes_max", limits.owner_bytes_max, owner.len() as u64)?;
    if owner.is_empty() {
        return invalid("the owner is empty", "name one");
    }
    representable("owner", owner, char::is_control)
}

/// Validates the characters of a new key.
pub(crate) fn new_key(key: &str) -> Result<(), Refusal> {
    representable("key", key, char::is_control)
}

pub(crate) fn labels(labels: &Labels, limits: &Limits) -> Result<(), Refusal> {
    at_most("labels_max", limits.labels_max, labels.len() as u64)?;
    labels.iter().flat_map(|(key, value)| [key, value]).try_for_each(|text: &Arc<str>| {
        at_most("label_bytes_max", limits.label_bytes_max, text.len() as u64)
    })
}

pub(crate) fn ttl(ttl_ms: Option<u64>, limits: &Limits) -> Result<(), Refusal> {
    if ttl_ms == Some(0) {
        return invalid("ttl is zero", "leave it out, or give a time above zero");
    }
    at_most("lease_ms_max", limits.lease_ms_max, ttl_ms.unwrap_or(0))
}

/// Validates the lengths of a request's texts.
pub(crate) fn request(request: &Request, limits: &Limits) -> Result<(), Refusal> {
    let services = &request.services;
    site_data(&request.site, limits)?;
    at_most("services_per_request_max", limits.services_per_request_max, services.len() as u64)?;
    services
        .iter()
        .chain([&request.user])
        .try_for_each(|text| at_most("owner_bytes_max", limits.owner_bytes_max, text.len() as u64))
}

fn site_data(nodes: &SiteNodes, limits: &Limits) -> Result<(), Refusal> {
    let bytes: usize = nodes.iter().map(SiteNode::bytes).sum();
    at_most("site_data_bytes_max", limits.site_data_bytes_max, bytes as u64)
}

/// Validates the configuration of a request pool. The blocks of its ranges are counted before a list of them is made.
pub(crate) fn request_pool(config: &RequestPool, limits: &Limits) -> Result<(), Refusal> {
    let at_most = |parts| at_most("ranges_per_pool_max", limits.ranges_per_pool_max, parts as u64);
    site_data(&config.site, limits)?;
    match &config.supply {
        Supply::Ids(supply) => at_most(supply.exclude.len() + 1)?,
        Supply::Addresses(supply) => {
            at_most(supply.subnets.len() + supply.exclude.len() + supply.ranges.len())?;
        }
    }
    config.validate()?;
    let Supply::Addresses(supply) = &config.supply else { return Ok(()) };
    let mut parts = supply.subnets.len() + supply.exclude.len();
    for &(first, last) in &supply.ranges {
        parts += Span { first, last }.aligned_blocks(128).count();
        at_most(parts)?;
    }
    Ok(())
}

pub(crate) fn spec(spec: &PoolSpec, limits: &Limits) -> Result<(), Refusal> {
    let lists = [&spec.exclude, &spec.manual, &spec.draining];
    let parts = spec.ranges.len() + lists.iter().map(|list| list.len()).sum::<usize>();
    at_most("ranges_per_pool_max", limits.ranges_per_pool_max, parts as u64)?;
    spec.validate()?;
    ttl(spec.lease_ms, limits)?;
    at_most("lease_ms_max", limits.lease_ms_max, spec.quarantine_ms)?;
    labels(&spec.labels, limits)
}

/// Validates the characters of a new claim. Names have no control characters at all; the text of a label may have tabs and
/// line breaks. A claim that exists may have been made when they were allowed, and can be repeated.
fn characters(draft: &Draft<'_>, op: &ClaimOp) -> Result<(), Refusal> {
    let is_held = |pool: &Arc<str>| draft.state.pool(pool)?.held(&op.key);
    if op.pools.iter().all(|pool| is_held(pool).is_some()) {
        return Ok(());
    }
    representable("key", &op.key, char::is_control)?;
    if let Some(owner) = &op.owner {
        representable("owner", owner, char::is_control)?;
    }
    op.labels.iter().try_for_each(|(name, text)| {
        representable("name of a label", name, char::is_control)?;
        representable("text of a label", text, |_| false)
    })
}

/// Validates a claim without its pools.
pub(crate) fn claim(draft: &Draft<'_>, op: &ClaimOp) -> Result<(), Refusal> {
    let limits = draft.limits;
    if op.pools.is_empty() {
        return invalid(
            "the claim names no pool",
            "name one, or several that must give the same value",
        );
    }
    at_most("pools_per_claim_max", limits.pools_per_claim_max, op.pools.len() as u64)?;
    if op.pools.iter().enumerate().any(|(n, pool)| op.pools[..n].contains(pool)) {
        return invalid("the claim names a pool twice", "name each pool once");
    }
    key(&op.key, limits)?;
    if let Some(owner) = &op.owner {
        at_most("owner_bytes_max", limits.owner_bytes_max, owner.len() as u64)?;
        if owner.is_empty() {
            return invalid("the owner is empty", "leave it out, or name one");
        }
    }
    labels(&op.labels, limits)?;
    characters(draft, op)?;
    ttl(op.ttl_ms, limits)?;
    want(&op.want, op.pools.len() > 1, limits)
}

/// The value that a text names in a pool.
pub(crate) fn value(pool: &Pool, text: &ValueText) -> Result<Span, Refusal> {
    pool.spec.kind.parse(&text.0).map_err(|error| malformed(pool, error))
}

pub(crate) fn malformed(pool: &Pool, error: NotAValue) -> Refusal {
    Refusal::ValueMalformed { pool: pool.name.clone(), error }
}

fn want(want: &Want<ValueText>, sync: bool, limits: &Limits) -> Result<(), Refusal> {
    at_most("values_per_claim_max", limits.values_per_claim_max, want.count.into())?;
    if want.count == 0 {
        return invalid("count is zero", "ask for at least one value");
    }
    if want.value.is_some() && want.count > 1 {
        return invalid("value and count are both given", "name a value, or say how many");
    }
    if want.value.is_none() && want.fallback {
        return invalid(
            "fallback is given without a value",
            "name the value that it is the fallback for",
        );
    }
    if want.contiguous && want.count > 1 && want.parity.is_some() {
        return invalid(
            "values that follow each other cannot all be even or odd",
            "drop contiguous or parity",
        );
    }
    if sync && want.count > 1 && !want.contiguous {
        return invalid(
            "several pools and several scattered values",
            "ask for one value, or for contiguous ones",
        );
    }
    Ok(())
}

/// Validates what a claim asks for against the kind of the pool.
pub(crate) fn want_of_kind(want: &Want, sync: bool, kind: Kind) -> Result<(), Refusal> {
    if kind.is_prefix() {
        if sync && want.count > 1 {
            return invalid(
                "several pools and several prefixes",
                "ask for one prefix that is large enough",
            );
        }
        if want.parity.is_some() {
            return invalid("a prefix is neither even nor odd", "leave parity out");
        }
        match (want.value.and_then(|value| kind.prefix_len(value)), want.prefix_len) {
            (Some(value), Some(len)) if value != len => {
                return invalid(
                    "value and prefix_len name different lengths",
                    "leave prefix_len out",
                );
            }
            (None, None) => {
                return invalid("prefix_len is missing", "say how long a prefix is wanted");
            }
            _ => {}
        }
        if want.prefix_len.is_some_and(|len| u32::from(len) > kind.width()) {
            return invalid(format!("prefix_len is above {}", kind.width()), "give a shorter one");
        }
    } else if want.prefix_len.is_some() {
        return invalid(
            format!("prefix_len is given for a pool of {}", kind.name()),
            "leave it out",
        );
    }
    match (want.value, want.parity) {
        (Some(value), Some(parity)) if Parity::of(value.first) != parity => invalid(
            format!("the value is not {}", parity.name()),
            "leave parity out, or name another value",
        ),
        _ => Ok(()),
    }
}
