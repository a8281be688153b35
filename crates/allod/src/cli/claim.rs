//! `allod claim`: a value under a key. The same again gives the same claim.

use std::time::Duration;

use clap::Args;
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::answer::{Claim, claims_table, text};
use super::pool::STRATEGIES;
use super::{Form, Shown, format, json as json_form, print, read, say};
use crate::client::{Ask, part};
use crate::failed::Failed;

pub const EXAMPLES: &str = "\
Examples:
  allod claim vlans blue --owner tenant-7        one value, whichever the pool picks
  allod claim vlans red --value 100              this value and no other
  vlan=$(allod claim vlans blue --quiet)         only the value, for scripts
  allod claim lan host-1 --ttl 8h                a lease; `allod renew` makes it last
  allod claim nets site-1 --prefix-len 24        a prefix

The key is yours to choose. Claiming again under the same key is not a second claim:
it gives the same one, however often it is repeated.";

#[derive(Debug, Args)]
pub struct ClaimArguments {
    /// The pool
    pool: String,

    /// The name under which it is held
    key: String,

    /// Exactly this value
    #[arg(long)]
    value: Option<String>,

    /// Take another value if this one cannot be had
    #[arg(long, requires = "value")]
    fallback: bool,

    /// How many values
    #[arg(long, value_name = "N")]
    count: Option<u32>,

    /// The values must follow each other without a gap
    #[arg(long)]
    contiguous: bool,

    /// Prefix pools: how long a prefix
    #[arg(long, value_name = "BITS")]
    prefix_len: Option<u8>,

    /// Only even, or only odd values
    #[arg(long, value_parser = ["even", "odd"])]
    parity: Option<String>,

    /// How the value is picked, instead of the pool's own way
    #[arg(long, value_parser = STRATEGIES)]
    strategy: Option<String>,

    /// For how long, as in 90s, 15m, 8h; the pool's own lease when not said
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    ttl: Option<Duration>,

    /// Who holds it; the key itself when not said
    #[arg(long)]
    owner: Option<String>,

    /// A label; may be repeated
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = label)]
    labels: Vec<(String, String)>,

    /// Only if nothing is held under the key yet
    #[arg(long, conflicts_with = "version")]
    new: bool,

    /// Only if the claim is at this version
    #[arg(long, value_name = "N")]
    version: Option<u64>,

    /// Print only the value, or one on each line
    #[arg(long, short, conflicts_with = "output")]
    quiet: bool,

    #[command(flatten)]
    shown: Shown,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, text) = text.split_once('=').ok_or("a label is name=text")?;
    Ok((name.to_owned(), text.to_owned()))
}

impl ClaimArguments {
    fn body(&self) -> Map<String, Value> {
        let labels: Map<String, Value> =
            self.labels.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
        let members = [
            ("value", self.value.as_ref().map(|value| json!(value))),
            ("fallback", self.fallback.then_some(json!(true))),
            ("count", self.count.map(Value::from)),
            ("contiguous", self.contiguous.then_some(json!(true))),
            ("prefix_len", self.prefix_len.map(Value::from)),
            ("parity", self.parity.as_ref().map(|parity| json!(parity))),
            ("strategy", self.strategy.as_ref().map(|strategy| json!(strategy))),
            ("ttl", self.ttl.map(|time| Value::from(format::seconds(time)))),
            ("owner", self.owner.as_ref().map(|owner| json!(owner))),
            ("labels", (!labels.is_empty()).then_some(Value::Object(labels))),
        ];
        let said = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        said.collect()
    }
}

pub fn run(arguments: ClaimArguments) -> Result<(), Failed> {
    let shown = arguments.shown.clone();
    shown.run(async move |client, form| {
        let path = format!("/v1/pools/{}/claims/{}", part(&arguments.pool), part(&arguments.key));
        let ask = Ask::new(Method::PUT, path).json(&arguments.body())?;
        let ask = match arguments.version {
            Some(version) => ask.header(IF_MATCH, &format!("\"{version}\""))?,
            None if arguments.new => ask.header(IF_NONE_MATCH, "*")?,
            None => ask,
        };
        let reply = client.ask(&ask).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        let claim: Claim = read(&reply.body)?;
        if arguments.quiet {
            return print(&values(&claim));
        }
        if reply.status != StatusCode::CREATED {
            say(&format!("{} held this already", claim.key));
        }
        claims_table([&claim]).print()
    })
}

/// A value on each line; ranges, where there are too many to list.
fn values(claim: &Claim) -> String {
    let values: Vec<String> = match claim.values.as_slice() {
        [] if claim.ranges.is_empty() => vec![text(&claim.value)],
        [] => claim.ranges.clone(),
        values => values.iter().map(text).collect(),
    };
    values.join("\n") + "\n"
}
