//! `allod outbox`: lists, retries and discards notifications that are not delivered yet.

use clap::{Args, Subcommand};
use http::Method;
use serde::Deserialize;

use crate::client::answers::{PageArguments, PagedList};
use crate::client::{ApiRequest, path_segment};
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::table::Table;
use crate::output::{format, message};

#[derive(Debug, Subcommand)]
pub enum OutboxCommand {
    /// List notifications, oldest first
    #[command(visible_alias = "ls")]
    List(OutboxListArguments),
    /// Retry failed notifications now
    Retry(OutboxChangeArguments),
    /// Discard notifications
    Drop(OutboxChangeArguments),
}

#[derive(Debug, Args)]
pub struct OutboxListArguments {
    /// Only notifications whose delivery was given up
    #[arg(long)]
    dead: bool,

    /// Only notifications to services whose path starts with this
    #[arg(long, value_name = "PREFIX")]
    target: Option<String>,

    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
pub struct OutboxChangeArguments {
    /// Numbers of the notifications, as listed by `allod outbox list`
    #[arg(required_unless_present = "dead")]
    number: Vec<String>,

    /// All notifications whose delivery was given up
    #[arg(long, conflicts_with = "number")]
    dead: bool,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Deserialize)]
struct NotificationRow {
    number: String,
    target: String,
    user: String,
    how: String,
    queued: String,
    attempts: u32,
    error: Option<String>,
    due: Option<String>,
}

pub fn run(command: OutboxCommand) -> Result<()> {
    match command {
        OutboxCommand::List(arguments) => list(arguments),
        OutboxCommand::Retry(arguments) => change(arguments, Method::POST, "/retry", "retrying"),
        OutboxCommand::Drop(arguments) => change(arguments, Method::DELETE, "", "discarded"),
    }
}

fn list(arguments: OutboxListArguments) -> Result<()> {
    let OutboxListArguments { dead, target, page, common } = arguments;
    common.run(async move |client, output| {
        let dead = dead.then(|| "true".to_owned());
        let query = [("dead", dead), ("target_prefix", target)];
        let list = PagedList::fetch(client, "/v1/outbox", "notices", query, &page).await?;
        list.show(output, "no matching notifications", table)
    })
}

fn table(notifications: &[NotificationRow]) -> Table {
    let mut table =
        Table::new(&["NUMBER", "TARGET", "USER", "HOW", "QUEUED", "ATTEMPTS", "DUE", "ERROR"])
            .right(&["ATTEMPTS"]);
    for notification in notifications {
        let NotificationRow { number, target, user, how, queued, attempts, error, due } =
            notification;
        let due = format::time_or(due.as_deref(), "given up");
        let who = [number.clone(), target.clone(), user.clone(), how.clone()];
        let when = [format::time(queued), attempts.to_string(), due];
        table.row(who.into_iter().chain(when).chain([error.clone().unwrap_or_default()]));
    }
    table
}

fn change(
    arguments: OutboxChangeArguments,
    method: Method,
    action: &'static str,
    done: &'static str,
) -> Result<()> {
    let OutboxChangeArguments { number, dead, common } = arguments;
    common.run(async move |client, _| {
        let numbers = if dead {
            let page = PageArguments { limit: 1, all: true, after: None };
            let query = [("dead", Some("true".to_owned()))];
            let list = PagedList::fetch(client, "/v1/outbox", "notices", query, &page).await?;
            let notifications: Vec<NotificationRow> = list.items()?;
            notifications.into_iter().map(|notification| notification.number).collect()
        } else {
            number
        };
        if numbers.is_empty() {
            message("no notifications were given up");
        }
        for number in numbers {
            let path = format!("/v1/outbox/{}{action}", path_segment(&number));
            client.send(&ApiRequest::new(method.clone(), path)).await?;
            message(&format!("{done} {number}"));
        }
        Ok(())
    })
}
