//! `allod who`: finds the holder of a value, or lists claims by key, pool or owner.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use crate::client::answers::{ClaimRow, PageArguments, PagedList, claims_table, text};
use crate::client::{Client, claim_path, path_segment, with_query};
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::table::field_lines;
use crate::output::{OutputFormat, format, print};

pub const EXAMPLES: &str = "\
Examples:
  allod who vlans 100                    the holder or state of a value
  allod who vlans 100 --at 2h            the holder two hours ago
  allod who vlans --key blue             the claim with this key
  allod who vlans                        all claims in a pool
  allod who --owner tenant-7             all claims of an owner, in all pools";

#[derive(Debug, Args)]
pub struct WhoArguments {
    /// Name of the pool [default: all pools]
    pool: Option<String>,

    /// Find the holder of this value
    #[arg(conflicts_with_all = ["owner", "key", "key_prefix", "overlaps", "expired", "quarantined", "draining"])]
    value: Option<String>,

    /// Show the holder at this time: 2h (ago), a date, a time, or a position
    #[arg(long, value_name = "WHEN", requires = "value", value_parser = format::point_in_time)]
    at: Option<String>,

    /// Only claims of owners whose name starts with this
    #[arg(long, value_name = "PREFIX")]
    owner: Option<String>,

    /// Show the claim with this key
    #[arg(long, requires = "pool", conflicts_with_all = ["owner", "key_prefix", "overlaps", "expired", "quarantined", "draining"])]
    key: Option<String>,

    /// Only claims whose key starts with this
    #[arg(long, value_name = "PREFIX")]
    key_prefix: Option<String>,

    /// Only claims with a value in this range: a value, first-last, or a subnet
    #[arg(long, alias = "within", value_name = "RANGE", requires = "pool")]
    overlaps: Option<String>,

    /// Only claims whose lease has expired
    #[arg(long)]
    expired: bool,

    /// List quarantined values: released, but reserved for the former owner
    #[arg(long)]
    quarantined: bool,

    /// Only claims in draining ranges
    #[arg(long, requires = "pool")]
    draining: bool,

    #[command(flatten)]
    page: PageArguments,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Deserialize)]
struct ValueAnswer {
    pool: String,
    value: Value,
    state: String,
    claim: Option<ClaimRow>,
    /// With `--at`: the time and position of the answer.
    at: Option<AsOf>,
}

#[derive(Deserialize)]
struct AsOf {
    position: u64,
    time: String,
}

pub fn run(arguments: WhoArguments) -> Result<()> {
    let common = arguments.common.clone();
    common.run(async move |client, output| {
        match (&arguments.pool, &arguments.value, &arguments.key) {
            (Some(pool), Some(value), _) => {
                one_value(client, output, pool, value, arguments.at.as_deref()).await
            }
            (Some(pool), None, Some(key)) => one_key(client, output, pool, key).await,
            (pool, ..) => many(client, output, pool.as_deref(), &arguments).await,
        }
    })
}

async fn one_value(
    client: &Client,
    output: OutputFormat,
    pool: &str,
    value: &str,
    at: Option<&str>,
) -> Result<()> {
    let path = format!("/v1/pools/{}/values/{}", path_segment(pool), path_segment(value));
    let reply = client.get(with_query(&path, at.map(|at| ("at", at.to_owned())))).await?;
    reply.show(output, show_value)
}

fn show_value(answer: ValueAnswer) -> Result<()> {
    let ValueAnswer { pool, value, state, claim, at } = answer;
    let mut lines = vec![("pool", pool), ("value", text(&value)), ("state", state)];
    if let Some(AsOf { position, time }) = at {
        lines.push(("as of", format!("{}, position {position}", format::time(&time))));
    }
    if let Some(claim) = claim {
        let (until, held) = (claim.until(), claim.held());
        lines.extend([("key", claim.key), ("owner", claim.owner), ("expires", until)]);
        lines.push(("version", claim.version.to_string()));
        if held != text(&value) {
            lines.push(("with", held));
        }
    }
    print(&field_lines(lines))
}

async fn one_key(client: &Client, output: OutputFormat, pool: &str, key: &str) -> Result<()> {
    let reply = client.get(claim_path(pool, key)).await?;
    reply.show(output, |claim: ClaimRow| claims_table([&claim]).print())
}

async fn many(
    client: &Client,
    output: OutputFormat,
    pool: Option<&str>,
    arguments: &WhoArguments,
) -> Result<()> {
    let path = match pool {
        Some(pool) => format!("/v1/pools/{}/claims", path_segment(pool)),
        None => "/v1/claims".to_owned(),
    };
    let flag = |flag: bool, text: &str| flag.then(|| text.to_owned());
    let query = [
        ("owner_prefix", arguments.owner.clone()),
        ("key_prefix", arguments.key_prefix.clone()),
        ("overlaps", arguments.overlaps.clone()),
        ("expired", flag(arguments.expired, "true")),
        ("state", flag(arguments.quarantined, "quarantined")),
        ("draining", flag(arguments.draining, "true")),
    ];
    let list = PagedList::fetch(client, &path, "claims", query, &arguments.page).await?;
    list.show(output, "no matching claims", |claims: &[ClaimRow]| claims_table(claims))
}
