//! Promises about appending.

use super::{OpenStorage, append_many, committed, next_frame, read_whole};
use crate::contract::{AppendOutcome, JournalError};
use crate::frame::{Hash, RecordFrame, Tail};

pub fn empty_tail(open: &OpenStorage) {
    let journal = open();
    assert_eq!(journal.tail().expect("tail"), Tail::default());
    assert_eq!(journal.oldest().expect("oldest"), 1);
    assert_eq!(journal.read(1, 1000).expect("read"), []);
    assert_eq!(journal.seq_of_position(1).expect("seq_of_position"), 1);
}

pub fn append_and_read_back(open: &OpenStorage) {
    let journal = open();
    // Every field has its own value, large enough that truncation to 32 bits would be detected.
    let frame = RecordFrame {
        seq: 1,
        epoch: (1 << 40) + 2,
        batch: u128::MAX - 3,
        prev: Hash::default(),
        level: u32::MAX - 4,
        position: (1 << 41) + 5,
        at_ms: (1 << 42) + 6,
        body: (0..=255).collect(),
    };
    let tail = committed(journal.append(&Tail::default(), &frame));
    assert_eq!(tail, frame.tail(frame.hash()));
    assert_eq!(journal.tail().expect("tail"), tail);
    assert_eq!(journal.read(1, 1000).expect("read"), [frame]);

    let second = next_frame(&tail, 1, b"second");
    let end = committed(journal.append(&tail, &second));
    assert_eq!(journal.tail().expect("tail"), end);
    assert_eq!(journal.read(2, 1000).expect("read"), [second]);
}

pub fn conflict_changes_nothing(open: &OpenStorage) {
    let journal = open();
    let frames = append_many(&*journal, 3);
    let end = journal.tail().expect("tail");
    let earlier = frames[1].tail(frames[1].hash());
    let forked = Tail { hash: Hash([7; 32]), ..end };
    let ahead = Tail { seq: end.seq + 1, ..end };
    let other_position = Tail { position: end.position + 1, ..end };
    let other_epoch = Tail { epoch: end.epoch + 1, ..end };
    for expected in [Tail::default(), earlier, forked, ahead, other_position, other_epoch] {
        match journal.append(&expected, &next_frame(&expected, 2, b"late")) {
            AppendOutcome::Conflict(tail) => assert_eq!(tail, end, "expected {expected:?}"),
            other => panic!("expected Conflict for {expected:?}, got {other:?}"),
        }
        assert_eq!(journal.tail().expect("tail"), end);
    }
    assert_eq!(read_whole(&*journal, 10_000), frames);
    committed(journal.append(&end, &next_frame(&end, 2, b"in time")));
}

pub fn not_following_is_refused(open: &OpenStorage) {
    let journal = open();
    let frames = append_many(&*journal, 2);
    let end = journal.tail().expect("tail");
    let good = next_frame(&end, 1, b"x");
    let wrong = [
        RecordFrame { seq: end.seq, ..good.clone() },
        RecordFrame { seq: end.seq + 2, ..good.clone() },
        RecordFrame { prev: Hash::default(), ..good.clone() },
        RecordFrame { epoch: end.epoch - 1, ..good.clone() },
        RecordFrame { position: end.position - 1, ..good.clone() },
    ];
    for frame in &wrong {
        match journal.append(&end, frame) {
            AppendOutcome::Unknown(error @ JournalError::Chain(_)) => {
                assert!(error.changed_nothing())
            }
            other => panic!("expected a broken chain for {frame:?}, got {other:?}"),
        }
    }
    assert_eq!(journal.tail().expect("tail"), end);
    assert_eq!(read_whole(&*journal, 10_000), frames);
    committed(journal.append(&end, &good));
}

pub fn bodies_of_every_size(open: &OpenStorage) {
    let journal = open();
    let bytes_max = journal.guarantees().body_bytes_max;
    let sizes = [0, 1, 100, 4095, 4096, 4097, 65_536, 1 << 20, bytes_max / 2 + 1, bytes_max];
    let mut tail = Tail::default();
    let mut frames = Vec::new();
    for size in sizes.into_iter().filter(|size| *size <= bytes_max) {
        let body: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let frame = next_frame(&tail, 1, &body);
        tail = committed(journal.append(&tail, &frame));
        frames.push(frame);
    }
    let too_large = next_frame(&tail, 1, &vec![0; bytes_max + 1]);
    match journal.append(&tail, &too_large) {
        AppendOutcome::Unknown(JournalError::TooLarge { bytes, .. }) => {
            assert_eq!(bytes, bytes_max + 1)
        }
        other => panic!("expected TooLarge, got {other:?}"),
    }
    assert_eq!(journal.tail().expect("tail"), tail);
    drop(journal);
    let read = read_whole(&*open(), usize::MAX);
    // Not assert_eq, which would print megabytes.
    assert!(read == frames, "a body was not read back as it was appended");
}

pub fn epochs_are_recorded(open: &OpenStorage) {
    let journal = open();
    let mut tail = Tail::default();
    for epoch in [1, 1, 4, 9] {
        let position = tail.position;
        let frame = RecordFrame { epoch, position, ..next_frame(&tail, epoch, b"") };
        tail = committed(journal.append(&tail, &frame));
        assert_eq!((tail.epoch, tail.position), (epoch, 0));
        assert_eq!(journal.tail().expect("tail"), tail);
    }
    let epochs = read_whole(&*journal, 10_000).iter().map(|frame| frame.epoch).collect::<Vec<_>>();
    assert_eq!(epochs, [1, 1, 4, 9]);
}
