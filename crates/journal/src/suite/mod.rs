//! The conformance suite: what the contract promises, one function for each promise, for every back end to pass.
//!
//! Each promise gets a storage of its own, empty, as a function that opens it. The suite drops a handle before it opens
//! the next, except in `SHARED_PROMISES`, which are for back ends that several processes may have open at once. A broken
//! promise panics. Not here: what only one back end can suffer (torn files, lost connections); that is in its own tests.

mod append;
mod concurrency;
mod filling;
mod keeping;
mod reading;

use crate::contract::{Append, Journal};
use crate::frame::{Frame, Tail};

/// Opens one storage, again and again.
pub type Open = Box<dyn Fn() -> Box<dyn Journal>>;

/// A promise by its name, and what holds a back end to it.
pub type Promise = (&'static str, fn(&Open));

/// What every back end promises.
pub const PROMISES: &[Promise] = &[
    ("an empty journal has the zero tail", append::empty_tail),
    ("what was appended is read back", append::append_and_read_back),
    (
        "a wrong expected tail changes nothing and tells the true one",
        append::conflict_changes_nothing,
    ),
    ("a record that does not follow is refused", append::not_following_is_refused),
    ("bodies may be empty, or as large as is said", append::bodies_of_every_size),
    ("epochs are recorded", append::epochs_are_recorded),
    ("records are read in order, without a gap", reading::in_order_without_gap),
    ("a page of records is never empty nor too large", reading::paging),
    ("single records are read in the order asked for", reading::each_as_asked),
    ("nothing is read past the end", reading::past_the_end),
    ("a position is found", reading::position_is_found),
    ("trimming forgets the oldest only", keeping::trim),
    ("the chain goes on after trimming", keeping::chain_goes_on_after_trim),
    ("everything is there after opening again", keeping::everything_survives_opening_again),
    ("an empty journal is filled with another's records", filling::from_the_first),
    ("what does not follow or cannot be read does not fill", filling::only_what_follows),
    ("readers beside a writer see a prefix", concurrency::readers_see_a_prefix),
    ("of two appends at one tail one is committed", concurrency::one_of_two_appends_wins),
    ("watch wakes", concurrency::watch_wakes),
];

/// What back ends promise besides that can begin at any record, which the trait's own `fill` cannot.
pub const FILL_PROMISES: &[Promise] = &[(
    "a journal that is filled from a later record on is as one that was trimmed",
    filling::from_a_later_one,
)];

/// What back ends promise besides that several handles may have open at once.
pub const SHARED_PROMISES: &[Promise] = &[
    ("handles see each other's records", concurrency::handles_see_each_other),
    ("of two handles at one tail one is committed", concurrency::one_of_two_handles_wins),
];

/// Holds a back end to all `PROMISES`. `fresh` makes an empty storage.
pub fn run_all(fresh: impl Fn() -> Open) {
    run(PROMISES, fresh);
}

/// Holds a back end that can begin at any record to `FILL_PROMISES`.
pub fn run_fill(fresh: impl Fn() -> Open) {
    run(FILL_PROMISES, fresh);
}

/// Holds a back end that allows several handles to `SHARED_PROMISES`.
pub fn run_shared(fresh: impl Fn() -> Open) {
    run(SHARED_PROMISES, fresh);
}

#[expect(
    clippy::print_stderr,
    reason = "the name of the promise is what a reader of a failed test's output looks for"
)]
fn run(promises: &[Promise], fresh: impl Fn() -> Open) {
    for (name, hold) in promises {
        eprintln!("promise: {name}");
        hold(&fresh());
    }
}

/// A record that follows `tail` with one entry, unlike any other: its batch is made from `writer` and its place.
pub fn next_frame(tail: &Tail, writer: u64, body: &[u8]) -> Frame {
    Frame {
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
pub fn committed(outcome: Append) -> Tail {
    match outcome {
        Append::Committed(tail) => tail,
        other => panic!("expected Committed, got {other:?}"),
    }
}

/// Appends `count` records whose bodies tell their place, and returns them.
#[track_caller]
pub fn append_many(journal: &dyn Journal, count: u64) -> Vec<Frame> {
    let mut tail = journal.tail().expect("tail");
    let mut frames = Vec::new();
    for _ in 0..count {
        let frame = next_frame(&tail, 1, format!("record {}", tail.seq + 1).as_bytes());
        tail = committed(journal.append(&tail, &frame));
        frames.push(frame);
    }
    frames
}

/// Everything that is kept, page by page, with the chain verified from `oldest` on.
#[track_caller]
pub fn read_whole(journal: &dyn Journal, bytes_max: usize) -> Vec<Frame> {
    let mut from = journal.oldest().expect("oldest");
    let mut frames: Vec<Frame> = Vec::new();
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
