//! `allod consumer`: who holds how much of which provider.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::answer::{List, Much};
use super::change::amounts_text;
use super::provider::uuid_of;
use super::table::{Side, Table, facts};
use super::{Form, Shown, format, json as json_form, print, read};
use crate::client::part;
use crate::failed::Failed;

#[derive(Debug, Subcommand)]
pub enum ConsumerCommand {
    /// List consumers and what they hold
    #[command(visible_alias = "ls")]
    List(ListArguments),
    /// Show one consumer
    Show(ShowArguments),
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only those of this project
    #[arg(long)]
    project: Option<String>,

    /// Only those that hold something of this provider: its name or uuid
    #[arg(long)]
    provider: Option<String>,

    /// Only those whose lease has run out
    #[arg(long)]
    expired: bool,

    #[command(flatten)]
    much: Much,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub struct ShowArguments {
    /// Its uuid
    consumer: String,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Deserialize)]
struct Consumer {
    uuid: String,
    generation: u64,
    project: String,
    user: String,
    r#type: Option<String>,
    allocations: BTreeMap<String, BTreeMap<String, u64>>,
    written: String,
    expires: Option<String>,
    expired: bool,
    reclaim: Option<String>,
}

impl Consumer {
    /// Until when it holds what it holds.
    fn until(&self) -> String {
        match &self.expires {
            Some(expires) if self.expired => format!("expired {}", format::time(expires)),
            expires => format::time_or(expires.as_deref(), "never"),
        }
    }
}

pub fn run(command: ConsumerCommand) -> Result<(), Failed> {
    match command {
        ConsumerCommand::List(arguments) => list(arguments),
        ConsumerCommand::Show(arguments) => show(arguments),
    }
}

fn list(arguments: ListArguments) -> Result<(), Failed> {
    let ListArguments { project, provider, expired, much, shown } = arguments;
    shown.run(async move |client, form| {
        let provider = match provider {
            Some(provider) => Some(uuid_of(client, &provider).await?),
            None => None,
        };
        let expired = expired.then(|| "true".to_owned());
        let query = [("project", project), ("provider", provider), ("expired", expired)];
        let query: Vec<(&str, String)> =
            query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let list = List::ask(client, "/v1/consumers", "consumers", &query, &much).await?;
        list.show(form, "nobody holds anything that fits", |consumers: &[Consumer]| {
            table(consumers)
        })
    })
}

/// Consumers with a line for each provider.
fn table(consumers: &[Consumer]) -> Table {
    let mut table = Table::new(&[
        ("CONSUMER", Side::Left),
        ("GENERATION", Side::Right),
        ("PROJECT", Side::Left),
        ("USER", Side::Left),
        ("HOLDS", Side::Left),
        ("OF", Side::Left),
        ("EXPIRES", Side::Left),
    ]);
    for consumer in consumers {
        let Consumer { uuid, generation, project, user, .. } = consumer;
        for (provider, amounts) in &consumer.allocations {
            let who = [uuid.clone(), generation.to_string(), project.clone(), user.clone()];
            let what = [amounts_text(amounts), provider.clone(), consumer.until()];
            table.row(who.into_iter().chain(what));
        }
    }
    table
}

fn show(arguments: ShowArguments) -> Result<(), Failed> {
    let ShowArguments { consumer, shown } = arguments;
    shown.run(async move |client, form| {
        let reply = client.get(format!("/v1/consumers/{}", part(&consumer))).await?;
        if form == Form::Json {
            return json_form::print(&reply.body);
        }
        let consumer: Consumer = read(&reply.body)?;
        let until = consumer.until();
        let afterwards = match consumer.reclaim.as_deref() {
            Some("reap") => "taken back when it expires",
            Some("keep") => "kept until it is released",
            _ => "",
        };
        let mut lines = vec![
            ("consumer", consumer.uuid),
            ("generation", consumer.generation.to_string()),
            ("project", consumer.project),
            ("user", consumer.user),
            ("type", consumer.r#type.unwrap_or_default()),
            ("written", format::time(&consumer.written)),
            ("expires", until),
            ("afterwards", afterwards.to_owned()),
        ];
        for (provider, amounts) in &consumer.allocations {
            lines.push(("holds", format!("{} of {provider}", amounts_text(amounts))));
        }
        print(&facts(lines))
    })
}
