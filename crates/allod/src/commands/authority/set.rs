//! `allod authority set`: creates or changes an authority.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::{AuthorityRow, describe, path};
use crate::client::answers::parse;
use crate::client::{ApiRequest, Client};
use crate::commands::pool::{input_name, read_input};
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result, with_advice};
use crate::output::{format, message, print};

pub const EXAMPLES: &str = "\
Examples:
  allod authority set nautobot --kind http --url http://127.0.0.1:9100 --secret nautobot
  allod authority set core --kind allod --url https://allod.example.org:8778 --pool vlans
  allod authority set ids --file ids.json          the definition as JSON, for SQL statements
  allod authority set nautobot --parallel 4        change one setting
  allod pool set vlans --kind id32 --authority nautobot";

/// The members of a definition; an answer of the server has others.
const MEMBERS: [&str; 16] = [
    "kind",
    "url",
    "pool",
    "find",
    "take",
    "release",
    "list",
    "lookup",
    "secret",
    "ca",
    "parallel",
    "timeout",
    "queue_max",
    "alarm_after",
    "poll",
    "reconcile",
];

#[derive(Debug, Args)]
pub struct AuthoritySetArguments {
    /// Name of the authority
    authority: String,

    /// Protocol: http (an adapter), allod (a pool of another server) or sql (PostgreSQL tables)
    #[arg(long, value_parser = ["http", "allod", "sql"])]
    kind: Option<String>,

    /// URL without a password: http://…, https://…, for sql postgres://…
    #[arg(long)]
    url: Option<String>,

    /// Pool of the other allod server
    #[arg(long)]
    pool: Option<String>,

    /// SQL statement that finds the grant of a reference; '' for none
    #[arg(long, value_name = "SQL")]
    find: Option<String>,

    /// SQL statement that takes a value; '' for none
    #[arg(long, value_name = "SQL")]
    take: Option<String>,

    /// SQL statement that releases the grant of a reference; '' for none
    #[arg(long, value_name = "SQL")]
    release: Option<String>,

    /// SQL statement that lists grants; '' for none
    #[arg(long, value_name = "SQL")]
    list: Option<String>,

    /// SQL statement that looks up a name; '' for none
    #[arg(long, value_name = "SQL")]
    lookup: Option<String>,

    /// Name of the password or token in the server's configuration; '' for none
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,

    /// File on the server with the CA certificates to trust; '' for those of the system
    #[arg(long, value_name = "FILE")]
    authority_ca: Option<String>,

    /// Maximum number of requests at a time
    #[arg(long, value_name = "N")]
    parallel: Option<u32>,

    /// Time limit of one request to the authority
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    request_timeout: Option<Duration>,

    /// Maximum number of claims that wait for the authority
    #[arg(long, value_name = "N")]
    queue_max: Option<u64>,

    /// Raise an alarm when a claim or release has waited for so long
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    alarm_after: Option<Duration>,

    /// How often look-ups are asked again; 0 for only on request
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    poll: Option<Duration>,

    /// How often the authority is reconciled; 0 for only on request
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    reconcile: Option<Duration>,

    /// Replace the whole definition with the one in a JSON file; - for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "url", "pool", "find", "take", "release", "list", "lookup", "secret", "authority_ca", "parallel", "request_timeout", "queue_max", "alarm_after", "poll", "reconcile"])]
    file: Option<PathBuf>,

    /// Fail if the authority exists
    #[arg(long, conflicts_with = "if_match")]
    new: bool,

    /// Fail unless the authority has this generation
    #[arg(long, value_name = "GENERATION")]
    if_match: Option<u64>,

    #[command(flatten)]
    common: ClientArguments,
}

pub fn run(mut arguments: AuthoritySetArguments) -> Result<()> {
    let common = arguments.common.clone();
    let file = arguments.file.take();
    let file = file.map(|path| {
        let definition: Result<Map<String, Value>, _> = serde_json::from_slice(&read_input(&path)?);
        definition
            .with_context(|| {
                format!("{} is not the JSON definition of an authority", input_name(&path))
            })
            .map_err(CommandError::Usage)
    });
    let file = file.transpose()?.map(definition);
    common.run(async move |client, output| {
        let name = arguments.authority.clone();
        let (definition, known) = match file {
            Some(definition) => (definition, None),
            None if arguments.new => (arguments.apply_to(Map::new())?, None),
            None => match fetch_definition(client, &name).await? {
                Some((base, generation)) => (arguments.apply_to(base)?, Some(generation)),
                None => (arguments.apply_to(Map::new())?, None),
            },
        };
        let request = ApiRequest::new(Method::PUT, path(&name)).json(&definition)?;
        // The change is based on what was read, so the authority must still have that generation.
        let request = request.expecting(arguments.if_match.or(known), arguments.new)?;
        let reply = client.send(&request).await?;
        reply.show(output, |row: AuthorityRow| {
            let done = if reply.status == StatusCode::CREATED { "created" } else { "changed" };
            message(&format!("{done} {}, generation {}", row.name, row.generation));
            print(&describe(&row))
        })
    })
}

/// The definition of an authority and its generation.
async fn fetch_definition(
    client: &Client,
    authority: &str,
) -> Result<Option<(Map<String, Value>, u64)>> {
    match client.get(path(authority)).await {
        Ok(reply) => {
            let answer: Map<String, Value> = parse(&reply.body)?;
            let generation = answer.get("generation").and_then(Value::as_u64).unwrap_or_default();
            Ok(Some((definition(answer), generation)))
        }
        Err(CommandError::NotFound(_)) => Ok(None),
        Err(failed) => Err(failed),
    }
}

/// The answer without its state, so that it can be sent back. Unknown members of a file stay, and the server refuses them.
fn definition(mut answer: Map<String, Value>) -> Map<String, Value> {
    if answer.contains_key("generation") {
        answer.retain(|name, _| MEMBERS.contains(&&**name));
    }
    answer
}

impl AuthoritySetArguments {
    /// The definition with the given flags applied.
    fn apply_to(&self, mut base: Map<String, Value>) -> Result<Map<String, Value>> {
        let time = |time: Option<Duration>| time.map(|time| Value::from(format::seconds(time)));
        let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
        let given = [
            ("kind", text(&self.kind)),
            ("url", text(&self.url)),
            ("pool", text(&self.pool)),
            ("find", text(&self.find)),
            ("take", text(&self.take)),
            ("release", text(&self.release)),
            ("list", text(&self.list)),
            ("lookup", text(&self.lookup)),
            ("secret", text(&self.secret)),
            ("ca", text(&self.authority_ca)),
            ("parallel", self.parallel.map(Value::from)),
            ("timeout", time(self.request_timeout)),
            ("queue_max", self.queue_max.map(Value::from)),
            ("alarm_after", time(self.alarm_after)),
            ("poll", time(self.poll)),
            ("reconcile", time(self.reconcile)),
        ];
        for (name, value) in given {
            match value {
                Some(Value::String(text)) if text.is_empty() => drop(base.remove(name)),
                Some(value) => drop(base.insert(name.to_owned(), value)),
                None => {}
            }
        }
        if base.contains_key("kind") && base.contains_key("url") {
            return Ok(base);
        }
        Err(CommandError::Usage(with_advice(
            format!(
                "there is no authority '{}'; a new authority needs --kind and --url",
                self.authority
            ),
            "example: allod authority set nautobot --kind http --url http://127.0.0.1:9100",
        )))
    }
}
