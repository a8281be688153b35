//! Parses UUIDs as Python does: with dashes or without, in braces, after `urn:uuid:`, in either case. Also generates
//! them.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use allod_core::capacity::Uuid;

/// The 32 hexadecimal digits of a text that Python's `uuid` module accepts.
fn digits(text: &str) -> Option<String> {
    let bare = text.replace("urn:", "").replace("uuid:", "");
    let bare = bare.trim_matches(['{', '}']).replace('-', "");
    let fits = bare.len() == 32 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then_some(bare)
}

/// Whether a text is a UUID in any of these forms.
pub(crate) fn is_like(text: &str) -> bool {
    digits(text).is_some()
}

/// The UUID in any of these forms.
pub(crate) fn read(text: &str) -> Option<Uuid> {
    // The usual forms need no copy.
    if let Ok(uuid) = text.parse() {
        return Some(uuid);
    }
    u128::from_str_radix(&digits(text)?, 16).ok().map(Uuid)
}

/// Generates UUIDs for providers that a client creates without one, and seeds for random orders.
///
/// They must be unique, not unpredictable: they are hashes of a counter with random keys.
#[derive(Debug)]
pub(crate) struct UuidGenerator {
    high: RandomState,
    low: RandomState,
    count: AtomicU64,
}

impl UuidGenerator {
    pub(crate) fn new() -> UuidGenerator {
        UuidGenerator {
            high: RandomState::new(),
            low: RandomState::new(),
            count: AtomicU64::new(0),
        }
    }

    /// A version 4 UUID.
    pub(crate) fn next(&self) -> Uuid {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let bits =
            u128::from(self.high.hash_one(count)) << 64 | u128::from(self.low.hash_one(count));
        let kind = bits & !(0xf << 76) | 0x4 << 76;
        Uuid(kind & !(0x3 << 62) | 0x2 << 62)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.high.hash_one(self.count.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_parsed_in_several_forms() {
        let plain = "7a3f0a5e-0000-4000-8000-00000000000b";
        let uuid = Uuid(0x7a3f_0a5e_0000_4000_8000_0000_0000_000b);
        for text in [
            plain,
            "7a3f0a5e000040008000 00000000000b".replace(' ', "").as_str(),
            "7A3F0A5E-0000-4000-8000-00000000000B",
            "{7a3f0a5e-0000-4000-8000-00000000000b}",
            "urn:uuid:7a3f0a5e-0000-4000-8000-00000000000b",
            "7a3f-0a5e0000-4000-8000-00000000000b",
        ] {
            assert!(is_like(text) && read(text) == Some(uuid), "{text}");
        }
        for text in ["", "x", &plain[1..], "7a3f0a5e-0000-4000-8000-00000000000g", "ä"] {
            assert!(!is_like(text) && read(text).is_none(), "{text}");
        }
        assert_eq!(read("7a3f0a5e-0000-4000-8000-0000-000000b"), None);
    }

    #[test]
    fn generated_uuids_are_unique_and_of_version_4() {
        let uuids = UuidGenerator::new();
        let all: std::collections::BTreeSet<Uuid> = (0..1000).map(|_| uuids.next()).collect();
        assert_eq!(all.len(), 1000);
        for text in all.iter().map(Uuid::to_string) {
            assert_eq!(&text[14..15], "4", "{text}");
            assert!("89ab".contains(&text[19..20]), "{text}");
        }
    }
}
