//! Turns refusals into errors. A request that fails is not refused: its response has the reason.

use std::sync::Arc;

use allod_core::refusal::{AuthorityRefusal, Refusal, RequestsRefusal};
use http::StatusCode;

use super::ResourcePools;
use super::outside::unknown_request;
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
            | Refusal::Alarm(_) => error(ErrorTag::InUse),
            Refusal::Authority(refusal) => match refusal {
                AuthorityRefusal::AuthorityUnknown { .. } => error(ErrorTag::InvalidValue),
                // What it last answered is for the administrator.
                AuthorityRefusal::QueueFull { authority, .. } => {
                    let message =
                        format!("too many claims wait for authority '{authority}'; retry later");
                    let denied = RestconfError::application(ErrorTag::ResourceDenied, message);
                    denied.with_status(StatusCode::SERVICE_UNAVAILABLE).retry_after(1)
                }
                _ => error(ErrorTag::InUse),
            },
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
                RequestsRefusal::Managed { .. }
                | RequestsRefusal::Changed { .. }
                | RequestsRefusal::AllocatorInUse { .. } => error(ErrorTag::InUse),
                RequestsRefusal::AnsweredOutside { .. } | RequestsRefusal::AnswerDiffers { .. } => {
                    error(ErrorTag::InvalidValue)
                }
                RequestsRefusal::RequestUnknown { pool, key } => unknown_request(pool, key),
                RequestsRefusal::AnswersItself { .. } => error(ErrorTag::OperationNotSupported)
                    .with_status(StatusCode::METHOD_NOT_ALLOWED),
            },
        }
    }
}

/// The error for a missing pool, with NSO's text.
pub(super) fn unknown(pool: &Arc<str>) -> RestconfError {
    RestconfError::application(ErrorTag::DataMissing, format!("Pool {pool} does not exist"))
}
