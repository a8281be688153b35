//! `allod claim`: claims a value under a key. Repeating the command returns the same claim.

use std::time::Duration;

use clap::Args;
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::pool::STRATEGIES;
use crate::client::answers::{ClaimRow, claims_table, text};
use crate::client::{ApiRequest, claim_path};
use crate::connection::ClientArguments;
use crate::error::{CommandError, Result, with_advice};
use crate::output::{format, message, print};

pub const EXAMPLES: &str = "\
Examples:
  allod claim vlans blue --owner tenant-7        one value, chosen by the pool
  allod claim vlans red --value 100              this value
  vlan=$(allod claim vlans blue --quiet)         print only the value, for scripts
  allod claim lan host-1 --ttl 8h                with a lease; `allod renew` extends it
  allod claim nets site-1 --prefix-len 24        a prefix
  allod claim sites blue --wait 10s              wait for the authority of the pool

The key is chosen by the client. Claims are idempotent: claiming again under the same key
returns the same claim.";

#[derive(Debug, Args)]
pub struct ClaimArguments {
    /// Name of the pool
    pool: String,

    /// Key of the claim, chosen by the client
    key: String,

    /// Claim this value
    #[arg(long)]
    value: Option<String>,

    /// Claim another value if --value is not available
    #[arg(long, requires = "value")]
    fallback: bool,

    /// Number of values
    #[arg(long, value_name = "N")]
    count: Option<u32>,

    /// Values must be contiguous
    #[arg(long)]
    contiguous: bool,

    /// Length of the prefix, for prefix pools
    #[arg(long, value_name = "BITS")]
    prefix_len: Option<u8>,

    /// Only even or only odd values
    #[arg(long, value_parser = ["even", "odd"])]
    parity: Option<String>,

    /// How to choose the value [default: the pool's strategy]
    #[arg(long, value_parser = STRATEGIES)]
    strategy: Option<String>,

    /// Duration of the lease, such as 90s, 15m or 8h [default: the pool's lease]
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    ttl: Option<Duration>,

    /// Owner of the claim [default: the key]
    #[arg(long)]
    owner: Option<String>,

    /// Label of the claim; repeatable
    #[arg(long = "label", value_name = "NAME=TEXT", value_parser = label)]
    labels: Vec<(String, String)>,

    /// Fail if the key already has a claim
    #[arg(long, conflicts_with = "version")]
    new: bool,

    /// Fail unless the claim has this version
    #[arg(long, value_name = "N")]
    version: Option<u64>,

    /// In a pool with an authority: how long to wait for its answer, such as 10s
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    wait: Option<Duration>,

    /// Print only the values, one per line
    #[arg(long, short, conflicts_with = "output")]
    quiet: bool,

    #[command(flatten)]
    common: ClientArguments,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, text) = text.split_once('=').ok_or("expected name=text")?;
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
        let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        given.collect()
    }
}

pub fn run(arguments: ClaimArguments) -> Result<()> {
    let common = arguments.common.clone();
    common.run(async move |client, output| {
        let path = claim_path(&arguments.pool, &arguments.key);
        let request = ApiRequest::new(Method::PUT, path).json(&arguments.body())?;
        let request = request.expecting(arguments.version, arguments.new)?;
        let reply = client.send(&request.waiting(arguments.wait)?).await?;
        reply.show(output, |claim: ClaimRow| {
            if reply.status == StatusCode::ACCEPTED {
                return unanswered(&claim, arguments.quiet || arguments.wait.is_some());
            }
            if arguments.quiet {
                return print(&values(&claim));
            }
            if reply.status != StatusCode::CREATED {
                message(&format!("{} already has this claim", claim.key));
            }
            claims_table([&claim]).print()
        })
    })
}

/// The claim has no value yet. If the command was to print or to wait for one, that is an error.
fn unanswered(claim: &ClaimRow, needs_value: bool) -> Result<()> {
    let ClaimRow { pool, key, .. } = claim;
    let authority = claim.authority.as_deref().unwrap_or_default();
    let reason = claim.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let (what, advice) = match &*claim.state {
        "wanted" => (
            format!("'{key}' in pool '{pool}' waits for authority '{authority}'{reason}"),
            "repeat the command, or give --wait TIME".to_owned(),
        ),
        state => (
            format!("'{key}' in pool '{pool}' is {state} at authority '{authority}'{reason}"),
            format!(
                "`allod authority claims {authority}` lists such claims; an admin resolves them"
            ),
        ),
    };
    if needs_value {
        let error = with_advice(what, advice);
        let is_wanted = claim.state == "wanted";
        return Err(if is_wanted {
            CommandError::Unavailable(error)
        } else {
            CommandError::Refused(error)
        });
    }
    message(&what);
    claims_table([claim]).print()
}

/// The values one per line, or ranges if there are many.
fn values(claim: &ClaimRow) -> String {
    let values: Vec<String> = match claim.values.as_slice() {
        [] if claim.ranges.is_empty() => vec![text(&claim.value)],
        [] => claim.ranges.clone(),
        values => values.iter().map(text).collect(),
    };
    values.join("\n") + "\n"
}
