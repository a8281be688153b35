//! A primary that is frozen: it accepts connections and never answers. The other host is found all the same, wherever it
//! stands in the address.

use std::thread;
use std::time::{Duration, Instant};

use allod_journal::postgres::{Postgres, PostgresAddress};
use allod_journal::suite::{append_many, committed, next_frame, read_whole};
use allod_journal::{AppendOutcome, Journal, JournalError, Tail};
use allod_testkit::postgres::Cluster;

use crate::postgres::{fresh, open, parse};

const STREAMING: &str = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
const CAUGHT_UP: &str =
    "SELECT bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication";

/// A primary with a journal, its standby, and the address of both, in both orders.
struct Pair {
    primary: Cluster,
    standby: Cluster,
    addresses: [PostgresAddress; 2],
}

fn pair(records: u64) -> Pair {
    let primary = Cluster::start(&[]).expect("a cluster");
    let address = fresh(&primary);
    append_many(&open(&address), records);
    let standby = primary.standby("second", &[]).expect("a standby");
    primary.wait_for(STREAMING, "1").expect("it streams");
    primary.wait_for(CAUGHT_UP, "t").expect("it has everything");
    let (one, other) = (primary.host(), standby.host());
    let addresses = [format!("{one},{other}"), format!("{other},{one}")]
        .map(|hosts| parse(&address.to_string().replace(&one, &hosts)));
    Pair { primary, standby, addresses }
}

fn tail_of(journal: &dyn Journal) -> Tail {
    let started = Instant::now();
    loop {
        match journal.tail() {
            Ok(tail) => return tail,
            Err(JournalError::Unavailable { what }) => {
                assert!(started.elapsed() < Duration::from_secs(60), "{what}");
            }
            Err(error) => panic!("{error:?}"),
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_frozen_host_does_not_hide_the_primary() {
    let Pair { primary, standby, addresses } = pair(3);
    primary.freeze().expect("freeze");
    standby.promote().expect("promote");
    for address in addresses {
        // Before, the first attempt ended at the host that does not answer, and so did all others.
        let journal = Postgres::open(&address, false).expect("open");
        assert_eq!(journal.tail().expect("the first attempt").seq, 3, "{address}");
        assert_eq!(read_whole(&journal, 1 << 20).len(), 3, "{address}");
    }
}

#[test]
fn an_open_journal_moves_to_the_new_primary_when_the_old_one_freezes() {
    let Pair { primary, standby, addresses: [address, _] } = pair(2);
    let journal = open(&address);
    let mut tail = journal.tail().expect("tail");
    assert_eq!(journal.read(1, 1000).expect("read").len(), 2);
    primary.freeze().expect("freeze");
    standby.promote().expect("promote");
    let frame = next_frame(&tail, 1, b"after the freeze");
    match journal.append(&tail, &frame) {
        AppendOutcome::Unknown(error @ JournalError::Unavailable { .. }) => {
            assert!(error.to_string().contains("did not answer"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    // The other session was open too, and is on the frozen host.
    assert_eq!(journal.read(1, 1000).expect("read").len(), 2);
    tail = tail_of(&journal);
    assert_eq!(tail.seq, 2);
    tail = committed(journal.append(&tail, &frame));
    // The old primary answers again, and has another end. No session returns to it.
    primary.thaw().expect("thaw");
    assert_eq!(primary.sql("SELECT pg_is_in_recovery()").expect("sql"), "f");
    assert_eq!(journal.tail().expect("tail"), tail);
    assert_eq!(journal.read(3, 1000).expect("read"), [frame]);
}

#[test]
fn a_standby_that_is_promoted_late_is_found_while_the_primary_is_frozen() {
    let Pair { primary, standby, addresses: [address, _] } = pair(2);
    primary.freeze().expect("freeze");
    let journal = Postgres::open(&address, false).expect("it starts without its server");
    match journal.tail() {
        Err(JournalError::Unavailable { what }) => {
            assert!(what.contains(&standby.socket().display().to_string()), "{what}");
            assert!(what.contains("does not answer") && what.contains("writes"), "{what}");
        }
        other => panic!("{other:?}"),
    }
    standby.promote().expect("promote");
    assert_eq!(tail_of(&journal).seq, 2);
}
