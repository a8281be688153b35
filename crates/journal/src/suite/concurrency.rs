//! Promises about several threads, and about several handles where the back end has them.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Open, append_many, committed, next_frame, read_whole};
use crate::contract::{Append, Journal};
use crate::frame::Frame;

/// Reads what there is, again and again, until `stop`, and returns the longest prefix that it saw.
fn follow(journal: &dyn Journal, stop: &AtomicBool) -> Vec<Frame> {
    let mut seen: Vec<Frame> = Vec::new();
    loop {
        let last_round = stop.load(Ordering::SeqCst);
        let tail = journal.tail().expect("tail");
        let whole = read_whole(journal, 300);
        assert!(whole.len() as u64 >= tail.seq, "the tail covers a record that is not read");
        assert!(whole.starts_with(&seen), "a record that was seen has changed");
        seen = whole;
        if last_round {
            return seen;
        }
        journal.watch(tail.seq, Duration::from_millis(5));
    }
}

pub fn readers_see_a_prefix(open: &Open) {
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

/// Two writers append, each at the tail that it knows, until each has had `ROUNDS` committed. Every Committed record must
/// be in the journal, and of those two no other.
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
                Append::Committed(end) => {
                    assert_eq!(end, frame.tail(frame.hash()));
                    mine.push(frame.batch);
                    tail = end;
                }
                Append::Conflict(end) => {
                    assert_ne!(end, tail, "a conflict with the tail that was expected");
                    tail = end;
                }
                Append::Unknown(error) => panic!("unknown outcome without a fault: {error}"),
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

pub fn one_of_two_appends_wins(open: &Open) {
    let journal = open();
    // At one tail, in turn: the second must lose although its record is as good as the first.
    let tail = journal.tail().expect("tail");
    committed(journal.append(&tail, &next_frame(&tail, 1, b"first")));
    let outcome = journal.append(&tail, &next_frame(&tail, 2, b"second"));
    assert!(matches!(outcome, Append::Conflict(end) if end.seq == 1), "{outcome:?}");
    assert_eq!(read_whole(&*journal, 1000).len(), 1);
    race(&*journal, &*journal);
}

pub fn watch_wakes(open: &Open) {
    let journal = open();
    append_many(&*journal, 1);
    let started = Instant::now();
    journal.watch(0, Duration::from_secs(20));
    assert!(started.elapsed() < Duration::from_secs(10), "there is a record after 0 already");

    let started = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            while journal.tail().expect("tail").seq < 2 {
                journal.watch(1, Duration::from_secs(20));
            }
        });
        thread::sleep(Duration::from_millis(20));
        append_many(&*journal, 1);
    });
    assert!(started.elapsed() < Duration::from_secs(10), "an append does not wake a watcher");

    let started = Instant::now();
    journal.watch(2, Duration::from_millis(20));
    assert!(started.elapsed() < Duration::from_secs(10), "watch waits longer than it was told");
}

pub fn handles_see_each_other(open: &Open) {
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

pub fn one_of_two_handles_wins(open: &Open) {
    race(&*open(), &*open());
}
