//! `allod release`: releases one claim, or several atomically.

use clap::Args;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::ApiRequest;
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::message;

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
    Release { existed: bool },
}

pub fn run(arguments: ReleaseArguments) -> Result<()> {
    let ReleaseArguments { pool, key: keys, version, common } = arguments;
    common.run(async move |client, output| {
        let op = |key: &String| -> Value {
            let expect = version.map_or(json!("any"), Value::from);
            json!({ "release": { "pool": pool, "key": key, "expect": expect } })
        };
        let body = json!({ "ops": keys.iter().map(op).collect::<Vec<_>>() });
        // A transaction, because its answer says whether each claim existed. DELETE would hide a mistyped key.
        let request = ApiRequest::new(Method::POST, "/v1/transactions")
            .json(&body)?
            .repeatable()
            .several(keys.len() > 1);
        let reply = client.send(&request).await?;
        reply.show(output, |answer: ReleaseAnswer| {
            for (key, ReleaseResult::Release { existed }) in keys.iter().zip(answer.results) {
                let done = if existed { "released" } else { "no claim" };
                message(&format!("{done} {key} in {pool}"));
            }
            Ok(())
        })
    })
}
