//! One resource class across all providers: which of them have it, and how much is available.
//!
//! The inventories of the providers hold the same facts; here they are contiguous, for a search over many providers.

use super::bits::Bits;
use super::provider::{ProviderIx, Stock};
use crate::capacity::units_allow;

/// Columns are allocated in blocks, so that a class of few providers needs little memory.
const BLOCK: usize = 256;

#[derive(Debug, Clone, Default)]
pub struct ClassColumn {
    pub have: Bits,
    blocks: Vec<Option<Box<[Availability; BLOCK]>>>,
}

/// What is available of a class at one provider. The default is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Availability {
    pub free: i64,
    pub min_unit: u32,
    pub max_unit: u32,
    pub step_size: u32,
}

impl Availability {
    /// Whether one more allocation of this size fits.
    pub fn fits(&self, amount: u64) -> bool {
        i64::try_from(amount).is_ok_and(|amount| amount <= self.free)
            && units_allow(self.min_unit, self.max_unit, self.step_size, amount)
    }

    /// Whether several allocations that fit one by one also fit together; `sum` is their total.
    pub fn fits_sum(&self, sum: u64) -> bool {
        i64::try_from(sum).is_ok_and(|sum| sum <= self.free) && sum <= u64::from(self.max_unit)
    }
}

impl From<&Stock> for Availability {
    fn from(stock: &Stock) -> Availability {
        Availability {
            free: stock.free(),
            min_unit: stock.inventory.min_unit,
            max_unit: stock.inventory.max_unit,
            step_size: stock.inventory.step_size,
        }
    }
}

impl ClassColumn {
    pub fn availability(&self, provider: ProviderIx) -> Availability {
        let block = self.blocks.get(provider as usize / BLOCK).and_then(Option::as_ref);
        block.map_or_else(Availability::default, |block| block[provider as usize % BLOCK])
    }

    pub(crate) fn set(&mut self, provider: ProviderIx, available: Option<Availability>) {
        let at = provider as usize / BLOCK;
        if at >= self.blocks.len() {
            self.blocks.resize(at + 1, None);
        }
        let block =
            self.blocks[at].get_or_insert_with(|| Box::new([Availability::default(); BLOCK]));
        block[provider as usize % BLOCK] = available.unwrap_or_default();
        match available {
            Some(_) => self.have.insert(provider),
            None => self.have.remove(provider),
        }
    }
}
