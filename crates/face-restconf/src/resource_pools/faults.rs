//! Every refusal of the core as RESTCONF tells it. That a request gets nothing is none of them: it is its answer.

use std::sync::Arc;

use allod_core::refusal::{Refusal, RequestsRefusal};

use super::ResourcePools;
use crate::fault::{Fault, Tag};

impl ResourcePools {
    pub(super) fn refused(&self, refusal: &Refusal) -> Fault {
        let said = |tag: Tag| Fault::application(tag, refusal.to_string());
        match refusal {
            Refusal::Invalid { .. } => said(Tag::InvalidValue),
            Refusal::LimitExceeded { .. } => said(Tag::TooBig),
            Refusal::PoolUnknown { pool } => unknown(pool),
            Refusal::PoolInUse { .. }
            | Refusal::PoolGenerationDiffers { .. }
            | Refusal::PoolKindDiffers { .. }
            | Refusal::HeldOutside { .. }
            | Refusal::ClaimVersionDiffers { .. }
            | Refusal::ParamsDiffer { .. }
            | Refusal::ValueTaken { .. }
            | Refusal::ValueQuarantined { .. } => said(Tag::InUse),
            Refusal::ClaimUnknown { .. } => said(Tag::DataMissing),
            Refusal::PoolExhausted { .. } | Refusal::SyncExhausted { .. } => {
                said(Tag::ResourceDenied)
            }
            Refusal::ValueOutside { .. }
            | Refusal::ValueExcluded { .. }
            | Refusal::ValueDraining { .. }
            | Refusal::ValueMalformed { .. } => said(Tag::InvalidValue),
            Refusal::NoLease { .. }
            | Refusal::IdempotencyDiffers { .. }
            | Refusal::SyncDiffers { .. }
            | Refusal::CheckFailed { .. }
            | Refusal::Capacity(_)
            | Refusal::Blocks(_) => said(Tag::OperationFailed),
            Refusal::Requests(refusal) => match refusal {
                RequestsRefusal::NotRequestPool { pool } => {
                    let message =
                        format!("Pool {pool} exists already, of another kind or made elsewhere");
                    Fault::application(Tag::DataExists, message)
                }
                RequestsRefusal::Managed { .. } | RequestsRefusal::Changed { .. } => {
                    said(Tag::InUse)
                }
            },
            Refusal::Alarm(_) => said(Tag::InUse),
            Refusal::Outbox(_) => said(Tag::DataMissing),
        }
    }
}

/// What services are told of a pool that is not there.
pub(super) fn unknown(pool: &Arc<str>) -> Fault {
    Fault::application(Tag::DataMissing, format!("Pool {pool} does not exist"))
}
