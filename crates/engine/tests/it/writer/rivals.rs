//! Two writers on one journal.

use std::sync::atomic::Ordering;

use allod_core::command::{Command, DeletePool, Expect};
use allod_core::value::Kind;
use allod_engine::{Config, EngineError, Halt};
use allod_journal::Journal;
use allod_journal::memory::{InjectedFault, MemoryStorage};

use crate::writer::world::{
    claim, claim_value, code, epochs, frames, lead, pool, pool_of, release, value,
};

#[test]
fn writer_with_a_conflict_follows_decides_again_and_leads_again() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    a.write_batch(&[pool("p", 3), claim("p", "a")]);
    let mut b = lead(&storage, &Config::default());
    assert_eq!(value(&b.write_batch(&[claim("p", "b")])[0]), Some(1));
    // A decides on value 1, gets a conflict, and then decides on 2.
    let answers = a.write_batch(&[claim("p", "c"), claim("p", "b"), claim("p", "d")]);
    assert_eq!((value(&answers[0]), value(&answers[1])), (Some(2), Some(1)));
    assert_eq!(code(&answers[2]), Some("exhausted"));
    assert_eq!(epochs(&storage), [1, 2, 3]);
    b.writer.confirm_tail().unwrap().unwrap();
    b.check();
    assert_eq!(a.hash(), b.hash());
    // B only follows; it leads again when it has something to write.
    assert_eq!(epochs(&storage), [1, 2, 3]);
    assert!(a.writer.is_leading() && !b.writer.is_leading());
    assert_eq!(code(&b.write_batch(&[claim("p", "e")])[0]), Some("exhausted"));
    assert_eq!(epochs(&storage), [1, 2, 3]);
    b.write_batch(&[pool("p", 4), claim("p", "e")]);
    assert_eq!(epochs(&storage), [1, 2, 3, 4]);
    a.writer.catch_up().unwrap();
    assert!(!a.writer.is_leading() && b.writer.is_leading());
    assert_eq!(a.hash(), b.hash());
}

#[test]
fn epoch_of_a_resolving_record_is_new() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    a.write_batch(&[pool("p", 9)]);
    for key in ["b", "c", "d"] {
        lead(&storage, &Config::default()).write_batch(&[claim("p", key)]);
    }
    // After a conflict, the record that begins its epoch is lost: the record in its place must have a newer epoch.
    a.fail([InjectedFault::None, InjectedFault::DropAppend]);
    assert!(matches!(a.write_batch(&[claim("p", "a")])[0], Err(EngineError::Unavailable { .. })));
    assert_eq!(value(&a.write_batch(&[claim("p", "a")])[0]), Some(3));
    let epochs = epochs(&storage);
    assert!(epochs.is_sorted_by(|before, after| before < after), "{epochs:?}");
}

#[test]
fn answers_include_what_another_writer_has_acknowledged() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    a.write_batch(&[pool("p", 2), claim("p", "a"), claim("p", "b")]);
    let mut b = lead(&storage, &Config::default());
    let released = b.write_batch(&[release("p", "a")]);
    assert!(released[0].is_ok());
    // A has not read the release, so its copy still has a full pool.
    assert_eq!(value(&a.write_batch(&[claim("p", "c")])[0]), Some(0));
    // Claim "a" was released, so claiming again is refused instead of repeating the answer.
    let mut b = lead(&storage, &Config::default());
    b.write_batch(&[release("p", "b"), claim("p", "d")]);
    assert_eq!(code(&a.write_batch(&[claim("p", "b")])[0]), Some("exhausted"));
    assert_eq!(a.hash(), b.hash());
}

#[test]
fn named_value_is_parsed_by_the_kind_that_its_pool_has_at_the_shared_tail() {
    let storage = MemoryStorage::new();
    let mut lagging = lead(&storage, &Config::default());
    let mut other = lead(&storage, &Config::default());
    other.write_batch(&[pool("p", 9)]);
    // The lagging writer has not read that the pool exists.
    let answers = lagging.write_batch(&[claim_value("p", "7", "a"), claim_value("p", "x", "b")]);
    assert_eq!((value(&answers[0]), code(&answers[1])), (Some(7), Some("malformed")));
    // Nor that another pool of another kind has its name now.
    let addresses = pool_of("p", Kind::Address4, 9);
    let delete = Command::DeletePool(DeletePool { pool: "p".into(), expect: Expect::Any });
    other.write_batch(&[release("p", "a"), delete, addresses]);
    let answers =
        lagging.write_batch(&[claim_value("p", "7", "a"), claim_value("p", "0.0.0.7", "a")]);
    assert_eq!((code(&answers[0]), value(&answers[1])), (Some("malformed"), Some(7)));
    let refused = answers[0].as_ref().unwrap();
    assert!(refused.at.position >= other.writer.tail().position, "{refused:?}");
}

#[test]
fn refusal_that_cannot_be_confirmed_is_not_sent() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    a.write_batch(&[pool("p", 1), claim("p", "a")]);
    a.faults.lock().reads.push_back(InjectedFault::Unavailable);
    assert!(matches!(a.write_batch(&[claim("p", "b")])[0], Err(EngineError::Unavailable { .. })));
    assert_eq!(code(&a.write_batch(&[claim("p", "b")])[0]), Some("exhausted"));
    // A committed record needs no confirmation.
    a.faults.lock().reads.push_back(InjectedFault::Unavailable);
    let answers = a.write_batch(&[pool("p", 2), claim("p", "b")]);
    assert_eq!(value(&answers[1]), Some(1));
}

#[test]
fn alternating_writers_have_one_conflict_each() {
    let storage = MemoryStorage::new();
    let mut servers = [lead(&storage, &Config::default()), lead(&storage, &Config::default())];
    servers[0].write_batch(&[pool("p", 100)]);
    for n in 0..20 {
        let server = &mut servers[n % 2];
        let before = server.faults.lock().operations;
        let answers = server.write_batch(&[claim("p", &format!("k{n}"))]);
        assert_eq!(value(&answers[0]), Some(n as u128));
        // An append with a conflict, a read, and a successful append.
        assert!(server.faults.lock().operations - before <= 3);
    }
    // Only the first record of each writer is an epoch record without entries.
    assert_eq!(frames(&storage).len(), 2 + 1 + 20);
}

#[test]
fn follower_waits_for_an_unavailable_journal() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    a.write_batch(&[pool("p", 9)]);
    lead(&storage, &Config::default()).write_batch(&[claim("p", "b")]);
    a.faults.lock().reads.extend(vec![InjectedFault::Unavailable; 5]);
    assert_eq!(value(&a.write_batch(&[claim("p", "a")])[0]), Some(1));
}

#[test]
fn writer_stops_when_records_that_it_read_are_lost() {
    for lost in 1..3 {
        let storage = MemoryStorage::new();
        let mut a = lead(&storage, &Config::default());
        a.write_batch(&[pool("p", 9)]);
        a.write_batch(&[claim("p", "a")]);
        storage.drop_last(lost);
        let mut b = lead(&storage, &Config::default());
        b.write_batch(&[pool("p", 9), claim("p", "b")]);
        let command = claim("p", "c");
        assert!(matches!(a.writer.write_batch(&[&command]), Err(Halt::Forked(_))));
    }
}

#[test]
fn shorter_journal_is_a_fork() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    a.write_batch(&[pool("p", 9)]);
    a.write_batch(&[claim("p", "a")]);
    storage.drop_last(1);
    assert!(matches!(a.writer.confirm_tail(), Err(Halt::Forked(_))));
    let command = claim("p", "c");
    assert!(matches!(a.writer.write_batch(&[&command]), Err(Halt::Forked(_))));
}

#[test]
fn writer_behind_the_trimmed_records_stops() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    a.write_batch(&[pool("p", 9)]);
    let mut b = lead(&storage, &Config::default());
    b.write_batch(&[claim("p", "b")]);
    b.write_batch(&[claim("p", "c")]);
    storage.open().trim(4).unwrap();
    let command = claim("p", "a");
    let ended = a.writer.write_batch(&[&command]);
    assert!(
        matches!(&ended, Err(Halt::Journal(allod_journal::JournalError::Trimmed { .. }))),
        "{ended:?}"
    );
}

#[test]
fn time_does_not_go_back_with_the_clock() {
    let storage = MemoryStorage::new();
    let mut a = lead(&storage, &Config::default());
    a.write_batch(&[pool("p", 9)]);
    a.clock.0.fetch_add(50_000, Ordering::Relaxed);
    a.write_batch(&[claim("p", "a")]);
    a.clock.0.fetch_sub(40_000, Ordering::Relaxed);
    a.write_batch(&[claim("p", "b")]);
    assert_eq!(a.writer.state().now_ms, 1_050_000);
    let mut b = lead(&storage, &Config::default());
    b.write_batch(&[claim("p", "c")]);
    assert_eq!(b.writer.state().now_ms, 1_050_000);
}
