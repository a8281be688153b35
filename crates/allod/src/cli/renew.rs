//! `allod renew`: makes a lease last longer, or for ever.

use std::time::Duration;

use clap::Args;
use http::Method;
use http::header::IF_MATCH;
use serde_json::{Value, json};

use super::answer::{Claim, claims_table};
use super::{Form, Shown, format, json as json_form, read};
use crate::client::{Ask, part};
use crate::failed::Failed;

#[derive(Debug, Args)]
pub struct RenewArguments {
    /// The pool
    pool: String,
    /// The name under which it is held
    key: String,

    /// For how long from now; as long as the claim asked for at first when not said
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    ttl: Option<Duration>,

    /// For ever: the claim has no lease any more
    #[arg(long, conflicts_with = "ttl")]
    confirm: bool,

    /// Only if the claim is at this version
    #[arg(long, value_name = "N")]
    version: Option<u64>,

    #[command(flatten)]
    shown: Shown,
}

pub fn run(arguments: RenewArguments) -> Result<(), Failed> {
    let RenewArguments { pool, key, ttl, confirm, version, shown } = arguments;
    shown.run(async move |client, form| {
        let what = if confirm { "confirm" } else { "renew" };
        let path = format!("/v1/pools/{}/claims/{}/{what}", part(&pool), part(&key));
        let body = match ttl {
            Some(time) => json!({ "ttl": Value::from(format::seconds(time)) }),
            None => json!({}),
        };
        let mut ask = Ask::new(Method::POST, path).json(&body)?.repeatable();
        if let Some(version) = version {
            ask = ask.header(IF_MATCH, &format!("\"{version}\""))?;
        }
        let reply = client.ask(&ask).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        let claim: Claim = read(&reply.body)?;
        claims_table([&claim]).print()
    })
}
