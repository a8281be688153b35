//! `allod authority`: external inventories that grant the values of pools.

mod claims;
mod hint;
mod reconcile;
mod set;

use std::time::Duration;

use clap::{Args, Subcommand};
use http::Method;
use serde::Deserialize;

use crate::client::answers::{ClaimRow, PageArguments, PagedList};
use crate::client::{ApiRequest, path_segment};
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::table::{Table, field_lines};
use crate::output::{OutputFormat, format, message, print};

#[derive(Debug, Subcommand)]
pub enum AuthorityCommand {
    /// List authorities (external inventories) and their state
    #[command(visible_alias = "ls")]
    List(AuthorityListArguments),
    /// Show the definition and the state of an authority
    Show(AuthorityNameArguments),
    /// Create an authority or change it; settings that are not given stay as they are
    #[command(after_help = set::EXAMPLES)]
    Set(Box<set::AuthoritySetArguments>),
    /// Delete an authority that no pool and no claim needs
    #[command(visible_alias = "rm")]
    Delete(AuthorityDeleteArguments),
    /// Show what waits for authorities, the oldest open claim, and the last error
    Status(AuthorityListArguments),
    /// List claims that an authority has to answer, has refused, or that need an operator
    Claims(claims::AuthorityClaimsArguments),
    /// Say what the authority has done about a claim that is stuck or in conflict
    #[command(after_help = claims::RESOLVE_EXAMPLES)]
    Resolve(claims::ResolveArguments),
    /// Compare what an authority lists with what is held here: orphans, missing, drifted, conflicting values
    #[command(after_help = reconcile::RECONCILE_EXAMPLES)]
    Reconcile(reconcile::ReconcileArguments),
    /// Adopt, release or forget findings of the last reconciliation, one by one or all
    #[command(after_help = reconcile::RECONCILE_EXAMPLES)]
    Settle(reconcile::SettleArguments),
    /// Tell the server that values have changed at the authority, so that it looks again
    Hint(hint::HintArguments),
}

#[derive(Debug, Args)]
pub struct AuthorityListArguments {
    /// Only authorities whose name starts with this
    prefix: Option<String>,
    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct AuthorityNameArguments {
    /// Name of the authority
    authority: String,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct AuthorityDeleteArguments {
    /// Name of the authority
    authority: String,

    /// Fail unless the authority has this generation
    #[arg(long, value_name = "GENERATION")]
    if_match: Option<u64>,

    #[command(flatten)]
    common: ClientArguments,
}

/// An authority as the tables show it.
#[derive(Debug, Deserialize)]
struct AuthorityRow {
    name: String,
    generation: u64,
    kind: String,
    url: String,
    pool: Option<String>,
    find: Option<String>,
    take: Option<String>,
    release: Option<String>,
    list: Option<String>,
    lookup: Option<String>,
    secret: Option<String>,
    ca: Option<String>,
    parallel: u64,
    timeout: f64,
    queue_max: u64,
    alarm_after: f64,
    poll: f64,
    reconcile: f64,
    lookups: u64,
    drifted: u64,
    state: String,
    pools: u64,
    wanted: u64,
    held: u64,
    refused: u64,
    stuck: u64,
    conflicts: u64,
    releasing: u64,
    oldest_seconds: Option<f64>,
    last_error: Option<String>,
    oldest: Option<ClaimRow>,
}

pub fn run(command: AuthorityCommand) -> Result<()> {
    match command {
        AuthorityCommand::List(arguments) => list(arguments, list_table),
        AuthorityCommand::Show(arguments) => show(arguments),
        AuthorityCommand::Set(arguments) => set::run(*arguments),
        AuthorityCommand::Delete(arguments) => delete(arguments),
        AuthorityCommand::Status(arguments) => list(arguments, status_table),
        AuthorityCommand::Claims(arguments) => claims::list(arguments),
        AuthorityCommand::Resolve(arguments) => claims::resolve(arguments),
        AuthorityCommand::Reconcile(arguments) => reconcile::reconcile(arguments),
        AuthorityCommand::Settle(arguments) => reconcile::settle(arguments),
        AuthorityCommand::Hint(arguments) => hint::hint(arguments),
    }
}

fn path(authority: &str) -> String {
    format!("/v1/authorities/{}", path_segment(authority))
}

fn list(
    arguments: AuthorityListArguments,
    table: impl FnOnce(&[AuthorityRow]) -> Table,
) -> Result<()> {
    let AuthorityListArguments { prefix, page, common } = arguments;
    common.run(async move |client, output| {
        let query = [("prefix", prefix)];
        let list = PagedList::fetch(client, "/v1/authorities", "authorities", query, &page).await?;
        list.show(output, "no authorities; create one with `allod authority set`", table)
    })
}

fn list_table(authorities: &[AuthorityRow]) -> Table {
    let columns = ["AUTHORITY", "KIND", "STATE", "POOLS", "HELD", "WANTED", "RELEASING", "URL"];
    let mut table = Table::new(&columns).right(&columns[3..7]);
    for row in authorities {
        let AuthorityRow { name, kind, state, url, .. } = row;
        let [pools, held, wanted, releasing] =
            [row.pools, row.held, row.wanted, row.releasing].map(|count| count.to_string());
        table.row([
            name.clone(),
            kind.clone(),
            state.clone(),
            pools,
            held,
            wanted,
            releasing,
            url.clone(),
        ]);
    }
    table
}

fn status_table(authorities: &[AuthorityRow]) -> Table {
    let columns = [
        "AUTHORITY",
        "STATE",
        "WANTED",
        "RELEASING",
        "STUCK",
        "CONFLICTS",
        "OLDEST",
        "OLDEST CLAIM",
        "LAST ERROR",
    ];
    let mut table = Table::new(&columns).right(&columns[2..7]);
    for row in authorities {
        let counts = [row.wanted, row.releasing, row.stuck, row.conflicts];
        let mut cells = vec![row.name.clone(), row.state.clone()];
        cells.extend(counts.map(|count| count.to_string()));
        cells.push(row.oldest_seconds.map_or("-".into(), time));
        cells.push(row.oldest.as_ref().map_or("-".into(), claim));
        cells.push(row.last_error.clone().unwrap_or_default());
        table.row(cells);
    }
    table
}

/// A claim by its key and its pool.
fn claim(claim: &ClaimRow) -> String {
    format!("{} in {} ({})", claim.key, claim.pool, claim.state)
}

fn time(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    if seconds < 60.0 && seconds.fract() > 0.0 {
        format!("{seconds}s")
    } else {
        format::short_duration(whole)
    }
}

fn show(arguments: AuthorityNameArguments) -> Result<()> {
    let AuthorityNameArguments { authority, common } = arguments;
    common.run(async move |client, output| {
        let reply = client.get(path(&authority)).await?;
        reply.show(output, |row: AuthorityRow| print(&describe(&row)))
    })
}

/// An interval; 0 stands for none.
fn often(seconds: f64) -> String {
    if seconds > 0.0 { format!("every {}", time(seconds)) } else { "on request".into() }
}

/// The definition and the state of an authority, one setting per line.
fn describe(row: &AuthorityRow) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let some = |count: u64| if count > 0 { count.to_string() } else { String::new() };
    field_lines([
        ("authority", row.name.clone()),
        ("kind", row.kind.clone()),
        ("generation", row.generation.to_string()),
        ("url", row.url.clone()),
        ("pool", text(&row.pool)),
        ("find", text(&row.find)),
        ("take", text(&row.take)),
        ("release", text(&row.release)),
        ("list", text(&row.list)),
        ("lookup", text(&row.lookup)),
        ("secret", text(&row.secret)),
        ("ca", text(&row.ca)),
        ("parallel", row.parallel.to_string()),
        ("timeout", time(row.timeout)),
        ("queue max", row.queue_max.to_string()),
        ("alarm after", time(row.alarm_after)),
        ("poll", often(row.poll)),
        ("reconcile", often(row.reconcile)),
        ("state", row.state.clone()),
        ("pools", row.pools.to_string()),
        ("held", row.held.to_string()),
        ("wanted", row.wanted.to_string()),
        ("releasing", row.releasing.to_string()),
        ("refused", some(row.refused)),
        ("stuck", some(row.stuck)),
        ("conflicts", some(row.conflicts)),
        ("look-ups", some(row.lookups)),
        ("drifted", some(row.drifted)),
        ("oldest", row.oldest_seconds.map_or(String::new(), time)),
        ("oldest claim", row.oldest.as_ref().map_or(String::new(), claim)),
        ("last error", text(&row.last_error)),
    ])
}

fn delete(arguments: AuthorityDeleteArguments) -> Result<()> {
    let AuthorityDeleteArguments { authority, if_match, common } = arguments;
    common.run(async move |client, output| {
        let request = ApiRequest::new(Method::DELETE, path(&authority));
        client.send(&request.expecting(if_match, false)?).await?;
        if output == OutputFormat::Table {
            message(&format!("deleted {authority}"));
        }
        Ok(())
    })
}
