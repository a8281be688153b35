//! Turns refusals into errors, with OpenDaylight's error texts where it has one.
//!
//! A refused RPC is `operation-failed`, as OpenDaylight reports every failure. A refused edit has a specific tag and a path.

use std::fmt::Display;

use allod_core::refusal::{BlocksRefusal, Refusal, Refused};

use super::IdManager;
use crate::error::{ErrorTag, RestconfError};
use crate::yang::NodeId;

impl IdManager {
    pub(super) fn refusal_error(
        &self,
        operation: Option<NodeId>,
        refused: &Refused,
    ) -> RestconfError {
        let refusal = &refused.refusal;
        // RPCs fail with one tag; edits have specific tags.
        let error = |tag: ErrorTag, text: String| {
            let tag = if operation.is_some() { ErrorTag::OperationFailed } else { tag };
            RestconfError::application(tag, text)
        };
        match refusal {
            Refusal::Invalid { .. } | Refusal::Config(_) => {
                RestconfError::wrong_value(refusal.to_string())
            }
            Refusal::LimitExceeded { limit, .. } => {
                RestconfError::application(limit_tag(limit), refusal.to_string())
            }
            Refusal::PoolUnknown { pool } if self.allocates(operation) => {
                error(ErrorTag::DataMissing, "Error creating a local id pool".into())
                    .at_path(at_pool(pool))
            }
            Refusal::PoolUnknown { pool } => {
                let at = at_pool(pool);
                let text =
                    format!("Expected to find data in CONFIGURATION at {at}, but there was none");
                error(ErrorTag::DataMissing, text).at_path(at)
            }
            Refusal::PoolExhausted { pool, .. } => {
                error(ErrorTag::ResourceDenied, format!("Ids exhausted for pool : {pool}"))
            }
            Refusal::ValueTaken { pool, by, .. } => {
                error(ErrorTag::InUse, refusal.to_string()).at_path(at_entry(pool, &by.key))
            }
            Refusal::ValueOutside { pool, .. }
            | Refusal::ValueExcluded { pool, .. }
            | Refusal::ValueDraining { pool, .. }
            | Refusal::ValueMalformed { pool, .. }
            | Refusal::HeldOutside { pool, .. } => {
                error(ErrorTag::InvalidValue, refusal.to_string()).at_path(at_pool(pool))
            }
            Refusal::PoolInUse { pool, .. }
            | Refusal::PoolGenerationDiffers { pool, .. }
            | Refusal::PoolKindDiffers { pool, .. }
            | Refusal::ClaimUnknown { pool, .. }
            | Refusal::ClaimVersionDiffers { pool, .. }
            | Refusal::ParamsDiffer { pool, .. }
            | Refusal::NoLease { pool, .. }
            | Refusal::ValueQuarantined { pool, .. } => {
                error(ErrorTag::InUse, refusal.to_string()).at_path(at_pool(pool))
            }
            Refusal::IdempotencyFull { .. }
            | Refusal::IdempotencyDiffers { .. }
            | Refusal::SyncDiffers { .. }
            | Refusal::SyncExhausted { .. }
            | Refusal::SearchTooLong { .. }
            | Refusal::CheckFailed { .. } => error(ErrorTag::OperationFailed, refusal.to_string()),
            Refusal::Capacity(_) => {
                RestconfError::application(ErrorTag::OperationFailed, refusal.to_string())
            }
            Refusal::Blocks(refusal) => self.ids_error(operation, refusal),
            Refusal::Requests(_)
            | Refusal::Outbox(_)
            | Refusal::Alarm(_)
            | Refusal::Authority(_) => error(ErrorTag::InUse, refusal.to_string()),
        }
    }

    fn ids_error(&self, operation: Option<NodeId>, refusal: &BlocksRefusal) -> RestconfError {
        let failed = |text: String| RestconfError::application(ErrorTag::OperationFailed, text);
        let at = |pool: &str, tag: ErrorTag| {
            RestconfError::application(tag, refusal.to_string()).at_path(at_pool(pool))
        };
        match refusal {
            BlocksRefusal::KeyUnknown { pool, key, entries: 0 } => {
                failed(format!("Id entry for {key} doesn't exist in the pool {pool}"))
            }
            BlocksRefusal::KeyUnknown { pool, key, .. } => {
                failed(format!("Specified Id key {key} does not exist in id pool {pool}"))
            }
            BlocksRefusal::IdUnavailable { pool, id } => {
                failed(format!("Requested id {id} is not available in pool {pool}"))
            }
            BlocksRefusal::NotIds { pool } => {
                let is_call = operation.is_some();
                let tag = if is_call { ErrorTag::OperationFailed } else { ErrorTag::DataExists };
                at(pool, tag)
            }
            BlocksRefusal::PoolChanged { pool, .. } => at(pool, ErrorTag::InUse),
            BlocksRefusal::Layout { pool, .. } => at(pool, ErrorTag::InvalidValue),
        }
    }

    fn allocates(&self, operation: Option<NodeId>) -> bool {
        operation == Some(self.nodes.allocate.rpc) || operation == Some(self.nodes.range.rpc)
    }
}

/// The tag for an exceeded limit: a name can be changed, a request can be split, but for more pools others must be deleted.
fn limit_tag(limit: &str) -> ErrorTag {
    match limit {
        "pool_name_bytes_max" | "key_bytes_max" => ErrorTag::InvalidValue,
        "pools_max" => ErrorTag::ResourceDenied,
        _ => ErrorTag::TooBig,
    }
}

/// The path of a pool or child pool.
pub(super) fn at_pool(name: &str) -> String {
    format!("/id-manager:id-pools/id-pool[pool-name={}]", quoted(name))
}

/// The path of the id-entry of a key.
pub(super) fn at_entry(pool: &str, key: impl Display) -> String {
    format!("{}/id-entries[id-key={}]", at_pool(pool), quoted(&key.to_string()))
}

/// Quotes a key value for an instance identifier.
fn quoted(text: &str) -> String {
    if text.contains('\'') { format!("\"{text}\"") } else { format!("'{text}'") }
}
