//! allod with 100,000 providers and a million allocations: latency of candidates, memory, start-up.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Effort;
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::median;
use crate::load::{self, Length, Script};
use crate::placement::cloud::{Cloud, CloudLoader, UuidKind, uuid};
use crate::placement::script::{MeasuredRequest, PlacementScript, request};
use crate::process::{self, BenchServer};

const SMALL: u64 = 1_000;
const CLIENTS: usize = 8;
/// Consumers in one request of the loader.
const AT_ONCE: u64 = 200;

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let (hosts, consumers) = match effort {
        Effort::Full => (100_000, 1_000_000),
        Effort::Quick => (10_000, 100_000),
    };
    let mut report = ScenarioReport::default();
    let scratch = process::scratch()?;
    let small = filled(&scratch.path().join("small"), scratch.path(), SMALL, SMALL * 10)?;
    let large = filled(&scratch.path().join("large"), scratch.path(), hosts, consumers)?;
    let mut ratios = Vec::new();
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for round in 0..effort.rounds() {
        let p50 = |server: &BenchServer, hosts| -> Result<f64> {
            // Any host matches, so that both answers have a thousand candidates and only the search differs.
            let ask = MeasuredRequest::AnyHost { limit: 1000 };
            let (scripts, _) = PlacementScript::scripts(ask, hosts, CLIENTS, round, false);
            let measured = load::run(server.address, scripts, effort.round())?;
            Ok(measured.latencies.percentile(50.0).as_secs_f64() * 1e3)
        };
        let (one, other) = (p50(&small, SMALL)?, p50(&large, hosts)?);
        near.push(one);
        far.push(other);
        ratios.push(other / one);
    }
    report.note(format!(
        "a thousand candidates of any host, {CLIENTS} clients: p50 {:.2} ms at {SMALL} providers, {:.2} ms at {hosts} with {consumers} consumers",
        median(near),
        median(far)
    ));
    report.figure(
        format!("candidates, limit 1000, at {hosts} providers over {SMALL}"),
        median(ratios),
        "×",
        Bar::AtMost(5.0),
    );
    small.stop()?;
    let resident = large.resident_bytes()?;
    large.stop()?;
    report.figure(
        format!(
            "memory with both copies, {hosts} providers and {consumers} consumers of 3 classes"
        ),
        resident as f64 / f64::from(1 << 30),
        "GiB",
        Bar::AtMost(2.0),
    );
    let again = start(&scratch.path().join("large"), scratch.path())?;
    report.figure(
        format!("start-up with {hosts} providers and {consumers} consumers"),
        again.ready_after.as_secs_f64(),
        "s",
        Bar::AtMost(10.0),
    );
    again.stop()?;
    Ok(report)
}

fn start(data: &Path, scratch: &Path) -> Result<BenchServer> {
    BenchServer::allod(data, scratch, &["--auth", "noauth2"])
}

fn filled(data: &Path, scratch: &Path, hosts: u64, consumers: u64) -> Result<BenchServer> {
    let server = start(data, scratch)?;
    load::run(server.address, CloudLoader::first(), Length::UntilDone)?;
    load::run(
        server.address,
        CloudLoader::scripts(Cloud::Flat(hosts), CLIENTS),
        Length::UntilDone,
    )?;
    let part = consumers / 4;
    let holders: Vec<ConsumerLoader> =
        (0..4).map(|n| ConsumerLoader { hosts, next: n * part, until: (n + 1) * part }).collect();
    load::run(server.address, holders, Length::UntilDone)?;
    // Gives the allocator time to return memory of the load.
    std::thread::sleep(Duration::from_secs(2));
    Ok(server)
}

/// Creates consumers evenly over the hosts, many in a request.
struct ConsumerLoader {
    hosts: u64,
    next: u64,
    until: u64,
}

impl Script for ConsumerLoader {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        if self.next >= self.until {
            return false;
        }
        let end = self.until.min(self.next + AT_ONCE);
        let one = |n: u64| {
            let project = uuid(UuidKind::Project, n % 20).replace('-', "");
            format!(
                r#""{}":{{"allocations":{{"{}":{{"resources":{{"VCPU":1,"MEMORY_MB":512,"DISK_GB":10}}}}}},"project_id":"{project}","user_id":"{project}","consumer_generation":null,"consumer_type":"INSTANCE"}}"#,
                uuid(UuidKind::Consumer, n),
                uuid(UuidKind::Host, n % self.hosts)
            )
        };
        let consumers: Vec<String> = (self.next..end).map(one).collect();
        self.next = end;
        *out = request("POST", "/allocations", &format!("{{{}}}", consumers.join(",")));
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if status == 204 {
            return Ok(());
        }
        Err(format!("loading was answered with {status}: {}", String::from_utf8_lossy(body)))
    }
}
