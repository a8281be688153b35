//! `allod status`: shows the status of the server, once or continuously.

mod live;

use std::time::Duration;

use clap::Args;
use serde::Deserialize;

use crate::connection::ClientArguments;
use crate::error::Result;
use crate::output::table::field_lines;
use crate::output::{format, print};

#[derive(Debug, Args)]
pub struct StatusArguments {
    /// Repeat, with rates: a screen on a terminal, a line for each interval otherwise
    #[arg(long)]
    live: bool,

    /// Interval between updates
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "live", value_parser = format::duration)]
    interval: Duration,

    /// Stop after this many updates
    #[arg(long, value_name = "N", requires = "live", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    #[command(flatten)]
    common: ClientArguments,
}

#[derive(Debug, Clone, Deserialize)]
pub struct StatusAnswer {
    version: String,
    ready: bool,
    degraded: Option<String>,
    position: u64,
    hash: String,
    epoch: u64,
    now: String,
    uptime_ms: u64,
    clock: ClockAgreement,
    queue: QueueStatus,
    checkpoint_position: u64,
    checkpoint_at: Option<String>,
    counters: StatusCounters,
    last_append_ms: f64,
    last_batch_commands: u64,
    journal: JournalStatus,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct ClockAgreement {
    off_ms: i64,
    jumps: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct QueueStatus {
    commands: u64,
    commands_max: u64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct StatusCounters {
    commands: u64,
    records: u64,
    bytes: u64,
    conflicts: u64,
    checkpoints: u64,
}

#[derive(Debug, Clone, Deserialize)]
struct JournalStatus {
    name: String,
    durable: bool,
    replicated: bool,
    note: Option<String>,
}

pub fn run(arguments: StatusArguments) -> Result<()> {
    let StatusArguments { live, interval, count, common } = arguments;
    common.run(async move |client, output| {
        if live {
            return live::run(client, output, interval, count).await;
        }
        let server = client.server.to_string();
        let show = |status: StatusAnswer| print(&describe(&status, &server));
        client.get("/v1/status").await?.show(output, show)
    })
}

impl StatusAnswer {
    /// The state, with the reason if degraded.
    fn state(&self) -> String {
        match (self.ready, &self.degraded) {
            (_, Some(why)) => format!("degraded: {why}"),
            (true, None) => "ready".into(),
            (false, None) => "starting: the journal is being replayed".into(),
        }
    }

    /// The newest checkpoint. A start replays the positions after it.
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

impl ClockAgreement {
    /// Empty while the machine's clock agrees with the server's time.
    fn problem(self) -> String {
        let off = format::short_duration(Duration::from_millis(self.off_ms.unsigned_abs()));
        match self.off_ms {
            0 => String::new(),
            1.. => format!("the machine's clock is {off} ahead, {} jumps", self.jumps),
            _ => format!("the machine's clock is {off} behind, {} jumps", self.jumps),
        }
    }
}

impl JournalStatus {
    fn guarantee(&self) -> &'static str {
        match (self.durable, self.replicated) {
            (true, true) => "durable, replicated",
            (true, false) => "durable on one machine",
            (false, true) => "replicated, not durable",
            (false, false) => "not durable",
        }
    }
}

fn describe(status: &StatusAnswer, server: &str) -> String {
    let StatusCounters { commands, records, bytes, conflicts, checkpoints } = status.counters;
    let conflicts = if conflicts > 0 { conflicts.to_string() } else { String::new() };
    field_lines([
        ("server", format!("{server}, version {}", status.version)),
        ("state", status.state()),
        ("uptime", format::short_duration(Duration::from_millis(status.uptime_ms))),
        ("time", format::time(&status.now)),
        ("clock", status.clock.problem()),
        ("journal", format!("{}, {}", status.journal.name, status.journal.guarantee())),
        ("note", status.journal.note.clone().unwrap_or_default()),
        ("position", format!("{}, epoch {}", status.position, status.epoch)),
        ("hash", status.hash.clone()),
        ("checkpoint", status.since_checkpoint()),
        ("queue", format!("{} of {} commands", status.queue.commands, status.queue.commands_max)),
        (
            "commands",
            format!("{commands} since start, {} in the last batch", status.last_batch_commands),
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

    pub(super) fn status(changes: &str) -> StatusAnswer {
        let mut value: serde_json::Value = serde_json::from_str(
            r#"{"version":"0.1.0","ready":true,"degraded":null,"position":120,"hash":"ab12","epoch":2,
            "now":"2026-11-15T10:00:10.000Z","uptime_ms":7510000,"clock":{"off_ms":0,"jumps":0},"queue":{"commands":3,"commands_max":16384},
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
    fn a_status_has_one_line_for_each_fact() {
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
commands     50 since start, 4 in the last batch
records      20 since start, 2.0 KiB
last append  0.8 ms
checkpoints  1 since start
";
        assert_eq!(describe(&status("{}"), "http://h"), wanted);
        let full = status(r#"{"degraded":"no room","checkpoint_at":null}"#);
        let text = describe(&full, "http://h");
        assert!(text.contains("state        degraded: no room\n") && text.contains("none yet\n"));
        assert!(status(r#"{"ready":false}"#).state().starts_with("starting"));
    }
}
