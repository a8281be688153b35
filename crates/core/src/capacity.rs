//! The nouns of capacity, as OpenStack Placement has them: providers have inventories of resource classes, consumers hold
//! allocations of them.
//!
//! Plain values only. What a provider or a consumer has at a moment is in [`crate::state::capacity`].

pub mod standard;

use std::fmt;
use std::str::FromStr;

/// The name of a provider, a consumer or an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub u128);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.text()).unwrap_or_default())
    }
}

impl Uuid {
    /// The usual spelling: 32 digits in lower case, with four dashes.
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

/// A text that is no uuid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoUuid;

impl FromStr for Uuid {
    type Err = NoUuid;

    /// 32 hexadecimal digits of either case, with the four dashes where they belong or without any.
    fn from_str(text: &str) -> Result<Uuid, NoUuid> {
        let bytes = text.as_bytes();
        let dashed = match bytes.len() {
            36 => true,
            32 => false,
            _ => return Err(NoUuid),
        };
        let mut value = 0u128;
        for (at, byte) in bytes.iter().enumerate() {
            if dashed && matches!(at, 8 | 13 | 18 | 23) {
                if *byte != b'-' {
                    return Err(NoUuid);
                }
                continue;
            }
            let digit = (*byte as char).to_digit(16).ok_or(NoUuid)?;
            value = value << 4 | u128::from(digit);
        }
        Ok(Uuid(value))
    }
}

/// How far a stock may be given out more than once. Compared by its bits, so that it can stand in commands and events.
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

/// How much of a resource class a provider has, and in which portions it gives it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inventory {
    pub total: u32,
    pub reserved: u32,
    pub min_unit: u32,
    pub max_unit: u32,
    pub step_size: u32,
    pub allocation_ratio: Ratio,
}

/// The largest number in an inventory or an allocation: what a signed number of 32 bits holds, as in Placement.
pub const AMOUNT_MAX: u32 = i32::MAX as u32;

impl Inventory {
    /// All of `total`, in any portion, once.
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

    /// How much can be given out: whole units, rounded down. What is given out is whole, so comparing with the rounded
    /// number and with the exact one is the same.
    pub fn capacity(&self) -> i64 {
        let exact = (f64::from(self.total) - f64::from(self.reserved)) * self.allocation_ratio.0;
        exact.floor() as i64
    }

    /// Whether one allocation may have this size, room aside.
    pub fn portions(&self, amount: u64) -> bool {
        portions(self.min_unit, self.max_unit, self.step_size, amount)
    }
}

/// Whether something that is given out from a smallest to a largest unit in steps can be given out in this amount.
pub(crate) fn portions(min_unit: u32, max_unit: u32, step_size: u32, amount: u64) -> bool {
    amount >= u64::from(min_unit)
        && amount <= u64::from(max_unit)
        && (step_size <= 1 || amount.is_multiple_of(u64::from(step_size)))
}

/// What becomes of an allocation whose lease has run out. Until then it counts, and everybody sees that it has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Reclaim {
    /// It is taken back as soon as it is noticed.
    #[default]
    Reap,
    /// Somebody has to release it.
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
            assert_eq!(text.parse::<Uuid>(), Err(NoUuid), "{text}");
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
        let fits: Vec<u64> = (0..20).filter(|amount| inventory.portions(*amount)).collect();
        assert_eq!(fits, [4, 8, 12]);
    }
}
