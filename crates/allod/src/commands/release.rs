//! `allod release`: releases one claim, or several atomically.

use std::time::Duration;

use clap::Args;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::answers::ClaimRow;
use crate::client::{ApiReply, ApiRequest, Client};
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::{format, message};

#[derive(Debug, Args)]
pub struct ReleaseArguments {
    /// Name of the pool
    pool: String,

    /// Keys of the claims; several are released atomically
    #[arg(required = true)]
    key: Vec<String>,

    /// Fail unless the claim has this version
    #[arg(long, value_name = "N")]
    version: Option<u64>,

    /// In a pool with an authority: how long to wait until it has confirmed the release
    #[arg(long, value_name = "TIME", value_parser = format::duration)]
    wait: Option<Duration>,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Deserialize)]
struct ReleaseAnswer {
    results: Vec<ReleaseResult>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReleaseResult {
    Release { existed: bool, claim: Option<ClaimRow> },
}

pub fn run(arguments: ReleaseArguments) -> Result<()> {
    let ReleaseArguments { pool, key: keys, version, wait, common } = arguments;
    common.run(async move |client, output| {
        let reply = release(client, &pool, &keys, version, wait).await?;
        reply.show(output, |answer: ReleaseAnswer| {
            for (key, result) in keys.iter().zip(answer.results) {
                message(&done(&pool, key, &result));
            }
            Ok(())
        })
    })
}

/// Sends a transaction, because its answer says whether each claim existed. DELETE would hide a mistyped key.
async fn release(
    client: &Client,
    pool: &str,
    keys: &[String],
    version: Option<u64>,
    wait: Option<Duration>,
) -> Result<ApiReply> {
    let op = |key: &String| -> Value {
        let expect = version.map_or(json!("any"), Value::from);
        json!({ "release": { "pool": pool, "key": key, "expect": expect } })
    };
    let body = json!({ "ops": keys.iter().map(op).collect::<Vec<_>>() });
    let request = ApiRequest::new(Method::POST, "/v1/transactions")
        .json(&body)?
        .repeatable()
        .several(keys.len() > 1)
        .waiting(wait)?;
    client.send(&request).await
}

fn done(pool: &str, key: &str, result: &ReleaseResult) -> String {
    match result {
        ReleaseResult::Release { claim: Some(claim), .. } => {
            let authority = claim.authority.as_deref().unwrap_or_default();
            format!("releasing {key} in {pool}: authority {authority} has not confirmed it yet")
        }
        ReleaseResult::Release { existed: true, .. } => format!("released {key} in {pool}"),
        ReleaseResult::Release { existed: false, .. } => format!("no claim {key} in {pool}"),
    }
}
