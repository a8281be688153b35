//! The nouns of capacity, as in OpenStack Placement: providers have inventories of resource classes, and consumers hold
//! allocations of them.
//!
//! Plain values only. The providers and consumers of a snapshot are in [`crate::state::capacity`].

pub mod standard;

use std::fmt;
use std::str::FromStr;

/// Identifies a provider, a consumer or an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub u128);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl Uuid {
    /// The canonical form: 32 lower-case digits with four dashes.
    pub fn text(self) -> [u8; 36] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [b'-'; 36];
        let mut at = 0;
        for nibble in 0..32 {
            if matches!(at, 8 | 13 | 18 | 23) {
                at += 1;
            }
            text[at] = DIGITS[(self.0 >> (124 - 4 * nibble)) as usize & 0xf];
            at += 1;
        }
        text
    }
}

/// A text that is not a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidUuid;

impl FromStr for Uuid {
    type Err = InvalidUuid;

    /// Accepts 32 hexadecimal digits of either case, with the four dashes of the canonical form or without any.
    fn from_str(text: &str) -> Result<Uuid, InvalidUuid> {
        let bytes = text.as_bytes();
        let dashed = match bytes.len() {
            36 => true,
            32 => false,
            _ => return Err(InvalidUuid),
        };
        let mut value = 0u128;
        for (at, byte) in bytes.iter().enumerate() {
            if dashed && matches!(at, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return Err(InvalidUuid);
                }
                continue;
            }
            let digit = (*byte as char).to_digit(16).ok_or(InvalidUuid)?;
            value = value << 4 | u128::from(digit);
        }
        Ok(Uuid(value))
    }
}

/// The overcommit factor of an inventory. Compared by its bits, so that commands and events can implement `Eq`.
#[derive(Clone, Copy)]
pub struct Ratio(pub f64);

impl PartialEq for Ratio {
    fn eq(&self, other: &Ratio) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Ratio {}

impl fmt::Debug for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How much of a resource class a provider has, and in which amounts it can be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inventory {
    pub total: u32,
    pub reserved: u32,
    pub min_unit: u32,
    pub max_unit: u32,
    pub step_size: u32,
    pub allocation_ratio: Ratio,
}

/// The largest number in an inventory or an allocation: the maximum of a signed 32-bit integer, as in Placement.
pub const AMOUNT_MAX: u32 = i32::MAX as u32;

impl Inventory {
    /// All of `total`, in any amount, without overcommit.
    pub fn of(total: u32) -> Inventory {
        Inventory {
            total,
            reserved: 0,
            min_unit: 1,
            max_unit: AMOUNT_MAX,
            step_size: 1,
            allocation_ratio: Ratio(1.0),
        }
    }

    /// How much can be allocated, rounded down. Allocations are whole numbers, so rounding does not change any
    /// comparison.
    pub fn capacity(&self) -> i64 {
        let exact = (f64::from(self.total) - f64::from(self.reserved)) * self.allocation_ratio.0;
        exact.floor() as i64
    }

    /// Whether `min_unit`, `max_unit` and `step_size` allow an allocation of this amount.
    pub fn allows(&self, amount: u64) -> bool {
        units_allow(self.min_unit, self.max_unit, self.step_size, amount)
    }
}

pub(crate) fn units_allow(min_unit: u32, max_unit: u32, step_size: u32, amount: u64) -> bool {
    amount >= u64::from(min_unit)
        && amount <= u64::from(max_unit)
        && (step_size <= 1 || amount.is_multiple_of(u64::from(step_size)))
}

/// What happens to an allocation after its lease has expired. Until it is released it still counts as used, and reads
/// show that it has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Reclaim {
    /// The server releases it.
    #[default]
    Reap,
    /// A client has to release it.
    Keep,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_read_with_dashes_and_without_and_written_with() {
        let dashed = "4e8e5957-649f-477b-9e5b-f1f75b21c03c";
        for text in [dashed, "4E8E5957-649F-477B-9E5B-F1F75B21C03C", &dashed.replace('-', "")] {
            assert_eq!(text.parse::<Uuid>().map(|uuid| uuid.to_string()), Ok(dashed.to_string()));
        }
        for text in ["", "x", &dashed[1..], "4e8e5957x649f-477b-9e5b-f1f75b21c03c", &"-".repeat(36)]
        {
            assert_eq!(text.parse::<Uuid>(), Err(InvalidUuid), "{text}");
        }
    }

    #[test]
    fn capacity_is_rounded_down() {
        let inventory = |total, reserved, ratio| Inventory {
            reserved,
            allocation_ratio: Ratio(ratio),
            ..Inventory::of(total)
        };
        assert_eq!(inventory(8, 1, 1.6).capacity(), 11);
        assert_eq!(inventory(8, 9, 1.5).capacity(), -2);
        assert_eq!(inventory(10, 0, 16.0).capacity(), 160);
        assert_eq!(inventory(AMOUNT_MAX, 0, 3.4e38).capacity(), i64::MAX);
    }

    #[test]
    fn portions_are_between_the_units_and_in_steps() {
        let inventory = Inventory { min_unit: 4, max_unit: 12, step_size: 4, ..Inventory::of(100) };
        let fits: Vec<u64> = (0..20).filter(|amount| inventory.allows(*amount)).collect();
        assert_eq!(fits, [4, 8, 12]);
    }
}
