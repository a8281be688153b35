//! Holds what clients were told against the journal, which the naive model replays.

use std::path::Path;

use allod_core::capacity::Uuid;
use allod_journal::embedded::Embedded;
use allod_testkit::capacity::Capacity;
use allod_testkit::read_chain;

use crate::placement_concurrency::clients::{
    FOUGHT_OVER, Full, Overtaken, Told, Window, fought_over,
};
use crate::placement_concurrency::wire::{CPUS, CPUS_TOTAL, HOT, provider};

/// What was so at one position.
#[derive(Debug, Clone, Default)]
struct Moment {
    /// Of the scarce class, by provider.
    used: Vec<u64>,
    /// Of the consumers that are fought over.
    generations: Vec<Option<u64>>,
}

/// The model complains by itself of what cannot be: more given out than there is, a generation that repeats or skips.
pub fn journal(data: &Path, told: &Told) {
    let journal = Embedded::open(data).unwrap().journal;
    let chain = read_chain(&journal).unwrap();
    let mut model = Capacity::default();
    let moment = |model: &Capacity| Moment {
        used: (0..HOT).map(|hot| model.used(provider(hot), CPUS)).collect(),
        generations: (0..FOUGHT_OVER).map(|n| model.consumer_generation(fought_over(n))).collect(),
    };
    // By position: nothing was so before the first.
    let mut moments = vec![moment(&model)];
    for (at, entry) in chain.entries.iter().enumerate() {
        for event in entry.iter().flat_map(|(_, events)| events) {
            model.event(event).unwrap_or_else(|why| panic!("at position {}: {why}", at + 1));
        }
        model.entry_ends().unwrap_or_else(|why| panic!("at position {}: {why}", at + 1));
        moments.push(moment(&model));
    }
    let within = |window: Window| &moments[window.from as usize..=window.to as usize];
    let hot = |uuid: Uuid| (0..HOT).position(|hot| provider(hot) == uuid).unwrap();
    for Full { provider, more, window } in &told.full {
        let was_full =
            |moment: &Moment| moment.used[hot(*provider)] as i64 + more > CPUS_TOTAL.into();
        assert!(
            within(*window).iter().any(was_full),
            "{provider} had room for {more} within {window:?}"
        );
    }
    for Overtaken { consumer, sent, window } in &told.overtaken {
        let n = (0..FOUGHT_OVER).position(|n| fought_over(n) == *consumer).unwrap();
        let was_other = |moment: &Moment| moment.generations[n] != *sent;
        assert!(
            within(*window).iter().any(was_other),
            "{consumer} was at {sent:?} all through {window:?}"
        );
    }
}
