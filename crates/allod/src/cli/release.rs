//! `allod release`: gives back what is held under a key, or under several, all or none.

use clap::Args;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Form, Shown, json as json_form, read, say};
use crate::client::Ask;
use crate::failed::Failed;

#[derive(Debug, Args)]
pub struct ReleaseArguments {
    /// The pool
    pool: String,

    /// What to release; several are released together or not at all
    #[arg(required = true)]
    key: Vec<String>,

    /// Only if the claim is at this version
    #[arg(long, value_name = "N")]
    version: Option<u64>,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Done>,
}

#[derive(Deserialize)]
struct Done {
    release: Existed,
}

#[derive(Deserialize)]
struct Existed {
    existed: bool,
}

pub fn run(arguments: ReleaseArguments) -> Result<(), Failed> {
    let ReleaseArguments { pool, key: keys, version, shown } = arguments;
    shown.run(async move |client, form| {
        let op = |key: &String| -> Value {
            let expect = version.map_or(json!("any"), Value::from);
            json!({ "release": { "pool": pool, "key": key, "expect": expect } })
        };
        let body = json!({ "ops": keys.iter().map(op).collect::<Vec<_>>() });
        // As a transaction, because that tells whether there was anything to release: a key with a slip in it would
        // otherwise go unnoticed.
        let ask = Ask::new(Method::POST, "/v1/transactions")
            .json(&body)?
            .repeatable()
            .several(keys.len() > 1);
        let reply = client.ask(&ask).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        let answer: Answer = read(&reply.body)?;
        for (key, done) in keys.iter().zip(&answer.results) {
            let how = if done.release.existed { "released" } else { "nothing was held under" };
            say(&format!("{how} {key} in {pool}"));
        }
        Ok(())
    })
}
