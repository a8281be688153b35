//! `allod pool`: pools, their definitions, and how full they are.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::answer::{List, Much, Pool};
use super::table::{Side, Table, facts};
use super::{Form, Shown, format, json as json_form, print, read, say};
use crate::client::{Ask, Client, part, with_query};
use crate::failed::{Failed, advised};

#[derive(Debug, Subcommand)]
pub enum PoolCommand {
    /// List the pools and how full they are
    #[command(visible_alias = "ls")]
    List(ListArguments),
    /// Show one pool: its definition, and where its values are
    Show(ShowArguments),
    /// Make a pool, or change it: what is not said stays as it is
    #[command(after_help = SET_EXAMPLES)]
    Set(Box<SetArguments>),
    /// Remove a pool that nobody uses
    #[command(visible_alias = "rm")]
    Delete(DeleteArguments),
}

const SET_EXAMPLES: &str = "\
Examples:
  allod pool set vlans --kind id32 --range 1-4094 --exclude 1,1002-1005
  allod pool set vlans --quarantine 1h             change one thing, keep the rest
  allod pool set lan --kind ipv4_address --range 10.0.0.0/24 --lease 8h
  allod pool show vlans -o json > p.json; edit p.json; allod pool set vlans --file p.json";

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only pools whose name starts with this
    prefix: Option<String>,
    #[command(flatten)]
    much: Much,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The pool
    pool: String,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub struct SetArguments {
    /// The pool
    pool: String,

    /// What its values are; cannot change later
    #[arg(long, value_parser = ["id32", "id64", "ipv4_address", "ipv6_address", "ipv4_prefix", "ipv6_prefix"])]
    kind: Option<String>,

    /// What it may hand out: a value, first-last, or a subnet; repeat it or put commas between
    #[arg(long = "range", value_name = "RANGE", value_delimiter = ',')]
    ranges: Option<Vec<String>>,

    /// Never handed out; '' for nothing
    #[arg(long, value_name = "RANGE", value_delimiter = ',')]
    exclude: Option<Vec<String>>,

    /// Handed out only to a claim that names the value; '' for nothing
    #[arg(long, value_name = "RANGE", value_delimiter = ',')]
    manual: Option<Vec<String>>,

    /// No new claims here, what is held stays held; '' for nothing
    #[arg(long, value_name = "RANGE", value_delimiter = ',')]
    draining: Option<Vec<String>>,

    /// How a value is picked when a claim names none
    #[arg(long, value_parser = STRATEGIES)]
    strategy: Option<String>,

    /// Address pools: keep back the first and last address of each subnet
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    keep_edges: Option<bool>,

    /// How long after its release a value is kept for its former owner
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    quarantine: Option<Duration>,

    /// The lease of a claim that asks for none; `none` for no lease
    #[arg(long, value_name = "TIME", value_parser = lease)]
    lease: Option<Lease>,

    /// Release expired claims at once rather than when their value is needed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    reap: Option<bool>,

    /// Set a label with name=text, remove it with name-; may be repeated
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = label)]
    labels: Vec<(String, Option<String>)>,

    /// The whole definition from a JSON file, or - for stdin; replaces the one there is
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "ranges", "exclude", "manual", "draining", "strategy", "keep_edges", "quarantine", "lease", "reap", "labels"])]
    file: Option<PathBuf>,

    /// Only if there is no such pool yet
    #[arg(long, conflicts_with = "if_match")]
    new: bool,

    /// Only if it is at this generation
    #[arg(long, value_name = "GENERATION")]
    if_match: Option<u64>,

    /// Held values may stay held outside the new ranges
    #[arg(long)]
    keep_held: bool,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub struct DeleteArguments {
    /// The pool
    pool: String,

    /// Only if it is at this generation
    #[arg(long, value_name = "GENERATION")]
    if_match: Option<u64>,

    #[command(flatten)]
    shown: Shown,
}

/// How a value can be picked.
pub const STRATEGIES: [&str; 5] = ["lowest", "highest", "next", "random", "least_recently_used"];

#[derive(Debug, Clone, Copy)]
enum Lease {
    None,
    For(Duration),
}

fn lease(text: &str) -> Result<Lease, String> {
    if text == "none" { Ok(Lease::None) } else { format::duration(text).map(Lease::For) }
}

/// A label to set, or one to remove.
fn label(text: &str) -> Result<(String, Option<String>), String> {
    match (text.split_once('='), text.strip_suffix('-')) {
        (Some((name, text)), _) => Ok((name.to_owned(), Some(text.to_owned()))),
        (None, Some(name)) => Ok((name.to_owned(), None)),
        (None, None) => Err("name=text sets a label, name- removes it".into()),
    }
}

pub fn run(command: PoolCommand) -> Result<(), Failed> {
    match command {
        PoolCommand::List(arguments) => list(arguments),
        PoolCommand::Show(arguments) => show(arguments),
        PoolCommand::Set(arguments) => set(*arguments),
        PoolCommand::Delete(arguments) => delete(arguments),
    }
}

fn path(pool: &str) -> String {
    format!("/v1/pools/{}", part(pool))
}

fn list(arguments: ListArguments) -> Result<(), Failed> {
    let ListArguments { prefix, much, shown } = arguments;
    shown.run(async move |client, form| {
        let query: Vec<_> = prefix.into_iter().map(|prefix| ("prefix", prefix)).collect();
        let list = List::ask(client, "/v1/pools", "pools", &query, &much).await?;
        list.show(form, "there are no pools; `allod pool set` makes one", |pools: &[Pool]| {
            table(pools)
        })
    })
}

/// Pools and their fill. Also a part of `allod status --live`.
pub fn table<'a>(pools: impl IntoIterator<Item = &'a Pool>) -> Table {
    const BAR: usize = 10;
    let mut table = Table::new(&[
        ("POOL", Side::Left),
        ("KIND", Side::Left),
        ("FILL", Side::Left),
        ("", Side::Right),
        ("HELD", Side::Right),
        ("QUARANTINED", Side::Right),
        ("FREE", Side::Right),
        ("SIZE", Side::Right),
    ]);
    for Pool { name, kind, usage, .. } in pools {
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

fn show(arguments: ShowArguments) -> Result<(), Failed> {
    let ShowArguments { pool, shown } = arguments;
    shown.run(async move |client, form| {
        let reply = client.get(path(&pool)).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        print(&described(&read(&reply.body)?))
    })
}

/// A pool line by line.
fn described(pool: &Pool) -> String {
    let yes = |flag: bool| if flag { "yes".to_owned() } else { "no".to_owned() };
    let time = |seconds: f64| {
        let short = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        if seconds < 1.0 { format!("{seconds}s") } else { format::ago(short) }
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
    facts(lines)
}

fn set(mut arguments: SetArguments) -> Result<(), Failed> {
    let shown = arguments.shown.clone();
    let file = arguments.file.take().map(|path| from_file(&path)).transpose()?;
    shown.run(async move |client, form| {
        let pool = arguments.pool.clone();
        let (definition, known) = match file {
            Some(definition) => (definition, None),
            None if arguments.new => (arguments.over(Map::new())?, None),
            None => match defined(client, &pool).await? {
                Some((base, generation)) => (arguments.over(base)?, Some(generation)),
                None => (arguments.over(Map::new())?, None),
            },
        };
        let keep_held = arguments.keep_held.then(|| ("keep_held", "true".to_owned()));
        let ask = Ask::new(Method::PUT, with_query(&path(&pool), keep_held)).json(&definition)?;
        // What was read and is sent back with changes must still be as it was read.
        let ask = match arguments.if_match.or(known) {
            Some(generation) => ask.header(IF_MATCH, &format!("\"{generation}\""))?,
            None if arguments.new => ask.header(IF_NONE_MATCH, "*")?,
            None => ask,
        };
        let reply = client.ask(&ask).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        let made: Pool = read(&reply.body)?;
        let done = if reply.status == StatusCode::CREATED { "new" } else { "defined" };
        say(&format!("{} is {done}, at generation {}", made.name, made.generation));
        print(&described(&made))
    })
}

/// The definition that a pool has, and its generation.
async fn defined(client: &Client, pool: &str) -> Result<Option<(Map<String, Value>, u64)>, Failed> {
    match client.get(path(pool)).await {
        Ok(reply) => {
            let mut base: Map<String, Value> = read(&reply.body)?;
            let generation = base.get("generation").and_then(Value::as_u64).unwrap_or_default();
            keep_definition(&mut base);
            Ok(Some((base, generation)))
        }
        Err(Failed::Missing(_)) => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// Leaves out what a pool is shown with and not defined by, so that what was shown can be sent back.
fn keep_definition(shown: &mut Map<String, Value>) {
    for name in ["name", "generation", "usage"] {
        shown.remove(name);
    }
}

fn from_file(path: &Path) -> Result<Map<String, Value>, Failed> {
    let bytes = read_input(path)?;
    let mut definition: Map<String, Value> = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not the JSON of a pool", input_name(path)))
        .map_err(Failed::Asked)?;
    keep_definition(&mut definition);
    Ok(definition)
}

/// A file, or stdin for `-`.
pub fn read_input(path: &Path) -> Result<Vec<u8>, Failed> {
    let read = || {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        std::fs::read(path)
    };
    read().with_context(|| format!("{} cannot be read", input_name(path))).map_err(Failed::Asked)
}

pub fn input_name(path: &Path) -> String {
    if path == Path::new("-") { "stdin".into() } else { path.display().to_string() }
}

impl SetArguments {
    /// The definition with what was said in place of what was there.
    fn over(&self, mut base: Map<String, Value>) -> Result<Map<String, Value>, Failed> {
        let texts = |texts: &Vec<String>| {
            json!(
                texts
                    .iter()
                    .map(|text| text.trim())
                    .filter(|text| !text.is_empty())
                    .collect::<Vec<_>>()
            )
        };
        let said = [
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
                    Lease::None => Value::Null,
                    Lease::For(time) => Value::from(format::seconds(time)),
                }),
            ),
            ("reap", self.reap.map(Value::from)),
        ];
        for (name, value) in said {
            if let Some(value) = value {
                base.insert(name.to_owned(), value);
            }
        }
        if !self.labels.is_empty() {
            let labels = base.entry("labels").or_insert_with(|| json!({}));
            let labels =
                labels.as_object_mut().ok_or_else(|| Failed::Running(anyhow!("labels")))?;
            for (name, text) in &self.labels {
                match text {
                    Some(text) => labels.insert(name.clone(), json!(text)),
                    None => labels.remove(name),
                };
            }
        }
        let missing = ["kind", "ranges"].iter().find(|name| !base.contains_key(**name));
        match missing {
            None => Ok(base),
            Some(_) => Err(Failed::Asked(advised(
                format!("a new pool like '{}' needs --kind and --range", self.pool),
                "as in: allod pool set vlans --kind id32 --range 1-4094",
            ))),
        }
    }
}

fn delete(arguments: DeleteArguments) -> Result<(), Failed> {
    let DeleteArguments { pool, if_match, shown } = arguments;
    shown.run(async move |client, form| {
        let mut ask = Ask::new(Method::DELETE, path(&pool));
        if let Some(generation) = if_match {
            ask = ask.header(IF_MATCH, &format!("\"{generation}\""))?;
        }
        client.ask(&ask).await?;
        if form == Form::Table {
            say(&format!("there is no pool {pool} now"));
        }
        Ok(())
    })
}
