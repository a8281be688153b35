//! `allod status --live`: rates, queue, journal and the fullest pools, updated at an interval.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::super::pool;
use super::StatusAnswer;
use crate::client::answers::{PoolRow, parse};
use crate::client::{Client, with_query};
use crate::error::{CommandError, Result};
use crate::output::{
    OutputFormat, format, json as json_output, message, print, style, table, until_output_closed,
};

/// How many pools are shown, and how many are searched for the fullest.
const POOLS_SHOWN: usize = 8;
const POOLS_ASKED: usize = 1000;

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Moves the cursor to the top left and clears the screen.
const CLEAR: &str = "\x1b[H\x1b[2J";

#[derive(serde::Deserialize)]
struct PoolsPage {
    pools: Vec<PoolRow>,
    next: Option<String>,
}

/// The state of the server at one moment.
struct StatusSample {
    at: Instant,
    status: StatusAnswer,
    pools: PoolsPage,
}

pub async fn run(
    client: &Client,
    output: OutputFormat,
    interval: Duration,
    count: Option<u64>,
) -> Result<()> {
    // Rates over a shorter interval are meaningless.
    let interval = interval.max(Duration::from_millis(50));
    let terminal = std::io::stdout().is_terminal() && output == OutputFormat::Table;
    let screen = terminal.then(Screen::enter);
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // If the signal cannot be handled, --count or a closed stdout still ends the command.
            std::future::pending::<()>().await;
        }
    };
    let done = tokio::select! {
        done = until_output_closed(follow(client, output, interval, count, terminal)) => done,
        () = interrupted => Ok(()),
    };
    drop(screen);
    done
}

async fn follow(
    client: &Client,
    output: OutputFormat,
    interval: Duration,
    count: Option<u64>,
    terminal: bool,
) -> Result<()> {
    let mut before: Option<StatusSample> = None;
    let mut lost = false;
    let mut samples = 0;
    loop {
        match sample(client, output).await {
            Ok((body, sample)) => {
                lost = false;
                match (output, &sample) {
                    (OutputFormat::Table, Some(sample)) if terminal => {
                        let width = table::width(true);
                        let text =
                            screen(sample, before.as_ref(), &client.server.to_string(), width);
                        print(&format!("{CLEAR}{text}"))?;
                    }
                    (OutputFormat::Table, Some(sample)) => print(&line(sample, before.as_ref()))?,
                    _ => json_output::print(&body)?,
                }
                before = sample;
            }
            // After the first sample, wait for the server to come back.
            Err(CommandError::Failed(error) | CommandError::Unavailable(error)) if samples > 0 => {
                if !lost {
                    message(&format!("{error:#}"));
                }
                lost = true;
            }
            Err(failed) => return Err(failed),
        }
        samples += 1;
        if count.is_some_and(|count| samples >= count) {
            return Ok(());
        }
        tokio::time::sleep(interval).await;
    }
}

/// The status as JSON, and parsed for a table.
async fn sample(
    client: &Client,
    output: OutputFormat,
) -> Result<(bytes::Bytes, Option<StatusSample>)> {
    let body = client.get("/v1/status").await?.body;
    if output == OutputFormat::Json {
        return Ok((body, None));
    }
    let at = Instant::now();
    let status: StatusAnswer = parse(&body)?;
    let path = with_query("/v1/pools", [("limit", POOLS_ASKED.to_string())]);
    let pools = match client.get(path).await {
        Ok(reply) => parse(&reply.body)?,
        // A server that is starting answers only status requests.
        Err(CommandError::Unavailable(_)) => PoolsPage { pools: Vec::new(), next: None },
        Err(failed) => return Err(failed),
    };
    Ok((body, Some(StatusSample { at, status, pools })))
}

/// The rate of a counter between two samples.
fn rate(
    now: &StatusSample,
    before: Option<&StatusSample>,
    count: impl Fn(&StatusAnswer) -> u64,
) -> Option<f64> {
    let before = before?;
    let seconds = now.at.duration_since(before.at).as_secs_f64();
    // `None` after a restart, when the counter is lower.
    let more = count(&now.status).checked_sub(count(&before.status))?;
    (seconds > 0.0).then(|| more as f64 / seconds)
}

fn per_second(rate: Option<f64>) -> String {
    rate.map_or("-".into(), |rate| format!("{rate:.0}/s"))
}

/// The positions and the time since the newest checkpoint.
fn checkpoint_age(status: &StatusAnswer) -> String {
    let behind = status.position.saturating_sub(status.checkpoint_position);
    match &status.checkpoint_at {
        Some(at) => format!("{behind} positions since {}", format::time(at)),
        None => format!("{behind} positions, no checkpoint yet"),
    }
}

/// The fullest pools.
fn fullest(pools: &PoolsPage) -> Vec<&PoolRow> {
    let share = |pool: &PoolRow| {
        let (out, whole) = pool.usage.as_ref().map_or((0, 0), |usage| usage.fill());
        out as f64 / whole.max(1) as f64
    };
    let mut fullest: Vec<&PoolRow> = pools.pools.iter().collect();
    fullest.sort_by(|a, b| share(b).total_cmp(&share(a)).then_with(|| a.name.cmp(&b.name)));
    fullest.truncate(POOLS_SHOWN);
    fullest
}

/// The text for a terminal.
fn screen(
    sample: &StatusSample,
    before: Option<&StatusSample>,
    server: &str,
    width: Option<usize>,
) -> String {
    let status = &sample.status;
    let commands = rate(sample, before, |status| status.counters.commands);
    let records = rate(sample, before, |status| status.counters.records);
    let bytes = rate(sample, before, |status| status.counters.bytes);
    let bytes = bytes.map_or("-".into(), |rate| format!("{}/s", format::bytes(rate)));
    let queue = &status.queue;
    let (waiting, room) = (u128::from(queue.commands), u128::from(queue.commands_max));
    let mut text = table::field_lines([
        (
            "server",
            format!(
                "{server}, version {}, up {}",
                status.version,
                format::short_duration(Duration::from_millis(status.uptime_ms))
            ),
        ),
        ("state", status.state()),
        ("position", format!("{}, epoch {}", status.position, status.epoch)),
        (
            "commands",
            format!(
                "{:>10}   {} in the last batch",
                per_second(commands),
                status.last_batch_commands
            ),
        ),
        ("records", format!("{:>10}   {bytes}", per_second(records))),
        (
            "queue",
            format!(
                "{} {} of {}",
                format::bar(waiting, room, 20),
                queue.commands,
                queue.commands_max
            ),
        ),
        ("last append", format!("{:.1} ms", status.last_append_ms)),
        ("checkpoint", checkpoint_age(status)),
        ("journal", format!("{}, {}", status.journal.name, status.journal.guarantee())),
    ]);
    let fullest = fullest(&sample.pools);
    if !fullest.is_empty() {
        let coloured = style::use_colour(true);
        text.push('\n');
        text.push_str(&pool::table(fullest.iter().copied()).text(width, coloured));
        let hidden = sample.pools.pools.len() - fullest.len();
        if sample.pools.next.is_some() {
            text.push_str(&format!("the fullest of the first {POOLS_ASKED} pools\n"));
        } else if hidden > 0 {
            text.push_str(&format!("{hidden} more pools are less full\n"));
        }
    }
    text
}

/// One line, for output that is not a terminal.
fn line(sample: &StatusSample, before: Option<&StatusSample>) -> String {
    let status = &sample.status;
    let fullest = fullest(&sample.pools);
    let fullest = fullest.first().and_then(|pool| Some((pool, pool.usage.as_ref()?.fill())));
    let fullest = fullest.map_or(String::new(), |(pool, (out, whole))| {
        format!("  fullest {} {}", style::escape_controls(&pool.name), format::percent(out, whole))
    });
    let word = status.state();
    format!(
        "{}  {}  position {}  commands {}  records {}  bytes {}  queue {}  append {:.1} ms  since checkpoint {}{fullest}\n",
        format::time(&status.now),
        word.split(':').next().unwrap_or(&word),
        status.position,
        per_second(rate(sample, before, |status| status.counters.commands)),
        per_second(rate(sample, before, |status| status.counters.records)),
        rate(sample, before, |status| status.counters.bytes)
            .map_or("-".into(), |rate| format!("{}/s", format::bytes(rate))),
        status.queue.commands,
        status.last_append_ms,
        status.position.saturating_sub(status.checkpoint_position),
    )
}

/// Hides the cursor until dropped.
struct Screen;

impl Screen {
    fn enter() -> Screen {
        drop(std::io::stdout().write_all(HIDE_CURSOR.as_bytes()));
        Screen
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = std::io::stdout();
        drop(out.write_all(SHOW_CURSOR.as_bytes()).and_then(|()| out.flush()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::status;
    use super::*;

    fn pools(text: &str) -> PoolsPage {
        let usage = |held: u32| {
            serde_json::json!({"size":100,"claims":held,"held":held,"expired_claims":0,"quarantined":0,"excluded":0,
                "draining":0,"draining_held":0,"manual_free":0,"free":100 - held,"outside_held":0})
        };
        let pool = |(name, held): (&str, u32)| -> PoolRow {
            serde_json::from_value(serde_json::json!({"name":name,"generation":1,"kind":"id32","ranges":["1-100"],
                "exclude":[],"manual":[],"draining":[],"strategy":"lowest","keep_edges":false,"quarantine":0,
                "lease":null,"reap":false,"labels":{},"usage":usage(held)}))
            .unwrap()
        };
        let pools = text.split(' ').filter_map(|word| word.split_once('='));
        let pools = pools.map(|(name, held)| pool((name, held.parse().unwrap()))).collect();
        PoolsPage { pools, next: None }
    }

    #[test]
    fn rates_are_computed_from_two_samples() {
        let began = Instant::now();
        let before = StatusSample { at: began, status: status("{}"), pools: pools("") };
        let counters = r#"{"counters":{"commands":250,"records":120,"bytes":22528,"conflicts":0,"checkpoints":1}}"#;
        let now = StatusSample {
            at: began + Duration::from_secs(2),
            status: status(counters),
            pools: pools("a=10 b=90 c=50"),
        };
        let wanted = "2026-11-15T10:00:10Z  ready  position 120  commands 100/s  records 50/s  bytes 10.0 KiB/s  queue 3  append 0.8 ms  since checkpoint 20  fullest b 90.0%\n";
        assert_eq!(line(&now, Some(&before)), wanted);
        assert!(line(&now, None).contains("commands -  records -  bytes -"));
        // After a restart, the counters are lower.
        let wanted = "commands -";
        assert!(
            line(&before, Some(&StatusSample { at: began - Duration::from_secs(1), ..now }))
                .contains(wanted)
        );
    }

    #[test]
    fn the_screen_lists_the_fullest_pools_first() {
        let many = (0..12).map(|n| format!("p{n}={}", n * 5)).collect::<Vec<_>>().join(" ");
        let sample = StatusSample { at: Instant::now(), status: status("{}"), pools: pools(&many) };
        let text = screen(&sample, None, "http://h", None);
        let first =
            text.lines().find(|line| line.starts_with('p') && line.contains("id32")).unwrap();
        assert!(first.starts_with("p11 "), "{text}");
        assert!(text.contains("queue        █░░░░░░░░░░░░░░░░░░░ 3 of 16384\n"), "{text}");
        assert!(text.ends_with("4 more pools are less full\n"), "{text}");
    }
}
