//! A set of small numbers as a bitmap, such as the providers with a trait, a class or an aggregate.
//!
//! Sets are combined word by word: a condition on 100,000 providers reads 1,600 words.

use crate::state::shared_list::SharedList;

/// Copies share memory.
#[derive(Debug, Clone, Default)]
pub struct Bits {
    words: SharedList<u64, 256>,
    count: u32,
}

/// Trailing empty words make no difference.
impl PartialEq for Bits {
    fn eq(&self, other: &Bits) -> bool {
        self.count == other.count && self.iter().eq(other.iter())
    }
}

impl Eq for Bits {}

impl Bits {
    pub fn contains(&self, member: u32) -> bool {
        self.word(member as usize / 64) >> (member % 64) & 1 == 1
    }

    /// The members from `64 * at` to `64 * at + 63`.
    pub fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// The number of words that can have members.
    pub fn words(&self) -> usize {
        self.words.len()
    }

    pub fn len(&self) -> usize {
        self.count as usize
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.words.iter().flat_map(|(at, &word)| members(at, word))
    }

    pub fn insert(&mut self, member: u32) {
        // A member that is there already costs no copy.
        if !self.contains(member) {
            *self.words.entry(member as usize / 64) |= 1 << (member % 64);
            self.count += 1;
        }
    }

    pub fn remove(&mut self, member: u32) {
        if self.contains(member) {
            *self.words.entry(member as usize / 64) &= !(1 << (member % 64));
            self.count -= 1;
        }
    }
}

impl FromIterator<u32> for Bits {
    fn from_iter<I: IntoIterator<Item = u32>>(members: I) -> Bits {
        let mut bits = Bits::default();
        members.into_iter().for_each(|member| bits.insert(member));
        bits
    }
}

/// The members of one word, in ascending order.
pub fn members(at: usize, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < 64).then(|| at as u32 * 64 + bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_and_go() {
        let mut bits: Bits = [3, 200, 64, 3].into_iter().collect();
        assert_eq!(bits.iter().collect::<Vec<_>>(), [3, 64, 200]);
        assert_eq!(bits.len(), 3);
        assert!(bits.contains(64) && !bits.contains(65) && !bits.contains(100_000));
        bits.remove(200);
        bits.remove(200);
        bits.remove(7_000);
        assert_eq!(bits, [3, 64].into_iter().collect());
        assert_eq!(bits.len(), 2);
    }
}
