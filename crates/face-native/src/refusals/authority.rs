//! Replies to refusals about authorities, and about claims in their pools.

use allod_core::refusal::AuthorityRefusal;
use http::StatusCode;

use super::{Head, conflict, differs, not_found};
use crate::wire::RefusalMembers;

pub(super) fn head(refusal: &AuthorityRefusal) -> Head {
    match refusal {
        AuthorityRefusal::AuthorityUnknown { .. } => not_found("authority not found"),
        AuthorityRefusal::AuthorityGenerationDiffers { .. } => {
            differs("authority generation differs")
        }
        AuthorityRefusal::AuthorityInUse { .. } => conflict("authority in use"),
        AuthorityRefusal::PoolHasClaims { .. } => conflict("pool in use"),
        AuthorityRefusal::QueueFull { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "too many claims wait for the authority")
        }
        AuthorityRefusal::StillReleasing { .. } => conflict("claim is being released"),
        AuthorityRefusal::NeedsResolution { .. } => conflict("claim needs an operator"),
        AuthorityRefusal::ReferenceUnknown { .. } => not_found("reference not found"),
        AuthorityRefusal::NothingToResolve { .. } => conflict("nothing to resolve"),
        AuthorityRefusal::LookUpUnknown { .. } => not_found("look-up not found"),
        AuthorityRefusal::LookUpVersionDiffers { .. } => differs("look-up version differs"),
        AuthorityRefusal::NothingToAccept { .. } => conflict("nothing to accept"),
        AuthorityRefusal::NotReconciling { .. } => conflict("reconciliation is not wanted"),
        AuthorityRefusal::FindingUnknown { .. } => not_found("finding not found"),
    }
}

pub(super) fn members(refusal: &AuthorityRefusal) -> RefusalMembers<'_> {
    let none = RefusalMembers::default();
    match refusal {
        AuthorityRefusal::AuthorityUnknown { .. } | AuthorityRefusal::ReferenceUnknown { .. } => {
            none
        }
        AuthorityRefusal::AuthorityGenerationDiffers { actual, .. } => {
            RefusalMembers { actual: *actual, ..none }
        }
        AuthorityRefusal::AuthorityInUse { claims, .. } => {
            RefusalMembers { held: Some(*claims), ..none }
        }
        AuthorityRefusal::PoolHasClaims { pool, claims } => {
            RefusalMembers { pool: Some(pool), held: Some(*claims), ..none }
        }
        AuthorityRefusal::QueueFull { queue_max, .. } => {
            RefusalMembers { limit: Some("queue_max"), max: Some(*queue_max), ..none }
        }
        AuthorityRefusal::StillReleasing { pool, key }
        | AuthorityRefusal::NeedsResolution { pool, key } => {
            RefusalMembers { pool: Some(pool), key: Some(key), ..none }
        }
        AuthorityRefusal::LookUpVersionDiffers { actual, .. } => {
            RefusalMembers { actual: *actual, ..none }
        }
        AuthorityRefusal::NothingToResolve { .. }
        | AuthorityRefusal::LookUpUnknown { .. }
        | AuthorityRefusal::NothingToAccept { .. }
        | AuthorityRefusal::NotReconciling { .. }
        | AuthorityRefusal::FindingUnknown { .. } => none,
    }
}
