//! Promises about concurrent threads, and about concurrent handles.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{OpenStorage, append_many, committed, next_frame, read_whole};
use crate::contract::{AppendOutcome, Journal};
use crate::frame::RecordFrame;

/// Reads the journal repeatedly until `stop`, checks that it only grows, and returns what it read last.
fn follow(journal: &dyn Journal, stop: &AtomicBool) -> Vec<RecordFrame> {
    let mut seen: Vec<RecordFrame> = Vec::new();
    loop {
        let last_round = stop.load(Ordering::SeqCst);
        let tail = journal.tail().expect("tail");
        let whole = read_whole(journal, 300);
        assert!(whole.len() as u64 >= tail.seq, "the tail covers a record that cannot be read");
        assert!(whole.starts_with(&seen), "a record has changed");
        seen = whole;
        if last_round {
            return seen;
        }
        journal.watch(tail.seq, Duration::from_millis(5));
    }
}

pub fn readers_see_a_prefix(open: &OpenStorage) {
    let journal = open();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers = (0..3).map(|_| scope.spawn(|| follow(&*journal, &stop))).collect::<Vec<_>>();
        let frames = append_many(&*journal, 60);
        stop.store(true, Ordering::SeqCst);
        for reader in readers {
            assert_eq!(reader.join().expect("a reader"), frames);
        }
    });
}

/// Two writers append, each at the tail that it knows, until each has committed `ROUNDS` records. The journal must then
/// contain exactly the committed records.
fn race(first: &dyn Journal, second: &dyn Journal) {
    const ROUNDS: usize = 40;
    let before = read_whole(first, 1000).len();
    let barrier = Barrier::new(2);
    let write = |journal: &dyn Journal, writer: u64| {
        let mut mine = Vec::new();
        barrier.wait();
        let mut tail = journal.tail().expect("tail");
        while mine.len() < ROUNDS {
            let frame = next_frame(&tail, writer, &writer.to_le_bytes());
            match journal.append(&tail, &frame) {
                AppendOutcome::Committed(end) => {
                    assert_eq!(end, frame.tail(frame.hash()));
                    mine.push(frame.batch);
                    tail = end;
                }
                AppendOutcome::Conflict(end) => {
                    assert_ne!(end, tail, "a conflict with the tail that was expected");
                    tail = end;
                }
                AppendOutcome::Unknown(error) => panic!("unknown outcome without a fault: {error}"),
            }
        }
        mine
    };
    let mut acknowledged = thread::scope(|scope| {
        let other = scope.spawn(|| write(second, 2));
        let mut batches = write(first, 1);
        batches.extend(other.join().expect("the other writer"));
        batches
    });
    let stored = read_whole(first, 1000);
    let mut stored = stored[before..].iter().map(|frame| frame.batch).collect::<Vec<_>>();
    acknowledged.sort_unstable();
    stored.sort_unstable();
    assert_eq!(stored, acknowledged);
}

pub fn one_of_two_appends_wins(open: &OpenStorage) {
    let journal = open();
    // At the same tail, one after the other: the second must lose.
    let tail = journal.tail().expect("tail");
    committed(journal.append(&tail, &next_frame(&tail, 1, b"first")));
    let outcome = journal.append(&tail, &next_frame(&tail, 2, b"second"));
    assert!(matches!(outcome, AppendOutcome::Conflict(end) if end.seq == 1), "{outcome:?}");
    assert_eq!(read_whole(&*journal, 1000).len(), 1);
    race(&*journal, &*journal);
}

pub fn watch_wakes(open: &OpenStorage) {
    let journal = open();
    append_many(&*journal, 1);
    let started = Instant::now();
    journal.watch(0, Duration::from_secs(20));
    assert!(started.elapsed() < Duration::from_secs(10), "there is a record after 0 already");

    let started = Instant::now();
    // Several rounds, because an append may come before the watcher waits.
    const ROUNDS: u64 = 10;
    let barrier = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            for seq in 1..=ROUNDS {
                barrier.wait();
                while journal.tail().expect("tail").seq <= seq {
                    journal.watch(seq, Duration::from_secs(20));
                }
            }
        });
        for _ in 0..ROUNDS {
            barrier.wait();
            append_many(&*journal, 1);
        }
    });
    assert!(started.elapsed() < Duration::from_secs(10), "an append does not wake a watcher");

    let started = Instant::now();
    journal.watch(ROUNDS + 1, Duration::from_millis(20));
    assert!(started.elapsed() < Duration::from_secs(10), "watch waits longer than wait_max");
}

pub fn handles_see_each_other(open: &OpenStorage) {
    let (first, second) = (open(), open());
    let mut frames = append_many(&*first, 3);
    assert_eq!(second.tail().expect("tail"), first.tail().expect("tail"));
    frames.extend(append_many(&*second, 3));
    assert_eq!(read_whole(&*first, 1000), frames);
    assert_eq!(read_whole(&*second, 1000), frames);

    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| follow(&*second, &stop));
        frames.extend(append_many(&*first, 40));
        stop.store(true, Ordering::SeqCst);
        assert_eq!(reader.join().expect("a reader"), frames);
    });
}

pub fn one_of_two_handles_wins(open: &OpenStorage) {
    race(&*open(), &*open());
}
