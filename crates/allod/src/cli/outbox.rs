//! `allod outbox`: what services are still to be told, and what to do about what could not be told.

use clap::{Args, Subcommand};
use http::Method;
use serde::Deserialize;

use super::answer::{List, Much};
use super::table::{Side, Table};
use super::{Shown, format, say};
use crate::client::{Ask, part};
use crate::failed::Failed;

#[derive(Debug, Subcommand)]
pub enum OutboxCommand {
    /// List notices, oldest first
    #[command(visible_alias = "ls")]
    List(ListArguments),
    /// Have notices told at once, with all their attempts anew
    Retry(ChangeArguments),
    /// Have notices told to nobody
    Drop(ChangeArguments),
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Only those that were given up
    #[arg(long)]
    dead: bool,

    /// Only those to services whose path starts with this
    #[arg(long, value_name = "PREFIX")]
    target: Option<String>,

    #[command(flatten)]
    much: Much,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
pub struct ChangeArguments {
    /// The numbers of the notices, as `allod outbox list` shows them
    #[arg(required_unless_present = "dead")]
    number: Vec<String>,

    /// All that were given up
    #[arg(long, conflicts_with = "number")]
    dead: bool,

    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Deserialize)]
struct Notice {
    number: String,
    target: String,
    user: String,
    how: String,
    queued: String,
    attempts: u32,
    error: Option<String>,
    due: Option<String>,
}

pub fn run(command: OutboxCommand) -> Result<(), Failed> {
    match command {
        OutboxCommand::List(arguments) => list(arguments),
        OutboxCommand::Retry(arguments) => change(arguments, Method::POST, "/retry", "due now:"),
        OutboxCommand::Drop(arguments) => change(arguments, Method::DELETE, "", "dropped"),
    }
}

fn list(arguments: ListArguments) -> Result<(), Failed> {
    let ListArguments { dead, target, much, shown } = arguments;
    shown.run(async move |client, form| {
        let dead = dead.then(|| "true".to_owned());
        let query = [("dead", dead), ("target_prefix", target)];
        let query: Vec<(&str, String)> =
            query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let list = List::ask(client, "/v1/outbox", "notices", &query, &much).await?;
        list.show(form, "nobody is to be told anything that fits", |notices: &[Notice]| {
            table(notices)
        })
    })
}

fn table(notices: &[Notice]) -> Table {
    let mut table = Table::new(&[
        ("NUMBER", Side::Left),
        ("TARGET", Side::Left),
        ("USER", Side::Left),
        ("HOW", Side::Left),
        ("QUEUED", Side::Left),
        ("ATTEMPTS", Side::Right),
        ("DUE", Side::Left),
        ("ERROR", Side::Left),
    ]);
    for notice in notices {
        let Notice { number, target, user, how, queued, attempts, error, due } = notice;
        let due = format::time_or(due.as_deref(), "given up");
        let who = [number.clone(), target.clone(), user.clone(), how.clone()];
        let when = [format::time(queued), attempts.to_string(), due];
        table.row(who.into_iter().chain(when).chain([error.clone().unwrap_or_default()]));
    }
    table
}

fn change(
    arguments: ChangeArguments,
    method: Method,
    action: &'static str,
    done: &'static str,
) -> Result<(), Failed> {
    let ChangeArguments { number, dead, shown } = arguments;
    shown.run(async move |client, _| {
        let numbers = if dead {
            let much = Much { limit: 1, all: true, after: None };
            let query = [("dead", "true".to_owned())];
            let list = List::ask(client, "/v1/outbox", "notices", &query, &much).await?;
            let notices: Vec<Notice> = list.items()?;
            notices.into_iter().map(|notice| notice.number).collect()
        } else {
            number
        };
        if numbers.is_empty() {
            say("nothing was given up");
        }
        for number in numbers {
            let path = format!("/v1/outbox/{}{action}", part(&number));
            client.ask(&Ask::new(method.clone(), path)).await?;
            say(&format!("{done} {number}"));
        }
        Ok(())
    })
}
