//! History queries on a long journal, compared with a plain read of the same value in the same run.
//!
//! The time to build the index and its size are measured, too. Its cost for writes is measured in this process, on the
//! engine without HTTP, where it is most visible.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, Transact};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::value::Kind;
use allod_engine::{Config, Engine};
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::Embedded;
use anyhow::{Context, Result, bail, ensure};

use super::Effort;
use super::history_fixture::{self, HELD, OWNERS, START_MS, key_of, owner_of, pool_of};
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::{Latencies, median};
use crate::process::{self, BenchServer};

/// The maximum ratio of the median of a query to that of a plain read.
const TIMES_MAX: f64 = 60.0;
const CLIENTS: usize = 64;

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let quick = effort == Effort::Quick;
    let events = if quick { 300_000 } else { 10_000_000 };
    let scratch = process::scratch()?;
    let data = scratch.path().join("data");
    let mut report = ScenarioReport::default();

    let begun = Instant::now();
    let made = history_fixture::make(&data, events)?;
    let journal = std::fs::metadata(data.join("journal.sqlite"))?.len();
    report.note(format!(
        "{made} events in {:.0} s; the journal has {} MiB, {:.0} bytes an event",
        begun.elapsed().as_secs_f64(),
        journal >> 20,
        journal as f64 / made as f64
    ));

    let server = BenchServer::allod(&data, scratch.path(), &[])?;
    let mut caller = Caller::connect(server.address)?;
    let built = build(&mut caller)?;
    let index = folder_bytes(&data.join("index"))?;
    report.note(format!(
        "the index was made in {:.1} s, {:.2} million events a second; {} MiB in {} files",
        built.as_secs_f64(),
        made as f64 / built.as_secs_f64() / 1e6,
        index.0 >> 20,
        index.1
    ));
    ask(&mut report, &mut caller, made, if quick { 60 } else { 400 })?;
    report.figure("index for each event", index.0 as f64 / made as f64, "bytes", Bar::AtMost(32.0));
    server.stop()?;
    indexing(&mut report, effort, scratch.path())?;
    Ok(report)
}

/// Waits until the index is built.
fn build(caller: &mut Caller) -> Result<Duration> {
    let begun = Instant::now();
    loop {
        match caller.call("GET", "/v1/history?limit=1", None)? {
            (200, _) => return Ok(begun.elapsed()),
            (503, _) if begun.elapsed() < Duration::from_secs(900) => {}
            (status, text) => bail!("GET /v1/history answered {status}: {text}"),
        }
    }
}

fn folder_bytes(folder: &Path) -> Result<(u64, usize)> {
    let (mut bytes, mut files) = (0, 0);
    for file in std::fs::read_dir(folder)? {
        bytes += file?.metadata()?.len();
        files += 1;
    }
    Ok((bytes, files))
}

/// A query for each number, so that no two are equal.
type HistoryQuery = (&'static str, Box<dyn Fn(u64) -> String>);

fn ask(report: &mut ScenarioReport, caller: &mut Caller, events: u64, times: u64) -> Result<()> {
    let claims = history_fixture::claims_in(events);
    let span_ms = events / 64 * 500;
    // Spread over the whole history.
    let spread = |n: u64, below: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % below.max(1);
    let time = move |n: u64| {
        let (mut ms, mut day) = (spread(n, span_ms), 1);
        day += ms / 86_400_000;
        ms %= 86_400_000;
        let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
        // The journal begins on January 1 at 08:00.
        format!("2026-01-{day:02}T{hours:02}:{minutes:02}:{seconds:02}Z")
    };
    ensure!(START_MS == 1_767_254_400_000, "the query times assume this start");
    let value = move |n: u64| spread(n, HELD / history_fixture::POOLS);
    let pool = |n: u64| pool_of(n);
    let questions: Vec<HistoryQuery> = vec![
        (
            "a plain look at the value",
            Box::new(move |n| format!("/v1/pools/{}/values/{}", pool(n), value(n))),
        ),
        (
            "what happened to a value, the last 20",
            Box::new(move |n| format!("/v1/history?pool={}&value={}&limit=20", pool(n), value(n))),
        ),
        (
            "what happened under a key",
            Box::new(move |n| format!("/v1/history?key={}", key_of(spread(n, claims)))),
        ),
        (
            "what happened to an owner, the last 20",
            Box::new(move |n| {
                format!("/v1/history?owner={}&limit=20", owner_of(spread(n, OWNERS)))
            }),
        ),
        (
            "what happened from a time on, the first 20",
            Box::new(move |n| format!("/v1/history?since={}&order=oldest_first&limit=20", time(n))),
        ),
        (
            "who had a value at an old time",
            Box::new(move |n| format!("/v1/pools/{}/values/{}?at={}", pool(n), value(n), time(n))),
        ),
    ];
    let mut took: Vec<Latencies> = questions.iter().map(|_| Latencies::default()).collect();
    for n in 0..times {
        for ((_, question), took) in questions.iter().zip(&mut took) {
            let path = question(n);
            let begun = Instant::now();
            let (status, text) = caller.call("GET", &path, None)?;
            // A time on the first day may be before the first record.
            ensure!(
                status == 200 || path.contains("at=") && status == 404,
                "{path} answered {status}: {text}"
            );
            took.add(begun.elapsed());
        }
    }
    let plain = took[0].percentile(50.0).as_secs_f64();
    for ((name, _), took) in questions.iter().zip(&took) {
        let ms = |percent| took.percentile(percent).as_secs_f64() * 1000.0;
        report.note(format!("{name}: median {:.2} ms, p99 {:.2} ms", ms(50.0), ms(99.0)));
    }
    for ((name, _), took) in questions.iter().zip(&took).skip(1) {
        let times = took.percentile(50.0).as_secs_f64() / plain;
        report.figure(format!("{name}, over a plain look"), times, "×", Bar::AtMost(TIMES_MAX));
    }
    Ok(())
}

/// Claims per second with and without the index, in alternating rounds.
fn indexing(report: &mut ScenarioReport, effort: Effort, scratch: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let measure = Duration::from_millis(if effort == Effort::Quick { 700 } else { 3000 });
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for round in 0..effort.rounds() {
        for (name, rates) in [("with", &mut with), ("without", &mut without)] {
            let data = scratch.join(format!("{name}-{round}"));
            let index = (name == "with").then(|| data.join("index"));
            rates.push(runtime.block_on(rate(&data, index, measure))?);
        }
    }
    let (with, without) = (median(with), median(without));
    report.note(format!(
        "{CLIENTS} clients on the engine alone: {with:.0} claims/s with the index, {without:.0} without"
    ));
    report.figure(
        "claims a second with the index",
        with / without * 100.0,
        "%",
        Bar::AtLeast(80.0),
    );
    Ok(())
}

async fn rate(data: &Path, index: Option<std::path::PathBuf>, measure: Duration) -> Result<f64> {
    let journal = Arc::new(Embedded::open(data)?.journal);
    let checkpoints = Arc::new(FileCheckpoints::open(data)?);
    let engine = Engine::start(journal, checkpoints, Config { index, ..Config::default() })?;
    let handle = engine.handle();
    while !handle.status().ready {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let range = PoolRange { span: Kind::Id32.line(), subnet_len: None };
    let spec = PoolSpec::new(Kind::Id32, vec![range]);
    let put = PutPool { pool: "hot".into(), spec, expect: Expect::Any, keep_held: false };
    let reply = handle.submit(Command::PutPool(put)).await.context("a pool")?;
    ensure!(reply.answer.is_ok(), "the pool was refused");
    let (done, begun) = (AtomicU64::new(0), Instant::now());
    let client = async |client: usize| {
        for number in 0.. {
            if begun.elapsed() >= measure {
                break;
            }
            let claim = Op::Claim(ClaimOp {
                pools: vec!["hot".into()],
                key: format!("c{client:02}-{number:07}").as_str().into(),
                owner: Some(format!("tenant-{client:02}").as_str().into()),
                want: Want::any(),
                ttl_ms: None,
                labels: Labels::default(),
                expect: Expect::Any,
            });
            if handle.submit(Command::Transact(Transact::one(claim))).await.is_ok() {
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        clients.push(Box::pin(client(number)));
    }
    join_all(clients).await;
    let rate = done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    engine.stop()?;
    Ok(rate)
}

/// Runs all futures on this thread.
async fn join_all<F: Future<Output = ()> + Unpin>(mut all: Vec<F>) {
    std::future::poll_fn(|context| {
        all.retain_mut(|one| std::pin::Pin::new(one).poll(context).is_pending());
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}
