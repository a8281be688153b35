//! The journal in PostgreSQL, on a real server: the conformance suite, opening, and faults of this back end.

mod frozen;
mod lost;
mod open;
mod replicas;
mod rivals;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use allod_journal::postgres::{Postgres, PostgresAddress};
use allod_journal::suite;
use allod_testkit::postgres::Cluster;

/// One server for all tests that do not stop it. It is removed when this process ends.
fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(&[]).expect("a cluster"))
}

/// The address of a new journal.
fn fresh(cluster: &Cluster) -> PostgresAddress {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    parse(&format!("{}?schema=test_{n}", cluster.url()))
}

fn parse(url: &str) -> PostgresAddress {
    PostgresAddress::parse(url).expect("an address")
}

fn open(address: &PostgresAddress) -> Postgres {
    Postgres::open(address, false).expect("open")
}

fn fresh_storage() -> suite::OpenStorage {
    let address = fresh(cluster());
    Box::new(move || Box::new(open(&address)))
}

#[test]
fn passes_the_suite() {
    suite::run_all(fresh_storage);
}

#[test]
fn passes_the_suite_for_fills() {
    suite::run_fill(fresh_storage);
}

#[test]
fn passes_the_suite_for_several_handles() {
    suite::run_shared(fresh_storage);
}
