//! One writer on a journal with faults.

use allod_engine::{Config, EngineError, Halt};
use allod_journal::Journal;
use allod_journal::memory::{InjectedFault, MemoryStorage};

use crate::writer::world::{claim, code, epochs, frames, lead, lead_with, pool, replay, value};

#[test]
fn lost_acknowledgement_is_resolved_as_committed() {
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
fn dropped_append_fails_and_is_undone() {
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
    // An epoch record has its number, and the values are free again.
    assert_eq!(epochs(&storage), [1, 2]);
    assert_eq!(value(&server.write_batch(&[claim("p", "c")])[0]), Some(0));
    assert_eq!(
        server.hash(),
        allod_engine::state_hash(&replay(&storage).state, allod_record::LEVEL)
    );
}

#[test]
fn late_append_is_prevented_by_an_epoch_record() {
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
fn late_append_before_the_epoch_record_is_committed() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4)]);
    // It is appended just before the epoch record, which then conflicts.
    server.fail([InjectedFault::Late { after: 2 }]);
    assert_eq!(value(&server.write_batch(&[claim("p", "a")])[0]), Some(0));
    assert_eq!(epochs(&storage), [1]);
}

#[test]
fn epoch_record_of_unknown_outcome_is_read_back_too() {
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
fn full_journal_refuses_commands_and_recovers() {
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
    // A command that changes nothing is still answered.
    assert_eq!(value(&server.write_batch(&[claim("p", "a")])[0]), Some(0));
    assert_eq!(value(&server.write_batch(&[claim("p", "b")])[0]), Some(1));
    assert_eq!(epochs(&storage), [1]);
}

#[test]
fn too_large_command_fails_alone() {
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
fn command_that_is_certainly_too_large_is_refused_before_it_is_decided() {
    let storage = MemoryStorage::new();
    let config = Config { batch_bytes_max: 300, ..Config::default() };
    let mut server = lead(&storage, &config);
    // If they were decided, the pool would be unknown.
    for (key, too_large) in [("k".repeat(298), false), ("k".repeat(400), true)] {
        let command = claim("p", &key);
        let smallest = command.bytes_min();
        let answer = server.write_batch(&[command]).remove(0);
        let bytes = match answer {
            Err(EngineError::TooLarge { max: 300, bytes }) => Some(bytes),
            _ => None,
        };
        assert_eq!(bytes, too_large.then_some(smallest));
    }
}

#[test]
fn commands_that_do_not_fit_are_left_for_the_next_batch() {
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
fn refusal_fails_with_the_batch_that_it_depends_on() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("one", 1)]);
    server.fail([InjectedFault::DropAppend]);
    // Otherwise the second would be refused because of a claim that was never committed.
    let answers = server.write_batch(&[claim("one", "a"), claim("one", "b")]);
    assert!(answers.iter().all(Result::is_err), "{answers:?}");
    let answers = server.write_batch(&[claim("one", "b"), claim("one", "a")]);
    assert_eq!((value(&answers[0]), code(&answers[1])), (Some(0), Some("exhausted")));
}

#[test]
fn refusal_has_the_position_that_it_was_decided_at() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("one", 1)]);
    let answers = server.write_batch(&[claim("one", "a"), claim("one", "b")]);
    let at: Vec<_> = answers.iter().map(|answer| answer.as_ref().unwrap().at).collect();
    assert_eq!(at[0], at[1]);
    assert_eq!(at[0].hash, storage.open().tail().unwrap().hash);
}

#[test]
fn journal_that_never_answers_stops_the_writer_without_an_answer() {
    let storage = MemoryStorage::new();
    let mut server = lead(&storage, &Config::default());
    server.write_batch(&[pool("p", 4)]);
    server.fail([InjectedFault::LoseAck]);
    server.faults.lock().reads.extend(vec![InjectedFault::Unavailable; 100]);
    let command = claim("p", "a");
    assert!(matches!(server.writer.write_batch(&[&command]), Err(Halt::Stopped)));
    // It was committed; the next writer finds it.
    let mut next = lead(&storage, &Config::default());
    assert_eq!(value(&next.write_batch(&[claim("p", "b")])[0]), Some(1));
}

#[test]
fn records_lost_during_a_read_back_are_a_fork() {
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
fn damaged_record_is_not_retried_forever() {
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
