//! `allod authority reconcile` and `settle`: compares what an authority lists with what is held here.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use http::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::path;
use crate::client::answers::parse;
use crate::client::{ApiReply, ApiRequest, Client};
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result, with_advice};
use crate::output::table::Table;
use crate::output::{format, message};

pub const RECONCILE_EXAMPLES: &str = "\
Reconciling only reports: nothing is released or adopted by itself. Then settle the findings:
  allod authority reconcile nautobot
  allod authority settle nautobot adopt REFERENCE --pool lan --key host-7
  allod authority settle nautobot release --all orphans
  allod authority settle nautobot forget --all missing";

/// How long one request asks the server to wait. A longer reconciliation is asked for again.
const WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub struct ReconcileArguments {
    /// Name of the authority
    authority: String,

    /// Show the findings of the last reconciliation, without a new one
    #[arg(long)]
    last: bool,

    /// How long to wait for the findings
    #[arg(long, value_name = "TIME", value_parser = format::duration, default_value = "1h")]
    wait: Duration,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("finding").required(true).args(["reference", "all"]))]
pub struct SettleArguments {
    /// Name of the authority
    authority: String,

    /// What to do: adopt (as a claim here), release (at the authority) or forget (end the claim here)
    #[arg(value_parser = ["adopt", "release", "forget"])]
    action: String,

    /// Reference of the finding
    reference: Option<String>,

    /// Settle all findings of a class
    #[arg(long, value_name = "CLASS", value_parser = ["orphans", "missing", "drifted"])]
    all: Option<String>,

    /// Pool of the adopted claim
    #[arg(long)]
    pool: Option<String>,

    /// Key of the adopted claim [default: the reference]
    #[arg(long)]
    key: Option<String>,

    /// Owner of the adopted claim [default: the key]
    #[arg(long)]
    owner: Option<String>,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Deserialize)]
struct ReconciliationRow {
    state: String,
    at: String,
    reason: Option<String>,
    orphans: Vec<FindingRow>,
    missing: Vec<FindingRow>,
    drifted: Vec<FindingRow>,
    conflicts: Vec<FindingRow>,
    counts: FindingCounts,
}

#[derive(Debug, Deserialize)]
struct FindingCounts {
    orphans: u64,
    missing: u64,
    drifted: u64,
    conflicts: u64,
}

#[derive(Debug, Deserialize)]
struct FindingRow {
    reference: String,
    pool: Option<String>,
    key: Option<String>,
    value: String,
    seen: Option<String>,
    own: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct SettledAnswer {
    settled: u64,
    refused: Vec<RefusedRow>,
}

#[derive(Debug, Deserialize)]
struct RefusedRow {
    reference: String,
    detail: String,
}

pub fn reconcile(arguments: ReconcileArguments) -> Result<()> {
    let ReconcileArguments { authority, last, wait, common } = arguments;
    common.run(async move |client, output| {
        let path = format!("{}/reconcile", path(&authority));
        let reply = match last {
            true => client.get(path).await?,
            false => wait_for(client, &path, wait).await?,
        };
        reply.show(output, |row: ReconciliationRow| show(&authority, &row))
    })
}

/// Asks for a reconciliation and again until it has ended, with the time that it takes on stderr.
async fn wait_for(client: &Client, path: &str, wait: Duration) -> Result<ApiReply> {
    #[derive(Deserialize)]
    struct State {
        state: String,
    }
    let began = Instant::now();
    let terminal = std::io::stderr().is_terminal();
    let mut request = ApiRequest::new(Method::POST, path).repeatable();
    loop {
        let left = wait.saturating_sub(began.elapsed());
        let reply = client.send(&request.clone().waiting(Some(left.min(WAIT)))?).await?;
        if parse::<State>(&reply.body)?.state != "wanted" || left.is_zero() {
            if terminal {
                eprint!("\r\x1b[K");
            }
            return Ok(reply);
        }
        let took = format::short_duration(began.elapsed());
        if terminal {
            eprint!("\r\x1b[Klisting the inventory, {took}");
        } else {
            message(&format!("listing the inventory, {took}"));
        }
        // A second request would join this reconciliation, or begin another one if it has just ended.
        request = ApiRequest::get(path);
    }
}

fn show(authority: &str, row: &ReconciliationRow) -> Result<()> {
    let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    match &*row.state {
        "wanted" => message(&format!("authority {authority} is still being listed")),
        "failed" => {
            return Err(CommandError::Failed(with_advice(
                format!("the reconciliation of authority '{authority}' failed{reason}"),
                "`allod authority status` shows the state of the authority",
            )));
        }
        _ => {}
    }
    let FindingCounts { orphans, missing, drifted, conflicts } = row.counts;
    let at = format::time(&row.at);
    message(&format!(
        "reconciled {at}: {}, {missing} missing, {drifted} drifted, {}",
        format::count(orphans, "orphan"),
        format::count(conflicts, "conflict"),
    ));
    if orphans + missing + drifted + conflicts == 0 {
        return Ok(());
    }
    let mut table = Table::new(&["FINDING", "REFERENCE", "VALUE", "POOL", "KEY", "NOTE"]);
    let classes = [
        ("orphan", &row.orphans),
        ("missing", &row.missing),
        ("drifted", &row.drifted),
        ("conflict", &row.conflicts),
    ];
    for (class, rows) in classes {
        for row in rows {
            let note = match (&row.seen, row.own) {
                (Some(seen), _) => format!("the authority has {seen}"),
                (None, Some(false)) => "made by another server".to_owned(),
                (None, _) => String::new(),
            };
            table.row([
                class.to_owned(),
                row.reference.clone(),
                row.value.clone(),
                row.pool.clone().unwrap_or_default(),
                row.key.clone().unwrap_or_default(),
                note,
            ]);
        }
    }
    table.print()
}

pub fn settle(arguments: SettleArguments) -> Result<()> {
    let SettleArguments { authority, reference, action, all, pool, key, owner, common } = arguments;
    let given = [
        ("action", Some(Value::from(action))),
        ("reference", reference.map(Value::from)),
        ("all", all.is_some().then_some(json!(true))),
        ("class", all.map(Value::from)),
        ("pool", pool.map(Value::from)),
        ("key", key.map(Value::from)),
        ("owner", owner.map(Value::from)),
    ];
    let given = given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let body: Map<String, Value> = given.collect();
    common.run(async move |client, output| {
        let request = ApiRequest::new(Method::POST, format!("{}/settle", path(&authority)));
        let reply = client.send(&request.json(&body)?).await?;
        reply.show(output, |answer: SettledAnswer| {
            message(&format!("settled {}", format::count(answer.settled, "finding")));
            if answer.refused.is_empty() {
                return Ok(());
            }
            let mut table = Table::new(&["REFERENCE", "REFUSED BECAUSE"]);
            answer.refused.into_iter().for_each(|row| table.row([row.reference, row.detail]));
            table.print()
        })
    })
}
