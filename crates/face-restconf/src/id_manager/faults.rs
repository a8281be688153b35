//! Every refusal of the core in the words of OpenDaylight's id-manager, where it had words for it.
//!
//! What a call asks for and does not get is `operation-failed`, as the original has it for everything. An edit of the tree
//! says what is wrong with it, and where.

use std::fmt::Display;

use allod_core::refusal::{BlocksRefusal, CapacityRefusal, Refusal, Refused};

use super::IdManager;
use crate::fault::{Fault, Tag};
use crate::yang::NodeId;

impl IdManager {
    pub(super) fn refused(&self, operation: Option<NodeId>, refused: &Refused) -> Fault {
        let refusal = &refused.refusal;
        // Calls fail; what is wrong with an edit has a tag of its own.
        let said = |tag: Tag, text: String| {
            let tag = if operation.is_some() { Tag::OperationFailed } else { tag };
            Fault::application(tag, text)
        };
        match refusal {
            Refusal::Invalid { .. } => Fault::application(Tag::InvalidValue, refusal.to_string()),
            Refusal::LimitExceeded { limit, .. } => {
                Fault::application(beyond(limit), refusal.to_string())
            }
            Refusal::PoolUnknown { pool } if self.allocates(operation) => {
                said(Tag::DataMissing, "Error creating a local id pool".into())
                    .at_path(at_pool(pool))
            }
            Refusal::PoolUnknown { pool } => {
                let at = at_pool(pool);
                let text =
                    format!("Expected to find data in CONFIGURATION at {at}, but there was none");
                said(Tag::DataMissing, text).at_path(at)
            }
            Refusal::PoolExhausted { pool, .. } => {
                said(Tag::ResourceDenied, format!("Ids exhausted for pool : {pool}"))
            }
            Refusal::ValueTaken { pool, by, .. } => {
                said(Tag::InUse, refusal.to_string()).at_path(at_entry(pool, &by.key))
            }
            Refusal::ValueOutside { pool, .. }
            | Refusal::ValueExcluded { pool, .. }
            | Refusal::ValueDraining { pool, .. }
            | Refusal::ValueMalformed { pool, .. }
            | Refusal::HeldOutside { pool, .. } => {
                said(Tag::InvalidValue, refusal.to_string()).at_path(at_pool(pool))
            }
            Refusal::PoolInUse { pool, .. }
            | Refusal::PoolGenerationDiffers { pool, .. }
            | Refusal::PoolKindDiffers { pool, .. }
            | Refusal::ClaimUnknown { pool, .. }
            | Refusal::ClaimVersionDiffers { pool, .. }
            | Refusal::ParamsDiffer { pool, .. }
            | Refusal::NoLease { pool, .. }
            | Refusal::ValueQuarantined { pool, .. } => {
                said(Tag::InUse, refusal.to_string()).at_path(at_pool(pool))
            }
            Refusal::IdempotencyDiffers { .. }
            | Refusal::SyncDiffers { .. }
            | Refusal::SyncExhausted { .. }
            | Refusal::CheckFailed { .. } => said(Tag::OperationFailed, refusal.to_string()),
            Refusal::Capacity(refusal) => self.not_about_ids(refusal),
            Refusal::Blocks(refusal) => self.ids_refused(operation, refusal),
            Refusal::Requests(_) | Refusal::Outbox(_) | Refusal::Alarm(_) => {
                said(Tag::InUse, refusal.to_string())
            }
        }
    }

    fn ids_refused(&self, operation: Option<NodeId>, refusal: &BlocksRefusal) -> Fault {
        let failed = |text: String| Fault::application(Tag::OperationFailed, text);
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
            BlocksRefusal::NotIds { pool } if operation.is_some() => {
                failed(refusal.to_string()).at_path(at_pool(pool))
            }
            BlocksRefusal::NotIds { pool } => {
                Fault::application(Tag::DataExists, refusal.to_string()).at_path(at_pool(pool))
            }
            BlocksRefusal::PoolChanged { pool, .. } => {
                Fault::application(Tag::InUse, refusal.to_string()).at_path(at_pool(pool))
            }
            BlocksRefusal::Layout { pool, .. } => {
                Fault::application(Tag::InvalidValue, refusal.to_string()).at_path(at_pool(pool))
            }
        }
    }

    fn not_about_ids(&self, refusal: &CapacityRefusal) -> Fault {
        Fault::application(Tag::OperationFailed, refusal.to_string())
    }

    fn allocates(&self, operation: Option<NodeId>) -> bool {
        operation == Some(self.nodes.allocate.rpc) || operation == Some(self.nodes.range.rpc)
    }
}

/// What is wrong with more than a limit allows: a name can be another one, a request can be split, but room has to be made.
fn beyond(limit: &str) -> Tag {
    match limit {
        "pool_name_bytes_max" | "key_bytes_max" => Tag::InvalidValue,
        "pools_max" => Tag::ResourceDenied,
        _ => Tag::TooBig,
    }
}

/// Where a pool, or a child pool, is in the data.
pub(super) fn at_pool(name: &str) -> String {
    format!("/id-manager:id-pools/id-pool[pool-name={}]", quoted(name))
}

/// Where it is said what a key holds.
pub(super) fn at_entry(pool: &str, key: impl Display) -> String {
    format!("{}/id-entries[id-key={}]", at_pool(pool), quoted(&key.to_string()))
}

/// A text in an instance identifier.
fn quoted(text: &str) -> String {
    if text.contains('\'') { format!("\"{text}\"") } else { format!("'{text}'") }
}
