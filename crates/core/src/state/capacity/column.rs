//! One resource class across all providers: which of them have it, and how much is available.
//!
//! The inventories of the providers hold the same facts; here they are contiguous, for a search over many providers.

use super::bits::Bits;
use super::provider::{ProviderIx, Stock};
use crate::capacity::units_allow;
use crate::state::shared_list::SharedList;

/// Copies share memory. A class of few providers needs little of it.
#[derive(Debug, Clone, Default)]
pub struct ClassColumn {
    pub have: Bits,
    available: SharedList<Availability, 256>,
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
        self.available.get(provider as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, provider: ProviderIx, available: Option<Availability>) {
        *self.available.entry(provider as usize) = available.unwrap_or_default();
        match available {
            Some(_) => self.have.insert(provider),
            None => self.have.remove(provider),
        }
    }
}
