//! `allod lookup`: values that an authority knows under a name, resolved once and kept.

use std::time::Duration;

use clap::{Args, Subcommand};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::answers::{PageArguments, PagedList, text};
use crate::client::{ApiRequest, path_segment};
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result, with_advice};
use crate::output::table::{Table, field_lines};
use crate::output::{OutputFormat, format, message, print};

#[derive(Debug, Subcommand)]
pub enum LookupCommand {
    /// Show the value of a name in an external inventory
    Get(LookupGetArguments),
    /// Look up a name in an external inventory and keep its value; repeating the command returns the same value
    #[command(after_help = EXAMPLES)]
    Put(LookupPutArguments),
    /// List look-ups of an authority
    #[command(visible_alias = "ls")]
    List(LookupListArguments),
    /// Ask the authority again whether a value has changed
    Refresh(LookupNameArguments),
    /// Take the changed value that the authority has now
    Accept(LookupChangeArguments),
    /// Delete a look-up
    #[command(visible_alias = "rm")]
    Delete(LookupChangeArguments),
}

const EXAMPLES: &str = "\
Examples:
  allod lookup put inventory site-fra                    the value stays the same until it is accepted
  allod lookup put inventory site-fra --policy follow    the value follows the inventory
  gw=$(allod lookup get inventory site-fra --quiet)      print only the value, for scripts

With --policy pin or ask, a change in the inventory is reported as drift, and
`allod lookup accept` takes the new value.";

#[derive(Debug, Args)]
pub struct LookupNameArguments {
    /// Name of the authority
    authority: String,

    /// Name to look up
    name: String,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct LookupGetArguments {
    #[command(flatten)]
    of: LookupNameArguments,

    /// Print only the value
    #[arg(long, short, conflicts_with = "output")]
    quiet: bool,
}

#[derive(Debug, Args)]
pub struct LookupPutArguments {
    #[command(flatten)]
    of: LookupNameArguments,

    /// What happens when the authority changes the value: pin keeps it, follow takes the new one, ask waits for `accept`
    #[arg(long, value_parser = ["pin", "follow", "ask"])]
    policy: Option<String>,

    /// How long to wait for the authority
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    wait: Option<Duration>,

    /// Print only the value
    #[arg(long, short, conflicts_with = "output")]
    quiet: bool,
}

#[derive(Debug, Args)]
pub struct LookupChangeArguments {
    #[command(flatten)]
    of: LookupNameArguments,

    /// Fail unless the look-up has this version
    #[arg(long, value_name = "N")]
    version: Option<u64>,
}

#[derive(Debug, Args)]
pub struct LookupListArguments {
    /// Name of the authority
    authority: String,

    /// Only names that start with this
    prefix: Option<String>,

    /// Only look-ups in this state
    #[arg(long, value_parser = ["wanted", "resolved", "drifted", "unknown"])]
    state: Option<String>,

    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Deserialize)]
struct LookupRow {
    authority: String,
    key: String,
    state: String,
    policy: String,
    value: Value,
    version: u64,
    value_version: Option<String>,
    resolved: Option<String>,
    seen: Option<SeenRow>,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SeenRow {
    value: Value,
    at: String,
}

pub fn run(command: LookupCommand) -> Result<()> {
    match command {
        LookupCommand::Get(arguments) => get(arguments),
        LookupCommand::Put(arguments) => put(arguments),
        LookupCommand::List(arguments) => list(arguments),
        LookupCommand::Refresh(arguments) => refresh(arguments),
        LookupCommand::Accept(arguments) => accept(arguments),
        LookupCommand::Delete(arguments) => delete(arguments),
    }
}

fn path(authority: &str, name: &str) -> String {
    format!("/v1/lookups/{}/{}", path_segment(authority), path_segment(name))
}

fn get(arguments: LookupGetArguments) -> Result<()> {
    let LookupGetArguments { of, quiet } = arguments;
    of.common.run(async move |client, output| {
        let reply = client.get(path(&of.authority, &of.name)).await?;
        reply.show(output, |row: LookupRow| show(&row, quiet))
    })
}

fn put(arguments: LookupPutArguments) -> Result<()> {
    let LookupPutArguments { of, policy, wait, quiet } = arguments;
    of.common.run(async move |client, output| {
        let body = policy.map_or(json!({}), |policy| json!({ "policy": policy }));
        let request = ApiRequest::new(Method::PUT, path(&of.authority, &of.name)).json(&body)?;
        let reply = client.send(&request.waiting(wait)?).await?;
        reply.show(output, |row: LookupRow| show(&row, quiet || wait.is_some()))
    })
}

/// Prints a look-up. With `quiet` only its value, and a look-up without one is an error.
fn show(row: &LookupRow, quiet: bool) -> Result<()> {
    if row.value.is_null() && quiet {
        let reason = row.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let LookupRow { authority, key, .. } = row;
        return Err(if row.state == "unknown" {
            CommandError::NotFound(with_advice(
                format!("authority '{authority}' does not know '{key}'"),
                format!("`allod lookup refresh {authority} {key}` asks it again"),
            ))
        } else {
            CommandError::Unavailable(with_advice(
                format!("'{key}' waits for authority '{authority}'{reason}"),
                "repeat the command, or give --wait TIME",
            ))
        });
    }
    if quiet {
        return print(&format!("{}\n", text(&row.value)));
    }
    let time = |time: &Option<String>| time.as_deref().map(format::time).unwrap_or_default();
    let value = if row.value.is_null() { "-".to_owned() } else { text(&row.value) };
    print(&field_lines([
        ("authority", row.authority.clone()),
        ("name", row.key.clone()),
        ("state", row.state.clone()),
        ("policy", row.policy.clone()),
        ("value", value),
        ("value version", row.value_version.clone().unwrap_or_default()),
        ("version", row.version.to_string()),
        ("resolved", time(&row.resolved)),
        ("seen", row.seen.as_ref().map(|seen| text(&seen.value)).unwrap_or_default()),
        ("seen at", row.seen.as_ref().map(|seen| format::time(&seen.at)).unwrap_or_default()),
        ("reason", row.reason.clone().unwrap_or_default()),
    ]))
}

fn list(arguments: LookupListArguments) -> Result<()> {
    let LookupListArguments { authority, prefix, state, page, common } = arguments;
    common.run(async move |client, output| {
        let path = format!("/v1/lookups/{}", path_segment(&authority));
        let query = [("prefix", prefix), ("state", state)];
        let list = PagedList::fetch(client, &path, "lookups", query, &page).await?;
        list.show(output, "no matching look-ups", table)
    })
}

fn table(lookups: &[LookupRow]) -> Table {
    let columns = ["NAME", "STATE", "POLICY", "VALUE", "SEEN", "RESOLVED", "REASON"];
    let mut table = Table::new(&columns);
    for row in lookups {
        table.row([
            row.key.clone(),
            row.state.clone(),
            row.policy.clone(),
            if row.value.is_null() { "-".into() } else { text(&row.value) },
            row.seen.as_ref().map_or("-".into(), |seen| text(&seen.value)),
            format::time_or(row.resolved.as_deref(), "-"),
            row.reason.clone().unwrap_or_default(),
        ]);
    }
    table
}

fn refresh(arguments: LookupNameArguments) -> Result<()> {
    let LookupNameArguments { authority, name, common } = arguments;
    common.run(async move |client, output| {
        let path = format!("{}/refresh", path(&authority, &name));
        let reply = client.send(&ApiRequest::new(Method::POST, path).repeatable()).await?;
        reply.show(output, |row: LookupRow| {
            message(&format!("authority {authority} will be asked for {name}"));
            show(&row, false)
        })
    })
}

fn accept(arguments: LookupChangeArguments) -> Result<()> {
    let LookupChangeArguments { of, version } = arguments;
    of.common.run(async move |client, output| {
        let path = format!("{}/accept", path(&of.authority, &of.name));
        let request = ApiRequest::new(Method::POST, path).repeatable().expecting(version, false)?;
        let reply = client.send(&request).await?;
        reply.show(output, |row: LookupRow| show(&row, false))
    })
}

fn delete(arguments: LookupChangeArguments) -> Result<()> {
    let LookupChangeArguments { of, version } = arguments;
    of.common.run(async move |client, output| {
        let request = ApiRequest::new(Method::DELETE, path(&of.authority, &of.name));
        client.send(&request.expecting(version, false)?).await?;
        if output == OutputFormat::Table {
            message(&format!("deleted the look-up of {} in {}", of.name, of.authority));
        }
        Ok(())
    })
}
