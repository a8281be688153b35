//! `allod pool`: lists, shows, creates, changes and deletes pools.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use crate::client::answers::{PageArguments, PagedList, PoolRow, parse};
use crate::client::{ApiRequest, Client, path_segment, with_query};
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result, with_advice};
use crate::output::table::{Table, field_lines};
use crate::output::{OutputFormat, format, message, print};

#[derive(Debug, Subcommand)]
pub enum PoolCommand {
    /// List pools and their usage
    #[command(visible_alias = "ls")]
    List(PoolListArguments),
    /// Show the definition and usage of a pool
    Show(PoolShowArguments),
    /// Create a pool or change it; settings that are not given stay as they are
    #[command(after_help = SET_EXAMPLES)]
    Set(Box<PoolSetArguments>),
    /// Delete a pool that has no claims
    #[command(visible_alias = "rm")]
    Delete(PoolDeleteArguments),
}

const SET_EXAMPLES: &str = "\
Examples:
  allod pool set vlans --kind id32 --range 1-4094 --exclude 1,1002-1005
  allod pool set vlans --quarantine 1h             change one setting
  allod pool set sites --kind id32 --authority inventory    values of an external inventory
  allod pool set lan --kind ipv4_address --range 10.0.0.0/24 --lease 8h
  allod pool show vlans -o json > p.json; edit p.json; allod pool set vlans --file p.json";

#[derive(Debug, Args)]
pub struct PoolListArguments {
    /// Only pools whose name starts with this
    prefix: Option<String>,
    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct PoolShowArguments {
    /// Name of the pool
    pool: String,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct PoolSetArguments {
    /// Name of the pool
    pool: String,

    /// Kind of values; cannot be changed later
    #[arg(long, value_parser = ["id32", "id64", "ipv4_address", "ipv6_address", "ipv4_prefix", "ipv6_prefix"])]
    kind: Option<String>,

    /// Values of the pool: a value, first-last, or a subnet; repeatable or comma-separated
    #[arg(long = "range", value_name = "RANGE", value_delimiter = ',')]
    ranges: Option<Vec<String>>,

    /// Values that are never allocated; '' for none
    #[arg(long, value_name = "RANGE", value_delimiter = ',')]
    exclude: Option<Vec<String>>,

    /// Values that are allocated only with --value; '' for none
    #[arg(long, value_name = "RANGE", value_delimiter = ',')]
    manual: Option<Vec<String>>,

    /// Values that get no new claims, while existing claims stay; '' for none
    #[arg(long, value_name = "RANGE", value_delimiter = ',')]
    draining: Option<Vec<String>>,

    /// How to choose a value for a claim without --value
    #[arg(long, value_parser = STRATEGIES)]
    strategy: Option<String>,

    /// Exclude the first and last address of each subnet, for address pools
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    keep_edges: Option<bool>,

    /// How long a released value stays reserved for its former owner
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    quarantine: Option<Duration>,

    /// Lease of claims that give no --ttl; `none` for no lease
    #[arg(long, value_name = "TIME", value_parser = lease)]
    lease: Option<LeaseFlag>,

    /// Release expired claims at once, not only when their value is needed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    reap: Option<bool>,

    /// Authority that grants the values of the pool; '' for none. Such a pool needs no --range
    #[arg(long, value_name = "NAME")]
    authority: Option<String>,

    /// Set a label with name=text, remove it with name-; repeatable
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = label)]
    labels: Vec<(String, Option<String>)>,

    /// Replace the whole definition with the one in a JSON file; - for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "ranges", "exclude", "manual", "draining", "strategy", "keep_edges", "quarantine", "lease", "reap", "authority", "labels"])]
    file: Option<PathBuf>,

    /// Fail if the pool exists
    #[arg(long, conflicts_with = "if_match")]
    new: bool,

    /// Fail unless the pool has this generation
    #[arg(long, value_name = "GENERATION")]
    if_match: Option<u64>,

    /// Keep claims on values outside the new ranges
    #[arg(long)]
    keep_held: bool,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct PoolDeleteArguments {
    /// Name of the pool
    pool: String,

    /// Fail unless the pool has this generation
    #[arg(long, value_name = "GENERATION")]
    if_match: Option<u64>,

    #[command(flatten)]
    common: ClientArguments,
}

pub const STRATEGIES: [&str; 5] = ["lowest", "highest", "next", "random", "least_recently_used"];

#[derive(Debug, Clone, Copy)]
enum LeaseFlag {
    None,
    For(Duration),
}

fn lease(text: &str) -> Result<LeaseFlag, String> {
    if text == "none" { Ok(LeaseFlag::None) } else { format::duration(text).map(LeaseFlag::For) }
}

/// A label to set or to remove.
fn label(text: &str) -> Result<(String, Option<String>), String> {
    match (text.split_once('='), text.strip_suffix('-')) {
        (Some((name, text)), _) => Ok((name.to_owned(), Some(text.to_owned()))),
        (None, Some(name)) => Ok((name.to_owned(), None)),
        (None, None) => Err("expected name=text to set a label, or name- to remove it".into()),
    }
}

pub fn run(command: PoolCommand) -> Result<()> {
    match command {
        PoolCommand::List(arguments) => list(arguments),
        PoolCommand::Show(arguments) => show(arguments),
        PoolCommand::Set(arguments) => set(*arguments),
        PoolCommand::Delete(arguments) => delete(arguments),
    }
}

fn path(pool: &str) -> String {
    format!("/v1/pools/{}", path_segment(pool))
}

fn list(arguments: PoolListArguments) -> Result<()> {
    let PoolListArguments { prefix, page, common } = arguments;
    common.run(async move |client, output| {
        let query = [("prefix", prefix)];
        let list = PagedList::fetch(client, "/v1/pools", "pools", query, &page).await?;
        list.show(output, "no pools; create one with `allod pool set`", |pools: &[PoolRow]| {
            table(pools)
        })
    })
}

/// Pools with their usage; also shown by `allod status --live`.
pub fn table<'a>(pools: impl IntoIterator<Item = &'a PoolRow>) -> Table {
    const BAR: usize = 10;
    let columns = ["POOL", "KIND", "FILL", "", "HELD", "QUARANTINED", "FREE", "SIZE"];
    let mut table = Table::new(&columns).right(&columns[3..]);
    for PoolRow { name, kind, usage, .. } in pools {
        let mut cells = vec![name.clone(), kind.clone()];
        if let Some(usage) = usage {
            let (out, whole) = usage.fill();
            cells.extend([format::bar(out, whole, BAR), format::percent(out, whole)]);
            let counts = [usage.held, usage.quarantined, usage.free, usage.size];
            cells.extend(counts.map(format::number));
        }
        table.row(cells);
    }
    table
}

fn show(arguments: PoolShowArguments) -> Result<()> {
    let PoolShowArguments { pool, common } = arguments;
    common.run(async move |client, output| {
        let reply = client.get(path(&pool)).await?;
        reply.show(output, |pool: PoolRow| print(&describe(&pool)))
    })
}

/// The definition and usage of a pool, one setting per line.
fn describe(pool: &PoolRow) -> String {
    let yes = |flag: bool| if flag { "yes".to_owned() } else { "no".to_owned() };
    let time = |seconds: f64| {
        let short = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        if seconds < 1.0 { format!("{seconds}s") } else { format::short_duration(short) }
    };
    let labels: Vec<String> =
        pool.labels.iter().map(|(name, text)| format!("{name}={text}")).collect();
    let address = pool.kind.ends_with("_address");
    let mut lines = vec![
        ("pool", pool.name.clone()),
        ("kind", pool.kind.clone()),
        ("generation", pool.generation.to_string()),
        ("ranges", pool.ranges.join(", ")),
        ("exclude", pool.exclude.join(", ")),
        ("manual", pool.manual.join(", ")),
        ("draining", pool.draining.join(", ")),
        ("strategy", pool.strategy.clone()),
        ("keep edges", if address { yes(pool.keep_edges) } else { String::new() }),
        ("quarantine", if pool.quarantine > 0.0 { time(pool.quarantine) } else { "none".into() }),
        ("lease", pool.lease.map_or("none".into(), time)),
        ("reap", yes(pool.reap)),
        ("authority", pool.authority.clone().unwrap_or_default()),
        ("labels", labels.join(", ")),
    ];
    if let Some(usage) = &pool.usage {
        let (out, whole) = usage.fill();
        let some = |count: u128| if count > 0 { format::number(count) } else { String::new() };
        lines.extend([
            ("fill", format!("{} {}", format::bar(out, whole, 20), format::percent(out, whole))),
            ("size", format::number(usage.size)),
            (
                "held",
                format!(
                    "{} in {}",
                    format::number(usage.held),
                    format::count(usage.claims, "claim")
                ),
            ),
            ("expired", some(usage.expired_claims.into())),
            ("quarantined", some(usage.quarantined)),
            ("excluded", some(usage.excluded)),
            ("draining", some(usage.draining)),
            ("draining held", some(usage.draining_held)),
            ("manual free", some(usage.manual_free)),
            ("outside held", some(usage.outside_held)),
            ("free", format::number(usage.free)),
        ]);
    }
    field_lines(lines)
}

fn set(mut arguments: PoolSetArguments) -> Result<()> {
    let common = arguments.common.clone();
    let file = arguments.file.take().map(|path| from_file(&path)).transpose()?;
    common.run(async move |client, output| {
        let pool = arguments.pool.clone();
        let (definition, known) = match file {
            Some(definition) => (definition, None),
            None if arguments.new => (arguments.apply_to(Map::new())?, None),
            None => match fetch_definition(client, &pool).await? {
                Some((base, generation)) => (arguments.apply_to(base)?, Some(generation)),
                None => (arguments.apply_to(Map::new())?, None),
            },
        };
        let keep_held = arguments.keep_held.then(|| ("keep_held", "true".to_owned()));
        let request =
            ApiRequest::new(Method::PUT, with_query(&path(&pool), keep_held)).json(&definition)?;
        // The change is based on what was read, so the pool must still have that generation.
        let request = request.expecting(arguments.if_match.or(known), arguments.new)?;
        let reply = client.send(&request).await?;
        reply.show(output, |made: PoolRow| {
            let done = if reply.status == StatusCode::CREATED { "created" } else { "changed" };
            message(&format!("{done} {}, generation {}", made.name, made.generation));
            print(&describe(&made))
        })
    })
}

/// The definition of a pool and its generation.
async fn fetch_definition(
    client: &Client,
    pool: &str,
) -> Result<Option<(Map<String, Value>, u64)>> {
    match client.get(path(pool)).await {
        Ok(reply) => {
            let mut base: Map<String, Value> = parse(&reply.body)?;
            let generation = base.get("generation").and_then(Value::as_u64).unwrap_or_default();
            keep_definition(&mut base);
            Ok(Some((base, generation)))
        }
        Err(CommandError::NotFound(_)) => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// Removes the members that are not part of the definition, so that an answer can be sent back.
fn keep_definition(pool: &mut Map<String, Value>) {
    for name in ["name", "generation", "usage"] {
        pool.remove(name);
    }
}

fn from_file(path: &Path) -> Result<Map<String, Value>> {
    let bytes = read_input(path)?;
    let mut definition: Map<String, Value> = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not the JSON definition of a pool", input_name(path)))
        .map_err(CommandError::Usage)?;
    keep_definition(&mut definition);
    Ok(definition)
}

/// A file, or stdin for `-`.
pub fn read_input(path: &Path) -> Result<Vec<u8>> {
    let read = || {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        std::fs::read(path)
    };
    read().with_context(|| format!("cannot read {}", input_name(path))).map_err(CommandError::Usage)
}

pub fn input_name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".into() } else { path.display().to_string() }
}

impl PoolSetArguments {
    /// The definition with the given flags applied.
    fn apply_to(&self, mut base: Map<String, Value>) -> Result<Map<String, Value>> {
        let texts = |texts: &Vec<String>| {
            let texts = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
            Value::from_iter(texts)
        };
        let given = [
            ("kind", self.kind.as_ref().map(|kind| json!(kind))),
            ("ranges", self.ranges.as_ref().map(texts)),
            ("exclude", self.exclude.as_ref().map(texts)),
            ("manual", self.manual.as_ref().map(texts)),
            ("draining", self.draining.as_ref().map(texts)),
            ("strategy", self.strategy.as_ref().map(|strategy| json!(strategy))),
            ("keep_edges", self.keep_edges.map(Value::from)),
            ("quarantine", self.quarantine.map(|time| Value::from(format::seconds(time)))),
            (
                "lease",
                self.lease.map(|lease| match lease {
                    LeaseFlag::None => Value::Null,
                    LeaseFlag::For(time) => Value::from(format::seconds(time)),
                }),
            ),
            ("reap", self.reap.map(Value::from)),
            ("authority", self.authority.as_ref().map(|name| json!(name))),
        ];
        base.extend(given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        if self.authority.as_deref() == Some("") {
            base.remove("authority");
        }
        if !self.labels.is_empty() {
            let labels = base.entry("labels").or_insert_with(|| json!({}));
            let labels = labels.as_object_mut().ok_or_else(|| {
                CommandError::Failed(anyhow!("the labels of the pool are not an object"))
            })?;
            for (name, text) in &self.labels {
                match text {
                    Some(text) => labels.insert(name.clone(), json!(text)),
                    None => labels.remove(name),
                };
            }
        }
        let has = |name: &str| base.contains_key(name);
        if has("kind") && (has("ranges") || has("authority")) {
            return Ok(base);
        }
        Err(CommandError::Usage(with_advice(
            format!(
                "there is no pool '{}'; a new pool needs --kind and --range, or --authority",
                self.pool
            ),
            "example: allod pool set vlans --kind id32 --range 1-4094",
        )))
    }
}

fn delete(arguments: PoolDeleteArguments) -> Result<()> {
    let PoolDeleteArguments { pool, if_match, common } = arguments;
    common.run(async move |client, output| {
        let request = ApiRequest::new(Method::DELETE, path(&pool)).expecting(if_match, false)?;
        client.send(&request).await?;
        if output == OutputFormat::Table {
            message(&format!("deleted {pool}"));
        }
        Ok(())
    })
}
