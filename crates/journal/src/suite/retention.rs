//! Promises about trimming and reopening.

use super::{OpenStorage, append_many, committed, next_frame, read_whole};
use crate::contract::{Journal, JournalError};

fn assert_trimmed(journal: &dyn Journal, asked: u64, oldest: u64) {
    match journal.read(asked, 1000) {
        Err(JournalError::Trimmed { asked: said, oldest: kept }) => {
            assert_eq!((said, kept), (asked, oldest));
        }
        other => panic!("expected Trimmed for {asked}, got {other:?}"),
    }
}

pub fn trim(open: &OpenStorage) {
    let journal = open();
    journal.trim(5).expect("trimming an empty journal is no error");
    assert_eq!(journal.oldest().expect("oldest"), 1);

    let frames = append_many(&*journal, 10);
    let end = journal.tail().expect("tail");
    journal.trim(0).expect("trim");
    assert_eq!(journal.oldest().expect("oldest"), 1);
    for upto in [4, 4, 2] {
        journal.trim(upto).expect("trim");
        assert_eq!(journal.oldest().expect("oldest"), 5);
        assert_eq!(journal.tail().expect("tail"), end);
        assert_trimmed(&*journal, 1, 5);
        assert_trimmed(&*journal, 4, 5);
        assert_eq!(read_whole(&*journal, usize::MAX), frames[4..]);
    }
    for upto in [10, 1000, u64::MAX] {
        journal.trim(upto).expect("trim");
        assert_eq!(journal.oldest().expect("oldest"), 10, "the last record is never trimmed");
        assert_eq!(journal.tail().expect("tail"), end);
        assert_trimmed(&*journal, 9, 10);
    }
}

pub fn chain_continues_after_trim(open: &OpenStorage) {
    let journal = open();
    let mut frames = append_many(&*journal, 6);
    journal.trim(6).expect("trim");
    frames.extend(append_many(&*journal, 2));
    drop(journal);

    let journal = open();
    assert_eq!(journal.oldest().expect("oldest"), 6);
    assert_trimmed(&*journal, 5, 6);
    frames.extend(append_many(&*journal, 2));
    assert_eq!(read_whole(&*journal, 0), frames[5..]);
    assert_eq!(journal.tail().expect("tail").seq, 10);
}

pub fn records_survive_reopening(open: &OpenStorage) {
    let mut frames = Vec::new();
    for _ in 0..4 {
        let journal = open();
        assert_eq!(read_whole(&*journal, 1000), frames);
        frames.extend(append_many(&*journal, 7));
        let tail = journal.tail().expect("tail");
        drop(journal);

        let journal = open();
        assert_eq!(journal.tail().expect("tail"), tail);
        let frame = next_frame(&tail, 9, b"after reopening");
        committed(journal.append(&tail, &frame));
        frames.push(frame);
    }
    assert_eq!(read_whole(&*open(), usize::MAX), frames);
}
