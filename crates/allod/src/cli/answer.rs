//! What the server answers, as far as the tables show it. More may be in an answer; it is passed over.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::table::{Side, Table};
use super::{Form, format, json, read, say};
use crate::client::{Client, with_query};
use crate::failed::Failed;

#[derive(Debug, Deserialize)]
pub struct Pool {
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
    pub labels: BTreeMap<String, String>,
    pub usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
pub struct Usage {
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

impl Usage {
    /// What is out, and what could be: a pool is full when nothing is left to give.
    pub fn fill(&self) -> (u128, u128) {
        let out = self.held.saturating_add(self.quarantined);
        (out, out.saturating_add(self.free).saturating_add(self.manual_free))
    }
}

#[derive(Debug, Deserialize)]
pub struct Claim {
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
}

impl Claim {
    /// Its values, as short as they can be said.
    pub fn held(&self) -> String {
        if !self.ranges.is_empty() {
            return self.ranges.join(", ");
        }
        let all: Vec<String> = self.values.iter().map(text).collect();
        if all.is_empty() { text(&self.value) } else { all.join(", ") }
    }

    /// Until when it is held, or kept.
    pub fn until(&self) -> String {
        match (&self.until, &self.expires) {
            (Some(until), _) => format!("quarantined until {}", format::time(until)),
            (None, Some(expires)) if self.expired => format!("expired {}", format::time(expires)),
            (None, expires) => format::time_or(expires.as_deref(), "never"),
        }
    }
}

/// A table of claims.
pub fn claims_table<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Table {
    let mut table = Table::new(&[
        ("POOL", Side::Left),
        ("KEY", Side::Left),
        ("VALUE", Side::Left),
        ("OWNER", Side::Left),
        ("VERSION", Side::Right),
        ("EXPIRES", Side::Left),
    ]);
    for claim in claims {
        let Claim { pool, key, owner, version, .. } = claim;
        let (pool, key, owner) = (pool.clone(), key.clone(), owner.clone());
        table.row([pool, key, claim.held(), owner, version.to_string(), claim.until()]);
    }
    table
}

/// A value as it would be typed.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// How much of a list is wanted.
#[derive(Debug, Clone, Args)]
pub struct Much {
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: u64,

    /// All of them, however many
    #[arg(long, conflicts_with = "limit")]
    pub all: bool,

    /// Go on after here: the `next` of the JSON before
    #[arg(long, value_name = "CURSOR", hide_short_help = true)]
    pub after: Option<String>,
}

/// A list put together from the server's pages, its members as they came.
#[derive(Debug)]
pub struct List {
    member: &'static str,
    items: Vec<Box<RawValue>>,
    next: Option<String>,
}

const PAGE_MAX: u64 = 1000;

impl List {
    /// Asks for pages until there is enough. `member` is what the list is called in the answer.
    pub async fn ask(
        client: &Client,
        path: &str,
        member: &'static str,
        query: &[(&'static str, String)],
        much: &Much,
    ) -> Result<List, Failed> {
        let mut list = List { member, items: Vec::new(), next: much.after.clone() };
        loop {
            let left = much.limit.saturating_sub(list.items.len() as u64);
            let left = if much.all { PAGE_MAX } else { left.min(PAGE_MAX) };
            let after = list.next.iter().map(|next| ("after", next.clone()));
            let pairs = query.iter().cloned().chain([("limit", left.to_string())]).chain(after);
            let reply = client.get(with_query(path, pairs)).await?;
            list.add(&reply.body)?;
            if list.next.is_none() || (!much.all && list.items.len() as u64 >= much.limit) {
                return Ok(list);
            }
        }
    }

    fn add(&mut self, body: &Bytes) -> Result<(), Failed> {
        let mut page: HashMap<String, Box<RawValue>> = read(body)?;
        let items = page.remove(self.member).map(|raw| serde_json::from_str(raw.get()));
        let next = page.remove("next").map(|raw| serde_json::from_str(raw.get()));
        let items: Vec<Box<RawValue>> = items.transpose().ok().flatten().unwrap_or_default();
        self.items.extend(items);
        self.next = next.transpose().ok().flatten().flatten();
        Ok(())
    }

    /// Its members, understood.
    pub fn items<T: DeserializeOwned>(&self) -> Result<Vec<T>, Failed> {
        let items = self.items.iter().map(|raw| serde_json::from_str(raw.get()));
        let items: Result<Vec<T>, _> = items.collect();
        items.map_err(|error| {
            Failed::Running(
                anyhow::Error::from(error).context("the server's answer is not as expected"),
            )
        })
    }

    /// In the form of one page of the server.
    fn json(&self) -> String {
        let items: Vec<&str> = self.items.iter().map(|raw| raw.get()).collect();
        let next = serde_json::json!(self.next);
        format!("{{\"{}\":[{}],\"next\":{next}}}", self.member, items.join(","))
    }

    /// Shows the list, and says whether there is more of it.
    pub fn show<T: DeserializeOwned>(
        &self,
        form: Form,
        none: &str,
        table: impl FnOnce(&[T]) -> Table,
    ) -> Result<(), Failed> {
        if form == Form::Json {
            return json::print(self.json().as_bytes());
        }
        let items = self.items()?;
        if items.is_empty() {
            say(none);
        } else {
            table(&items).print()?;
        }
        if self.next.is_some() {
            say(&format!("there are more than {}; --all shows them all", items.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_pages_is_one_page_with_the_members_as_they_came() {
        let mut list = List { member: "pools", items: Vec::new(), next: None };
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
    fn a_pool_is_full_when_nothing_is_left_to_give() {
        let usage: Usage = serde_json::from_str(
            r#"{"size":10,"claims":1,"held":2,"expired_claims":0,"quarantined":1,"excluded":3,"draining":0,
                "draining_held":0,"manual_free":1,"free":3,"outside_held":0}"#,
        )
        .unwrap();
        assert_eq!(usage.fill(), (3, 7));
    }
}
