//! `allod renew`: renews the lease of a claim, or makes the claim permanent.

use std::time::Duration;

use clap::Args;
use http::Method;
use http::header::IF_MATCH;
use serde_json::{Value, json};

use crate::client::answers::parse;
use crate::client::answers::{ClaimRow, claims_table};
use crate::client::{ApiRequest, path_segment};
use crate::connection::ClientArguments;
use crate::error::CommandError;
use crate::output::{OutputFormat, format, json as json_output};

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

pub fn run(arguments: RenewArguments) -> Result<(), CommandError> {
    let RenewArguments { pool, key, ttl, confirm, version, common } = arguments;
    common.run(async move |client, output| {
        let action = if confirm { "confirm" } else { "renew" };
        let path =
            format!("/v1/pools/{}/claims/{}/{action}", path_segment(&pool), path_segment(&key));
        let body = match ttl {
            Some(time) => json!({ "ttl": Value::from(format::seconds(time)) }),
            None => json!({}),
        };
        let mut request = ApiRequest::new(Method::POST, path).json(&body)?.repeatable();
        if let Some(version) = version {
            request = request.header(IF_MATCH, &format!("\"{version}\""))?;
        }
        let reply = client.send(&request).await?;
        if output == OutputFormat::Json {
            return json_output::print(&reply.body);
        }
        let claim: ClaimRow = parse(&reply.body)?;
        claims_table([&claim]).print()
    })
}
