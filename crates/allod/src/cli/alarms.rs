//! `allod alarms`: what is wrong with pools and services, and forgetting what is over.

use clap::{Args, Subcommand};
use http::Method;
use serde::Deserialize;
use serde_json::json;

use super::answer::{List, Much};
use super::table::{Side, Table};
use super::{Shown, format, say};
use crate::client::Ask;
use crate::failed::Failed;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AlarmsArguments {
    #[command(subcommand)]
    command: Option<AlarmsCommand>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Subcommand)]
enum AlarmsCommand {
    /// List alarms, which is also done without a word
    #[command(visible_alias = "ls")]
    List(ListArguments),
    /// Forget an alarm that is over, or all of them
    Purge(PurgeArguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only those of pools and services whose name starts with this
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,

    /// Only those of this kind, such as exhausted, low or undelivered
    #[arg(long)]
    kind: Option<String>,

    /// Also those that are over
    #[arg(long)]
    over: bool,

    #[command(flatten)]
    much: Much,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Args)]
struct PurgeArguments {
    /// The pool, or the service
    #[arg(required_unless_present = "over")]
    object: Option<String>,
    /// The kind of the alarm
    #[arg(required_unless_present = "over")]
    kind: Option<String>,
    /// All that are over
    #[arg(long, conflicts_with_all = ["object", "kind"])]
    over: bool,
    #[command(flatten)]
    shown: Shown,
}

#[derive(Debug, Deserialize)]
struct Alarm {
    object: String,
    kind: String,
    of: String,
    raised: String,
    cleared: Option<String>,
}

pub fn run(arguments: AlarmsArguments) -> Result<(), Failed> {
    match arguments.command {
        None => list(arguments.list),
        Some(AlarmsCommand::List(arguments)) => list(arguments),
        Some(AlarmsCommand::Purge(arguments)) => purge(arguments),
    }
}

fn list(arguments: ListArguments) -> Result<(), Failed> {
    let ListArguments { prefix, kind, over, much, shown } = arguments;
    shown.run(async move |client, form| {
        let raised = (!over).then(|| "true".to_owned());
        let query = [("object_prefix", prefix), ("kind", kind), ("raised", raised)];
        let query: Vec<(&str, String)> =
            query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let list = List::ask(client, "/v1/alarms", "alarms", &query, &much).await?;
        let none = if over { "there are no alarms" } else { "no alarm is raised" };
        list.show(form, none, |alarms: &[Alarm]| table(alarms))
    })
}

fn table(alarms: &[Alarm]) -> Table {
    let mut table = Table::new(&[
        ("OBJECT", Side::Left),
        ("OF", Side::Left),
        ("KIND", Side::Left),
        ("RAISED", Side::Left),
        ("CLEARED", Side::Left),
    ]);
    for alarm in alarms {
        let Alarm { object, kind, of, raised, cleared } = alarm;
        let cleared = cleared.as_deref().map_or(String::new(), format::time);
        let (object, of, kind) = (object.clone(), of.clone(), kind.clone());
        table.row([object, of, kind, format::time(raised), cleared]);
    }
    table
}

fn purge(arguments: PurgeArguments) -> Result<(), Failed> {
    let PurgeArguments { object, kind, over: _, shown } = arguments;
    shown.run(async move |client, _| {
        let named: Vec<(String, String)> = match object.zip(kind) {
            Some(one) => vec![one],
            None => {
                let much = Much { limit: 1, all: true, after: None };
                let list = List::ask(client, "/v1/alarms", "alarms", &[], &much).await?;
                let alarms: Vec<Alarm> = list.items()?;
                let over = alarms.into_iter().filter(|alarm| alarm.cleared.is_some());
                over.map(|alarm| (alarm.object, alarm.kind)).collect()
            }
        };
        if named.is_empty() {
            say("no alarm is over");
        }
        for (object, kind) in named {
            let ask = Ask::new(Method::POST, "/v1/alarms/purge");
            client.ask(&ask.json(&json!({ "object": object, "kind": kind }))?).await?;
            say(&format!("purged {kind} of {object}"));
        }
        Ok(())
    })
}
