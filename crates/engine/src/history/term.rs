//! The terms by which the index finds a record. Each event has a few terms, and each term a fingerprint of 32 bits.
//!
//! Two terms may have the same fingerprint. A query checks every record that it reads, so a collision costs time but never
//! gives a wrong answer.
//!
//! Values are indexed by aligned blocks of 2^n numbers. An event has a term for each of the fewest blocks that make up its
//! values: one for a single value or a prefix. So a value is found by looking up the block of each size in use that
//! contains it. To find prefixes inside a queried prefix, each prefix also has terms for a few larger blocks that cover it.

use allod_core::capacity::Uuid;
use allod_core::event::Event;
use allod_core::event::projection::{EventKind, Projection};
use allod_core::span::{Span, low_ones};
use allod_core::value::Kind;

pub(super) type Fingerprint = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Term<'a> {
    /// Every event of a pool.
    Pool(&'a str),
    /// A pool was defined or removed.
    Definition(&'a str),
    Removal(&'a str),
    /// A claim was granted under this key, in any pool.
    Grant(&'a str),
    /// Any other event of a claim or request with this key.
    Later(&'a str),
    /// The owner, if it differs from the key.
    Owner(&'a str),
    Block {
        pool: &'a str,
        bits: u32,
        base: u128,
    },
    Cover {
        pool: &'a str,
        bits: u32,
        base: u128,
    },
    /// A change of a provider, or of allocations from it.
    Provider(Uuid),
    Consumer(Uuid),
}

impl Term<'_> {
    pub(super) fn fingerprint(&self, seed: u64) -> Fingerprint {
        let name = |kind: u64, name: &str| text(fold(seed, kind), name);
        let block = |kind: u64, pool: &str, bits: u32, base: u128| {
            let hash = fold(name(kind, pool), u64::from(bits));
            number(hash, base)
        };
        let hash = match *self {
            Term::Pool(pool) => name(1, pool),
            Term::Definition(pool) => name(2, pool),
            Term::Removal(pool) => name(3, pool),
            Term::Grant(key) => name(4, key),
            Term::Later(key) => name(5, key),
            Term::Owner(owner) => name(6, owner),
            Term::Block { pool, bits, base } => block(7, pool, bits, base),
            Term::Cover { pool, bits, base } => block(8, pool, bits, base),
            Term::Provider(uuid) => number(fold(seed, 9), uuid.0),
            Term::Consumer(uuid) => number(fold(seed, 10), uuid.0),
        };
        (hash >> 32) as Fingerprint
    }
}

/// Fingerprints are stored, so this must give the same result on every machine for ever, which the hashers of the standard
/// library do not promise. The random seed prevents clients from choosing keys that collide.
fn fold(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93_u128;
    (product as u64) ^ ((product >> 64) as u64)
}

fn number(hash: u64, number: u128) -> u64 {
    fold(fold(hash, number as u64), (number >> 64) as u64)
}

fn text(hash: u64, text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(hash, |hash, word| fold(hash, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    fold(fold(hash, u64::from_le_bytes(last)), text.len() as u64)
}

/// The block sizes in use: bit n for blocks of 2^n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BlockSizes(pub u128);

impl BlockSizes {
    pub(super) fn add(&mut self, bits: u32) {
        self.0 |= 1 << bits;
    }

    pub(super) fn at_least(self, bits: u32) -> impl Iterator<Item = u32> {
        (bits..128).filter(move |bits| self.0 >> bits & 1 == 1)
    }
}

/// Calls `put` for every term of an event, possibly with duplicates.
pub(super) fn of_event<'a>(event: &'a Event, mut put: impl FnMut(Term<'a>)) {
    let Some(about) = Projection::of(event) else { return };
    about.providers().for_each(|provider| put(Term::Provider(provider)));
    about.consumer.into_iter().for_each(|consumer| put(Term::Consumer(consumer)));
    let Some(pool) = about.pool else { return };
    let (key, owner) = (about.key, about.owner);
    match about.kind {
        EventKind::PoolDefined => put(Term::Definition(pool)),
        EventKind::PoolRemoved => {
            put(Term::Definition(pool));
            put(Term::Removal(pool));
        }
        EventKind::ClaimGranted => key.into_iter().for_each(|key| put(Term::Grant(key))),
        _ => key.into_iter().for_each(|key| put(Term::Later(key))),
    }
    put(Term::Pool(pool));
    owner.filter(|owner| Some(*owner) != key).into_iter().for_each(|owner| put(Term::Owner(owner)));
    let kind = about.values.and_then(|(kind, _)| kind);
    for span in about.values.into_iter().flat_map(|(_, values)| values.spans()) {
        for (bits, base) in blocks(span) {
            put(Term::Block { pool, bits, base });
        }
        for (bits, base) in kind.into_iter().flat_map(|kind| covers(kind, span)) {
            put(Term::Cover { pool, bits, base });
        }
    }
}

/// The fewest aligned blocks that make up a span; none is larger than 2^127.
pub(super) fn blocks(span: Span) -> impl Iterator<Item = (u32, u128)> {
    span.aligned_blocks(127).map(|block| (bits_of(block), block.first))
}

/// The step between the sizes of covering blocks, in bits.
fn cover_step(kind: Kind) -> u32 {
    if kind.width() <= 32 { 8 } else { 16 }
}

/// The blocks that cover a prefix. The whole range is not among them; the term of the pool is used for it.
fn covers(kind: Kind, prefix: Span) -> impl Iterator<Item = (u32, u128)> {
    let bits = bits_of(prefix);
    let sizes = (cover_step(kind)..kind.width()).step_by(cover_step(kind) as usize);
    sizes
        .filter(move |size| kind.is_prefix() && *size > bits)
        .map(move |size| (size, prefix.first & !low_ones(size)))
}

/// The size of an aligned block, in bits.
fn bits_of(block: Span) -> u32 {
    128 - (block.last - block.first).leading_zeros()
}

/// Calls `put` for terms such that every event whose values overlap `value` (a single value or a prefix) has one of them.
pub(super) fn of_value<'a>(
    pool: &'a str,
    kind: Kind,
    value: Span,
    sizes: BlockSizes,
    mut put: impl FnMut(Term<'a>),
) {
    let bits = bits_of(value);
    for bits in sizes.at_least(bits) {
        put(Term::Block { pool, bits, base: value.first & !low_ones(bits) });
    }
    if kind.is_prefix() && bits > 0 {
        let bits = bits.next_multiple_of(cover_step(kind));
        match bits < kind.width() {
            true => put(Term::Cover { pool, bits, base: value.first & !low_ones(bits) }),
            false => put(Term::Pool(pool)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(first: u128, last: u128) -> Vec<(u32, u128)> {
        blocks(Span { first, last }).collect()
    }

    #[test]
    fn span_is_split_into_the_fewest_blocks() {
        assert_eq!(shown(7, 7), [(0, 7)]);
        assert_eq!(shown(8, 15), [(3, 8)]);
        assert_eq!(shown(5, 12), [(0, 5), (1, 6), (2, 8), (0, 12)]);
        assert_eq!(shown(0, u128::MAX), [(127, 0), (127, 1 << 127)]);
        assert_eq!(shown(u128::MAX, u128::MAX), [(0, u128::MAX)]);
        for (first, last) in [(3, 1000), (0, 4094), (u128::MAX - 99, u128::MAX), (1, u128::MAX)] {
            let parts = shown(first, last);
            let total = parts.iter().fold(0_u128, |sum, (bits, _)| sum + (1 << bits));
            assert_eq!(total, last - first + 1);
            assert!(parts.iter().all(|(bits, base)| base & low_ones(*bits) == 0));
        }
    }

    #[test]
    fn prefix_finds_overlapping_prefixes_of_any_length() {
        for (kind, outer, inner) in [
            (Kind::Prefix4, "10.0.0.0/8", "10.20.30.0/24"),
            (Kind::Prefix4, "10.20.0.0/18", "10.20.30.0/24"),
            (Kind::Prefix4, "10.20.30.0/24", "10.20.30.7/32"),
            (Kind::Prefix4, "0.0.0.0/0", "255.0.0.0/9"),
            (Kind::Prefix6, "2001:db8::/32", "2001:db8:0:7::/64"),
            (Kind::Prefix6, "2001:db8::/127", "2001:db8::1/128"),
            (Kind::Prefix6, "::/0", "::/1"),
        ] {
            let (outer, inner) = (kind.parse(outer).unwrap(), kind.parse(inner).unwrap());
            for (held, asked) in [(outer, inner), (inner, outer), (inner, inner), (outer, outer)] {
                let (mut left, mut sizes) = (vec![Term::Pool("p")], BlockSizes::default());
                for (bits, base) in blocks(held) {
                    sizes.add(bits);
                    left.push(Term::Block { pool: "p", bits, base });
                }
                left.extend(covers(kind, held).map(|(bits, base)| Term::Cover {
                    pool: "p",
                    bits,
                    base,
                }));
                let mut found = false;
                of_value("p", kind, asked, sizes, |term| found |= left.contains(&term));
                assert!(found, "{held:?} by {asked:?}");
            }
        }
    }

    #[test]
    fn fingerprints_are_stable() {
        let block = Term::Block { pool: "vlans", bits: 3, base: 1 << 100 };
        let uuid = Uuid(0x4e8e_5957_649f_477b_9e5b_f1f7_5b21_c03c);
        let terms = [
            Term::Pool("vlans"),
            Term::Grant("vm-0001"),
            block,
            Term::Provider(uuid),
            Term::Consumer(uuid),
        ];
        let prints: Vec<u32> = terms.map(|term| term.fingerprint(7)).to_vec();
        assert_eq!(
            prints,
            [1_218_544_041, 4_145_135_011, 2_969_690_745, 1_597_934_731, 1_449_645_063]
        );
    }
}
