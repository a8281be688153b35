//! Two servers on one journal under load, with kills, pauses and lost connections. A checker verifies every answer.

#![expect(clippy::print_stderr, reason = "figures that a reader of a failed test looks for")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use allod_engine::{recover, state_hash, verify};
use allod_journal::postgres::{Postgres, PostgresAddress};
use allod_testkit::http::Client;
use allod_testkit::postgres::{Cluster, signal};
use allod_testkit::{Call, CallAnswer, History, Request, check, native, read_chain};

use crate::crash::load::{self, POOLS, SeededRandom};
use crate::crash::server::Server;
use crate::postgres::{start, until};

const CLIENTS: u64 = 3;

/// A server that can be replaced; each start has another port.
struct RestartableServer {
    server: Option<Server>,
    address: Arc<Mutex<SocketAddr>>,
    /// The commands that it has carried out.
    done: Arc<AtomicUsize>,
}

impl RestartableServer {
    fn new(url: &str) -> RestartableServer {
        let server = start(url);
        let address = Arc::new(Mutex::new(server.address));
        RestartableServer { server: Some(server), address, done: Arc::default() }
    }

    fn pid(&self) -> u32 {
        self.server.as_ref().unwrap().pid()
    }

    fn replace(&mut self, url: &str) {
        drop(self.server.take().unwrap().kill());
        let server = start(url);
        *self.address.lock().unwrap() = server.address;
        self.server = Some(server);
    }
}

/// Sends requests until `enough` is set, and reconnects after each loss.
fn client(
    server: &RestartableServer,
    seed: u64,
    start: Instant,
    enough: Arc<AtomicBool>,
) -> JoinHandle<Vec<Call>> {
    let (address, done) = (server.address.clone(), server.done.clone());
    std::thread::spawn(move || {
        let mut random = SeededRandom(seed);
        let mut calls: Vec<Call> = Vec::new();
        let mut at = *address.lock().unwrap();
        let mut client = Client::new(at, Duration::from_secs(20));
        while !enough.load(Ordering::Relaxed) {
            let request = load::request(&mut random, &POOLS);
            let call = native::call(&mut client, request, start, seed);
            if matches!(call.answer, CallAnswer::Lost | CallAnswer::Failed) {
                std::thread::sleep(Duration::from_millis(20));
            }
            if matches!(call.answer, CallAnswer::Done(_)) {
                done.fetch_add(1, Ordering::Relaxed);
            }
            if call.answer == CallAnswer::Lost {
                at = *address.lock().unwrap();
                client = Client::new(at, Duration::from_secs(20));
            }
            calls.push(call);
        }
        calls
    })
}

fn journal(url: &str) -> Postgres {
    Postgres::open(&PostgresAddress::parse(url).unwrap(), false).unwrap()
}

/// Verifies all answers, and the state that a start would replay.
fn check_answers(url: &str, history: &History) {
    let journal = journal(url);
    let checkpoints = journal.checkpoints();
    let chain = read_chain(&journal).unwrap();
    let verdict = check(&chain, history, false);
    verdict.expect_no_problems();
    // Reads may be stale; commands may not: they must see every earlier answer.
    let commands = history.calls.iter().filter(|call| matches!(call.request, Request::Command(_)));
    check(&chain, &History { calls: commands.cloned().collect() }, true).expect_no_problems();
    let whole = verify(&journal, &checkpoints, &mut |_| {}).unwrap();
    assert_eq!(whole.violations, Vec::<String>::new());
    let short = recover(&journal, &checkpoints).unwrap();
    assert_eq!(state_hash(&short.state, short.level), whole.state_hash);
    eprintln!(
        "{} calls, {} correct, {} open; {} records, epoch {}",
        history.calls.len(),
        verdict.right,
        verdict.open,
        chain.tail.seq,
        chain.tail.epoch
    );
    assert!(verdict.right > 500, "only {} answers were checked", verdict.right);
}

fn done(calls: &[Call], seed: u64) -> usize {
    let done =
        |call: &&Call| call.connection % 2 == seed && matches!(call.answer, CallAnswer::Done(_));
    calls.iter().filter(done).count()
}

/// Runs two servers under load while `trouble` disturbs them. Returns the number of conflicts.
fn under_fire(
    cluster: &mut Cluster,
    trouble: impl FnOnce(&mut Cluster, &mut [RestartableServer; 2]),
) -> History {
    let url = cluster.url();
    let mut places = [RestartableServer::new(&url), RestartableServer::new(&url)];
    let start = Instant::now();
    let mut history = History::default();
    let mut first = places[0].server.as_ref().unwrap().client();
    for request in load::pools() {
        history.calls.push(native::call(&mut first, request, start, 0));
    }
    let enough = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..2 * CLIENTS)
        .map(|n| client(&places[(n % 2) as usize], n, start, enough.clone()))
        .collect();
    trouble(cluster, &mut places);
    let is_busy = |server: &RestartableServer| server.done.load(Ordering::Relaxed) > 300;
    until("both servers carry out commands", || places.iter().all(is_busy));
    enough.store(true, Ordering::Relaxed);
    for client in clients {
        history.calls.extend(client.join().unwrap());
    }
    for place in &mut places {
        let (code, said) = place.server.take().unwrap().stop();
        assert_eq!(code, Some(0), "{said}");
    }
    // Both must have succeeded, or the test shows nothing.
    let shares = [done(&history.calls, 0), done(&history.calls, 1)];
    eprintln!("accepted by each: {shares:?}");
    assert!(shares.iter().all(|share| *share > 100), "{shares:?}");
    history
}

#[test]
fn two_busy_servers_both_make_progress() {
    let mut cluster = Cluster::start(&[]).unwrap();
    let history = under_fire(&mut cluster, |_, _| {});
    check_answers(&cluster.url(), &history);
}

#[test]
fn killed_and_paused_servers_never_grant_a_value_twice() {
    let mut cluster = Cluster::start(&[]).unwrap();
    let history = under_fire(&mut cluster, |cluster, places| {
        let url = cluster.url();
        for round in 0..6 {
            std::thread::sleep(Duration::from_millis(400));
            let place = &mut places[round % 2];
            if round % 3 == 2 {
                place.replace(&url);
            } else {
                // Longer than the other server waits for its turn.
                signal(place.pid(), "STOP").unwrap();
                std::thread::sleep(Duration::from_millis(1500));
                signal(place.pid(), "CONT").unwrap();
            }
        }
    });
    check_answers(&cluster.url(), &history);
}

#[test]
fn appends_with_a_lost_connection_are_resolved() {
    let mut cluster = Cluster::start(&[]).unwrap();
    let history = under_fire(&mut cluster, |cluster, _| {
        for round in 0..25 {
            std::thread::sleep(Duration::from_millis(100));
            let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE application_name = 'allod' AND pid <> pg_backend_pid()";
            cluster.sql(cut).unwrap();
            if round == 10 {
                cluster.stop().unwrap();
                cluster.resume().unwrap();
            }
            if round == 18 {
                cluster.kill().unwrap();
                cluster.resume().unwrap();
            }
        }
    });
    check_answers(&cluster.url(), &history);
}
