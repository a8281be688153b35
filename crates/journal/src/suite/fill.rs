//! Promises about filling an empty journal.

use super::{OpenStorage, append_many, committed, next_frame, read_whole};
use crate::contract::{Journal, JournalError};
use crate::frame::{Hash, RecordFrame, Tail};

/// Records that follow each other, the first after record `after`.
fn chain(after: u64, count: usize) -> Vec<RecordFrame> {
    let hash = if after == 0 { Hash::default() } else { Hash([9; 32]) };
    let mut tail = Tail { seq: after, hash, position: after * 2, epoch: after.min(3) };
    (0..count)
        .map(|size| {
            let frame = next_frame(&tail, 4, &vec![5; size * 7]);
            tail = frame.tail(frame.hash());
            frame
        })
        .collect()
}

fn fill(journal: &dyn Journal, frames: &[RecordFrame], piece: usize) -> Result<Tail, JournalError> {
    let mut pieces = frames.chunks(piece);
    journal.fill(&mut || Ok(pieces.next().map(<[RecordFrame]>::to_vec).unwrap_or_default()))
}

fn end(frames: &[RecordFrame]) -> Tail {
    frames.last().map_or_else(Tail::default, |frame| frame.tail(frame.hash()))
}

pub fn from_the_first(open: &OpenStorage) {
    let frames = chain(0, 30);
    let journal = open();
    assert_eq!(fill(&*journal, &[], 1).expect("nothing is no error"), Tail::default());
    assert_eq!(fill(&*journal, &frames, 7).expect("it fills"), end(&frames));
    assert_eq!(journal.tail().expect("tail"), end(&frames));
    match fill(&*journal, &frames, 7) {
        Err(JournalError::Unusable { what }) => assert!(what.contains("30 records"), "{what}"),
        other => panic!("it was filled a second time: {other:?}"),
    }
    drop(journal);

    let journal = open();
    assert_eq!(read_whole(&*journal, 500), frames);
    let tail = journal.tail().expect("tail");
    committed(journal.append(&tail, &next_frame(&tail, 1, b"after the fill")));
}

pub fn invalid_source_is_refused(open: &OpenStorage) {
    let frames = chain(0, 9);
    let journal = open();
    let gap = [&frames[..4], &frames[5..]].concat();
    match fill(&*journal, &gap, 9) {
        Err(JournalError::Chain(_)) => {}
        other => panic!("a gap was filled in: {other:?}"),
    }
    drop(journal);
    // A journal of this process alone may be left partly filled; then a second fill cannot be tested.
    let journal = open();
    if journal.tail().expect("tail") == Tail::default() {
        let failing = || Err(JournalError::Unavailable { what: "the source".to_owned() });
        match journal.fill(&mut { failing }) {
            Err(JournalError::Unavailable { what }) => assert_eq!(what, "the source"),
            other => panic!("the source failed, and that is {other:?}"),
        }
        assert_eq!(journal.tail().expect("tail"), Tail::default());
    }
}

pub fn from_a_later_one(open: &OpenStorage) {
    let frames = chain(40, 12);
    let journal = open();
    assert_eq!(fill(&*journal, &frames, 5).expect("it fills"), end(&frames));
    drop(journal);

    let journal = open();
    assert_eq!(journal.oldest().expect("oldest"), 41);
    assert_eq!(journal.tail().expect("tail"), end(&frames));
    assert_eq!(read_whole(&*journal, 300), frames);
    match journal.read(40, 100) {
        Err(JournalError::Trimmed { asked: 40, oldest: 41 }) => {}
        other => panic!("expected Trimmed, got {other:?}"),
    }
    assert_eq!(journal.seq_of_position(84).expect("seq_of_position"), 44);
    append_many(&*journal, 3);
    journal.trim(50).expect("trim");
    drop(journal);
    let journal = open();
    assert_eq!(journal.oldest().expect("oldest"), 51);
    assert_eq!(read_whole(&*journal, 300).len(), 5);
}
