//! `allod tx`: several operations, all or nothing, as a file says.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use http::{HeaderName, Method};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Claim, text};
use super::pool::{input_name, read_input};
use super::table::{Side, Table};
use super::{Form, Shown, format, json as json_form, read, say};
use crate::client::Ask;
use crate::failed::Failed;

pub const EXAMPLES: &str = r#"The file has what POST /v1/transactions takes, or just the list of operations:
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
  allod tx move.json --dry-run                  what would happen
  allod tx move.json --idempotency-key move-7   safe to repeat
  echo '[{"release":{"pool":"vlans","key":"blue"}}]' | allod tx -"#;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Debug, Args)]
pub struct TxArguments {
    /// A JSON file, or - for stdin
    file: PathBuf,

    /// Decide and answer, but change nothing
    #[arg(long)]
    dry_run: bool,

    /// Under this key the answer is remembered and given again, not decided again
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Done>,
    dry_run: bool,
}

/// What became of one operation.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Claim { created: bool, claims: Vec<Claim> },
    Release { existed: bool },
    Renew(Claim),
    Confirm(Claim),
    Allocate { consumers: Vec<Holding> },
    Deallocate { existed: bool },
    Extend { consumer: String, generation: u64, expires: Option<String> },
    Check {},
}

/// A consumer after an allocation.
#[derive(Deserialize)]
struct Holding {
    consumer: String,
    generation: Option<u64>,
}

pub fn run(arguments: TxArguments) -> Result<(), Failed> {
    let TxArguments { file, dry_run, idempotency_key, shown } = arguments;
    let bytes = read_input(&file)?;
    let parsed: Value = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not JSON", input_name(&file)))
        .map_err(Failed::Asked)?;
    let ops = parsed.get("ops").unwrap_or(&parsed).as_array().cloned().unwrap_or_default();
    // As it was given where nothing is to be changed, so that the server's own words fit the file.
    let body = match parsed {
        Value::Array(ops) => json!({ "ops": ops, "dry_run": dry_run }).to_string().into_bytes(),
        Value::Object(mut members) if dry_run => {
            members.insert("dry_run".into(), json!(true));
            Value::Object(members).to_string().into_bytes()
        }
        _ => bytes,
    };
    shown.run(async move |client, form| {
        let mut ask = Ask::new(Method::POST, "/v1/transactions").body(body).several(true);
        if let Some(key) = idempotency_key {
            ask = ask.header(IDEMPOTENCY_KEY, &key)?.repeatable();
        }
        let reply = client.ask(&ask).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        let answer: Answer = read(&reply.body)?;
        if answer.dry_run {
            say("nothing was changed; this is what would have happened");
        }
        table(&ops, &answer.results).print()
    })
}

/// What became of each operation. The answer does not repeat what was released or checked; the question has it.
fn table(ops: &[Value], results: &[Done]) -> Table {
    let mut table = Table::new(&[
        ("OP", Side::Right),
        ("WHAT", Side::Left),
        ("RESULT", Side::Left),
        ("POOL", Side::Left),
        ("KEY", Side::Left),
        ("VALUE", Side::Left),
        ("EXPIRES", Side::Left),
    ]);
    for (op, done) in results.iter().enumerate() {
        if let Some(rows) = of_consumers(done) {
            for [what, result, consumer, expires] in rows {
                let none = String::new;
                table.row([op.to_string(), what, result, none(), consumer, none(), expires]);
            }
            continue;
        }
        let mut row = |what: &str, result: &str, claim: Option<&Claim>| {
            let mut cells = vec![op.to_string(), what.to_owned(), result.to_owned()];
            match claim {
                Some(claim) => {
                    let (pool, key) = (claim.pool.clone(), claim.key.clone());
                    cells.extend([pool, key, claim.held(), claim.until()]);
                }
                None => {
                    let mut named = ["pool", "key", "value"].map(|name| asked(ops.get(op), name));
                    if named[1].is_empty() {
                        let parties = ["consumer", "provider"].map(|name| asked(ops.get(op), name));
                        named[1] = parties.concat();
                    }
                    cells.extend(named);
                }
            }
            table.row(cells);
        };
        match done {
            Done::Claim { created, claims } => {
                let result = if *created { "new" } else { "held already" };
                claims.iter().for_each(|claim| row("claim", result, Some(claim)));
            }
            Done::Release { existed: true } => row("release", "released", None),
            Done::Release { existed: false } => row("release", "nothing was held", None),
            Done::Renew(claim) => row("renew", "renewed", Some(claim)),
            Done::Confirm(claim) => row("confirm", "permanent", Some(claim)),
            Done::Deallocate { existed: true } => row("deallocate", "released", None),
            Done::Deallocate { existed: false } => row("deallocate", "nothing was held", None),
            Done::Allocate { .. } | Done::Extend { .. } => {}
            Done::Check {} => row("check", "holds", None),
        }
    }
    table
}

/// What became of consumers: what was done, with which result, to whom, and until when. `None`: it was about something else.
fn of_consumers(done: &Done) -> Option<Vec<[String; 4]>> {
    let one = |holding: &Holding| {
        let result = match holding.generation {
            Some(generation) => format!("generation {generation}"),
            None => "holds nothing".into(),
        };
        ["allocate".into(), result, holding.consumer.clone(), String::new()]
    };
    match done {
        Done::Allocate { consumers } => Some(consumers.iter().map(one).collect()),
        Done::Extend { consumer, generation, expires } => {
            let until = format::time_or(expires.as_deref(), "never");
            let result = format!("generation {generation}");
            Some(vec![["extend".into(), result, consumer.clone(), until]])
        }
        _ => None,
    }
}

/// A member of an operation as it was asked for. That of a check stands one level deeper, below what it checks.
fn asked(op: Option<&Value>, name: &str) -> String {
    let below = |value: &Value| -> Option<(String, Value)> {
        let (name, inside) = value.as_object()?.iter().next()?;
        Some((name.clone(), inside.clone()))
    };
    let body = op.and_then(below).and_then(|(what, body)| {
        if what == "check" { below(&body).map(|(_, body)| body) } else { Some(body) }
    });
    body.and_then(|body| body.get(name).map(text)).unwrap_or_default()
}
