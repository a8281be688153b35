//! `allod renew`: renews the lease of a claim, or makes the claim permanent.

use std::time::Duration;

use clap::Args;
use http::Method;
use serde_json::{Value, json};

use crate::client::answers::{ClaimRow, claims_table};
use crate::client::{ApiRequest, claim_path};
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::format;

#[derive(Debug, Args)]
pub struct RenewArguments {
    /// Name of the pool
    pool: String,
    /// Key of the claim
    key: String,

    /// New duration of the lease, from now [default: the duration of the original claim]
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    ttl: Option<Duration>,

    /// Make the claim permanent: remove its lease
    #[arg(long, conflicts_with = "ttl")]
    confirm: bool,

    /// Fail unless the claim has this version
    #[arg(long, value_name = "N")]
    version: Option<u64>,

    #[command(flatten)]
    common: ClientArguments,
}

pub fn run(arguments: RenewArguments) -> Result<()> {
    let RenewArguments { pool, key, ttl, confirm, version, common } = arguments;
    common.run(async move |client, output| {
        let action = if confirm { "confirm" } else { "renew" };
        let path = format!("{}/{action}", claim_path(&pool, &key));
        let body = match ttl {
            Some(time) => json!({ "ttl": Value::from(format::seconds(time)) }),
            None => json!({}),
        };
        let request = ApiRequest::new(Method::POST, path).json(&body)?.repeatable();
        let reply = client.send(&request.expecting(version, false)?).await?;
        reply.show(output, |claim: ClaimRow| claims_table([&claim]).print())
    })
}
