//! The random numbers of the simulation, which depend on the seed alone.

use allod_core::random;

#[derive(Debug, Clone)]
pub struct SimRandom(u64);

impl SimRandom {
    pub fn new(seed: u64) -> SimRandom {
        SimRandom(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        random::next(&mut self.0)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next_u64().checked_rem(n).unwrap_or(0)
    }

    /// A number from `first` to `last`.
    pub fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// `true` with this probability in percent.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn one_of<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// An independent generator.
    pub fn fork(&mut self) -> SimRandom {
        SimRandom(self.next_u64())
    }
}
