//! Standbys: synchronous and asynchronous replication, and the fork after a fail-over.

use std::time::{Duration, Instant};

use allod_journal::postgres::Postgres;
use allod_journal::suite::{append_many, committed, next_frame};
use allod_journal::{AppendOutcome, Journal, JournalError};
use allod_testkit::postgres::Cluster;

use crate::postgres::{fresh, open, parse};

#[test]
fn ha_requires_a_synchronous_standby() {
    let primary = Cluster::start(&[]).expect("a cluster");
    let address = fresh(&primary);
    let refusal = |words: &str| {
        let error = Postgres::open(&address, true).expect_err("it is not replicated").to_string();
        assert!(error.contains("ha is on") && error.contains(words), "{error}");
    };
    refusal("not replicated");
    let standby = primary.standby("second", &[]).expect("a standby");
    let streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    primary.wait_for(streaming, "1").expect("it streams");
    refusal("asynchronously");
    let plain = open(&address);
    let guarantees = plain.guarantees();
    assert!(!guarantees.replicated && guarantees.shared, "{guarantees:?}");
    assert!(guarantees.note.expect("a note").contains("asynchronously"));

    primary.set("synchronous_standby_names", "second").expect("set");
    // The test server runs without fsync, so nothing is guaranteed.
    refusal("fsync");
    let settings = ["fsync=on"];
    let primary = restart(primary, &settings);
    primary.wait_for(streaming, "1").expect("it streams");
    let journal = Postgres::open(&address, true).expect("it is replicated");
    assert!(journal.guarantees().replicated && journal.guarantees().durable);
    append_many(&journal, 3);

    // The setting is turned off while the journal is open.
    primary.set("synchronous_standby_names", "").expect("set");
    let tail = journal.tail().expect("tail");
    let frame = next_frame(&tail, 1, b"unsafe");
    match journal.append(&tail, &frame) {
        AppendOutcome::Unknown(JournalError::Untried { what }) => {
            assert!(what.contains("ha is on"), "{what}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(open(&address).tail().expect("tail"), tail, "the record was written");
    assert!(!journal.guarantees().replicated);
    primary.set("synchronous_standby_names", "second").expect("set");
    let started = Instant::now();
    while !matches!(journal.append(&tail, &frame), AppendOutcome::Committed(_)) {
        assert!(started.elapsed() < Duration::from_secs(10), "it does not recover");
        std::thread::sleep(Duration::from_millis(20));
    }

    let on_standby = parse(&address.to_string().replace(&primary.host(), &standby.host()));
    let error = Postgres::open(&on_standby, false).expect_err("it is a standby").to_string();
    assert!(error.contains("is a standby"), "{error}");
}

/// The same cluster with more settings.
fn restart(mut cluster: Cluster, settings: &[&str]) -> Cluster {
    cluster.stop().expect("stop");
    cluster.add_settings(settings);
    cluster.resume().expect("resume");
    cluster
}

#[test]
fn asynchronous_fail_over_is_visible_in_the_tail_and_the_note() {
    let mut primary = Cluster::start(&[]).expect("a cluster");
    let address = fresh(&primary);
    append_many(&open(&address), 3);
    let standby = primary.standby("second", &[]).expect("a standby");
    let hosts = format!("{},{}", primary.host(), standby.host());
    let both = parse(&address.to_string().replace(&primary.host(), &hosts));
    let journal = open(&both);
    let streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    primary.wait_for(streaming, "1").expect("it streams");
    primary
        .wait_for(
            "SELECT bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication",
            "t",
        )
        .expect("it has everything");
    // The standby is paused; the primary still acknowledges.
    standby.set("primary_conninfo", "").expect("set");
    primary.wait_for("SELECT count(*) FROM pg_stat_replication", "0").expect("it is cut off");
    append_many(&journal, 2);
    let lost = journal.tail().expect("tail");
    primary.kill().expect("kill");
    standby.promote().expect("promote");

    let started = Instant::now();
    let found = loop {
        match journal.tail() {
            Ok(tail) => break tail,
            Err(error) => assert!(started.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!((lost.seq, found.seq), (5, 3));
    // A running writer gets a conflict; a new one sees the warning in the note.
    let outcome = journal.append(&lost, &next_frame(&lost, 1, b"after what was lost"));
    assert!(matches!(outcome, AppendOutcome::Conflict(end) if end == found), "{outcome:?}");
    for journal in [journal, open(&both)] {
        let note = journal.guarantees().note.expect("a note");
        assert!(note.contains("may be lost"), "{note}");
    }
    let journal = open(&both);
    let other = committed(journal.append(&found, &next_frame(&found, 2, b"another fourth")));
    assert_ne!((other.seq, other.hash), (4, lost.hash));
}
