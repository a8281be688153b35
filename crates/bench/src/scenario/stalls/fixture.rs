//! The server of the stalls scenario: a long history, large pools, many providers.

use std::net::SocketAddr;
use std::path::PathBuf;

use allod_testkit::largest::{self, LargeRequest, ReportedLimits, provider};
use allod_testkit::small_clients::SmallClients;
use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::super::{Effort, HOT_POOL, history_fixture};
use super::{CLIENTS, PACE};
use crate::caller::Caller;
use crate::load::{self, Length, Script};
use crate::process::{self, BenchServer};

/// The server, what it contains, and the bare server.
pub struct Fixture {
    pub effort: Effort,
    pub limits: ReportedLimits,
    pub bare: BenchServer,
    /// Entries of the large pool and of the list of providers.
    pub entries: u64,
    /// Claims of a pool that is deleted.
    pub claims: u64,
    /// How many entries and requests one edit can have: as many as the limits allow, and the server accepts.
    pub ids_per_edit: u64,
    pub requests_per_edit: u64,
    /// The server that is imported from.
    pub source: BenchServer,
    server: Option<BenchServer>,
    scratch: TempDir,
}

impl Fixture {
    pub fn new(effort: Effort) -> Result<Fixture> {
        let (events, entries, claims, source) = match effort {
            Effort::Full => (10_000_000, 100_000, 1_000_000, 5_000),
            Effort::Quick => (300_000, 20_000, 100_000, 300),
        };
        let scratch = process::scratch()?;
        let data = scratch.path().join("data");
        history_fixture::make(&data, events)?;
        let server = BenchServer::allod(&data, scratch.path(), &[])?;
        let mut caller = Caller::connect(server.address)?;
        while caller.call("GET", "/v1/history?limit=1", None)?.0 == 503 {}
        let limits = ReportedLimits::of(server.address, None)?;
        let clients = SmallClients {
            address: server.address,
            clients: CLIENTS,
            pace: PACE,
            token: None,
            run: String::new(),
        };
        clients.prepare()?;
        let path = format!("/v1/pools/{}/claims/sample", allod_testkit::small_clients::POOL);
        let sample = caller.expect("PUT", &path, Some("{}"))?;
        let bare = BenchServer::bare_with_syncs(sample.len(), &scratch.path().join("syncs"))?;

        for pool in ["large", "listed", "transactions"] {
            caller.put_pool(pool, HOT_POOL)?;
        }
        fill(server.address, "large", entries)?;
        fill(server.address, "listed", entries)?;
        for request in largest::device_tree() {
            request.expect(server.address, None)?;
        }
        create_providers(server.address, entries)?;
        for (pool, first) in [("even", 0), ("odd", 1)] {
            let request = largest::pool_of_ranges(&limits, pool, first, 50_000)?;
            request.expect(server.address, None)?;
        }
        let source = import_source(&scratch.path().join("source"), &scratch, source)?;
        let ids_per_edit =
            accepted(server.address, largest::id_entries_max(&limits)?, |entries| {
                vec![largest::id_pool("probe", entries)]
            })?;
        let requests_per_edit =
            accepted(server.address, largest::pool_requests_max(&limits)?, |requests| {
                let pool = largest::resource_pool("probe-requests", 4_000_000_000);
                vec![pool, largest::pool_requests("probe-requests", 0, requests)]
            })?;
        Ok(Fixture {
            effort,
            limits,
            bare,
            entries,
            claims,
            ids_per_edit,
            requests_per_edit,
            source,
            server: Some(server),
            scratch,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.as_ref().map_or(self.bare.address, |server| server.address)
    }

    /// Starts the server again, with checkpoints after every few writes.
    pub fn restart_with_checkpoints(&mut self) -> Result<()> {
        if let Some(server) = self.server.take() {
            server.stop()?;
        }
        let more = ["--limit", "checkpoint_bytes=1000000"];
        let data = self.scratch.path().join("data");
        self.server = Some(BenchServer::allod(&data, self.scratch.path(), &more)?);
        Ok(())
    }

    /// An empty server for the import of a round.
    pub fn import_target(&self, run: u64) -> Result<BenchServer> {
        let data = self.scratch.path().join(format!("import-{run}"));
        BenchServer::allod(&data, self.scratch.path(), &[])
    }

    pub fn backup_file(&self, run: u64) -> PathBuf {
        self.scratch.path().join(format!("backup-{run}"))
    }

    pub fn stop(self) -> Result<()> {
        self.server.map_or(Ok(()), BenchServer::stop)
    }
}

/// Claims values of a pool in transactions of a thousand.
pub fn fill(address: SocketAddr, pool: &str, claims: u64) -> Result<()> {
    const EACH: u64 = 1000;
    let requests = (0..claims)
        .step_by(EACH as usize)
        .map(|from| largest::claims(pool, "service", from, EACH.min(claims - from)).bytes(None));
    send_all(address, requests.collect())
}

fn create_providers(address: SocketAddr, count: u64) -> Result<()> {
    let one = |number| {
        largest::create_provider(&provider(2, number), &format!("listed-{number}"), None)
            .bytes(None)
    };
    send_all(address, (0..count).map(one).collect())
}

/// Sends requests that must succeed on four connections.
fn send_all(address: SocketAddr, requests: Vec<Vec<u8>>) -> Result<()> {
    let quarter = requests.len().div_ceil(4).max(1);
    let scripts =
        requests.chunks(quarter).map(|part| Prepared { requests: part.to_vec(), next: 0 });
    load::run(address, scripts.collect(), Length::UntilDone).map(drop)
}

/// Requests that were made before.
struct Prepared {
    requests: Vec<Vec<u8>>,
    next: usize,
}

impl Script for Prepared {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(request) = self.requests.get(self.next) else { return false };
        self.next += 1;
        out.extend_from_slice(request);
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        if status < 300 {
            return Ok(());
        }
        Err(format!("preparing was answered with {status}: {}", String::from_utf8_lossy(body)))
    }
}

/// A server with providers and allocations to import.
fn import_source(data: &std::path::Path, scratch: &TempDir, hosts: u64) -> Result<BenchServer> {
    let server = BenchServer::allod(data, scratch.path(), &[])?;
    let limits = ReportedLimits::of(server.address, None)?;
    create_providers(server.address, hosts)?;
    let host = provider(2, 0);
    largest::put_inventory(&host, 0, "VCPU").expect(server.address, None)?;
    largest::allocations(&limits, &host, 1)?.expect(server.address, None)?;
    Ok(server)
}

/// The largest number, from `most` down, for which the last request is not refused as too large.
fn accepted(
    address: SocketAddr,
    most: u64,
    requests: impl Fn(u64) -> Vec<LargeRequest>,
) -> Result<u64> {
    let mut number = most;
    while number > 0 {
        let requests = requests(number);
        let (last, before) = requests.split_last().context("no request")?;
        for request in before {
            request.expect(address, None)?;
        }
        let reply = last.send(address, None)?;
        match reply.status {
            200..=299 => return Ok(number),
            413 | 422 => number = number * 3 / 4,
            status => bail!("{} {} answered {status}: {}", last.method, last.path, reply.text()),
        }
    }
    bail!("no size of the edit is accepted")
}
