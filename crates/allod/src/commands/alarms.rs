//! `allod alarms`: lists alarms of pools and services, and purges cleared ones.

use clap::{Args, Subcommand};
use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::client::ApiRequest;
use crate::client::answers::{PageArguments, PagedList};
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::table::Table;
use crate::output::{format, message};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AlarmsArguments {
    #[command(subcommand)]
    command: Option<AlarmsCommand>,
    #[command(flatten)]
    list: AlarmListArguments,
}

#[derive(Debug, Subcommand)]
enum AlarmsCommand {
    /// List alarms; the default when no subcommand is given
    #[command(visible_alias = "ls")]
    List(AlarmListArguments),
    /// Purge a cleared alarm, or all of them
    Purge(AlarmPurgeArguments),
}

#[derive(Debug, Args)]
struct AlarmListArguments {
    /// Only alarms of pools and services whose name starts with this
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,

    /// Only alarms of this kind, such as exhausted, low or undelivered
    #[arg(long)]
    kind: Option<String>,

    /// Include cleared alarms
    #[arg(long)]
    over: bool,

    #[command(flatten)]
    page: PageArguments,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Args)]
struct AlarmPurgeArguments {
    /// Name of the pool or service
    #[arg(required_unless_present = "over")]
    object: Option<String>,
    /// Kind of the alarm
    #[arg(required_unless_present = "over")]
    kind: Option<String>,
    /// Purge all cleared alarms
    #[arg(long, conflicts_with_all = ["object", "kind"])]
    over: bool,
    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Deserialize)]
struct AlarmRow {
    object: String,
    kind: String,
    of: String,
    raised: String,
    cleared: Option<String>,
}

pub fn run(arguments: AlarmsArguments) -> Result<()> {
    match arguments.command {
        None => list(arguments.list),
        Some(AlarmsCommand::List(arguments)) => list(arguments),
        Some(AlarmsCommand::Purge(arguments)) => purge(arguments),
    }
}

fn list(arguments: AlarmListArguments) -> Result<()> {
    let AlarmListArguments { prefix, kind, over, page, common } = arguments;
    common.run(async move |client, output| {
        let raised = (!over).then(|| "true".to_owned());
        let query = [("object_prefix", prefix), ("kind", kind), ("raised", raised)];
        let list = PagedList::fetch(client, "/v1/alarms", "alarms", query, &page).await?;
        let none = if over { "no alarms" } else { "no active alarms" };
        list.show(output, none, table)
    })
}

fn table(alarms: &[AlarmRow]) -> Table {
    let mut table = Table::new(&["OBJECT", "OF", "KIND", "RAISED", "CLEARED"]);
    for alarm in alarms {
        let AlarmRow { object, kind, of, raised, cleared } = alarm;
        let cleared = cleared.as_deref().map_or(String::new(), format::time);
        let (object, of, kind) = (object.clone(), of.clone(), kind.clone());
        table.row([object, of, kind, format::time(raised), cleared]);
    }
    table
}

fn purge(arguments: AlarmPurgeArguments) -> Result<()> {
    let AlarmPurgeArguments { object, kind, over: _, common } = arguments;
    common.run(async move |client, _| {
        let named: Vec<(String, String)> = match object.zip(kind) {
            Some(named) => vec![named],
            None => {
                let page = PageArguments { limit: 1, all: true, after: None };
                let list = PagedList::fetch(client, "/v1/alarms", "alarms", [], &page).await?;
                let alarms: Vec<AlarmRow> = list.items()?;
                let cleared = alarms.into_iter().filter(|alarm| alarm.cleared.is_some());
                cleared.map(|alarm| (alarm.object, alarm.kind)).collect()
            }
        };
        if named.is_empty() {
            message("no cleared alarms");
        }
        for (object, kind) in named {
            let request = ApiRequest::new(Method::POST, "/v1/alarms/purge");
            client.send(&request.json(&json!({ "object": object, "kind": kind }))?).await?;
            message(&format!("purged alarm {kind} of {object}"));
        }
        Ok(())
    })
}
