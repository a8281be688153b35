//! Blocks of addresses for the naive model: checks every address.

use std::collections::BTreeSet;

use allod_core::value::IpVersion;

/// The largest block that is checked; the pools of the model are small.
const BITS_MAX: u32 = 10;

/// `2^bits` numbers from `first` on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// The smallest come first, and of those the lowest.
    pub bits: u32,
    pub first: u128,
}

pub fn width(version: IpVersion) -> u32 {
    match version {
        IpVersion::V4 => 32,
        IpVersion::V6 => 128,
    }
}

impl Block {
    pub fn one(number: u128) -> Block {
        Block { first: number, bits: 0 }
    }

    /// The block of this size with this address.
    pub fn around(address: u128, bits: u32) -> Block {
        Block { first: address - address % (1 << bits), bits }
    }

    pub fn is_aligned(&self) -> bool {
        let mask = if self.bits >= 128 { u128::MAX } else { (1 << self.bits) - 1 };
        self.first & mask == 0
    }

    pub fn last(&self) -> u128 {
        let mask = if self.bits >= 128 { u128::MAX } else { (1 << self.bits) - 1 };
        self.first | mask
    }

    pub fn has(&self, number: u128) -> bool {
        self.first <= number && number <= self.last()
    }

    pub fn addresses(&self) -> impl Iterator<Item = u128> {
        self.first..=self.last()
    }
}

/// The fewest blocks that make up what is free, the smallest first.
pub fn free_blocks(free: &BTreeSet<u128>) -> Vec<Block> {
    let mut left = free.clone();
    let mut blocks = Vec::new();
    for bits in (0..=BITS_MAX).rev().filter(|bits| free.len() >= 1 << bits) {
        for first in left.clone() {
            let block = Block { first, bits };
            if block.is_aligned() && block.addresses().all(|one| left.contains(&one)) {
                left.retain(|one| !block.has(*one));
                blocks.push(block);
            }
        }
    }
    blocks.sort();
    blocks
}

/// The fewest blocks that make up a range.
pub fn blocks_of_range(from: u128, to: u128) -> Vec<Block> {
    free_blocks(&(from..=to).collect())
}
