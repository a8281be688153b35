//! One resource class over all providers: who has it, and how much can still be given out in which portions.
//!
//! The same facts stand in each provider's stocks; here they lie side by side, for a search that looks at many providers.

use super::bits::Bits;
use super::provider::{ProviderIx, Stock};
use crate::capacity::portions;

/// Providers are kept in blocks, so that a class that few providers have is small.
const BLOCK: usize = 256;

#[derive(Debug, Clone, Default)]
pub struct Column {
    pub have: Bits,
    blocks: Vec<Option<Box<[Room; BLOCK]>>>,
}

/// What a provider can give of a class. The default gives nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Room {
    pub room: i64,
    pub min_unit: u32,
    pub max_unit: u32,
    pub step_size: u32,
}

impl Room {
    /// Whether one more allocation of this size fits.
    pub fn fits(&self, amount: u64) -> bool {
        i64::try_from(amount).is_ok_and(|amount| amount <= self.room)
            && portions(self.min_unit, self.max_unit, self.step_size, amount)
    }
}

impl Room {
    /// Whether several allocations that fit each fit together, if this is their sum.
    pub fn holds(&self, sum: u64) -> bool {
        i64::try_from(sum).is_ok_and(|sum| sum <= self.room) && sum <= u64::from(self.max_unit)
    }
}

impl From<&Stock> for Room {
    fn from(stock: &Stock) -> Room {
        Room {
            room: stock.room(),
            min_unit: stock.inventory.min_unit,
            max_unit: stock.inventory.max_unit,
            step_size: stock.inventory.step_size,
        }
    }
}

impl Column {
    pub fn room(&self, provider: ProviderIx) -> Room {
        let block = self.blocks.get(provider as usize / BLOCK).and_then(Option::as_ref);
        block.map_or_else(Room::default, |block| block[provider as usize % BLOCK])
    }

    pub(crate) fn set(&mut self, provider: ProviderIx, room: Option<Room>) {
        let at = provider as usize / BLOCK;
        if at >= self.blocks.len() {
            self.blocks.resize(at + 1, None);
        }
        let block = self.blocks[at].get_or_insert_with(|| Box::new([Room::default(); BLOCK]));
        block[provider as usize % BLOCK] = room.unwrap_or_default();
        match room {
            Some(_) => self.have.insert(provider),
            None => self.have.remove(provider),
        }
    }
}
