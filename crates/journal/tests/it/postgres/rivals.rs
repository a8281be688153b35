//! Two writers on one journal: both make progress, and no number is used twice.

use std::thread;
use std::time::{Duration, Instant};

use allod_journal::suite::{append_many, committed, next_frame, read_whole};
use allod_journal::{AppendOutcome, Journal};

use crate::postgres::{cluster, fresh, open};

/// Appends at the known tail until `count` records are committed. Returns the number of conflicts.
fn write(journal: &dyn Journal, writer: u64, count: u64) -> u64 {
    let mut tail = journal.tail().expect("tail");
    let (mut done, mut conflicts) = (0, 0);
    while done < count {
        match journal.append(&tail, &next_frame(&tail, writer, &[7; 300])) {
            AppendOutcome::Committed(end) => {
                done += 1;
                tail = end;
            }
            AppendOutcome::Conflict(end) => {
                conflicts += 1;
                // After a conflict it has to read the other's records.
                journal.read(tail.seq + 1, 1 << 20).expect("read");
                tail = end;
            }
            AppendOutcome::Unknown(error) => panic!("{error:?}"),
        }
    }
    conflicts
}

#[test]
fn two_busy_writers_both_make_progress() {
    const COUNT: u64 = 150;
    let address = fresh(cluster());
    let (one, other) = (open(&address), open(&address));
    let started = Instant::now();
    let conflicts = thread::scope(|scope| {
        let first = scope.spawn(|| write(&one, 1, COUNT));
        let second = scope.spawn(|| write(&other, 2, COUNT));
        [first.join().expect("a writer"), second.join().expect("a writer")]
    });
    eprintln!("{COUNT} records each in {:?}, conflicts {conflicts:?}", started.elapsed());
    assert_eq!(read_whole(&one, 1 << 20).len() as u64, 2 * COUNT);
    // After a conflict a writer has priority: hardly more than one conflict for each record.
    assert!(conflicts.iter().all(|conflicts| *conflicts <= COUNT + COUNT / 2), "{conflicts:?}");
}

#[test]
fn idle_holder_of_the_priority_lock_does_not_block_others() {
    let address = fresh(cluster());
    let (paused, busy) = (open(&address), open(&address));
    let early = paused.tail().expect("tail");
    append_many(&busy, 3);
    // After the conflict it holds the priority lock, and does nothing.
    let outcome = paused.append(&early, &next_frame(&early, 9, b"late"));
    assert!(matches!(outcome, AppendOutcome::Conflict(_)), "{outcome:?}");
    let started = Instant::now();
    append_many(&busy, 20);
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(90), "the other did not wait: {took:?}");
    assert!(took < Duration::from_secs(3), "waited too long: {took:?}");
    // It releases the lock without an append.
    let tail = paused.tail().expect("tail");
    drop(paused.append(&early, &next_frame(&early, 9, b"late")));
    paused.yield_turn();
    thread::sleep(Duration::from_millis(1100));
    let started = Instant::now();
    committed(busy.append(&tail, &next_frame(&tail, 1, b"at once")));
    assert!(started.elapsed() < Duration::from_millis(90), "{:?}", started.elapsed());
}

#[test]
fn slow_append_does_not_reuse_the_number_of_a_trimmed_record() {
    let address = fresh(cluster());
    let schema = address.to_string().rsplit('=').next().expect("a schema").to_owned();
    let journal = open(&address);
    append_many(&journal, 3);
    let tail = journal.tail().expect("tail");
    // The append checks its predecessor, and then takes a second to write.
    let slow = format!(
        "CREATE FUNCTION {schema}.slow() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(1); RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE INSERT ON {schema}.journal
            FOR EACH ROW EXECUTE FUNCTION {schema}.slow()"
    );
    cluster().sql(&slow).expect("sql");
    let outcome = thread::scope(|scope| {
        let append = scope.spawn(|| journal.append(&tail, &next_frame(&tail, 1, b"slow")));
        let sleeps = "SELECT count(*) FROM pg_stat_activity
            WHERE wait_event = 'PgSleep' AND query LIKE '%journal%'";
        cluster().wait_for(sleeps, "1").expect("it sleeps");
        // Meanwhile another writer appends two records and trims all but the last.
        let others = format!(
            "SET session_replication_role = replica;
            INSERT INTO {schema}.journal SELECT seq + 1, epoch, batch, prev, hash, level, position, at_ms, body
                FROM {schema}.journal WHERE seq = 3;
            INSERT INTO {schema}.journal SELECT seq + 2, epoch, batch, prev, hash, level, position, at_ms, body
                FROM {schema}.journal WHERE seq = 3;
            DELETE FROM {schema}.journal WHERE seq <= 4"
        );
        for statement in others.split(';').skip(1) {
            let text = format!("SET session_replication_role = replica; {statement}");
            cluster().sql(&text).expect("sql");
        }
        append.join().expect("the append")
    });
    assert!(matches!(outcome, AppendOutcome::Conflict(end) if end.seq == 5), "{outcome:?}");
    assert_eq!(journal.oldest().expect("oldest"), 5);
}
