//! kill -9 at any moment loses nothing that was acknowledged, and keeps nothing that was not requested.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use allod_engine::{recover, state_hash, verify};
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::Embedded;
use allod_testkit::{CallAnswer, Chain, CheckReport, History, check, native, read_chain};

use crate::crash::load::{self, POOLS, SeededRandom};
use crate::crash::server::{self, Server};

const LIVES: u64 = 100;
const CLIENTS: u64 = 6;

/// Runs a server under load until `end` has ended it, and returns the result of `end`.
fn run_under_load<T>(
    server: Server,
    pools: &'static [&'static str],
    history: &mut History,
    (start, seed): (Instant, u64),
    end: impl FnOnce(Server, &AtomicBool) -> T,
) -> T {
    let mut first = server.client();
    for request in load::pools() {
        history.calls.push(native::call(&mut first, request, start, 0));
    }
    let enough = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            let seed = seed * CLIENTS + n + 1;
            load::client(server.client(), pools, seed, start, enough.clone())
        })
        .collect();
    let ended = end(server, &enough);
    enough.store(true, Ordering::Relaxed);
    for client in clients {
        history.calls.extend(client.join().unwrap());
    }
    ended
}

/// Verifies all answers, and the state that a start would replay.
fn check_answers(data: &Path, history: &History) -> (CheckReport, Chain) {
    let journal = Embedded::open(data).unwrap().journal;
    let checkpoints = FileCheckpoints::open(data).unwrap();
    let chain = read_chain(&journal).unwrap();
    let verdict = check(&chain, history, true);
    verdict.expect_no_problems();
    let whole = verify(&journal, &checkpoints, &mut |_| {}).unwrap();
    assert_eq!(whole.violations, Vec::<String>::new());
    let short = recover(&journal, &checkpoints).unwrap();
    assert_eq!(state_hash(&short.state, short.level), whole.state_hash);
    (verdict, chain)
}

#[test]
fn a_hundred_kills_under_load_lose_nothing() {
    let data = tempfile::tempdir().unwrap();
    let (start, mut random) = (Instant::now(), SeededRandom(9));
    let mut history = History::default();
    for seed in 0..LIVES {
        let wait = Duration::from_millis(20 + random.below(130));
        let server = server::start(data.path());
        run_under_load(server, &POOLS, &mut history, (start, seed), |server, _| {
            std::thread::sleep(wait);
            server.kill()
        });
    }
    let (verdict, chain) = check_answers(data.path(), &history);
    let lost = history.calls.iter().filter(|call| call.answer == CallAnswer::Lost).count() as u64;
    println!(
        "{LIVES} kills: {} calls, {} correct, {} open, {lost} interrupted, {} entries in {} records",
        history.calls.len(),
        verdict.right,
        verdict.open,
        chain.tail.position,
        chain.tail.seq
    );
    // Most clients must have been interrupted, or the test shows nothing.
    assert!(lost > LIVES * CLIENTS / 2, "only {lost} calls were cut off");
    assert!(verdict.right > LIVES * 50, "only {} answers were checked", verdict.right);
    assert!(chain.tail.position > LIVES * 20, "only {} entries", chain.tail.position);
}

#[test]
fn a_stop_answers_pending_requests() {
    let data = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let mut history = History::default();
    for seed in 0..6 {
        let server = server::start(data.path());
        let (code, said) =
            run_under_load(server, &["ids"], &mut history, (start, seed), |server, _| {
                std::thread::sleep(Duration::from_millis(120));
                server.stop()
            });
        assert_eq!(code, Some(0), "{said}");
    }
    let (_, chain) = check_answers(data.path(), &history);
    // These pools have no entries without a request, so every entry must have been acknowledged.
    let mut acknowledged = vec![false; chain.entries.len() + 1];
    for call in &history.calls {
        if matches!(call.answer, CallAnswer::Done(_)) {
            acknowledged[call.position as usize] = true;
        }
    }
    let entries = chain.entries.iter().enumerate().filter(|(_, entry)| entry.is_some());
    let silent: Vec<_> =
        entries.map(|(index, _)| index + 1).filter(|position| !acknowledged[*position]).collect();
    assert!(silent.is_empty(), "done, and not acknowledged: {silent:?}");
    assert!(chain.entries.len() > 100);
}
