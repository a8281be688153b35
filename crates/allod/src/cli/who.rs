//! `allod who`: who holds what. A value, a key, a whole pool, or everything of an owner.

use clap::Args;
use serde::Deserialize;
use serde_json::Value;

use super::answer::{Claim, List, Much, claims_table, text};
use super::table::facts;
use super::{Form, Shown, format, json as json_form, print, read};
use crate::client::{Client, part, with_query};
use crate::failed::Failed;

pub const EXAMPLES: &str = "\
Examples:
  allod who vlans 100                    who has this value, or why nobody can
  allod who vlans 100 --at 2h            who had it two hours ago
  allod who vlans --key blue             what is held under this key
  allod who vlans                        everything that is held in a pool
  allod who --owner tenant-7             everything of an owner, in all pools";

#[derive(Debug, Args)]
pub struct WhoArguments {
    /// In this pool; in all pools when not said
    pool: Option<String>,

    /// Who has this value
    #[arg(conflicts_with_all = ["owner", "key", "key_prefix", "overlaps", "expired", "quarantined", "draining"])]
    value: Option<String>,

    /// As it was then: 2h (ago), a time, or a position
    #[arg(long, value_name = "WHEN", requires = "value", value_parser = format::moment)]
    at: Option<String>,

    /// Only owners whose name starts with this
    #[arg(long, value_name = "PREFIX")]
    owner: Option<String>,

    /// What is held under this key
    #[arg(long, requires = "pool", conflicts_with_all = ["owner", "key_prefix", "overlaps", "expired", "quarantined", "draining"])]
    key: Option<String>,

    /// Only keys that start with this
    #[arg(long, value_name = "PREFIX")]
    key_prefix: Option<String>,

    /// Only claims with a value in this range: a value, first-last, or a subnet
    #[arg(long, alias = "within", value_name = "RANGE", requires = "pool")]
    overlaps: Option<String>,

    /// Only claims whose lease has run out
    #[arg(long)]
    expired: bool,

    /// What was released and is kept for its former owner
    #[arg(long)]
    quarantined: bool,

    /// Only what is in a part that is being drained
    #[arg(long, requires = "pool")]
    draining: bool,

    #[command(flatten)]
    much: Much,

    #[command(flatten)]
    shown: Shown,
}

/// What can be said of one value.
#[derive(Deserialize)]
struct OneValue {
    pool: String,
    value: Value,
    state: String,
    claim: Option<Claim>,
    /// For a question about the past: when it was so.
    at: Option<At>,
}

#[derive(Deserialize)]
struct At {
    position: u64,
    time: String,
}

pub fn run(arguments: WhoArguments) -> Result<(), Failed> {
    let shown = arguments.shown.clone();
    shown.run(async move |client, form| match (&arguments.pool, &arguments.value, &arguments.key) {
        (Some(pool), Some(value), _) => {
            one_value(client, form, pool, value, arguments.at.as_deref()).await
        }
        (Some(pool), None, Some(key)) => one_key(client, form, pool, key).await,
        (pool, ..) => many(client, form, pool.as_deref(), &arguments).await,
    })
}

async fn one_value(
    client: &Client,
    form: Form,
    pool: &str,
    value: &str,
    at: Option<&str>,
) -> Result<(), Failed> {
    let path = format!("/v1/pools/{}/values/{}", part(pool), part(value));
    let reply = client.get(with_query(&path, at.map(|at| ("at", at.to_owned())))).await?;
    if form == Form::Json {
        return json_form::print(&reply.body);
    }
    let OneValue { pool, value, state, claim, at } = read(&reply.body)?;
    let mut lines = vec![("pool", pool), ("value", text(&value)), ("state", state)];
    if let Some(At { position, time }) = at {
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
    print(&facts(lines))
}

async fn one_key(client: &Client, form: Form, pool: &str, key: &str) -> Result<(), Failed> {
    let reply = client.get(format!("/v1/pools/{}/claims/{}", part(pool), part(key))).await?;
    if form == Form::Json {
        return json_form::print(&reply.body);
    }
    claims_table([&read::<Claim>(&reply.body)?]).print()
}

async fn many(
    client: &Client,
    form: Form,
    pool: Option<&str>,
    arguments: &WhoArguments,
) -> Result<(), Failed> {
    let path = match pool {
        Some(pool) => format!("/v1/pools/{}/claims", part(pool)),
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
    let query: Vec<(&str, String)> =
        query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let list = List::ask(client, &path, "claims", &query, &arguments.much).await?;
    list.show(form, "nothing is held that fits", |claims: &[Claim]| claims_table(claims))
}
