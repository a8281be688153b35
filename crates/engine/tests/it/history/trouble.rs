//! What keeps the index from going on, and passes: then it goes on, as if nothing had been.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use allod_engine::history::{HistoryEntry, HistoryError};

use crate::history::story::{self, Dice};
use crate::history::world::World;
use crate::history::{all_pages, compare, everything, files};

/// A world in which nobody waits for long.
fn world(index_postings_max: usize) -> World {
    let mut world = World::new(index_postings_max);
    world.config.history_wait_ms_max = 100;
    world.restart(|_| {});
    world
}

/// Asks until there is an answer.
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

/// Asks once. When there is an answer, or a reason for none, what came before has been looked at.
fn answer_or_reason(world: &World) {
    match all_pages(world, everything()) {
        Ok(_) | Err(HistoryError::Unavailable { .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_journal_that_is_away_when_the_index_starts_is_waited_for() {
    let mut world = world(8);
    world.play(&mut Dice(1), 60);
    let before = answer(&world);
    world.silent.store(true, Ordering::Relaxed);
    world.restart(|_| {});
    assert!(reason(&world).contains("injected fault"), "{}", reason(&world));
    // Nobody else notices.
    world.play(&mut Dice(2), 10);
    world.silent.store(false, Ordering::Relaxed);
    assert_eq!(answer(&world)[..before.len()], before);
}

#[test]
fn a_journal_that_goes_away_later_is_waited_for() {
    let mut world = world(8);
    world.play(&mut Dice(1), 60);
    answer(&world);
    world.silent.store(true, Ordering::Relaxed);
    // Long enough for the index to ask what the journal has forgotten.
    std::thread::sleep(Duration::from_millis(2500));
    world.silent.store(false, Ordering::Relaxed);
    world.play(&mut Dice(2), 60);
    let whole = story::read(&*world.journal());
    answer(&world);
    compare(&world, &whole, &mut Dice(3), 50);
}

#[test]
fn a_folder_that_is_away_for_a_while_is_made_again_and_nothing_is_missing() {
    let mut world = world(8);
    world.play(&mut Dice(1), 60);
    answer(&world);
    let blocked = files::block(&world.index());
    // More than goes into memory. All of that may be taken in at once; what comes later is not, before that is in a file.
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
    // The folder is its own again, and what is not in it any more is made anew.
    world.restart(|_| {});
    answer(&world);
    compare(&world, &story::read(&*world.journal()), &mut Dice(4), 100);
}

#[test]
fn a_folder_that_cannot_be_made_at_the_start_is_made_later() {
    let mut world = world(8);
    world.play(&mut Dice(1), 60);
    let before = answer(&world);
    let mut blocked = None;
    world.restart(|folder| blocked = Some(files::block(folder)));
    let what = reason(&world);
    assert!(what.contains("of the index cannot be used"), "{what}");
    // Also when it stops meanwhile, nobody waits for it.
    let began = Instant::now();
    world.restart(|_| {});
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(reason(&world), what);
    drop(blocked);
    assert_eq!(answer(&world)[..before.len()], before);
}
