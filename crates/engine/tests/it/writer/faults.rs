//! A single writer and a journal that fails.

use allod_engine::{Config, EngineError, Halt};
use allod_journal::Journal;
use allod_journal::memory::{InjectedFault, MemoryStorage};

use crate::writer::world::{claim, code, epochs, frames, lead, lead_with, pool, replay, value};

#[test]
fn a_lost_acknowledgement_is_found_to_have_landed() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4)]);
    server.fail([InjectedFault::LoseAck]);
    let answers = server.write_batch(&[claim("p", "a")]);
    assert_eq!(value(&answers[0]), Some(0));
    assert_eq!(server.writer.tail(), &storage.open().tail().unwrap());
    assert_eq!(epochs(&storage), [1]);
}

#[test]
fn a_dropped_append_fails_and_leaves_no_trace() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4)]);
    let before = server.hash();
    server.fail([InjectedFault::DropAppend]);
    let answers = server.write_batch(&[claim("p", "a"), claim("p", "b")]);
    assert!(matches!(
        &answers[..],
        [Err(EngineError::Unavailable { .. }), Err(EngineError::Unavailable { .. })]
    ));
    assert_eq!(server.hash(), before);
    // Its place is taken by a new epoch, and what was not given is there to give.
    assert_eq!(epochs(&storage), [1, 2]);
    assert_eq!(value(&server.write_batch(&[claim("p", "c")])[0]), Some(0));
    assert_eq!(
        server.hash(),
        allod_engine::state_hash(&replay(&storage).state, allod_record::LEVEL)
    );
}

#[test]
fn a_late_append_is_fenced_off() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4)]);
    server.fail([InjectedFault::Late { after: 1_000 }]);
    assert!(server.write_batch(&[claim("p", "a")])[0].is_err());
    let end = storage.open().tail().unwrap();
    storage.land_all();
    assert_eq!(storage.open().tail().unwrap(), end);
    assert_eq!(value(&server.write_batch(&[claim("p", "b")])[0]), Some(0));
}

#[test]
fn a_late_append_that_comes_before_the_fence_has_landed() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4)]);
    // It arrives while the fence is on its way, which then finds its place taken.
    server.fail([InjectedFault::Late { after: 2 }]);
    assert_eq!(value(&server.write_batch(&[claim("p", "a")])[0]), Some(0));
    assert_eq!(epochs(&storage), [1]);
}

#[test]
fn a_fence_of_unknown_outcome_is_looked_for_too() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4)]);
    server.fail([InjectedFault::DropAppend, InjectedFault::LoseAck]);
    assert!(server.write_batch(&[claim("p", "a")])[0].is_err());
    assert_eq!(epochs(&storage), [1, 2]);
    server.fail([InjectedFault::DropAppend, InjectedFault::DropAppend, InjectedFault::Unavailable]);
    assert!(server.write_batch(&[claim("p", "a")])[0].is_err());
    assert_eq!(epochs(&storage), [1, 2, 3]);
    assert_eq!(value(&server.write_batch(&[claim("p", "b")])[0]), Some(0));
}

#[test]
fn a_full_journal_refuses_and_recovers() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4), claim("p", "a")]);
    let before = server.hash();
    server.fail([InjectedFault::Full, InjectedFault::Full]);
    for _ in 0..2 {
        let answers = server.write_batch(&[claim("p", "b")]);
        let Err(EngineError::Unavailable { what }) = &answers[0] else { panic!("{answers:?}") };
        assert!(what.contains("no room left"), "{what}");
        assert_eq!(server.hash(), before);
    }
    // What changes nothing is answered all the same.
    assert_eq!(value(&server.write_batch(&[claim("p", "a")])[0]), Some(0));
    assert_eq!(value(&server.write_batch(&[claim("p", "b")])[0]), Some(1));
    assert_eq!(epochs(&storage), [1]);
}

#[test]
fn a_command_that_is_too_large_fails_alone() {
    let storage = MemoryStorage::new();
    let config = Config { batch_bytes_max: 300, ..Config::default() };
    let mut server = lead(&storage, &config);
    let long = "k".repeat(400);
    server.write_batch(&[pool("p", 4)]);
    let answers = server.write_batch(&[claim("p", &long), claim("p", "a")]);
    assert!(matches!(&answers[0], Err(EngineError::TooLarge { max: 300, bytes }) if *bytes > 400));
    assert_eq!(value(&answers[1]), Some(0));
}

#[test]
fn what_does_not_fit_in_one_record_is_left_for_the_next() {
    let storage = MemoryStorage::new();
    let config = Config { batch_bytes_max: 300, ..Config::default() };
    let mut server = lead(&storage, &config);
    server.write_batch(&[pool("p", 100)]);
    let commands: Vec<_> = (0..20).map(|n| claim("p", &format!("key-{n}"))).collect();
    let mut given = Vec::new();
    while given.len() < commands.len() {
        let answers = server.write_batch(&commands[given.len()..]);
        assert!(!answers.is_empty());
        given.extend(answers.iter().map(|answer| value(answer).unwrap()));
    }
    assert_eq!(given, (0..20).collect::<Vec<u128>>());
    assert!(frames(&storage).iter().all(|frame| frame.body.len() <= 300));
    assert!(frames(&storage).len() > 4);
}

#[test]
fn a_refusal_is_lost_with_what_it_rests_on() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("one", 1)]);
    server.fail([InjectedFault::DropAppend]);
    // The second would be told that the value is gone, because of a claim that never was.
    let answers = server.write_batch(&[claim("one", "a"), claim("one", "b")]);
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    let answers = server.write_batch(&[claim("one", "b"), claim("one", "a")]);
    assert_eq!((value(&answers[0]), code(&answers[1])), (Some(0), Some("exhausted")));
}

#[test]
fn a_refusal_stands_at_the_position_that_it_rests_on() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("one", 1)]);
    let answers = server.write_batch(&[claim("one", "a"), claim("one", "b")]);
    let at: Vec<_> = answers.iter().map(|answer| answer.as_ref().unwrap().at).collect();
    assert_eq!(at[0], at[1]);
    assert_eq!(at[0].hash, storage.open().tail().unwrap().hash);
}

#[test]
fn a_journal_that_never_answers_ends_the_writer_without_an_answer() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4)]);
    server.fail([InjectedFault::LoseAck]);
    server.faults.lock().reads.extend(vec![InjectedFault::Unavailable; 100]);
    let command = claim("p", "a");
    assert!(matches!(server.writer.write_batch(&[&command]), Err(Halt::Stopped)));
    // It had landed; whoever starts next finds it.
    let mut next = lead(&storage, &Config::default());
    assert_eq!(value(&next.write_batch(&[claim("p", "b")])[0]), Some(1));
}

#[test]
fn records_lost_while_a_writer_reads_back_are_a_fork() {
    let storage = MemoryStorage::new();
    let mut cuts = 0;
    let mut server = lead_with(&storage, &Config::default(), replay(&storage), move |storage| {
        if cuts == 0 {
            storage.drop_last(1);
        }
        cuts += 1;
    })
    .unwrap();
    server.write_batch(&[pool("p", 4)]);
    server.write_batch(&[claim("p", "a")]);
    server.fail([InjectedFault::DropAppend]);
    server.faults.lock().reads.push_back(InjectedFault::Unavailable);
    let command = claim("p", "b");
    assert!(matches!(server.writer.write_batch(&[&command]), Err(Halt::Forked(_))));
}

#[test]
fn a_damaged_record_is_not_asked_for_for_ever() {
    let storage = MemoryStorage::new();
    lead(&storage, &Config::default()).write_batch(&[pool("p", 4)]);
    let mut cut = 0;
    let mut server = lead_with(&storage, &Config::default(), replay(&storage), move |storage| {
        let end = storage.open().tail().unwrap().seq;
        if cut == 0 {
            assert!(storage.alter(end, |frame| frame.at_ms += 1));
        }
        cut += 1;
    })
    .unwrap();
    server.fail([InjectedFault::LoseAck]);
    server.faults.lock().reads.push_back(InjectedFault::Unavailable);
    let command = claim("p", "a");
    assert!(matches!(server.writer.write_batch(&[&command]), Err(Halt::Forked(_))));
}
