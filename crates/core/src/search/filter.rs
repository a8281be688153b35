//! Sets of providers as an expression over bitmaps, evaluated one word at a time and never stored.

use crate::capacity::Uuid;
use crate::random;
use crate::search::TraitFilter;
use crate::state::capacity::Capacity;
use crate::state::capacity::bits::{Bits, members};
use crate::state::capacity::names::NameIx;
use crate::state::capacity::provider::ProviderIx;

/// Providers that are in all sets of `all`, in at least one of each entry of `any`, and in none of `none`.
#[derive(Debug, Clone, Default)]
pub(super) struct BitFilter<'a> {
    all: Vec<&'a Bits>,
    any: Vec<Vec<&'a Bits>>,
    none: Vec<&'a Bits>,
}

impl<'a> BitFilter<'a> {
    pub fn only(mut self, set: &'a Bits) -> BitFilter<'a> {
        self.all.push(set);
        self
    }

    /// Providers with an inventory of the class, full or not.
    pub fn having(self, capacity: &'a Capacity, class: NameIx) -> BitFilter<'a> {
        self.only(capacity.with_class(class))
    }

    pub fn requiring(mut self, capacity: &'a Capacity, sets: &[Vec<NameIx>]) -> BitFilter<'a> {
        for set in sets {
            self.one_of(set.iter().map(|wanted| capacity.with_trait(*wanted)).collect());
        }
        self
    }

    pub fn forbidding(mut self, capacity: &'a Capacity, traits: &[NameIx]) -> BitFilter<'a> {
        self.none.extend(traits.iter().map(|unwanted| capacity.with_trait(*unwanted)));
        self
    }

    pub fn with_traits(self, capacity: &'a Capacity, traits: &TraitFilter) -> BitFilter<'a> {
        self.requiring(capacity, &traits.required).forbidding(capacity, &traits.forbidden)
    }

    pub fn member_of(mut self, capacity: &'a Capacity, sets: &[Vec<Uuid>]) -> BitFilter<'a> {
        for set in sets {
            self.one_of(set.iter().map(|uuid| capacity.members_of(*uuid)).collect());
        }
        self
    }

    pub fn not_member_of(mut self, capacity: &'a Capacity, uuids: &[Uuid]) -> BitFilter<'a> {
        self.none.extend(uuids.iter().map(|uuid| capacity.members_of(*uuid)));
        self
    }

    fn one_of(&mut self, sets: Vec<&'a Bits>) {
        match sets[..] {
            [only] => self.all.push(only),
            _ => self.any.push(sets),
        }
    }

    pub fn and(mut self, other: &BitFilter<'a>) -> BitFilter<'a> {
        self.all.extend_from_slice(&other.all);
        self.any.extend_from_slice(&other.any);
        self.none.extend_from_slice(&other.none);
        self
    }

    /// Whether nothing limits the set, so that it has no end.
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

    /// The cost of checking one provider or one word, in steps.
    pub fn weight(&self) -> usize {
        let any = self.any.iter().map(Vec::len).sum::<usize>();
        1 + (self.all.len() + any + self.none.len()) / 8
    }

    /// An upper bound on the number of members.
    pub fn at_most(&self) -> usize {
        let all = self.all.iter().map(|set| set.len());
        let any = self.any.iter().map(|sets| sets.iter().map(|set| set.len()).sum());
        all.chain(any).min().unwrap_or(usize::MAX)
    }

    /// The number of words that can have members; 0 if the filter is open.
    pub fn words(&self) -> usize {
        let all = self.all.iter().map(|set| set.words());
        let most = |sets: &Vec<&Bits>| sets.iter().map(|set| set.words()).max().unwrap_or(0);
        all.chain(self.any.iter().map(most)).min().unwrap_or(0)
    }

    /// All members, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = ProviderIx> {
        (0..self.words()).flat_map(|at| members(at, self.word(at)))
    }
}

/// The number of passes of a seeded walk over the words. Each pass takes every eighth member, so even its first steps
/// are spread over all providers.
const ROUNDS: usize = 8;

/// A walk over the members of a filter, in an order that depends on a seed. It stores no members.
#[derive(Debug, Clone)]
pub(super) struct BitWalk {
    words: usize,
    /// The first word and the stride; the stride and the number of words are coprime.
    start: usize,
    stride: usize,
    rounds: usize,
    turn: u32,
    /// The number of words visited, over all rounds.
    been: usize,
    at: usize,
    word: u64,
}

impl BitWalk {
    pub fn new(words: usize, seed: Option<u64>) -> BitWalk {
        let mut walk =
            BitWalk { words, start: 0, stride: 1, rounds: 1, turn: 0, been: 0, at: 0, word: 0 };
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

    /// The next member. Adds the number of words read to `words`.
    pub fn next(&mut self, filter: &BitFilter<'_>, words: &mut usize) -> Option<ProviderIx> {
        while self.word == 0 {
            if self.been >= self.words * self.rounds {
                return None;
            }
            let (round, step) = (self.been / self.words, self.been % self.words);
            self.at = ((self.start as u64 + step as u64 * self.stride as u64) % self.words as u64)
                as usize;
            self.word = filter.word(self.at);
            if self.rounds > 1 {
                // 3 and 8 are coprime, so each round has its own members.
                let turn = self.turn + 3 * round as u32;
                self.word &= 0x0101_0101_0101_0101_u64.rotate_left(turn % 64);
            }
            self.been += 1;
            *words += 1;
        }
        // Starts at a different bit in each walk, so that low bits are not preferred.
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
    fn a_walk_visits_each_member_once_for_any_seed() {
        let set: Bits = (0..1000).filter(|n| n % 3 != 1).collect();
        let filter = BitFilter::default().only(&set);
        let mut orders = Vec::new();
        for seed in [None, Some(0), Some(1), Some(u64::MAX)] {
            let mut walk = BitWalk::new(filter.words(), seed);
            let order: Vec<u32> = std::iter::from_fn(|| walk.next(&filter, &mut 0)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, set.iter().collect::<Vec<_>>(), "{seed:?}");
            orders.push(order);
        }
        assert_eq!(orders[0], set.iter().collect::<Vec<_>>());
        orders.dedup();
        assert_eq!(orders.len(), 4);
        assert_eq!(BitWalk::new(0, Some(7)).next(&filter, &mut 0), None);
    }

    #[test]
    fn a_seeded_walk_is_spread_over_all_members_from_the_start() {
        let set: Bits = (0..64_000).collect();
        let filter = BitFilter::default().only(&set);
        let mut walk = BitWalk::new(filter.words(), Some(42));
        let first: Vec<u32> = std::iter::from_fn(|| walk.next(&filter, &mut 0)).take(80).collect();
        let words: std::collections::BTreeSet<u32> = first.iter().map(|ix| ix / 64).collect();
        assert!(words.len() >= 10, "{words:?}");
    }

    #[test]
    fn a_filter_intersects_joins_and_excludes_sets() {
        let [even, third, fifth]: [Bits; 3] =
            [2, 3, 5].map(|n| (0..200).filter(|m: &u32| m.is_multiple_of(n)).collect());
        let mut filter = BitFilter::default().only(&even);
        filter.one_of(vec![&third, &fifth]);
        let text = |filter: &BitFilter<'_>| filter.iter().take(6).collect::<Vec<_>>();
        assert_eq!(text(&filter), [0, 6, 10, 12, 18, 20]);
        filter.none.push(&fifth);
        assert_eq!(text(&filter), [6, 12, 18, 24, 36, 42]);
        let members: Vec<u32> = filter.iter().collect();
        assert!((0..300).all(|m| filter.contains(m) == members.contains(&m)));
        assert_eq!((filter.at_most(), filter.words(), filter.is_open()), (100, 4, false));
    }
}
