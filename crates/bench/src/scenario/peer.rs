//! Compares allod with the usual alternative: a PostgreSQL table of values, claimed with `FOR UPDATE SKIP LOCKED`.
//!
//! The alternative is tuned: one prepared statement per claim, a partial index on free values, a Unix socket, durability on.
//! It does less than allod: its claims are not idempotent, and it has no HTTP interface.

use std::sync::Arc;
use std::time::Instant;

use allod_testkit::postgres::Cluster;
use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use super::claim_script::NewClaims;
use super::{Effort, HOT_POOL};
use crate::caller::Caller;
use crate::figure::{Bar, ScenarioReport};
use crate::load::latency::median;
use crate::load::{self, Length};
use crate::postgres;
use crate::process::{self, BenchServer};

const CONNECTIONS: usize = 64;

/// More values than a run can claim.
const VALUES: u32 = 3_000_000;

const TABLE: &str = "
    create table ids (value bigint primary key, holder text, claimed_at timestamptz);
    create index ids_free on ids (value) where holder is null;";

const CLAIM: &str = "
    update ids set holder = $1, claimed_at = now()
    where value = (select value from ids where holder is null
                   order by value limit 1 for update skip locked)
    returning value";

pub fn run(effort: Effort) -> Result<ScenarioReport> {
    let scratch = process::scratch()?;
    let ours = BenchServer::allod(&scratch.path().join("data"), scratch.path(), &[])?;
    Caller::connect(ours.address)?.put_pool("hot", HOT_POOL)?;
    let cluster = postgres::start(scratch.path())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let values = if effort == Effort::Quick { VALUES / 10 } else { VALUES };
    let clients = runtime.block_on(prepare(&cluster, values, CONNECTIONS))?;

    let (mut rates, mut peer_rates, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..effort.rounds() {
        let scripts = NewClaims::scripts("hot", CONNECTIONS, round);
        let claims = load::run(ours.address, scripts, effort.round())?.per_second();
        let peer = runtime.block_on(measure(&clients, round, effort.round()))?;
        ratios.push(claims / peer);
        rates.push(claims);
        peer_rates.push(peer);
    }
    let mut report = ScenarioReport::default();
    report.note(format!(
        "{CONNECTIONS} connections: {:.0} claims/s over HTTP, PostgreSQL {:.0} claims/s over its own socket, {} rounds",
        median(rates),
        median(peer_rates),
        ratios.len()
    ));
    report.figure(
        "claims at 64 connections, over those of a PostgreSQL table",
        median(ratios),
        "×",
        Bar::AtLeast(3.0),
    );
    drop(clients);
    ours.stop()?;
    Ok(report)
}

/// A filled table, and connections to it.
async fn prepare(cluster: &Cluster, values: u32, connections: usize) -> Result<Vec<Arc<Client>>> {
    let config: tokio_postgres::Config = cluster.url().parse()?;
    let mut clients = Vec::with_capacity(connections);
    for _ in 0..connections {
        let (client, connection) = config.connect(NoTls).await?;
        tokio::spawn(connection);
        clients.push(Arc::new(client));
    }
    let first = clients.first().context("no connection")?;
    first.batch_execute(TABLE).await?;
    first
        .execute(
            "insert into ids (value) select generate_series(1, $1::int)",
            &[&i32::try_from(values)?],
        )
        .await?;
    // Separately: VACUUM cannot run in a transaction with other statements.
    first.batch_execute("vacuum analyze ids").await?;
    first.batch_execute("checkpoint").await?;
    Ok(clients)
}

/// Claims per second of all clients together.
async fn measure(clients: &[Arc<Client>], round: usize, length: Length) -> Result<f64> {
    let Length::Timed { warm_up, measure } = length else { bail!("the peer needs a timed run") };
    let from = Instant::now() + warm_up;
    let until = from + measure;
    let mut loops = JoinSet::new();
    for (number, client) in clients.iter().map(Arc::clone).enumerate() {
        let name = format!("r{round}-c{number:02}");
        loops.spawn(async move { claim_until(&client, &name, from, until).await });
    }
    let mut counted = 0;
    while let Some(one) = loops.join_next().await {
        counted += one??;
    }
    Ok(counted as f64 / measure.as_secs_f64())
}

/// Claims until `until`, and counts the answers after `from`.
async fn claim_until(client: &Client, name: &str, from: Instant, until: Instant) -> Result<u64> {
    let statement = client.prepare(CLAIM).await?;
    let mut counted = 0;
    for number in 0u64.. {
        let holder = format!("{name}-{number:07}");
        client.query_one(&statement, &[&holder]).await.context("the table is exhausted")?;
        let now = Instant::now();
        if now >= until {
            break;
        }
        counted += u64::from(now >= from);
    }
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many claims as values: each value is claimed once.
    #[test]
    fn the_peer_grants_each_value_once() {
        let folder = process::scratch().unwrap();
        let cluster = postgres::start(folder.path()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let values = runtime.block_on(async {
            let clients = prepare(&cluster, 40, 8).await.unwrap();
            let mut claims = JoinSet::new();
            for client in clients {
                claims.spawn(async move {
                    let mut values = Vec::new();
                    for _ in 0..5 {
                        let row = client.query_one(CLAIM, &[&"holder"]).await.unwrap();
                        values.push(row.get::<_, i64>(0));
                    }
                    values
                });
            }
            claims.join_all().await.concat()
        });
        let distinct: std::collections::BTreeSet<i64> = values.iter().copied().collect();
        assert_eq!((values.len(), distinct.len()), (40, 40));
    }
}
