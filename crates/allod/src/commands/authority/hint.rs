//! `allod authority hint`: says that values may have changed at an authority.

use clap::Args;
use http::Method;
use serde_json::json;

use super::path;
use crate::client::ApiRequest;
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::{OutputFormat, message};

#[derive(Debug, Args)]
pub struct HintArguments {
    /// Name of the authority
    authority: String,

    /// Names whose values have changed [default: all look-ups of the authority]
    names: Vec<String>,

    #[command(flatten)]
    common: ClientArguments,
}

pub fn hint(arguments: HintArguments) -> Result<()> {
    let HintArguments { authority, names, common } = arguments;
    common.run(async move |client, output| {
        let body = if names.is_empty() { json!({}) } else { json!({ "keys": names }) };
        let request = ApiRequest::new(Method::POST, format!("{}/hints", path(&authority)));
        client.send(&request.json(&body)?.repeatable()).await?;
        if output == OutputFormat::Table {
            message(&format!("authority {authority} will be asked again"));
        }
        Ok(())
    })
}
