//! `allod consumer`: lists and shows consumers and their allocations.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use serde::Deserialize;

use super::provider::uuid_of;
use crate::client::answers::{PageArguments, PagedList};
use crate::client::path_segment;
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::changes::amounts_text;
use crate::output::table::{Table, field_lines};
use crate::output::{format, print};

#[derive(Debug, Subcommand)]
pub enum ConsumerCommand {
    /// List consumers and their allocations
    #[command(visible_alias = "ls")]
    List(ConsumerListArguments),
    /// Show one consumer
    Show(ConsumerShowArguments),
}

#[derive(Debug, Args)]
pub struct ConsumerListArguments {
    /// Only consumers of this project
    #[arg(long)]
    project: Option<String>,

    /// Only consumers with allocations of this provider, by name or UUID
    #[arg(long)]
    provider: Option<String>,

    /// Only consumers whose lease has expired
    #[arg(long)]
    expired: bool,

    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct ConsumerShowArguments {
    /// UUID of the consumer
    consumer: String,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Deserialize)]
struct ConsumerRow {
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

impl ConsumerRow {
    /// When the lease ends.
    fn until(&self) -> String {
        match &self.expires {
            Some(expires) if self.expired => format!("expired {}", format::time(expires)),
            expires => format::time_or(expires.as_deref(), "never"),
        }
    }
}

pub fn run(command: ConsumerCommand) -> Result<()> {
    match command {
        ConsumerCommand::List(arguments) => list(arguments),
        ConsumerCommand::Show(arguments) => show(arguments),
    }
}

fn list(arguments: ConsumerListArguments) -> Result<()> {
    let ConsumerListArguments { project, provider, expired, page, common } = arguments;
    common.run(async move |client, output| {
        let provider = match provider {
            Some(provider) => Some(uuid_of(client, &provider).await?),
            None => None,
        };
        let expired = expired.then(|| "true".to_owned());
        let query = [("project", project), ("provider", provider), ("expired", expired)];
        let list = PagedList::fetch(client, "/v1/consumers", "consumers", query, &page).await?;
        list.show(output, "no matching consumers", table)
    })
}

/// One line for each consumer and provider.
fn table(consumers: &[ConsumerRow]) -> Table {
    let mut table =
        Table::new(&["CONSUMER", "GENERATION", "PROJECT", "USER", "HOLDS", "OF", "EXPIRES"])
            .right(&["GENERATION"]);
    for consumer in consumers {
        let ConsumerRow { uuid, generation, project, user, .. } = consumer;
        for (provider, amounts) in &consumer.allocations {
            let who = [uuid.clone(), generation.to_string(), project.clone(), user.clone()];
            let what = [amounts_text(amounts), provider.clone(), consumer.until()];
            table.row(who.into_iter().chain(what));
        }
    }
    table
}

fn show(arguments: ConsumerShowArguments) -> Result<()> {
    let ConsumerShowArguments { consumer, common } = arguments;
    common.run(async move |client, output| {
        let reply = client.get(format!("/v1/consumers/{}", path_segment(&consumer))).await?;
        reply.show(output, describe)
    })
}

fn describe(consumer: ConsumerRow) -> Result<()> {
    let until = consumer.until();
    let on_expiry = match consumer.reclaim.as_deref() {
        Some("reap") => "allocations are released",
        Some("keep") => "allocations stay until released",
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
        ("on expiry", on_expiry.to_owned()),
    ];
    for (provider, amounts) in &consumer.allocations {
        lines.push(("holds", format!("{} of {provider}", amounts_text(amounts))));
    }
    print(&field_lines(lines))
}
