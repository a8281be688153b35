//! Promises about reading.

use super::{OpenStorage, append_many, committed, next_frame, read_whole};
use crate::contract::RECORD_BYTES;
use crate::frame::{RecordFrame, Tail};

pub fn in_order_without_gap(open: &OpenStorage) {
    let journal = open();
    let frames = append_many(&*journal, 50);
    for bytes_max in [0, 500, 2000, usize::MAX] {
        assert_eq!(read_whole(&*journal, bytes_max), frames);
    }
    for from in [1_usize, 2, 25, 50] {
        let read = journal.read(from as u64, usize::MAX).expect("read");
        assert_eq!(read, frames[from - 1..]);
    }
}

pub fn paging(open: &OpenStorage) {
    let journal = open();
    let mut tail = Tail::default();
    for size in [0, 3000, 10, 10, 5000, 0, 0] {
        tail = committed(journal.append(&tail, &next_frame(&tail, 1, &vec![1; size])));
    }
    for bytes_max in [0, 1, 200, 400, 3000, 4000, 20_000] {
        let mut from = 1;
        while from <= tail.seq {
            let page = journal.read(from, bytes_max).expect("read");
            assert!(!page.is_empty(), "no record from {from} on with {bytes_max} bytes");
            let bytes = page.iter().map(|frame| RECORD_BYTES + frame.body.len()).sum::<usize>();
            assert!(page.len() == 1 || bytes <= bytes_max, "{bytes} bytes for {bytes_max}");
            from += page.len() as u64;
        }
        assert_eq!(from, tail.seq + 1);
    }
    assert_eq!(journal.read(1, usize::MAX).expect("read").len() as u64, tail.seq);
}

pub fn each_as_asked(open: &OpenStorage) {
    let journal = open();
    let frames = append_many(&*journal, 9);
    let read = |seqs: &[u64], bytes_max| {
        let read = journal.read_each(seqs, bytes_max).expect("read_each");
        assert!(read.iter().all(|frame| *frame == frames[frame.seq as usize - 1]));
        read.iter().map(|frame| frame.seq).collect::<Vec<_>>()
    };
    assert_eq!(read(&[7, 2, 2, 9], usize::MAX), [7, 2, 2, 9]);
    assert_eq!(read(&[3, 10, 1], usize::MAX), [3]);
    assert_eq!(read(&[], usize::MAX), [0; 0]);
    assert_eq!(read(&[5, 6, 7], 0), [5]);
    let two = 2 * RECORD_BYTES + frames[4].body.len() + frames[5].body.len();
    assert_eq!(read(&[5, 6, 7], two), [5, 6]);
    journal.trim(4).expect("trim");
    assert!(journal.read_each(&[6, 4], usize::MAX).is_err());
}

pub fn past_the_end(open: &OpenStorage) {
    let journal = open();
    append_many(&*journal, 3);
    for from in [4, 5, 1000, u64::MAX] {
        assert_eq!(journal.read(from, 1000).expect("read"), [], "from {from}");
    }
}

pub fn position_is_found(open: &OpenStorage) {
    let journal = open();
    let mut tail = Tail::default();
    // Records of several entries, of none, and of one.
    for position in [3, 3, 4, 10, 10, 10, 11] {
        let frame = RecordFrame { position, ..next_frame(&tail, 1, b"entries") };
        tail = committed(journal.append(&tail, &frame));
    }
    let expected =
        [(0, 1), (1, 1), (3, 1), (4, 3), (5, 4), (9, 4), (10, 4), (11, 7), (12, 8), (u64::MAX, 8)];
    for (position, seq) in expected {
        assert_eq!(journal.seq_of_position(position).expect("seq_of_position"), seq, "{position}");
    }
    journal.trim(4).expect("trim");
    for (position, seq) in [(1, 5), (10, 5), (11, 7), (12, 8)] {
        assert_eq!(journal.seq_of_position(position).expect("seq_of_position"), seq, "{position}");
    }
}
