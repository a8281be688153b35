//! Sets of providers that were never written down: what must hold of a provider, as bitmaps that are met word by word.

use crate::capacity::Uuid;
use crate::random;
use crate::search::Traits;
use crate::state::capacity::Capacity;
use crate::state::capacity::bits::{Bits, members};
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;

static NOBODY: Bits = Bits::EMPTY;

/// Who is in all of some sets, in one of each of some others, and in none of the rest.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter<'a> {
    all: Vec<&'a Bits>,
    any: Vec<Vec<&'a Bits>>,
    none: Vec<&'a Bits>,
}

impl<'a> Filter<'a> {
    pub fn only(mut self, set: &'a Bits) -> Filter<'a> {
        self.all.push(set);
        self
    }

    /// Whoever has the class, whether or not there is room.
    pub fn having(self, capacity: &'a Capacity, class: NameIx) -> Filter<'a> {
        self.only(capacity.column(class).map_or(&NOBODY, |column| &column.have))
    }

    pub fn requiring(mut self, capacity: &'a Capacity, sets: &[Vec<NameIx>]) -> Filter<'a> {
        for set in sets {
            self.one_of(set.iter().map(|wanted| capacity.with_trait(*wanted)).collect());
        }
        self
    }

    pub fn forbidding(mut self, capacity: &'a Capacity, traits: &[NameIx]) -> Filter<'a> {
        self.none.extend(traits.iter().map(|unwanted| capacity.with_trait(*unwanted)));
        self
    }

    pub fn with_traits(self, capacity: &'a Capacity, traits: &Traits) -> Filter<'a> {
        self.requiring(capacity, &traits.required).forbidding(capacity, &traits.forbidden)
    }

    pub fn member_of(mut self, capacity: &'a Capacity, sets: &[Vec<Uuid>]) -> Filter<'a> {
        for set in sets {
            self.one_of(set.iter().map(|uuid| capacity.members_of(*uuid)).collect());
        }
        self
    }

    pub fn not_member_of(mut self, capacity: &'a Capacity, uuids: &[Uuid]) -> Filter<'a> {
        self.none.extend(uuids.iter().map(|uuid| capacity.members_of(*uuid)));
        self
    }

    fn one_of(&mut self, sets: Vec<&'a Bits>) {
        match sets[..] {
            [only] => self.all.push(only),
            _ => self.any.push(sets),
        }
    }

    /// Whoever passes both.
    pub fn and(mut self, other: &Filter<'a>) -> Filter<'a> {
        self.all.extend_from_slice(&other.all);
        self.any.extend_from_slice(&other.any);
        self.none.extend_from_slice(&other.none);
        self
    }

    /// Whether it names nothing that a provider must have or be in. Such a filter does not end by itself.
    pub fn is_open(&self) -> bool {
        self.all.is_empty() && self.any.is_empty()
    }

    pub fn word(&self, at: usize) -> u64 {
        let mut word = u64::MAX;
        for set in &self.all {
            word &= set.word(at);
            if word == 0 {
                return 0;
            }
        }
        for sets in &self.any {
            word &= sets.iter().fold(0, |one, set| one | set.word(at));
        }
        for set in &self.none {
            word &= !set.word(at);
        }
        word
    }

    pub fn contains(&self, ix: ProviderIx) -> bool {
        self.all.iter().all(|set| set.contains(ix))
            && self.any.iter().all(|sets| sets.iter().any(|set| set.contains(ix)))
            && !self.none.iter().any(|set| set.contains(ix))
    }

    /// In steps: what it costs to look at one provider, or one word.
    pub fn weight(&self) -> usize {
        let any = self.any.iter().map(Vec::len).sum::<usize>();
        1 + (self.all.len() + any + self.none.len()) / 8
    }

    /// No more than this can pass.
    pub fn at_most(&self) -> usize {
        let all = self.all.iter().map(|set| set.len());
        let any = self.any.iter().map(|sets| sets.iter().map(|set| set.len()).sum());
        all.chain(any).min().unwrap_or(usize::MAX)
    }

    /// How many words it reaches over; none if it is open.
    pub fn words(&self) -> usize {
        let all = self.all.iter().map(|set| set.words());
        let most = |sets: &Vec<&Bits>| sets.iter().map(|set| set.words()).max().unwrap_or(0);
        all.chain(self.any.iter().map(most)).min().unwrap_or(0)
    }

    /// Everybody who passes, in order.
    pub fn iter(&self) -> impl Iterator<Item = ProviderIx> {
        (0..self.words()).flat_map(|at| members(at, self.word(at)))
    }
}

/// In how many rounds a seeded walk goes over the words. In each it takes every eighth member, so that even its first steps
/// are spread over all providers.
const ROUNDS: usize = 8;

/// A walk over whoever passes a filter, in an order that follows from a seed, without writing anybody down.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    words: usize,
    /// Where it starts and how far it strides; the stride has no factor in common with the number of words.
    start: usize,
    stride: usize,
    rounds: usize,
    turn: u32,
    /// How many words it has been at, over all rounds.
    been: usize,
    at: usize,
    word: u64,
}

impl Walk {
    pub fn new(words: usize, seed: Option<u64>) -> Walk {
        let mut walk =
            Walk { words, start: 0, stride: 1, rounds: 1, turn: 0, been: 0, at: 0, word: 0 };
        if let Some(mut seed) = seed.filter(|_| words > 0) {
            walk.start = (random::next(&mut seed) % words as u64) as usize;
            walk.stride = (1 + random::next(&mut seed) % words as u64) as usize;
            while common_factor(walk.stride, words) > 1 {
                walk.stride += 1;
            }
            walk.rounds = ROUNDS;
            walk.turn = (random::next(&mut seed) % 64) as u32;
        }
        walk
    }

    /// The next one who passes. `words` counts the words that were looked at.
    pub fn next(&mut self, filter: &Filter<'_>, words: &mut usize) -> Option<ProviderIx> {
        while self.word == 0 {
            if self.been >= self.words * self.rounds {
                return None;
            }
            let (round, step) = (self.been / self.words, self.been % self.words);
            self.at = ((self.start as u64 + step as u64 * self.stride as u64) % self.words as u64)
                as usize;
            self.word = filter.word(self.at);
            if self.rounds > 1 {
                // Three has no factor in common with eight, so each round has its own members.
                let turn = self.turn + 3 * round as u32;
                self.word &= 0x0101_0101_0101_0101_u64.rotate_left(turn % 64);
            }
            self.been += 1;
            *words += 1;
        }
        // Beginning at another bit in each walk, so that the first of a word are not always taken first.
        let bit = (self.word.rotate_right(self.turn).trailing_zeros() + self.turn) % 64;
        self.word &= !(1 << bit);
        Some(self.at as u32 * 64 + bit)
    }
}

fn common_factor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_factor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_meets_everybody_once_whatever_the_seed() {
        let set: Bits = (0..1000).filter(|n| n % 3 != 1).collect();
        let filter = Filter::default().only(&set);
        let mut orders = Vec::new();
        for seed in [None, Some(0), Some(1), Some(u64::MAX)] {
            let mut walk = Walk::new(filter.words(), seed);
            let order: Vec<u32> = std::iter::from_fn(|| walk.next(&filter, &mut 0)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, set.iter().collect::<Vec<_>>(), "{seed:?}");
            orders.push(order);
        }
        assert_eq!(orders[0], set.iter().collect::<Vec<_>>());
        orders.dedup();
        assert_eq!(orders.len(), 4);
        assert_eq!(Walk::new(0, Some(7)).next(&filter, &mut 0), None);
    }

    #[test]
    fn a_seeded_walk_is_spread_over_everybody_from_the_start() {
        let set: Bits = (0..64_000).collect();
        let filter = Filter::default().only(&set);
        let mut walk = Walk::new(filter.words(), Some(42));
        let first: Vec<u32> = std::iter::from_fn(|| walk.next(&filter, &mut 0)).take(80).collect();
        let words: std::collections::BTreeSet<u32> = first.iter().map(|ix| ix / 64).collect();
        assert!(words.len() >= 10, "{words:?}");
    }

    #[test]
    fn sets_are_met_joined_and_left_out() {
        let [even, third, fifth]: [Bits; 3] =
            [2, 3, 5].map(|n| (0..200).filter(|m: &u32| m.is_multiple_of(n)).collect());
        let mut filter = Filter::default().only(&even);
        filter.one_of(vec![&third, &fifth]);
        let text = |filter: &Filter<'_>| filter.iter().take(6).collect::<Vec<_>>();
        assert_eq!(text(&filter), [0, 6, 10, 12, 18, 20]);
        filter.none.push(&fifth);
        assert_eq!(text(&filter), [6, 12, 18, 24, 36, 42]);
        let members: Vec<u32> = filter.iter().collect();
        assert!((0..300).all(|m| filter.contains(m) == members.contains(&m)));
        assert_eq!((filter.at_most(), filter.words(), filter.is_open()), (100, 4, false));
    }
}
