//! The conformance suite that every back end passes: one function for each promise of the contract.
//!
//! Each promise gets its own empty storage, as a function that opens it. The suite drops a handle before it opens the
//! next, except in `SHARED_PROMISES`, which are for back ends that several processes may have open at once. A broken
//! promise panics. Faults of one back end (torn files, lost connections) are in its own tests.

mod append;
mod concurrency;
mod fill;
mod reading;
mod retention;

use crate::contract::{AppendOutcome, Journal};
use crate::frame::{RecordFrame, Tail};

/// Opens one storage; may be called several times.
pub type OpenStorage = Box<dyn Fn() -> Box<dyn Journal>>;

/// The name of a promise, and the function that tests it.
pub type ContractPromise = (&'static str, fn(&OpenStorage));

/// Promises of every back end.
pub const PROMISES: &[ContractPromise] = &[
    ("an empty journal has the zero tail", append::empty_tail),
    ("an appended record is read back", append::append_and_read_back),
    (
        "a wrong expected tail changes nothing and returns the actual tail",
        append::conflict_changes_nothing,
    ),
    ("a record that does not follow the tail is refused", append::not_following_is_refused),
    ("bodies may have any size up to the stated maximum", append::bodies_of_every_size),
    ("epochs are recorded", append::epochs_are_recorded),
    ("records are read in order, without a gap", reading::in_order_without_gap),
    ("a page of records is neither empty nor too large", reading::paging),
    ("single records are read in the order given", reading::each_as_asked),
    ("nothing is read past the end", reading::past_the_end),
    ("the record of a position is found", reading::position_is_found),
    ("trimming removes only the oldest records", retention::trim),
    ("the chain continues after trimming", retention::chain_continues_after_trim),
    ("all records survive reopening", retention::records_survive_reopening),
    ("an empty journal is filled with the records of another", fill::from_the_first),
    ("a fill with a gap or a failing source fails", fill::invalid_source_is_refused),
    ("concurrent readers see a prefix", concurrency::readers_see_a_prefix),
    ("of two appends at one tail one is committed", concurrency::one_of_two_appends_wins),
    ("an append wakes watchers", concurrency::watch_wakes),
];

/// Promises of back ends whose `fill` accepts any first record, which the default `fill` does not.
pub const FILL_PROMISES: &[ContractPromise] =
    &[("a journal filled from a later record is like a trimmed one", fill::from_a_later_one)];

/// Promises of back ends that several handles may have open at once.
pub const SHARED_PROMISES: &[ContractPromise] = &[
    ("handles see each other's records", concurrency::handles_see_each_other),
    ("of two handles at one tail one is committed", concurrency::one_of_two_handles_wins),
];

/// Tests all `PROMISES`. `fresh` makes an empty storage.
pub fn run_all(fresh: impl Fn() -> OpenStorage) {
    run(PROMISES, fresh);
}

/// Tests `FILL_PROMISES`.
pub fn run_fill(fresh: impl Fn() -> OpenStorage) {
    run(FILL_PROMISES, fresh);
}

/// Tests `SHARED_PROMISES`.
pub fn run_shared(fresh: impl Fn() -> OpenStorage) {
    run(SHARED_PROMISES, fresh);
}

#[expect(clippy::print_stderr, reason = "the output of a failed test names the broken promise")]
fn run(promises: &[ContractPromise], fresh: impl Fn() -> OpenStorage) {
    for (name, hold) in promises {
        eprintln!("promise: {name}");
        hold(&fresh());
    }
}

/// A record with one entry that follows `tail`. Its batch ID is made from `writer` and its number, so it is unique.
pub fn next_frame(tail: &Tail, writer: u64, body: &[u8]) -> RecordFrame {
    RecordFrame {
        seq: tail.seq + 1,
        epoch: tail.epoch.max(1),
        batch: (u128::from(writer) << 64) | u128::from(tail.seq + 1),
        prev: tail.hash,
        level: 1,
        position: tail.position + 1,
        at_ms: 1_700_000_000_000 + tail.seq,
        body: body.to_vec(),
    }
}

#[track_caller]
pub fn committed(outcome: AppendOutcome) -> Tail {
    match outcome {
        AppendOutcome::Committed(tail) => tail,
        other => panic!("expected Committed, got {other:?}"),
    }
}

/// Appends `count` records whose bodies contain their number, and returns them.
#[track_caller]
pub fn append_many(journal: &dyn Journal, count: u64) -> Vec<RecordFrame> {
    let mut tail = journal.tail().expect("tail");
    let mut frames = Vec::new();
    for _ in 0..count {
        let frame = next_frame(&tail, 1, format!("record {}", tail.seq + 1).as_bytes());
        tail = committed(journal.append(&tail, &frame));
        frames.push(frame);
    }
    frames
}

/// All records, read page by page, with the chain verified.
#[track_caller]
pub fn read_whole(journal: &dyn Journal, bytes_max: usize) -> Vec<RecordFrame> {
    let mut from = journal.oldest().expect("oldest");
    let mut frames: Vec<RecordFrame> = Vec::new();
    loop {
        let page = journal.read(from, bytes_max).expect("read");
        if page.is_empty() {
            return frames;
        }
        for frame in page {
            if let Some(before) = frames.last() {
                frame.follows(&before.tail(before.hash())).expect("the chain holds");
            }
            assert_eq!(frame.seq, from, "a record is missing or out of order");
            from += 1;
            frames.push(frame);
        }
    }
}
