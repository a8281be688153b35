//! Refusals of commands about authorities and about claims in their pools.

use std::sync::Arc;

use crate::capacity::Uuid;
use crate::refusal::refusals;

refusals! {
    pub enum AuthorityRefusal {
        AuthorityUnknown { authority: Arc<str> }
            => "authority_unknown", Change, "there is no authority '{authority}'";
        AuthorityGenerationDiffers { authority: Arc<str>, actual: Option<u64> }
            => "authority_generation_differs", Reread, "authority '{authority}' {}", match actual {
                Some(actual) => format!("is at generation {actual}"),
                None => "does not exist".into(),
            };
        /// Pools or claims still need the authority.
        AuthorityInUse { authority: Arc<str>, pools: u64, claims: u64, lookups: u64 }
            => "authority_in_use", WaitForRelease,
               "authority '{authority}' has {pools} pools, {claims} claims and {lookups} look-ups; release the claims, change the pools and delete the look-ups first";
        /// The authority of a pool with claims cannot be changed, and the pool cannot be deleted.
        PoolHasClaims { pool: Arc<str>, claims: u64 }
            => "pool_in_use", WaitForRelease,
               "pool '{pool}' has {claims} claims at its authority; release them first";
        /// As many claims wait for the authority as are allowed.
        QueueFull { authority: Arc<str>, queue_max: u64, reason: Option<Arc<str>> }
            => "authority_busy", WaitForRelease, "{queue_max} claims wait for authority '{authority}' (queue_max); retry later{}",
               reason.as_ref().map(|reason| format!("; its last error: {reason}")).unwrap_or_default();
        /// The claim before is still being released.
        StillReleasing { pool: Arc<str>, key: Arc<str> }
            => "claim_releasing", WaitForRelease,
               "the claim '{key}' in pool '{pool}' is being released at its authority; retry when it is gone";
        /// An operator must say what the authority has done.
        NeedsResolution { pool: Arc<str>, key: Arc<str> }
            => "claim_stuck", WaitForRelease,
               "it is unknown whether the authority has granted a value to '{key}' in pool '{pool}'; an operator must resolve it";
        ReferenceUnknown { reference: Uuid }
            => "reference_unknown", Reread, "no claim has the reference {reference}";
        /// Only claims that are stuck or in conflict can be resolved.
        NothingToResolve { reference: Uuid, state: &'static str }
            => "nothing_to_resolve", Reread, "the claim with reference {reference} is {state}, which needs no resolution";
        LookUpUnknown { authority: Arc<str>, key: Arc<str> }
            => "lookup_unknown", Change, "there is no look-up of '{key}' at authority '{authority}'";
        LookUpVersionDiffers { authority: Arc<str>, key: Arc<str>, actual: Option<u64> }
            => "lookup_version_differs", Reread, "the look-up of '{key}' at authority '{authority}' {}", match actual {
                Some(actual) => format!("is at version {actual}"),
                None => "does not exist".into(),
            };
        /// The authority has the same value, as far as is known.
        NothingToAccept { authority: Arc<str>, key: Arc<str> }
            => "nothing_to_accept", Reread, "the look-up of '{key}' at authority '{authority}' has not drifted";
        NotReconciling { authority: Arc<str>, number: u64 }
            => "not_reconciling", Reread, "reconciliation {number} of authority '{authority}' is not wanted";
        /// The last reconciliation has not found it, or it was settled, or it does not hold any more.
        FindingUnknown { authority: Arc<str>, reference: Uuid }
            => "finding_unknown", Reread, "the last reconciliation of authority '{authority}' has nothing to settle for reference {reference}";
    }
}
