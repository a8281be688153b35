//! The cases: for each, what is prepared before a round, and the large requests.

use std::process::Command;
use std::time::Duration;

use allod_testkit::largest::{self, ID_POOLS, LargeRequest, RESOURCE_POOLS, provider};
use anyhow::{Context, Result};

use super::super::history_fixture::{key_of, owner_of, pool_of};
use super::super::{Effort, HOT_POOL};
use super::burst::Burst;
use super::fixture::{Fixture, fill};
use crate::process::{BenchServer, server_binary};

/// One case.
pub struct StallCase {
    pub name: &'static str,
    /// On a server that writes checkpoints all the time. These cases are the last ones.
    pub checkpoints: bool,
    /// Prepares a round with this number, which is not measured.
    pub prepare: fn(&Fixture, u64) -> Result<PreparedBurst>,
}

/// The large requests, and the server that they go to if it is another one.
pub struct PreparedBurst {
    pub burst: Burst,
    pub server: Option<BenchServer>,
}

impl From<Burst> for PreparedBurst {
    fn from(burst: Burst) -> PreparedBurst {
        PreparedBurst { burst, server: None }
    }
}

const fn case(
    name: &'static str,
    prepare: fn(&Fixture, u64) -> Result<PreparedBurst>,
) -> StallCase {
    StallCase { name, checkpoints: false, prepare }
}

/// Requests whose answers do not depend on the round, from several clients at a time.
fn reads(fixture: &Fixture, clients: usize, requests: Vec<LargeRequest>) -> Result<PreparedBurst> {
    let time = match fixture.effort {
        Effort::Full => Duration::from_millis(2000),
        Effort::Quick => Duration::from_millis(500),
    };
    Ok(Burst::Repeat { requests, clients, time }.into())
}

fn once(requests: Vec<LargeRequest>) -> Result<PreparedBurst> {
    Ok(Burst::Once(requests).into())
}

/// Several writes of a kind, one after the other, because one is short.
fn several(run: u64, request: impl Fn(u64) -> Result<LargeRequest>) -> Result<PreparedBurst> {
    const SEVERAL: u64 = 5;
    once((run * SEVERAL..(run + 1) * SEVERAL).map(request).collect::<Result<_>>()?)
}

/// Removes what the round before has left, so that memory does not grow with the rounds. A server may refuse it.
fn forget(fixture: &Fixture, path: String) -> Result<()> {
    LargeRequest::delete(path).send(fixture.address(), None).map(drop)
}

pub const CASES: &[StallCase] = &[
    case("candidates of 8 groups of 8 devices, limit 1,000, explained", |fixture, _| {
        reads(fixture, 4, vec![largest::explained_candidates("none", 1000)])
    }),
    case("the same through Placement", |fixture, _| {
        reads(fixture, 4, vec![largest::placement_candidates(Some(1000))])
    }),
    case("the same without a limit", |fixture, _| {
        reads(fixture, 1, vec![largest::placement_candidates(None)])
    }),
    case("candidates that do not exist, explained", |fixture, _| {
        reads(fixture, 4, vec![largest::impossible_candidates()])
    }),
    case("GET of a RESTCONF tree", |fixture, _| {
        reads(fixture, 2, vec![LargeRequest::get(format!("{ID_POOLS}/large"))])
    }),
    case("listing of claims", list_claims),
    case("listing of resource providers", |fixture, _| {
        reads(fixture, 2, vec![LargeRequest::get("/resource_providers".into())])
    }),
    case("history", query_history),
    case("PUT of an id-manager pool with the most entries", |fixture, run| {
        forget(fixture, format!("{ID_POOLS}/ids-{}", run - 1))?;
        once(vec![largest::id_pool(&format!("ids-{run}"), fixture.ids_per_edit)])
    }),
    case("PATCH of a resource pool with the most requests", |fixture, run| {
        forget(fixture, format!("{RESOURCE_POOLS}=requests-{}", run - 1))?;
        let pool = format!("requests-{run}");
        largest::resource_pool(&pool, 4_000_000_000).expect(fixture.address(), None)?;
        once(vec![largest::pool_requests(&pool, 0, fixture.requests_per_edit)])
    }),
    case("a range is widened for waiting requests", widen),
    case("POST of the most allocations", |fixture, run| {
        several(run, |run| largest::allocations(&fixture.limits, &new_host(fixture, run)?, run))
    }),
    case("reshape of the most allocations", |fixture, run| {
        several(run, |run| largest::reshape(&fixture.limits, &new_host(fixture, run)?, 1, run))
    }),
    case("PUT of a pool with the most ranges", |fixture, run| {
        several(run, |run| largest::pool_of_ranges(&fixture.limits, "ranges", run, u64::MAX))
    }),
    case("a transaction at its limits", |fixture, run| {
        several(run, |run| {
            largest::transaction_of_values(&fixture.limits, "transactions", &run.to_string())
        })
    }),
    case("a transaction of equal values in two fragmented pools", |fixture, run| {
        let run = run.to_string();
        reads(
            fixture,
            1,
            vec![largest::transaction_of_same_values(&fixture.limits, &["even", "odd"], &run)?],
        )
    }),
    case("edits above the limits, refused", |fixture, _| {
        let above = |name: &str| Ok::<u64, anyhow::Error>(fixture.limits.get(name)? + 1);
        reads(
            fixture,
            1,
            vec![
                largest::id_pool("above", above("ids_per_edit_max")?),
                largest::pool_requests("probe-requests", 0, above("requests_per_edit_max")?),
                largest::claims("transactions", "above", 0, above("ops_per_transaction_max")?),
            ],
        )
    }),
    case("a range is shrunk below its claims, refused", |fixture, _| {
        let body = r#"{"kind":"id32","ranges":["4000000000-4294967295"]}"#.to_owned();
        reads(fixture, 1, vec![LargeRequest::with_body("PUT", "/v1/pools/listed".into(), body)])
    }),
    case("deletion of a large pool", |fixture, _| delete(fixture, fixture.claims)),
    case("deletion of a pool that one edit can write", |fixture, _| {
        delete(fixture, fixture.ids_per_edit.min(fixture.claims / 2))
    }),
    case("a backup", |fixture, run| {
        let mut program = Command::new(server_binary());
        let server = format!("http://{}", fixture.address());
        program.args(["backup", "--server", &server, "--to"]).arg(fixture.backup_file(run));
        Ok(Burst::Program(program).into())
    }),
    case("an import", import),
    StallCase {
        name: "checkpoints",
        checkpoints: true,
        prepare: |fixture, run| {
            let requests = (0..20)
                .map(|part| largest::claims("transactions", &format!("c{run}-{part}"), 0, 500));
            reads(fixture, 1, requests.collect())
        },
    },
];

/// All pages of a list.
fn list_claims(fixture: &Fixture, _run: u64) -> Result<PreparedBurst> {
    let pages = (0..fixture.entries).step_by(1000).map(|from| {
        let after = match from {
            0 => String::new(),
            // The last value of the page before.
            _ => format!("&after={}", from - 1),
        };
        LargeRequest::get(format!("/v1/pools/listed/claims?limit=1000{after}"))
    });
    let mut requests: Vec<LargeRequest> = pages.collect();
    requests.push(LargeRequest::get("/v1/claims?owner_prefix=service&limit=1000".into()));
    reads(fixture, 2, requests)
}

/// Queries that read as many records as one may, and queries about old times.
fn query_history(fixture: &Fixture, run: u64) -> Result<PreparedBurst> {
    let number = run * 1009;
    let pool = pool_of(number);
    let paths = [
        "/v1/history?limit=1000".to_owned(),
        "/v1/history?limit=1000&order=oldest_first".to_owned(),
        format!("/v1/history?pool={pool}&limit=1000"),
        format!("/v1/history?pool={pool}&owner=nothing&limit=1000"),
        format!("/v1/history?owner={}&limit=1000&order=oldest_first", owner_of(number)),
        format!("/v1/history?key={}&limit=1000", key_of(number)),
        format!("/v1/pools/{pool}/values/7?at=2026-01-01T12:00:00Z"),
    ];
    reads(fixture, 4, paths.into_iter().map(LargeRequest::get).collect())
}

/// Half of the requests wait for values, then the range is widened for all.
fn widen(fixture: &Fixture, run: u64) -> Result<PreparedBurst> {
    let requests = fixture.entries;
    forget(fixture, format!("{RESOURCE_POOLS}=waiting-{}", run - 1))?;
    let pool = format!("waiting-{run}");
    largest::resource_pool(&pool, requests / 2 - 1).expect(fixture.address(), None)?;
    let each = fixture.requests_per_edit.min(5000);
    for from in (0..requests).step_by(each as usize) {
        let count = each.min(requests - from);
        largest::pool_requests(&pool, from, count).expect(fixture.address(), None)?;
    }
    once(vec![largest::widen(&pool, requests - 1)])
}

/// A new provider that consumers of the round allocate from.
fn new_host(fixture: &Fixture, run: u64) -> Result<String> {
    let host = provider(3, run);
    largest::create_provider(&host, &format!("host-{run}"), None)
        .expect(fixture.address(), None)?;
    largest::put_inventory(&host, 0, "VCPU").expect(fixture.address(), None)?;
    Ok(host)
}

/// The deletion of a pool with this many claims. If the server refuses it, the pool is there for the next round.
fn delete(fixture: &Fixture, claims: u64) -> Result<PreparedBurst> {
    let path = format!("/v1/pools/deleted-{claims}");
    let body = HOT_POOL.replace("4294967295", "4294967294");
    LargeRequest::with_body("PUT", path, body).expect(fixture.address(), None)?;
    let pool = format!("deleted-{claims}");
    fill(fixture.address(), &pool, claims)?;
    once(vec![LargeRequest::delete(format!("{ID_POOLS}/{pool}"))])
}

fn import(fixture: &Fixture, run: u64) -> Result<PreparedBurst> {
    let target = fixture.import_target(run).context("starting the target of the import")?;
    let mut program = Command::new(server_binary());
    let url = |server: &BenchServer| format!("http://{}", server.address);
    program.args(["import", "placement", "--from", &url(&fixture.source), "--to", &url(&target)]);
    Ok(PreparedBurst { burst: Burst::Program(program), server: Some(target) })
}
