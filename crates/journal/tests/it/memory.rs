//! The journal in memory: the conformance suite, and each injected fault.

use std::collections::VecDeque;

use allod_journal::memory::{InjectedFault, JournalOperation, MemoryStorage, OperationAttempt};
use allod_journal::suite::{self, append_many, committed, next_frame, read_whole};
use allod_journal::{AppendOutcome, BrokenChain, Journal, JournalError, Tail};

fn fresh() -> suite::OpenStorage {
    let storage = MemoryStorage::new();
    Box::new(move || Box::new(storage.open()))
}

#[test]
fn passes_the_suite() {
    suite::run_all(fresh);
}

#[test]
fn passes_the_suite_for_several_handles() {
    suite::run_shared(fresh);
}

#[test]
fn can_be_filled_from_any_record() {
    suite::run_fill(fresh);
}

/// A plan with these faults for the next appends.
fn plan(faults: impl IntoIterator<Item = InjectedFault>) -> allod_journal::memory::FaultPlan {
    let mut faults = faults.into_iter().collect::<VecDeque<_>>();
    Box::new(move |attempt| match attempt.operation {
        JournalOperation::Append { .. } => faults.pop_front().unwrap_or(InjectedFault::None),
        _ => InjectedFault::None,
    })
}

#[track_caller]
fn append_unknown(journal: &dyn Journal, tail: &Tail, body: &[u8]) -> JournalError {
    match journal.append(tail, &next_frame(tail, 1, body)) {
        AppendOutcome::Unknown(error) => error,
        other => panic!("expected Unknown, got {other:?}"),
    }
}

#[test]
fn lost_acknowledgement_leaves_the_record() {
    let journal = MemoryStorage::new().open_with(plan([InjectedFault::LoseAck]));
    let error = append_unknown(&journal, &Tail::default(), b"x");
    assert!(!error.changed_nothing());
    assert_eq!(read_whole(&journal, 100)[0].body, b"x");
}

#[test]
fn dropped_append_leaves_nothing() {
    for fault in [InjectedFault::DropAppend, InjectedFault::Unavailable, InjectedFault::Full] {
        let journal = MemoryStorage::new().open_with(plan([fault.clone()]));
        let error = append_unknown(&journal, &Tail::default(), b"x");
        assert_eq!(error.changed_nothing(), fault == InjectedFault::Full);
        assert_eq!(journal.tail().expect("tail"), Tail::default());
        committed(journal.append(&Tail::default(), &next_frame(&Tail::default(), 1, b"y")));
    }
}

#[test]
fn late_append_happens_when_due() {
    let journal = MemoryStorage::new().open_with(plan([InjectedFault::Late { after: 3 }]));
    append_unknown(&journal, &Tail::default(), b"late");
    assert_eq!(journal.tail().expect("tail").seq, 0);
    assert_eq!(journal.read(1, 100).expect("read"), []);
    assert_eq!(journal.tail().expect("tail").seq, 1, "the third operation sees it");
    assert_eq!(read_whole(&journal, 100)[0].body, b"late");
}

#[test]
fn late_append_is_prevented_by_another_record() {
    let storage = MemoryStorage::new();
    let journal = storage.open_with(plan([InjectedFault::Late { after: 2 }]));
    append_unknown(&journal, &Tail::default(), b"late");
    let fence = next_frame(&Tail::default(), 2, b"fence");
    committed(storage.open().append(&Tail::default(), &fence));
    storage.land_all();
    assert_eq!(read_whole(&journal, 100), [fence]);
}

#[test]
fn intruder_is_appended_first() {
    let journal = MemoryStorage::new().open_with(Box::new({
        let mut once = true;
        move |attempt: &OperationAttempt<'_>| match attempt.operation {
            JournalOperation::Append { frame, .. } if std::mem::take(&mut once) => {
                InjectedFault::Intruder(attempt.intruder(1, 77, frame.at_ms, Vec::new()))
            }
            _ => InjectedFault::None,
        }
    }));
    let frame = next_frame(&Tail::default(), 1, b"ours");
    let AppendOutcome::Conflict(tail) = journal.append(&Tail::default(), &frame) else {
        panic!("the intruder was not there first");
    };
    assert_eq!((tail.seq, tail.epoch), (1, frame.epoch + 1));
    assert_eq!(read_whole(&journal, 100)[0].batch, 77);
}

#[test]
fn fork_breaks_the_chain() {
    let storage = MemoryStorage::new();
    let journal = storage.open();
    let lost = append_many(&journal, 5);
    let tail = storage.drop_last(2);
    assert_eq!(tail.seq, 3);
    committed(journal.append(&tail, &next_frame(&tail, 2, b"another")));
    let other = committed(journal.append(
        &journal.tail().expect("tail"),
        &next_frame(&journal.tail().expect("tail"), 2, b"yet another"),
    ));
    assert_eq!(other.seq, 5);
    assert_ne!(other.hash, lost[4].hash());
    let outcome = journal
        .append(&lost[4].tail(lost[4].hash()), &next_frame(&lost[4].tail(lost[4].hash()), 1, b""));
    assert!(matches!(outcome, AppendOutcome::Conflict(end) if end == other), "{outcome:?}");
}

#[test]
fn changed_record_is_not_returned() {
    let storage = MemoryStorage::new();
    let journal = storage.open();
    append_many(&journal, 3);
    assert!(storage.alter(2, |frame| frame.body[0] ^= 1));
    let outcome = journal.read(1, 1000);
    assert!(
        matches!(outcome, Err(JournalError::Chain(BrokenChain::Altered { seq: 2 }))),
        "{outcome:?}"
    );
    assert!(!storage.alter(4, |_| ()));
}

#[test]
fn reads_can_fail_and_operations_are_counted() {
    let journal = MemoryStorage::new().open_with(Box::new(|attempt| {
        if attempt.number % 2 == 0 { InjectedFault::Unavailable } else { InjectedFault::LoseAck }
    }));
    assert!(journal.tail().is_ok());
    assert!(journal.tail().is_err());
    assert!(journal.read(1, 1).is_ok());
    assert!(journal.oldest().is_err());
    assert!(journal.oldest().is_ok());
    assert!(journal.trim(1).is_err());
}
