//! `allod status --live`: rates, queue, journal and the fullest pools, as they change.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::super::answer::Pool;
use super::super::{
    Form, format, json as json_form, pool, print, read, say, style, table, while_read,
};
use super::{Status, ask};
use crate::client::{Client, with_query};
use crate::failed::Failed;

/// How many pools are shown, and how many are looked through for the fullest.
const POOLS_SHOWN: usize = 8;
const POOLS_ASKED: usize = 1000;

const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// To the top left, and nothing below.
const ANEW: &str = "\x1b[H\x1b[2J";

#[derive(serde::Deserialize)]
struct Pools {
    pools: Vec<Pool>,
    next: Option<String>,
}

/// The server at one moment.
struct Look {
    at: Instant,
    status: Status,
    pools: Pools,
}

pub async fn run(
    client: &Client,
    form: Form,
    interval: Duration,
    count: Option<u64>,
) -> Result<(), Failed> {
    // Rates over less than this say nothing, and nobody reads so fast.
    let interval = interval.max(Duration::from_millis(50));
    let terminal = std::io::stdout().is_terminal() && form == Form::Table;
    let screen = terminal.then(Screen::enter);
    let until_told = async {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without signals, only --count or the end of the reader stops it.
            std::future::pending::<()>().await;
        }
    };
    let done = tokio::select! {
        done = while_read(look_on(client, form, interval, count, terminal)) => done,
        () = until_told => Ok(()),
    };
    drop(screen);
    done
}

async fn look_on(
    client: &Client,
    form: Form,
    interval: Duration,
    count: Option<u64>,
    terminal: bool,
) -> Result<(), Failed> {
    let mut before: Option<Look> = None;
    let mut lost = false;
    let mut looks = 0;
    loop {
        match look(client, form).await {
            Ok((body, look)) => {
                lost = false;
                match (form, &look) {
                    (Form::Table, Some(look)) if terminal => {
                        let width = table::width(true);
                        let text = screen(look, before.as_ref(), &client.server.to_string(), width);
                        print(&format!("{ANEW}{text}"))?;
                    }
                    (Form::Table, Some(look)) => print(&line(look, before.as_ref()))?,
                    _ => json_form::print(&body)?,
                }
                before = look;
            }
            // Whoever looks on wants to see it come back. The first look is another matter.
            Err(Failed::Running(error) | Failed::Later(error)) if looks > 0 => {
                if !lost {
                    say(&format!("{error:#}"));
                }
                lost = true;
            }
            Err(failed) => return Err(failed),
        }
        looks += 1;
        if count.is_some_and(|count| looks >= count) {
            return Ok(());
        }
        tokio::time::sleep(interval).await;
    }
}

/// The answer as it came, and understood if it is to be shown to a person.
async fn look(client: &Client, form: Form) -> Result<(bytes::Bytes, Option<Look>), Failed> {
    let body = ask(client).await?;
    if form == Form::Json {
        return Ok((body, None));
    }
    let at = Instant::now();
    let status: Status = read(&body)?;
    let path = with_query("/v1/pools", [("limit", POOLS_ASKED.to_string())]);
    let pools = match client.get(path).await {
        Ok(reply) => read(&reply.body)?,
        // While it starts, a server says how it is doing and nothing else.
        Err(Failed::Later(_)) => Pools { pools: Vec::new(), next: None },
        Err(failed) => return Err(failed),
    };
    Ok((body, Some(Look { at, status, pools })))
}

/// How much more per second, between two looks.
fn rate(now: &Look, before: Option<&Look>, count: impl Fn(&Status) -> u64) -> Option<f64> {
    let before = before?;
    let seconds = now.at.duration_since(before.at).as_secs_f64();
    // A server that was started anew counts anew.
    let more = count(&now.status).checked_sub(count(&before.status))?;
    (seconds > 0.0).then(|| more as f64 / seconds)
}

fn per_second(rate: Option<f64>) -> String {
    rate.map_or("-".into(), |rate| format!("{rate:.0}/s"))
}

/// How long ago the newest checkpoint was, by the server's own clock.
fn checkpoint_age(status: &Status) -> String {
    let behind = status.position.saturating_sub(status.checkpoint_position);
    match &status.checkpoint_at {
        Some(at) => format!("{behind} positions since {}", format::time(at)),
        None => format!("{behind} positions, no checkpoint yet"),
    }
}

/// The fullest pools, and how full each is.
fn fullest(pools: &Pools) -> Vec<&Pool> {
    let share = |pool: &Pool| {
        let (out, whole) = pool.usage.as_ref().map_or((0, 0), |usage| usage.fill());
        out as f64 / whole.max(1) as f64
    };
    let mut fullest: Vec<&Pool> = pools.pools.iter().collect();
    fullest.sort_by(|a, b| share(b).total_cmp(&share(a)).then_with(|| a.name.cmp(&b.name)));
    fullest.truncate(POOLS_SHOWN);
    fullest
}

/// All of it, for a terminal.
fn screen(look: &Look, before: Option<&Look>, server: &str, width: Option<usize>) -> String {
    let status = &look.status;
    let commands = rate(look, before, |status| status.counters.commands);
    let records = rate(look, before, |status| status.counters.records);
    let bytes = rate(look, before, |status| status.counters.bytes);
    let bytes = bytes.map_or("-".into(), |rate| format!("{}/s", format::bytes(rate)));
    let queue = &status.queue;
    let (waiting, room) = (u128::from(queue.commands), u128::from(queue.commands_max));
    let mut text = table::facts([
        (
            "server",
            format!(
                "{server}, version {}, up {}",
                status.version,
                format::ago(Duration::from_millis(status.uptime_ms))
            ),
        ),
        ("state", status.word()),
        ("position", format!("{}, epoch {}", status.position, status.epoch)),
        (
            "commands",
            format!("{:>10}   {} together", per_second(commands), status.last_batch_commands),
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
        ("journal", format!("{}, {}", status.journal.name, status.journal.promise())),
    ]);
    let fullest = fullest(&look.pools);
    if !fullest.is_empty() {
        let coloured = style::coloured(true);
        text.push('\n');
        text.push_str(&pool::table(fullest.iter().copied()).text(width, coloured));
        let hidden = look.pools.pools.len() - fullest.len();
        if look.pools.next.is_some() {
            text.push_str(&format!("the fullest of the first {POOLS_ASKED} pools\n"));
        } else if hidden > 0 {
            text.push_str(&format!("and {hidden} pools that are less full\n"));
        }
    }
    text
}

/// One line, for a log.
fn line(look: &Look, before: Option<&Look>) -> String {
    let status = &look.status;
    let fullest = fullest(&look.pools);
    let fullest = fullest.first().and_then(|pool| Some((pool, pool.usage.as_ref()?.fill())));
    let fullest = fullest.map_or(String::new(), |(pool, (out, whole))| {
        format!("  fullest {} {}", style::plain(&pool.name), format::percent(out, whole))
    });
    let word = status.word();
    format!(
        "{}  {}  position {}  commands {}  records {}  bytes {}  queue {}  append {:.1} ms  since checkpoint {}{fullest}\n",
        format::time(&status.now),
        word.split(':').next().unwrap_or(&word),
        status.position,
        per_second(rate(look, before, |status| status.counters.commands)),
        per_second(rate(look, before, |status| status.counters.records)),
        rate(look, before, |status| status.counters.bytes)
            .map_or("-".into(), |rate| format!("{}/s", format::bytes(rate))),
        status.queue.commands,
        status.last_append_ms,
        status.position.saturating_sub(status.checkpoint_position),
    )
}

/// A terminal without a cursor; it comes back when this goes.
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
    use super::super::tests::sample;
    use super::*;

    fn pools(text: &str) -> Pools {
        let usage = |held: u32| {
            serde_json::json!({"size":100,"claims":held,"held":held,"expired_claims":0,"quarantined":0,"excluded":0,
                "draining":0,"draining_held":0,"manual_free":0,"free":100 - held,"outside_held":0})
        };
        let pool = |(name, held): (&str, u32)| -> Pool {
            serde_json::from_value(serde_json::json!({"name":name,"generation":1,"kind":"id32","ranges":["1-100"],
                "exclude":[],"manual":[],"draining":[],"strategy":"lowest","keep_edges":false,"quarantine":0,
                "lease":null,"reap":false,"labels":{},"usage":usage(held)}))
            .unwrap()
        };
        let pools = text.split(' ').filter_map(|word| word.split_once('='));
        let pools = pools.map(|(name, held)| pool((name, held.parse().unwrap()))).collect();
        Pools { pools, next: None }
    }

    #[test]
    fn two_looks_make_rates() {
        let began = Instant::now();
        let before = Look { at: began, status: sample("{}"), pools: pools("") };
        let counters = r#"{"counters":{"commands":250,"records":120,"bytes":22528,"conflicts":0,"checkpoints":1}}"#;
        let now = Look {
            at: began + Duration::from_secs(2),
            status: sample(counters),
            pools: pools("a=10 b=90 c=50"),
        };
        let wanted = "2026-11-15T10:00:10Z  ready  position 120  commands 100/s  records 50/s  bytes 10.0 KiB/s  queue 3  append 0.8 ms  since checkpoint 20  fullest b 90.0%\n";
        assert_eq!(line(&now, Some(&before)), wanted);
        assert!(line(&now, None).contains("commands -  records -  bytes -"));
        // A server that was started anew has counted less than before.
        let wanted = "commands -";
        assert!(
            line(&before, Some(&Look { at: began - Duration::from_secs(1), ..now }))
                .contains(wanted)
        );
    }

    #[test]
    fn the_screen_has_the_fullest_pools_first() {
        let many = (0..12).map(|n| format!("p{n}={}", n * 5)).collect::<Vec<_>>().join(" ");
        let look = Look { at: Instant::now(), status: sample("{}"), pools: pools(&many) };
        let text = screen(&look, None, "http://h", None);
        let first =
            text.lines().find(|line| line.starts_with('p') && line.contains("id32")).unwrap();
        assert!(first.starts_with("p11 "), "{text}");
        assert!(text.contains("queue        █░░░░░░░░░░░░░░░░░░░ 3 of 16384\n"), "{text}");
        assert!(text.ends_with("and 4 pools that are less full\n"), "{text}");
    }
}
