//! Turns refusals into errors. A request that fails is not refused: its response has the reason.

use std::sync::Arc;

use allod_core::refusal::{Refusal, RequestsRefusal};

use super::ResourcePools;
use crate::error::{ErrorTag, RestconfError};

impl ResourcePools {
    pub(super) fn refusal_error(&self, refusal: &Refusal) -> RestconfError {
        let error = |tag: ErrorTag| RestconfError::application(tag, refusal.to_string());
        match refusal {
            Refusal::Invalid { .. }
            | Refusal::Config(_)
            | Refusal::ValueOutside { .. }
            | Refusal::ValueExcluded { .. }
            | Refusal::ValueDraining { .. }
            | Refusal::ValueMalformed { .. } => error(ErrorTag::InvalidValue),
            Refusal::LimitExceeded { .. } | Refusal::SearchTooLong { .. } => {
                error(ErrorTag::TooBig)
            }
            Refusal::PoolUnknown { pool } => unknown(pool),
            Refusal::PoolInUse { .. }
            | Refusal::PoolGenerationDiffers { .. }
            | Refusal::PoolKindDiffers { .. }
            | Refusal::HeldOutside { .. }
            | Refusal::ClaimVersionDiffers { .. }
            | Refusal::ParamsDiffer { .. }
            | Refusal::ValueTaken { .. }
            | Refusal::ValueQuarantined { .. }
            | Refusal::Alarm(_)
            | Refusal::Authority(_) => error(ErrorTag::InUse),
            Refusal::ClaimUnknown { .. } | Refusal::Outbox(_) => error(ErrorTag::DataMissing),
            Refusal::PoolExhausted { .. } | Refusal::SyncExhausted { .. } => {
                error(ErrorTag::ResourceDenied)
            }
            Refusal::NoLease { .. }
            | Refusal::IdempotencyFull { .. }
            | Refusal::IdempotencyDiffers { .. }
            | Refusal::SyncDiffers { .. }
            | Refusal::CheckFailed { .. }
            | Refusal::Capacity(_)
            | Refusal::Blocks(_) => error(ErrorTag::OperationFailed),
            Refusal::Requests(refusal) => match refusal {
                RequestsRefusal::NotRequestPool { pool } => {
                    let message = format!(
                        "Pool {pool} already exists, with another kind or created through another interface"
                    );
                    RestconfError::application(ErrorTag::DataExists, message)
                }
                RequestsRefusal::Managed { .. } | RequestsRefusal::Changed { .. } => {
                    error(ErrorTag::InUse)
                }
            },
        }
    }
}

/// The error for a missing pool, with NSO's text.
pub(super) fn unknown(pool: &Arc<str>) -> RestconfError {
    RestconfError::application(ErrorTag::DataMissing, format!("Pool {pool} does not exist"))
}
