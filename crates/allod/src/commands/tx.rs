//! `allod tx`: runs a transaction from a file.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use http::{HeaderName, Method};
use serde::Deserialize;
use serde_json::{Value, json};

use super::pool::{input_name, read_input};
use crate::client::ApiRequest;
use crate::client::answers::{ClaimRow, text};
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result};
use crate::output::table::Table;
use crate::output::{format, message};

pub const EXAMPLES: &str = r#"The file has the body of POST /v1/transactions, or only the list of operations:
  [ {"claim":   {"pool": "vlans", "key": "green"}},
    {"claim":   {"pools": ["left", "right"], "key": "both", "value": 7}},
    {"release": {"pool": "vlans", "key": "blue"}},
    {"renew":   {"pool": "lan", "key": "host-1", "ttl": 3600}},
    {"confirm": {"pool": "lan", "key": "host-2"}},
    {"check":   {"free": {"pool": "vlans", "value": 100}}},
    {"allocate": {"consumer": "UUID", "project": "red", "user": "anna", "expect": "absent",
                  "allocations": {"UUID of a provider": {"VCPU": 2, "MEMORY_MB": 512}}}},
    {"extend":  {"consumer": "UUID", "ttl": 3600}},
    {"deallocate": {"consumer": "UUID"}} ]

Examples:
  allod tx move.json --dry-run                  show the result without changing anything
  allod tx move.json --idempotency-key move-7   safe to retry
  echo '[{"release":{"pool":"vlans","key":"blue"}}]' | allod tx -"#;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Debug, Args)]
pub struct TxArguments {
    /// JSON file with the operations; - for stdin
    file: PathBuf,

    /// Show the result, but change nothing
    #[arg(long)]
    dry_run: bool,

    /// Idempotency key: a retry with the same key returns the first answer
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,

    /// With claims in pools with an authority: how long to wait for the answers
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    wait: Option<Duration>,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Deserialize)]
struct TransactionAnswer {
    results: Vec<OperationResult>,
    dry_run: bool,
    transaction: Option<String>,
    state: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum OperationResult {
    Claim { created: bool, claims: Vec<ClaimRow> },
    Release { existed: bool, claim: Option<ClaimRow> },
    Renew(ClaimRow),
    Confirm(ClaimRow),
    Allocate { consumers: Vec<AllocatedConsumer> },
    Deallocate { existed: bool },
    Extend { consumer: String, generation: u64, expires: Option<String> },
    Check {},
}

/// A consumer after an allocation.
#[derive(Deserialize)]
struct AllocatedConsumer {
    consumer: String,
    generation: Option<u64>,
}

pub fn run(arguments: TxArguments) -> Result<()> {
    let TxArguments { file, dry_run, idempotency_key, wait, common } = arguments;
    let bytes = read_input(&file)?;
    let parsed: Value = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not JSON", input_name(&file)))
        .map_err(CommandError::Usage)?;
    let ops = parsed.get("ops").unwrap_or(&parsed).as_array().cloned().unwrap_or_default();
    // The file is sent unchanged if possible, so that positions in the server's error messages fit it.
    let body = match parsed {
        Value::Array(ops) => json!({ "ops": ops, "dry_run": dry_run }).to_string().into_bytes(),
        Value::Object(mut members) if dry_run => {
            members.insert("dry_run".into(), json!(true));
            Value::Object(members).to_string().into_bytes()
        }
        _ => bytes,
    };
    common.run(async move |client, output| {
        let mut request =
            ApiRequest::new(Method::POST, "/v1/transactions").body(body).several(true);
        if let Some(key) = idempotency_key {
            request = request.header(IDEMPOTENCY_KEY, &key)?.repeatable();
        }
        let reply = client.send(&request.waiting(wait)?).await?;
        reply.show(output, |answer: TransactionAnswer| {
            if answer.state.as_deref() == Some("waiting") {
                let id = answer.transaction.as_deref().unwrap_or_default();
                message(&format!("transaction {id} waits for an authority"));
            }
            if answer.dry_run {
                message("dry run: nothing was changed");
            }
            table(&ops, &answer.results).print()
        })
    })
}

/// The result of each operation. The answer does not repeat what was released or checked, so it is taken from the request.
fn table(ops: &[Value], results: &[OperationResult]) -> Table {
    let mut table =
        Table::new(&["OP", "WHAT", "RESULT", "POOL", "KEY", "VALUE", "EXPIRES"]).right(&["OP"]);
    for (op, done) in results.iter().enumerate() {
        if let Some(rows) = of_consumers(done) {
            for [what, result, consumer, expires] in rows {
                let none = String::new;
                table.row([op.to_string(), what, result, none(), consumer, none(), expires]);
            }
            continue;
        }
        let mut row = |what: &str, result: &str, claim: Option<&ClaimRow>| {
            let mut cells = vec![op.to_string(), what.to_owned(), result.to_owned()];
            match claim {
                Some(claim) => {
                    let (pool, key) = (claim.pool.clone(), claim.key.clone());
                    cells.extend([pool, key, claim.held(), claim.until()]);
                }
                None => {
                    let mut named =
                        ["pool", "key", "value"].map(|name| requested(ops.get(op), name));
                    if named[1].is_empty() {
                        let parties =
                            ["consumer", "provider"].map(|name| requested(ops.get(op), name));
                        named[1] = parties.concat();
                    }
                    cells.extend(named);
                }
            }
            table.row(cells);
        };
        match done {
            OperationResult::Claim { created, claims } => {
                let result = if *created { "new" } else { "unchanged" };
                for claim in claims {
                    let result = if claim.is_settled() { result } else { &claim.state };
                    row("claim", result, Some(claim));
                }
            }
            OperationResult::Release { claim: Some(claim), .. } => {
                row("release", "releasing", Some(claim));
            }
            OperationResult::Release { existed: true, .. } => row("release", "released", None),
            OperationResult::Release { existed: false, .. } => row("release", "no claim", None),
            OperationResult::Renew(claim) => row("renew", "renewed", Some(claim)),
            OperationResult::Confirm(claim) => row("confirm", "permanent", Some(claim)),
            OperationResult::Deallocate { existed: true } => row("deallocate", "released", None),
            OperationResult::Deallocate { existed: false } => {
                row("deallocate", "no allocations", None);
            }
            OperationResult::Allocate { .. } | OperationResult::Extend { .. } => {}
            OperationResult::Check {} => row("check", "holds", None),
        }
    }
    table
}

/// Operation, result, consumer and expiry, for operations on consumers.
fn of_consumers(done: &OperationResult) -> Option<Vec<[String; 4]>> {
    let one = |holding: &AllocatedConsumer| {
        let result = match holding.generation {
            Some(generation) => format!("generation {generation}"),
            None => "no allocations".into(),
        };
        ["allocate".into(), result, holding.consumer.clone(), String::new()]
    };
    match done {
        OperationResult::Allocate { consumers } => Some(consumers.iter().map(one).collect()),
        OperationResult::Extend { consumer, generation, expires } => {
            let until = format::time_or(expires.as_deref(), "never");
            let result = format!("generation {generation}");
            Some(vec![["extend".into(), result, consumer.clone(), until]])
        }
        _ => None,
    }
}

/// A member of an operation in the request. Members of a check are one level deeper.
fn requested(op: Option<&Value>, name: &str) -> String {
    let below = |value: &Value| -> Option<(String, Value)> {
        let (name, inside) = value.as_object()?.iter().next()?;
        Some((name.clone(), inside.clone()))
    };
    let body = op.and_then(below).and_then(|(what, body)| {
        if what == "check" { below(&body).map(|(_, body)| body) } else { Some(body) }
    });
    body.and_then(|body| body.get(name).map(text)).unwrap_or_default()
}
