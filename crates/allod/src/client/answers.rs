//! The server's answers, reduced to what the tables show, and lists that come in pages. Unknown members are ignored.

use std::collections::{BTreeMap, HashMap};

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::client::{Client, with_query};
use crate::error::{CommandError, Result};
use crate::output::table::Table;
use crate::output::{OutputFormat, format, json, message};

/// Parses an answer that a table shows.
pub fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body)
        .context("unexpected answer from the server, perhaps of another version; `--output json` prints it")
        .map_err(CommandError::Failed)
}

#[derive(Debug, Deserialize)]
pub struct PoolRow {
    pub name: String,
    pub generation: u64,
    pub kind: String,
    pub ranges: Vec<String>,
    pub exclude: Vec<String>,
    pub manual: Vec<String>,
    pub draining: Vec<String>,
    pub strategy: String,
    pub keep_edges: bool,
    pub quarantine: f64,
    pub lease: Option<f64>,
    pub reap: bool,
    #[serde(default)]
    pub authority: Option<String>,
    pub labels: BTreeMap<String, String>,
    pub usage: Option<PoolUsage>,
}

#[derive(Debug, Deserialize)]
pub struct PoolUsage {
    pub size: u128,
    pub claims: u64,
    pub held: u128,
    pub expired_claims: u64,
    pub quarantined: u128,
    pub excluded: u128,
    pub draining: u128,
    pub draining_held: u128,
    pub manual_free: u128,
    pub free: u128,
    pub outside_held: u128,
}

impl PoolUsage {
    /// How many values are not available, and how many there are without excluded ones. A pool is full when they are equal.
    pub fn fill(&self) -> (u128, u128) {
        let out = self.held.saturating_add(self.quarantined);
        (out, out.saturating_add(self.free).saturating_add(self.manual_free))
    }
}

#[derive(Debug, Deserialize)]
pub struct ClaimRow {
    pub pool: String,
    pub key: String,
    pub owner: String,
    pub value: Value,
    #[serde(default)]
    pub values: Vec<Value>,
    #[serde(default)]
    pub ranges: Vec<String>,
    pub version: u64,
    pub expires: Option<String>,
    pub expired: bool,
    pub until: Option<String>,
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub authority: Option<String>,
    #[serde(default)]
    pub reference: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub attempts: Option<u64>,
    #[serde(default)]
    pub since: Option<String>,
    #[serde(default)]
    pub next_attempt: Option<String>,
}

impl ClaimRow {
    /// Its values, as ranges if there are many.
    pub fn held(&self) -> String {
        if self.value.is_null() {
            return "-".into();
        }
        values_text(&self.ranges, &self.values).unwrap_or_else(|| text(&self.value))
    }

    /// Whether the claim has a value and keeps it.
    pub fn is_settled(&self) -> bool {
        matches!(&*self.state, "" | "held" | "quarantined")
    }

    /// When the lease ends, or the quarantine; or what the authority has to do.
    pub fn until(&self) -> String {
        if !self.is_settled() {
            return self.state.clone();
        }
        match (&self.until, &self.expires) {
            (Some(until), _) => format!("quarantined until {}", format::time(until)),
            (None, Some(expires)) if self.expired => format!("expired {}", format::time(expires)),
            (None, expires) => format::time_or(expires.as_deref(), "never"),
        }
    }
}

pub fn claims_table<'a>(claims: impl IntoIterator<Item = &'a ClaimRow>) -> Table {
    let mut table =
        Table::new(&["POOL", "KEY", "VALUE", "OWNER", "VERSION", "EXPIRES"]).right(&["VERSION"]);
    for claim in claims {
        let ClaimRow { pool, key, owner, version, .. } = claim;
        let (pool, key, owner) = (pool.clone(), key.clone(), owner.clone());
        table.row([pool, key, claim.held(), owner, version.to_string(), claim.until()]);
    }
    table
}

/// Several values as ranges or each; `None` if there are none.
pub fn values_text(ranges: &[String], values: &[Value]) -> Option<String> {
    match (ranges, values) {
        ([], []) => None,
        ([], values) => Some(values.iter().map(text).collect::<Vec<_>>().join(", ")),
        (ranges, _) => Some(ranges.join(", ")),
    }
}

/// A value without the quotes of JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The flags that limit a list.
#[derive(Debug, Clone, Args)]
pub struct PageArguments {
    /// Maximum number of items
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: u64,

    /// List all items
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,

    /// Continue after this cursor: the `next` of the previous JSON output
    #[arg(long, value_name = "CURSOR", hide_short_help = true)]
    pub after: Option<String>,
}

/// A list assembled from the server's pages, with the JSON of its items unchanged.
#[derive(Debug)]
pub struct PagedList {
    member: &'static str,
    items: Vec<Box<RawValue>>,
    next: Option<String>,
}

const PAGE_MAX: u64 = 1000;

impl PagedList {
    /// Fetches pages until the limit is reached. `member` is the name of the list in the answer.
    pub async fn fetch(
        client: &Client,
        path: &str,
        member: &'static str,
        query: impl IntoIterator<Item = (&'static str, Option<String>)>,
        page: &PageArguments,
    ) -> Result<PagedList> {
        let query = query.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let query: Vec<(&str, String)> = query.collect();
        let mut list = PagedList { member, items: Vec::new(), next: page.after.clone() };
        loop {
            let left = page.limit.saturating_sub(list.items.len() as u64);
            let left = if page.all { PAGE_MAX } else { left.min(PAGE_MAX) };
            let after = list.next.iter().map(|next| ("after", next.clone()));
            let pairs = query.iter().cloned().chain([("limit", left.to_string())]).chain(after);
            let reply = client.get(with_query(path, pairs)).await?;
            list.add(&reply.body)?;
            if list.next.is_none() || (!page.all && list.items.len() as u64 >= page.limit) {
                return Ok(list);
            }
        }
    }

    fn add(&mut self, body: &Bytes) -> Result<()> {
        let mut page: HashMap<String, Box<RawValue>> = parse(body)?;
        let items = page.remove(self.member).map(|raw| serde_json::from_str(raw.get()));
        let next = page.remove("next").map(|raw| serde_json::from_str(raw.get()));
        let items: Vec<Box<RawValue>> = items.transpose().ok().flatten().unwrap_or_default();
        self.items.extend(items);
        self.next = next.transpose().ok().flatten().flatten();
        Ok(())
    }

    pub fn items<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        let items = self.items.iter().map(|raw| serde_json::from_str(raw.get()));
        let items: Result<Vec<T>, _> = items.collect();
        items.context("unexpected answer from the server").map_err(CommandError::Failed)
    }

    /// The list as one page.
    fn json(&self) -> String {
        let items: Vec<&str> = self.items.iter().map(|raw| raw.get()).collect();
        let next = serde_json::json!(self.next);
        format!("{{\"{}\":[{}],\"next\":{next}}}", self.member, items.join(","))
    }

    /// Prints the list, and a message if there are more items.
    pub fn show<T: DeserializeOwned>(
        &self,
        output: OutputFormat,
        none: &str,
        table: impl FnOnce(&[T]) -> Table,
    ) -> Result<()> {
        if output == OutputFormat::Json {
            return json::print(self.json().as_bytes());
        }
        let items = self.items()?;
        if items.is_empty() {
            message(none);
        } else {
            table(&items).print()?;
        }
        if self.next.is_some() {
            message(&format!("more than {} items; --all lists all", items.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_joined_without_changing_the_items() {
        let mut list = PagedList { member: "pools", items: Vec::new(), next: None };
        list.add(
            &r#"{"pools":[{"b":1,"a":340282366920938463463374607431768211455}],"next":"x"}"#.into(),
        )
        .unwrap();
        assert_eq!(list.next.as_deref(), Some("x"));
        list.add(&r#"{"pools":[{}],"next":null}"#.into()).unwrap();
        let wanted =
            r#"{"pools":[{"b":1,"a":340282366920938463463374607431768211455},{}],"next":null}"#;
        assert_eq!(list.json(), wanted);
    }

    #[test]
    fn a_pool_is_full_when_no_value_is_available() {
        let usage: PoolUsage = serde_json::from_str(
            r#"{"size":10,"claims":1,"held":2,"expired_claims":0,"quarantined":1,"excluded":3,"draining":0,
                "draining_held":0,"manual_free":1,"free":3,"outside_held":0}"#,
        )
        .unwrap();
        assert_eq!(usage.fill(), (3, 7));
    }
}
