//! The route of transactions.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::refusal::Refused;
use allod_edge::{Call, Reply};
use http::StatusCode;

use crate::pools::wrong_outcome;
use crate::query::QueryParams;
use crate::scope::AllowedPools;
use crate::to_wire::{OpName, ReasonDetail};
use crate::wire::{TransactionAnswer, TransactionBody};
use crate::{Decided, Native, from_wire, refusals, to_wire};

pub(crate) async fn post(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let body: TransactionBody = call.json()?;
    AllowedPools::of(&call).require_each(&body.ops)?;
    let command = from_wire::transaction(&call, body)?;
    let dry_run = command.dry_run;
    let names: Vec<OpName> = command.ops.iter().map(OpName::of).collect();
    let Decided { answer, at } = native.submit(Command::Transact(command)).await?;
    let receipt = answer.map_err(|Refused { op, refusal }| {
        let refusal = refusals::for_client(refusal, ReasonDetail::of(&call));
        refusals::in_transaction(&Refused { op, refusal }, &at)
    })?;
    let results: Option<Vec<_>> =
        names.iter().zip(&receipt.outcomes).map(|(&op, done)| to_wire::outcome(op, done)).collect();
    match results {
        Some(results) if results.len() == names.len() => {
            let body = TransactionAnswer { results, dry_run };
            Ok(to_wire::json(StatusCode::OK, &body, &at))
        }
        _ => Err(wrong_outcome()),
    }
}
