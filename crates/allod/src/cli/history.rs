//! `allod history`: what happened, from the journal.

use clap::Args;

use super::answer::{List, Much};
use super::change::{Change, table};
use super::{Shown, format};
use crate::failed::Failed;

pub const EXAMPLES: &str = "\
Examples:
  allod history --pool vlans --value 100        everybody who ever had it
  allod history --owner tenant-7 --since 2d     what an owner did in the last two days
  allod history --consumer UUID                 what a consumer held, and when
  allod history --since 17 --oldest-first       from a position on
  allod history --until 2026-11-15T10:00:00Z    what was known at a time

Since and until take a duration (2h is two hours ago), a day, a time, or a position.";

#[derive(Debug, Args)]
pub struct HistoryArguments {
    /// Only this pool
    #[arg(long)]
    pool: Option<String>,

    /// Only this value of the pool
    #[arg(long, requires = "pool")]
    value: Option<String>,

    /// Only what was held under this key
    #[arg(long)]
    key: Option<String>,

    /// Only this owner
    #[arg(long)]
    owner: Option<String>,

    /// Only this provider, and what is held of it: its uuid
    #[arg(long, value_name = "UUID")]
    provider: Option<String>,

    /// Only what this consumer holds: its uuid
    #[arg(long, value_name = "UUID")]
    consumer: Option<String>,

    /// Not before: 2h (ago), a time, or a position
    #[arg(long, value_name = "WHEN", value_parser = format::moment)]
    since: Option<String>,

    /// Not after: 2h (ago), a time, or a position
    #[arg(long, value_name = "WHEN", value_parser = format::moment)]
    until: Option<String>,

    /// The oldest first, instead of the newest
    #[arg(long)]
    oldest_first: bool,

    #[command(flatten)]
    much: Much,

    #[command(flatten)]
    shown: Shown,
}

pub fn run(arguments: HistoryArguments) -> Result<(), Failed> {
    let HistoryArguments {
        pool,
        value,
        key,
        owner,
        provider,
        consumer,
        since,
        until,
        oldest_first,
        much,
        shown,
    } = arguments;
    shown.run(async move |client, form| {
        let order = oldest_first.then(|| "oldest_first".to_owned());
        let query = [
            ("pool", pool),
            ("value", value),
            ("key", key),
            ("owner", owner),
            ("provider", provider),
            ("consumer", consumer),
            ("since", since),
            ("until", until),
            ("order", order),
        ];
        let query: Vec<(&str, String)> =
            query.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let list = List::ask(client, "/v1/history", "changes", &query, &much).await?;
        list.show(form, "nothing happened that fits", |changes: &[Change]| table(changes))
    })
}
