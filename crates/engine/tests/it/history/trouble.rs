//! Failures of the journal or of the index folder from which the indexer recovers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use allod_engine::history::{HistoryEntry, HistoryError};

use crate::history::story::{self, Dice};
use crate::history::world::World;
use crate::history::{all_pages, compare, everything, files};

/// A world whose queries wait only briefly for the index.
fn world(index_postings_max: usize) -> World {
    let mut world = World::new(index_postings_max);
    world.config.history_wait_ms_max = 100;
    world.restart(|_| {});
    world
}

/// Repeats the query until there is an answer.
fn answer(world: &World) -> Vec<HistoryEntry> {
    let began = Instant::now();
    loop {
        match all_pages(world, everything()) {
            Ok(changes) => return changes,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(20), "{error}"),
        }
    }
}

/// Why there is no answer.
fn reason(world: &World) -> String {
    match all_pages(world, everything()) {
        Err(HistoryError::Unavailable { what }) => what,
        other => panic!("{other:?}"),
    }
}

/// Queries once. Afterwards the indexer has processed the earlier records, or has failed to.
fn answer_or_reason(world: &World) {
    match all_pages(world, everything()) {
        Ok(_) | Err(HistoryError::Unavailable { .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn indexer_starts_once_the_journal_is_available() {
    let mut world = world(8);
    world.play(&mut Dice(1), 60);
    let before = answer(&world);
    world.silent.store(true, Ordering::Relaxed);
    world.restart(|_| {});
    assert!(reason(&world).contains("injected fault"), "{}", reason(&world));
    // Commands are not affected.
    world.play(&mut Dice(2), 10);
    world.silent.store(false, Ordering::Relaxed);
    assert_eq!(answer(&world)[..before.len()], before);
}

#[test]
fn indexer_recovers_after_the_journal_was_unavailable() {
    let mut world = world(8);
    world.play(&mut Dice(1), 60);
    answer(&world);
    world.silent.store(true, Ordering::Relaxed);
    let began = Instant::now();
    while world.refused.load(Ordering::Relaxed) == 0 {
        assert!(began.elapsed() < Duration::from_secs(20), "the index does not call the journal");
        std::thread::sleep(Duration::from_millis(5));
    }
    world.silent.store(false, Ordering::Relaxed);
    world.play(&mut Dice(2), 60);
    let whole = story::read(&*world.journal());
    answer(&world);
    compare(&world, &whole, &mut Dice(3), 50);
}

#[test]
fn indexer_recovers_after_its_folder_was_blocked() {
    let mut world = world(8);
    world.play(&mut Dice(1), 60);
    answer(&world);
    let blocked = files::block(&world.index());
    // More than fits into memory. All of it may be added at once; later records are added only after a file is written.
    let mut dice = Dice(2);
    world.play(&mut dice, 60);
    answer_or_reason(&world);
    world.play(&mut dice, 20);
    let what = reason(&world);
    assert!(what.contains("the history index cannot be written"), "{what}");
    drop(blocked);
    answer(&world);
    let whole = story::read(&*world.journal());
    compare(&world, &whole, &mut Dice(3), 100);
    assert!(!files::segments(&world.index()).is_empty());
    // The missing files are rebuilt after a restart.
    world.restart(|_| {});
    answer(&world);
    compare(&world, &story::read(&*world.journal()), &mut Dice(4), 100);
}

#[test]
fn blocked_folder_at_the_start_is_created_later() {
    let mut world = world(8);
    world.play(&mut Dice(1), 60);
    let before = answer(&world);
    let mut blocked = None;
    world.restart(|folder| blocked = Some(files::block(folder)));
    let what = reason(&world);
    assert!(what.contains("of the index cannot be used"), "{what}");
    // A stop does not wait for the folder.
    let began = Instant::now();
    world.restart(|_| {});
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(reason(&world), what);
    drop(blocked);
    assert_eq!(answer(&world)[..before.len()], before);
}
