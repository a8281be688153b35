//! `allod authority claims` and `resolve`: what an authority still has to answer, and what an operator has to say.

use clap::{ArgGroup, Args};
use http::Method;
use serde_json::json;

use super::path;
use crate::client::answers::{ClaimRow, PageArguments, PagedList, claims_table};
use crate::client::{ApiRequest, path_segment};
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::table::Table;
use crate::output::{OutputFormat, format, message};

pub const RESOLVE_EXAMPLES: &str = "\
Look the reference up in the inventory, then say what it has:
  allod authority claims nautobot --state stuck
  allod authority resolve nautobot REFERENCE --granted 10.0.0.7
  allod authority resolve nautobot REFERENCE --gone         it has nothing for this reference
  allod authority resolve nautobot REFERENCE --ask-again    although it may grant a second value";

#[derive(Debug, Args)]
pub struct AuthorityClaimsArguments {
    /// Name of the authority
    authority: String,

    /// Only claims in this state [default: all but held]
    #[arg(long, value_parser = ["wanted", "held", "refused", "stuck", "conflict", "releasing"])]
    state: Option<String>,

    /// Only keys that start with this
    #[arg(long, value_name = "PREFIX")]
    key: Option<String>,

    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("resolution").required(true).args(["granted", "gone", "ask_again"]))]
pub struct ResolveArguments {
    /// Name of the authority
    authority: String,

    /// Reference of the claim, as `allod authority claims` lists it
    reference: String,

    /// The authority has granted this value
    #[arg(long, value_name = "VALUE")]
    granted: Option<String>,

    /// The authority has no grant for the reference
    #[arg(long)]
    gone: bool,

    /// Ask the authority again, although it may grant a second value
    #[arg(long)]
    ask_again: bool,

    #[command(flatten)]
    common: ClientArguments,
}

pub fn list(arguments: AuthorityClaimsArguments) -> Result<()> {
    let AuthorityClaimsArguments { authority, state, key, page, common } = arguments;
    common.run(async move |client, output| {
        let path = format!("{}/claims", path(&authority));
        let query = [("state", state), ("key_prefix", key)];
        let list = PagedList::fetch(client, &path, "claims", query, &page).await?;
        list.show(output, "no matching claims", table)
    })
}

fn table(claims: &[ClaimRow]) -> Table {
    let columns =
        ["STATE", "POOL", "KEY", "VALUE", "REFERENCE", "SINCE", "ATTEMPTS", "NEXT", "REASON"];
    let mut table = Table::new(&columns).right(&["ATTEMPTS"]);
    for claim in claims {
        let time = |time: &Option<String>| format::time_or(time.as_deref(), "-");
        table.row([
            claim.state.clone(),
            claim.pool.clone(),
            claim.key.clone(),
            claim.held(),
            claim.reference.clone().unwrap_or_default(),
            time(&claim.since),
            claim.attempts.map_or("-".into(), |attempts| attempts.to_string()),
            time(&claim.next_attempt),
            claim.reason.clone().unwrap_or_default(),
        ]);
    }
    table
}

pub fn resolve(arguments: ResolveArguments) -> Result<()> {
    let ResolveArguments { authority, reference, granted, gone, ask_again, common } = arguments;
    let body = match granted {
        Some(value) => json!({ "granted": value }),
        None if gone => json!({ "gone": true }),
        None => json!({ "ask_again": ask_again }),
    };
    common.run(async move |client, output| {
        let path = format!("{}/claims/{}/resolve", path(&authority), path_segment(&reference));
        let request = ApiRequest::new(Method::POST, path).json(&body)?.repeatable();
        let reply = client.send(&request).await?;
        if reply.body.is_empty() {
            if output == OutputFormat::Table {
                message(&format!("ended the claim with reference {reference}"));
            }
            return Ok(());
        }
        reply.show(output, |claim: ClaimRow| claims_table([&claim]).print())
    })
}
