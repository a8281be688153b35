//! The set with its real node sizes: the ends of the number line, the largest and smallest blocks, 100,000 spans.

use std::collections::BTreeMap;

use allod_core::claim::Parity;
use allod_core::span::Span;
use allod_core::spanset::{
    SpanSet, StepsUsedUp, first_common, first_common_block, first_common_run,
};

const MAX: u128 = u128::MAX;

fn set(spans: &[(u128, u128)]) -> SpanSet {
    let set = SpanSet::from_spans(spans.iter().map(|&(first, last)| Span { first, last }));
    assert_eq!(set.check(), Ok(()));
    set
}

/// A deterministic pseudo-random sequence.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

#[test]
fn whole_number_line_is_an_ordinary_set() {
    let line = set(&[(0, MAX)]);
    assert_eq!(line.len(), MAX);
    assert_eq!(line.count_of(Some(Parity::Even)), 1 << 127);
    assert_eq!(line.count_of(Some(Parity::Odd)), 1 << 127);
    assert_eq!(line.longest_run(), MAX);
    assert_eq!(line.overlap_len(Span { first: 0, last: MAX }), MAX);
    assert_eq!(line.overlap_len(Span { first: 1, last: MAX }), MAX);
    assert_eq!(line.overlap_len(Span { first: 2, last: MAX }), MAX - 1);
    assert_eq!(line.nth(0), Some(0));
    assert_eq!(line.nth(MAX), Some(MAX));
    assert_eq!(line.nth_of_parity((1 << 127) - 1, Parity::Even), Some(MAX - 1));
    assert_eq!(line.nth_of_parity((1 << 127) - 1, Parity::Odd), Some(MAX));
    assert_eq!(line.nth_of_parity(1 << 127, Parity::Odd), None);
    assert_eq!(line.first_run(1, MAX), Some(1));
    assert_eq!(line.first_run(2, MAX), None);
    assert_eq!(line.last_run(MAX, MAX), Some(1));
    assert_eq!(line.last_run(MAX - 1, MAX), Some(0));
    assert_eq!(line.largest_block_bits(), Some(128));
    for bits in 0..128 {
        assert_eq!(line.best_fit_block(bits), Some(0));
        assert_eq!(line.best_fit_block_high(bits), Some(MAX - ((1 << bits) - 1)));
        assert_eq!(line.first_block(1, bits), Some(1 << bits));
        assert_eq!(line.last_block(MAX, bits), Some(MAX - ((1 << bits) - 1)));
    }
    assert_eq!(line.best_fit_block(128), Some(0));
    assert_eq!(line.best_fit_block_high(128), Some(0));
    assert_eq!(line.first_block(0, 128), Some(0));
    assert_eq!(line.first_block(1, 128), None);
    assert_eq!(line.last_block(MAX, 128), Some(0));
    assert_eq!(line.last_block(MAX - 1, 128), None);
    assert_eq!(line.best_fit_block(129), None);
    assert_eq!(line.first_block(0, 129), None);
    let steps = &mut 100;
    assert_eq!(first_common(&[&line, &line], MAX, None, steps), Ok(Some(MAX)));
    assert_eq!(first_common(&[&line, &line], MAX, Some(Parity::Even), steps), Ok(None));
    assert_eq!(first_common_run(&[&line, &line], 1, MAX, steps), Ok(Some(1)));
    assert_eq!(first_common_block(&[&line, &line], 0, 128, steps), Ok(Some(0)));
}

#[test]
fn line_without_one_value_has_no_block_of_2_to_the_128() {
    for hole in [0, 1, 1 << 127, MAX - 1, MAX] {
        let mut short = set(&[(0, MAX)]);
        short.remove(Span::one(hole));
        assert_eq!(short.check(), Ok(()));
        assert_eq!(short.len(), MAX);
        assert_eq!(short.count_of(Some(Parity::of(hole))), (1 << 127) - 1);
        assert_eq!(short.largest_block_bits(), Some(127));
        assert_eq!(short.best_fit_block(128), None);
        assert_eq!(short.nth(MAX), None);
        assert_eq!(short.nth(MAX - 1), Some(if hole == MAX { MAX - 1 } else { MAX }));
        // The only block of one value is next to the hole, so the best fit takes that.
        assert_eq!(short.best_fit_block(0), Some(hole ^ 1));
        short.insert(Span::one(hole));
        assert_eq!(short.check(), Ok(()));
        assert_eq!(short, set(&[(0, MAX)]));
    }
}

#[test]
fn values_at_both_ends_of_the_line_are_found() {
    for end in [0, MAX] {
        let mut one = set(&[(end, end)]);
        assert_eq!(one.len(), 1);
        assert_eq!(one.nth(0), Some(end));
        assert_eq!(one.first_at_or_after(0), Some(end));
        assert_eq!(one.last_at_or_before(MAX), Some(end));
        assert_eq!(one.first_of_parity(0, Parity::Even), (end == 0).then_some(0));
        assert_eq!(one.last_of_parity(MAX, Parity::Odd), (end == MAX).then_some(MAX));
        assert_eq!(one.best_fit_block(0), Some(end));
        assert_eq!(one.best_fit_block_high(0), Some(end));
        assert_eq!(one.best_fit_block(1), None);
        assert_eq!(one.first_run(0, 1), Some(end));
        assert_eq!(one.first_run(0, 2), None);
        assert_eq!(one.largest_block_bits(), Some(0));
        one.remove(Span::one(end));
        assert_eq!(one.check(), Ok(()));
        assert!(one.is_empty());
        assert_eq!(one.largest_block_bits(), None);
        assert_eq!(one.best_fit_block(0), None);
        assert_eq!(one.nth(0), None);
    }
    let both = set(&[(0, 0), (MAX, MAX)]);
    assert_eq!(both.first_at_or_after(1), Some(MAX));
    assert_eq!(both.last_at_or_before(MAX - 1), Some(0));
    assert_eq!(both.overlap_len(Span { first: 0, last: MAX }), 2);
    assert_eq!(both.best_fit_block_high(0), Some(MAX));
}

#[test]
fn best_fit_takes_a_block_from_the_smallest_free_block() {
    // 10.0.0.0/8 without 10.0.0.0/24: the next /24 is taken from beside it, not from the large blocks.
    let base: u128 = 10 << 24;
    let mut four = set(&[(base, base + (1 << 24) - 1)]);
    four.remove(Span::block(base, 8));
    assert_eq!(four.best_fit_block(8), Some(base + 256));
    assert_eq!(four.best_fit_block(9), Some(base + 512));
    assert_eq!(four.best_fit_block_high(8), Some(base + 256));
    assert_eq!(four.best_fit_block_high(20), Some(base + (1 << 20)));
    assert_eq!(four.best_fit_block(24), None);
    assert_eq!(four.first_block(base, 10), Some(base + 1024));
    assert_eq!(four.largest_block_bits(), Some(23));
}

#[test]
fn all_ipv4_addresses_are_one_span() {
    let mut all = set(&[(0, (1 << 32) - 1)]);
    assert_eq!(all.len(), 1 << 32);
    assert_eq!(all.largest_block_bits(), Some(32));
    assert_eq!(all.best_fit_block(32), Some(0));
    assert_eq!(all.nth((1 << 32) - 1), Some((1 << 32) - 1));
    assert_eq!(all.nth(1 << 32), None);
    all.remove(Span::one(1 << 31));
    assert_eq!(all.largest_block_bits(), Some(31));
    assert_eq!(all.best_fit_block(0), Some((1 << 31) + 1));
    assert_eq!(all.nth(1 << 31), Some((1 << 31) + 1));
}

#[test]
fn small_prefixes_of_a_large_network_are_found() {
    // Blocks of two values out of 2^80, every other one taken.
    let network = Span::block(0x2001_0db8 << 96, 80);
    let mut free = SpanSet::from_spans([network]);
    for at in 0..10_000 {
        free.remove(Span::block(network.first + 4 * at, 1));
    }
    assert_eq!(free.check(), Ok(()));
    assert_eq!(free.span_count(), 10_000);
    assert_eq!(free.best_fit_block(1), Some(network.first + 2));
    assert_eq!(free.best_fit_block_high(1), Some(network.first + 39_998));
    assert_eq!(free.best_fit_block(47), Some(network.first + (1 << 47)));
    assert_eq!(free.first_block(network.first, 2), Some(network.first + 40_000));
    for at in 0..10_000 {
        let base = free.best_fit_block(1).unwrap();
        assert_eq!(base, network.first + 4 * at + 2);
        free.remove(Span::block(base, 1));
    }
    assert_eq!(free.check(), Ok(()));
    assert_eq!(free.span_count(), 1);
}

#[test]
fn search_for_a_parity_skips_subtrees_of_the_other() {
    let mut free = SpanSet::from_spans((0..200_000).map(|at| Span::one(2 * at)));
    assert_eq!(free.first_of_parity(0, Parity::Odd), None);
    free.insert(Span::one(1_000_001));
    assert_eq!(free.check(), Ok(()));
    assert_eq!(free.first_of_parity(0, Parity::Odd), Some(1_000_001));
    assert_eq!(free.last_of_parity(MAX, Parity::Odd), Some(1_000_001));
    assert_eq!(free.nth_of_parity(0, Parity::Odd), Some(1_000_001));
    assert_eq!(free.first_of_parity(1_000_002, Parity::Odd), None);
}

#[test]
fn hundred_thousand_spans_are_inserted_and_removed() {
    let mut numbers = Numbers(7);
    let mut model: BTreeMap<u128, u128> = BTreeMap::new();
    let mut set = SpanSet::new();
    // Spans of various lengths that do not touch each other.
    let mut spans: Vec<Span> = (0..100_000u128)
        .map(|at| {
            let first = at * 1000 + u128::from(numbers.next() % 400);
            Span { first, last: first + u128::from(numbers.next() % 500) }
        })
        .collect();
    numbers.shuffle(&mut spans);
    for (done, &span) in spans.iter().enumerate() {
        set.insert(span);
        model.insert(span.first, span.last);
        if done % 25_000 == 0 {
            assert_eq!(set.check(), Ok(()));
        }
    }
    assert_eq!(set.check(), Ok(()));
    let contents: Vec<Span> = model.iter().map(|(&first, &last)| Span { first, last }).collect();
    assert!(set.iter().eq(contents.iter().copied()));
    let built = SpanSet::from_spans(contents);
    assert_eq!(built.check(), Ok(()));
    assert_eq!(set, built);

    let mut below = 0;
    for (&first, &last) in &model {
        assert_eq!(set.nth(below), Some(first));
        assert_eq!(set.overlap_len(Span { first: 0, last: first }), below + 1);
        below += last - first + 1;
    }
    for _ in 0..10_000 {
        let at = u128::from(numbers.next() % 100_000_000);
        let before = model.range(..=at).next_back().filter(|&(_, &last)| last >= at);
        let after = model.range(at..).next().map(|(&first, _)| first);
        assert_eq!(set.contains(at), before.is_some());
        assert_eq!(set.first_at_or_after(at), before.map(|_| at).or(after));
    }

    numbers.shuffle(&mut spans);
    for (done, &span) in spans.iter().enumerate() {
        // The middle first, so that each span is in two parts for a while.
        let middle = Span::one(span.first + (span.last - span.first) / 2);
        set.remove(middle);
        set.subtract(span);
        if done % 25_000 == 0 {
            assert_eq!(set.check(), Ok(()));
        }
    }
    assert_eq!(set.check(), Ok(()));
    assert!(set.is_empty());
    assert_eq!(set, SpanSet::new());
}

#[test]
fn common_value_of_sets_that_rarely_agree_is_found_fast() {
    let threes = SpanSet::from_spans((0..20_000).map(|at| Span::one(3 * at)));
    let fives = SpanSet::from_spans((0..20_000).map(|at| Span::one(5 * at)));
    let sevens = SpanSet::from_spans((0..20_000).map(|at| Span::one(7 * at)));
    let sets = [&threes, &fives, &sevens];
    for at in 0..500 {
        // At most 36 multiples of three and fewer of the others lie between two common ones.
        let steps = &mut 100;
        assert_eq!(first_common(&sets, 105 * at + 1, None, steps), Ok(Some(105 * (at + 1))));
        let odd = if at % 2 == 0 { at + 1 } else { at + 2 };
        let found = first_common(&sets, 105 * at + 1, Some(Parity::Odd), &mut 200);
        assert_eq!(found, Ok(Some(105 * odd)));
    }
    assert_eq!(first_common(&sets, 59_998, None, &mut 100), Ok(None));
}

#[test]
fn search_for_a_common_value_ends_with_its_steps() {
    let even = SpanSet::from_spans((0..50_000).map(|at| Span::one(2 * at)));
    let odd = SpanSet::from_spans((0..50_000).map(|at| Span::one(2 * at + 1)));
    let mut steps = 1000;
    assert_eq!(first_common(&[&even, &odd], 0, None, &mut steps), Err(StepsUsedUp));
    assert_eq!(steps, 0);
    assert_eq!(first_common(&[&even, &odd], 99_900, None, &mut 1000), Ok(None));
}
