//! `allod history`: searches past changes.

use clap::Args;

use crate::client::answers::{PageArguments, PagedList};
use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::changes::{ChangeRow, table};
use crate::output::format;

pub const EXAMPLES: &str = "\
Examples:
  allod history --pool vlans --value 100        all past claims of a value
  allod history --owner tenant-7 --since 2d     changes of an owner in the last two days
  allod history --consumer UUID                 changes of a consumer
  allod history --since 17 --oldest-first       everything since a position
  allod history --until 2026-11-15T10:00:00Z    everything until a time

--since and --until take a duration (2h is two hours ago), a date, a time, or a position.";

#[derive(Debug, Args)]
pub struct HistoryArguments {
    /// Only changes of this pool
    #[arg(long)]
    pool: Option<String>,

    /// Only changes of this value of the pool
    #[arg(long, requires = "pool")]
    value: Option<String>,

    /// Only changes of claims with this key
    #[arg(long)]
    key: Option<String>,

    /// Only changes of claims of this owner
    #[arg(long)]
    owner: Option<String>,

    /// Only changes of this provider and its allocations
    #[arg(long, value_name = "UUID")]
    provider: Option<String>,

    /// Only changes of this consumer
    #[arg(long, value_name = "UUID")]
    consumer: Option<String>,

    /// Oldest change: 2h (ago), a date, a time, or a position
    #[arg(long, value_name = "WHEN", value_parser = format::point_in_time)]
    since: Option<String>,

    /// Newest change: 2h (ago), a date, a time, or a position
    #[arg(long, value_name = "WHEN", value_parser = format::point_in_time)]
    until: Option<String>,

    /// List the oldest changes first
    #[arg(long)]
    oldest_first: bool,

    #[command(flatten)]
    page: PageArguments,

    #[command(flatten)]
    common: ClientArguments,
}

pub fn run(arguments: HistoryArguments) -> Result<()> {
    let common = arguments.common.clone();
    common.run(async move |client, output| {
        let query = [
            ("pool", arguments.pool),
            ("value", arguments.value),
            ("key", arguments.key),
            ("owner", arguments.owner),
            ("provider", arguments.provider),
            ("consumer", arguments.consumer),
            ("since", arguments.since),
            ("until", arguments.until),
            ("order", arguments.oldest_first.then(|| "oldest_first".to_owned())),
        ];
        let page = &arguments.page;
        let list = PagedList::fetch(client, "/v1/history", "changes", query, page).await?;
        list.show(output, "no matching changes", |changes: &[ChangeRow]| table(changes))
    })
}
