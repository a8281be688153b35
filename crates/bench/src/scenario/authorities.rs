//! Pools with an authority: what a hanging authority costs other clients, the rate of grants from another allod, and how
//! releases that have piled up drain.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::claim_script::NewClaims;
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load::{self, Length, Script, latency::median, write_request};
use crate::process::{self, BenchServer};

const CONNECTIONS: usize = 64;
const GRANT_CONNECTIONS: usize = 32;
/// Claims that wait for the authority that hangs.
const WAITING: u64 = 5000;
/// How long a drain may take.
const DRAIN_MAX: Duration = Duration::from_secs(600);
const SAMPLE_EVERY: Duration = Duration::from_millis(200);

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let scratch = process::scratch()?;
    let mut report = ScenarioReport::default();
    beside_a_hang(&mut report, effort, scratch.path())?;
    from_another_allod(&mut report, effort, scratch.path())?;
    Ok(report)
}

fn server(scratch: &Path, name: &str) -> Result<BenchServer> {
    let folder = scratch.join(name);
    std::fs::create_dir(&folder)?;
    BenchServer::allod(&folder.join("data"), &folder, &[])
}

/// An address that accepts connections and never answers. It stays until the end of the process.
fn hanging_authority() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        let accepted: Vec<_> = listener.incoming().collect();
        drop(accepted);
    });
    Ok(address)
}

fn beside_a_hang(report: &mut ScenarioReport, effort: Effort, scratch: &Path) -> Result<()> {
    let (with, without) = (server(scratch, "with")?, server(scratch, "without")?);
    for server in [&with, &without] {
        Caller::connect(server.address)?.put_pool("hot", HOT_POOL)?;
    }
    let mut caller = Caller::connect(with.address)?;
    let hanging = hanging_authority()?;
    let authority = format!(r#"{{"kind":"http","url":"http://{hanging}","parallel":8}}"#);
    caller.expect("PUT", "/v1/authorities/hangs", Some(&authority))?;
    caller.put_pool("external", r#"{"kind":"id32","ranges":[],"authority":"hangs"}"#)?;
    for number in 0..WAITING {
        let path = format!("/v1/pools/external/claims/waits-{number}");
        let (status, text) = caller.call("PUT", &path, Some("{}"))?;
        ensure!(status == 202, "a claim was answered with {status}: {text}");
    }
    let (mut rates, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..effort.rounds() {
        let measure = |server: &BenchServer| -> Result<f64> {
            let scripts = NewClaims::scripts("hot", CONNECTIONS, round);
            Ok(load::run(server.address, scripts, effort.round())?.per_second())
        };
        // The order changes, because a machine that slows down would favour the first.
        let (rate, other) = if round % 2 == 0 {
            let rate = measure(&with)?;
            (rate, measure(&without)?)
        } else {
            let other = measure(&without)?;
            (measure(&with)?, other)
        };
        ratios.push(100.0 * rate / other);
        rates.push(rate);
        others.push(other);
    }
    report.note(format!(
        "{CONNECTIONS} connections: {:.0} claims/s beside {WAITING} claims that wait for an authority that hangs, {:.0}/s without",
        median(rates),
        median(others)
    ));
    report.figure(
        "native claims beside an authority that hangs, share of those without",
        median(ratios),
        "%",
        Bar::AtLeast(97.0),
    );
    with.stop()?;
    without.stop()
}

/// Claims in a pool with an authority, each waiting for its grant; or their releases.
struct External {
    connection: usize,
    round: usize,
    method: &'static str,
    expected: u16,
    number: u64,
    /// `None`: without an end.
    until: Option<u64>,
}

impl External {
    fn scripts(
        round: usize,
        (method, expected): (&'static str, u16),
        until: Option<u64>,
    ) -> Vec<External> {
        let one = |connection| External { connection, round, method, expected, number: 0, until };
        (0..GRANT_CONNECTIONS).map(one).collect()
    }
}

impl Script for External {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        if self.until.is_some_and(|until| self.number >= until) {
            return false;
        }
        self.number += 1;
        let path = format!(
            "/v1/pools/external/claims/r{}-c{:02}-{:07}",
            self.round, self.connection, self.number
        );
        match self.method {
            "PUT" => {
                let head = format!(
                    "PUT {path} HTTP/1.1\r\nhost: localhost\r\nprefer: wait=30\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
                );
                out.extend_from_slice(head.as_bytes());
            }
            method => write_request(out, method, &path, None),
        }
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if status == self.expected {
            return Ok(());
        }
        let text = String::from_utf8_lossy(body);
        Err(format!("{} was answered with {status}: {text}", self.method))
    }
}

fn from_another_allod(report: &mut ScenarioReport, effort: Effort, scratch: &Path) -> Result<()> {
    let (parent, child) = (server(scratch, "parent")?, server(scratch, "child")?);
    Caller::connect(parent.address)?.put_pool("regional", HOT_POOL)?;
    let mut caller = Caller::connect(child.address)?;
    caller.put_pool("hot", HOT_POOL)?;
    let authority = format!(
        r#"{{"kind":"allod","url":"http://{}","pool":"regional","parallel":{GRANT_CONNECTIONS},"queue_max":200000}}"#,
        parent.address
    );
    caller.expect("PUT", "/v1/authorities/parent", Some(&authority))?;
    caller.put_pool("external", r#"{"kind":"id32","ranges":[],"authority":"parent"}"#)?;

    let (mut grants, mut natives, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..effort.rounds() {
        let scripts = External::scripts(round, ("PUT", 201), None);
        let granted = load::run(child.address, scripts, effort.round())?.per_second();
        let scripts = NewClaims::scripts("hot", GRANT_CONNECTIONS, round);
        let native = load::run(child.address, scripts, effort.round())?.per_second();
        ratios.push(100.0 * granted / native);
        grants.push(granted);
        natives.push(native);
    }
    report.note(format!(
        "{GRANT_CONNECTIONS} connections: {:.0} grants/s from another allod, {:.0} native claims/s",
        median(grants),
        median(natives)
    ));
    report.figure(
        "grants from another allod, share of native claims there",
        median(ratios),
        "%",
        Bar::AtLeast(30.0),
    );
    drain(report, effort, &parent, &child)?;
    child.stop()?;
    parent.stop()
}

/// Releases everything while the parent is stopped, continues it, and watches the releases drain.
fn drain(
    report: &mut ScenarioReport,
    effort: Effort,
    parent: &BenchServer,
    child: &BenchServer,
) -> Result<()> {
    let total: u64 = if effort == Effort::Quick { 10_000 } else { 100_000 };
    let (each, round) = (total / GRANT_CONNECTIONS as u64, 1_000);
    let scripts = External::scripts(round, ("PUT", 201), Some(each));
    load::run(child.address, scripts, Length::UntilDone)?;
    parent.signal("STOP")?;
    let scripts = External::scripts(round, ("DELETE", 202), Some(each));
    let released = load::run(child.address, scripts, Length::UntilDone);
    parent.signal("CONT")?;
    released?;
    let mut caller = Caller::connect(child.address)?;
    let mut samples = Vec::new();
    let begun = Instant::now();
    let before = child.resident_bytes()?;
    let mut most = before;
    loop {
        let status = caller.get("/v1/authorities/parent")?;
        let left = status["releasing"].as_u64().context("the authority has no 'releasing'")?;
        samples.push((begun.elapsed().as_secs_f64(), left));
        most = most.max(child.resident_bytes()?);
        if left == 0 {
            break;
        }
        if begun.elapsed() > DRAIN_MAX {
            bail!("{left} releases are left after {} s", DRAIN_MAX.as_secs());
        }
        std::thread::sleep(SAMPLE_EVERY);
    }
    let begins = samples.iter().find(|(_, left)| *left < total * 99 / 100);
    let half = samples.iter().find(|(_, left)| *left < total / 2);
    let ends = samples.last();
    let (Some(&begins), Some(&half), Some(&ends)) = (begins, half, ends) else {
        bail!("the releases drained before they could be watched");
    };
    let rate = |from: (f64, u64), to: (f64, u64)| (from.1 - to.1) as f64 / (to.0 - from.0);
    report.note(format!(
        "{} releases drained in {:.1} s, {:.0}/s; memory {} MiB before, {} MiB at most",
        each * GRANT_CONNECTIONS as u64,
        ends.0,
        rate(begins, ends),
        before >> 20,
        most >> 20
    ));
    report.figure(
        "releases drain: rate of the second half over the first half",
        rate(half, ends) / rate(begins, half),
        "×",
        Bar::AtLeast(0.8),
    );
    report.figure(
        "releases drain: most memory over memory at their begin",
        most as f64 / before as f64,
        "×",
        Bar::AtMost(1.1),
    );
    Ok(())
}
