//! `allod status`: how the server is doing, once or as it runs.

mod live;

use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use serde::Deserialize;

use super::table::facts;
use super::{Form, Shown, format, json as json_form, print, read};
use crate::client::Client;
use crate::failed::Failed;

#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Go on, with rates: drawn anew in place on a terminal, a line for each interval otherwise
    #[arg(long)]
    live: bool,

    /// How often to look
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "live", value_parser = format::duration)]
    interval: Duration,

    /// Stop after this many looks
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    #[command(flatten)]
    shown: Shown,
}

/// How the server is doing.
#[derive(Debug, Clone, Deserialize)]
pub struct Status {
    version: String,
    ready: bool,
    degraded: Option<String>,
    position: u64,
    hash: String,
    epoch: u64,
    now: String,
    uptime_ms: u64,
    queue: Queue,
    checkpoint_position: u64,
    checkpoint_at: Option<String>,
    counters: Counters,
    last_append_ms: f64,
    last_batch_commands: u64,
    journal: Journal,
}

#[derive(Debug, Clone, Deserialize)]
struct Queue {
    commands: u64,
    commands_max: u64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Counters {
    commands: u64,
    records: u64,
    bytes: u64,
    conflicts: u64,
    checkpoints: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct Journal {
    name: String,
    durable: bool,
    replicated: bool,
    #[serde(default)]
    note: Option<String>,
}

pub fn run(arguments: StatusArguments) -> Result<(), Failed> {
    let StatusArguments { live, interval, count, shown } = arguments;
    shown.run(async move |client, form| {
        if live {
            return live::run(client, form, interval, count).await;
        }
        let body = ask(client).await?;
        if form == Form::Json {
            return json_form::print(&body);
        }
        print(&described(&read(&body)?, &client.server.to_string()))
    })
}

async fn ask(client: &Client) -> Result<Bytes, Failed> {
    Ok(client.get("/v1/status").await?.body)
}

impl Status {
    /// In a word, and why.
    fn word(&self) -> String {
        match (self.ready, &self.degraded) {
            (_, Some(why)) => format!("degraded: {why}"),
            (true, None) => "ready".into(),
            (false, None) => "starting: the journal is being replayed".into(),
        }
    }

    /// How much the newest checkpoint lacks, which is what a start would have to replay.
    fn since_checkpoint(&self) -> String {
        let behind = self.position.saturating_sub(self.checkpoint_position);
        match &self.checkpoint_at {
            Some(at) => format!(
                "at {} ({behind} positions ago), from {}",
                self.checkpoint_position,
                format::time(at)
            ),
            None => "none yet".into(),
        }
    }
}

impl Journal {
    fn promise(&self) -> &'static str {
        match (self.durable, self.replicated) {
            (true, true) => "durable, replicated",
            (true, false) => "durable on one machine",
            (false, true) => "replicated, not durable",
            (false, false) => "not durable",
        }
    }
}

fn described(status: &Status, server: &str) -> String {
    let Counters { commands, records, bytes, conflicts, checkpoints } = status.counters;
    let conflicts = if conflicts > 0 { conflicts.to_string() } else { String::new() };
    facts([
        ("server", format!("{server}, version {}", status.version)),
        ("state", status.word()),
        ("uptime", format::ago(Duration::from_millis(status.uptime_ms))),
        ("time", format::time(&status.now)),
        ("journal", format!("{}, {}", status.journal.name, status.journal.promise())),
        ("note", status.journal.note.clone().unwrap_or_default()),
        ("position", format!("{}, epoch {}", status.position, status.epoch)),
        ("hash", status.hash.clone()),
        ("checkpoint", status.since_checkpoint()),
        ("queue", format!("{} of {} commands", status.queue.commands, status.queue.commands_max)),
        (
            "commands",
            format!("{commands} since start, the last {} together", status.last_batch_commands),
        ),
        ("records", format!("{records} since start, {}", format::bytes(bytes as f64))),
        ("last append", format!("{:.1} ms", status.last_append_ms)),
        ("conflicts", conflicts),
        ("checkpoints", format!("{checkpoints} since start")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn sample(changes: &str) -> Status {
        let mut value: serde_json::Value = serde_json::from_str(
            r#"{"version":"0.1.0","ready":true,"degraded":null,"position":120,"hash":"ab12","epoch":2,
            "now":"2026-11-15T10:00:10.000Z","uptime_ms":7510000,"queue":{"commands":3,"commands_max":16384},
            "checkpoint_position":100,"checkpoint_at":"2026-11-15T09:00:00.000Z",
            "counters":{"commands":50,"records":20,"bytes":2048,"conflicts":0,"checkpoints":1},
            "last_append_ms":0.8123,"last_batch_commands":4,
            "journal":{"name":"embedded","durable":true,"replicated":false}}"#,
        )
        .unwrap();
        let changes: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(changes).unwrap();
        value.as_object_mut().unwrap().extend(changes);
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_status_is_told_line_by_line() {
        let wanted = "\
server       http://h, version 0.1.0
state        ready
uptime       2h 5m
time         2026-11-15T10:00:10Z
journal      embedded, durable on one machine
position     120, epoch 2
hash         ab12
checkpoint   at 100 (20 positions ago), from 2026-11-15T09:00:00Z
queue        3 of 16384 commands
commands     50 since start, the last 4 together
records      20 since start, 2.0 KiB
last append  0.8 ms
checkpoints  1 since start
";
        assert_eq!(described(&sample("{}"), "http://h"), wanted);
        let full = sample(r#"{"degraded":"no room","checkpoint_at":null}"#);
        let told = described(&full, "http://h");
        assert!(told.contains("state        degraded: no room\n") && told.contains("none yet\n"));
        assert!(sample(r#"{"ready":false}"#).word().starts_with("starting"));
    }
}
