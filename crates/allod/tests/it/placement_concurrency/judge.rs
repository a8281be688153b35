//! Checks the answers of the clients against the journal, replayed by the naive model.

use std::path::Path;

use allod_core::capacity::Uuid;
use allod_journal::embedded::Embedded;
use allod_testkit::capacity::CapacityModel;
use allod_testkit::read_chain;

use crate::placement_concurrency::clients::{
    ClientAnswers, FOUGHT_OVER, Full, StaleGeneration, Window, fought_over,
};
use crate::placement_concurrency::wire::{CPUS, CPUS_TOTAL, HOT, provider};

/// The state at one position.
#[derive(Debug, Clone, Default)]
struct Moment {
    /// Usage of the scarce class, by provider.
    used: Vec<u64>,
    /// Generations of the shared consumers.
    generations: Vec<Option<u64>>,
}

/// The model itself detects exceeded capacity, and generations that repeat or skip.
pub fn journal(data: &Path, answers: &ClientAnswers) {
    let journal = Embedded::open(data).unwrap().journal;
    let chain = read_chain(&journal).unwrap();
    let mut model = CapacityModel::default();
    let moment = |model: &CapacityModel| Moment {
        used: (0..HOT).map(|hot| model.used(provider(hot), CPUS)).collect(),
        generations: (0..FOUGHT_OVER).map(|n| model.consumer_generation(fought_over(n))).collect(),
    };
    // By position; empty before the first.
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
    for Full { provider, more, window } in &answers.full {
        let was_full =
            |moment: &Moment| moment.used[hot(*provider)] as i64 + more > CPUS_TOTAL.into();
        assert!(
            within(*window).iter().any(was_full),
            "{provider} had room for {more} within {window:?}"
        );
    }
    for StaleGeneration { consumer, sent, window } in &answers.stale {
        let n = (0..FOUGHT_OVER).position(|n| fought_over(n) == *consumer).unwrap();
        let was_other = |moment: &Moment| moment.generations[n] != *sent;
        assert!(
            within(*window).iter().any(was_other),
            "{consumer} was at {sent:?} all through {window:?}"
        );
    }
}
