//! Connections lost during an append: the outcome is unknown, never guessed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use allod_journal::suite::{append_many, committed, next_frame, read_whole};
use allod_journal::{AppendOutcome, Journal, JournalError, RecordFrame, Tail};
use allod_testkit::postgres::Cluster;

use crate::postgres::{fresh, open};

/// Appends records, and resolves unknown outcomes as the engine does: reads back, or appends another record with the same
/// number. Returns the records known to be committed.
fn persist(journal: &dyn Journal, stop: &AtomicBool) -> (Vec<RecordFrame>, u64) {
    let mut tail = patiently(|| journal.tail());
    let (mut known, mut unknown) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        let frame = next_frame(&tail, 1, b"persist");
        match journal.append(&tail, &frame) {
            AppendOutcome::Committed(end) => {
                known.push(frame);
                tail = end;
            }
            AppendOutcome::Conflict(end) => {
                panic!("a conflict without another writer: {end:?}")
            }
            AppendOutcome::Unknown(JournalError::Unavailable { .. }) => {
                unknown += 1;
                tail = settle(journal, &tail, &frame, &mut known);
            }
            // It was not sent.
            AppendOutcome::Unknown(JournalError::Untried { .. }) => {
                thread::sleep(Duration::from_millis(5))
            }
            AppendOutcome::Unknown(error) => panic!("{error:?}"),
        }
    }
    (known, unknown)
}

fn settle(
    journal: &dyn Journal,
    tail: &Tail,
    frame: &RecordFrame,
    known: &mut Vec<RecordFrame>,
) -> Tail {
    let fence = next_frame(tail, 2, b"fence");
    loop {
        let found = patiently(|| journal.read(frame.seq, 0));
        if let Some(found) = found.into_iter().next() {
            let end = found.tail(found.hash());
            assert!(found == *frame || found == fence, "{found:?}");
            known.push(found);
            return end;
        }
        if let AppendOutcome::Committed(end) = journal.append(tail, &fence) {
            known.push(fence);
            return end;
        }
    }
}

fn patiently<T>(mut ask: impl FnMut() -> Result<T, JournalError>) -> T {
    let started = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(JournalError::Unavailable { what }) => {
                assert!(started.elapsed() < Duration::from_secs(20), "{what}");
            }
            Err(error) => panic!("{error:?}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn repeatedly_lost_connections_lose_and_duplicate_nothing() {
    let cluster = Cluster::start(&[]).expect("a cluster");
    let address = fresh(&cluster);
    let (stop, journal) = (AtomicBool::new(false), open(&address));
    let (known, unknown) = thread::scope(|scope| {
        let writer = scope.spawn(|| persist(&journal, &stop));
        for _ in 0..30 {
            thread::sleep(Duration::from_millis(60));
            let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE application_name = 'allod' AND pid <> pg_backend_pid()";
            cluster.sql(cut).expect("sql");
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("the writer")
    });
    assert!(unknown >= 8, "only {unknown} appends were interrupted: the test is not effective");
    assert_eq!(read_whole(&open(&address), 1 << 20), known);
}

#[test]
fn crash_of_the_server_loses_no_committed_record() {
    let mut cluster = Cluster::start(&[]).expect("a cluster");
    let address = fresh(&cluster);
    let (stop, journal) = (AtomicBool::new(false), open(&address));
    let (known, unknown) = thread::scope(|scope| {
        let writer = scope.spawn(|| persist(&journal, &stop));
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(100));
            cluster.kill().expect("kill");
            cluster.resume().expect("resume");
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().expect("the writer")
    });
    assert!(unknown > 0, "no append was interrupted: the test is not effective");
    assert_eq!(read_whole(&open(&address), 1 << 20), known);
}

#[test]
fn commit_without_confirmation_of_the_standby_is_unknown() {
    let cluster = Cluster::start(&[]).expect("a cluster");
    let address = fresh(&cluster);
    let journal = open(&address);
    append_many(&journal, 2);
    let tail = journal.tail().expect("tail");
    // Commits now wait for a standby that does not exist.
    cluster.set("synchronous_standby_names", "missing").expect("set");
    let frame = next_frame(&tail, 1, b"waits");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    for how in ["pg_cancel_backend", "pg_terminate_backend"] {
        thread::scope(|scope| {
            let append = scope.spawn(|| journal.append(&tail, &frame));
            cluster.wait_for(waiting, "1").expect("it waits");
            // An unconfirmed commit is not visible.
            let seen = cluster.sql(&format!("SELECT max(seq) FROM {}.journal", schema(&address)));
            assert_eq!(seen.expect("sql"), "2");
            let end = format!(
                "SELECT count({how}(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            );
            cluster.sql(&end).expect("sql");
            // When the wait is cancelled, PostgreSQL reports the commit as done, but only locally.
            let outcome = append.join().expect("the append");
            assert!(
                matches!(outcome, AppendOutcome::Unknown(JournalError::Unavailable { .. })),
                "{how}: {outcome:?}"
            );
        });
        // The visible record is not replicated yet, so a new session must not read it.
        assert!(read_with_a_new_session(&cluster, &journal).is_err(), "{how}");
        cluster.set("synchronous_standby_names", "").expect("set");
        let found = patiently(|| journal.read(3, 1000));
        assert_eq!(found, std::slice::from_ref(&frame), "{how}");
        if how == "pg_cancel_backend" {
            let sql = format!("DELETE FROM {}.journal WHERE seq = 3", schema(&address));
            cluster.sql(&sql).expect("sql");
            // With an existing session, because a new one would wait too.
            assert_eq!(patiently(|| journal.tail()), tail);
            cluster.set("synchronous_standby_names", "missing").expect("set");
        }
    }
    let end = frame.tail(frame.hash());
    assert_eq!(patiently(|| journal.tail()), end);
    committed(journal.append(&end, &next_frame(&end, 1, b"goes on")));
}

/// Closes all sessions, so that a new one begins, which waits for the standby until it times out.
fn read_with_a_new_session(
    cluster: &Cluster,
    journal: &dyn Journal,
) -> Result<Vec<RecordFrame>, JournalError> {
    let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE application_name = 'allod' AND pid <> pg_backend_pid()";
    cluster.sql(cut).expect("sql");
    drop(journal.read(3, 1000));
    thread::scope(|scope| {
        let read = scope.spawn(|| journal.read(3, 1000));
        let waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        cluster.wait_for(waiting, "t").expect("it waits");
        cluster.sql(cut).expect("sql");
        read.join().expect("the read")
    })
}

fn schema(address: &allod_journal::postgres::PostgresAddress) -> String {
    address.to_string().rsplit('=').next().expect("a schema").to_owned()
}
