//! The route of transactions.

use std::sync::Arc;

use allod_core::command::Command;
use allod_edge::{Call, Reply};
use http::StatusCode;

use crate::pools::wrong_outcome;
use crate::query::QueryParams;
use crate::scope::AllowedPools;
use crate::to_wire::OpName;
use crate::wire::{TransactionAnswer, TransactionBody};
use crate::{Native, from_wire, refusals, to_wire};

pub(crate) async fn post(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let read = || {
        QueryParams::read(&call, &[])?;
        call.json()
    };
    let body: TransactionBody<'_> = read().map_err(|problem| problem.reply())?;
    AllowedPools::of(&call).require_each(&body.ops)?;
    let command = from_wire::transaction(&call, body).map_err(|problem| problem.reply())?;
    let dry_run = command.dry_run;
    let names: Vec<OpName> = command.ops.iter().map(OpName::of).collect();
    let decided = native.submit(Command::Transact(command)).await?;
    let receipt =
        decided.answer.map_err(|refused| refusals::in_transaction(&refused, &decided.at))?;
    let results: Option<Vec<_>> =
        names.iter().zip(&receipt.outcomes).map(|(&op, done)| to_wire::outcome(op, done)).collect();
    match results {
        Some(results) if results.len() == names.len() => {
            let body = TransactionAnswer { results, dry_run };
            Ok(to_wire::json(StatusCode::OK, &body, &decided.at))
        }
        _ => Err(wrong_outcome()),
    }
}
