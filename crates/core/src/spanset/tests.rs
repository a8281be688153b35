//! Compares the set, with tiny nodes, with a model that examines each value. Large sets and the real node sizes are in
//! `tests/it/spanset.rs`.

use proptest::prelude::*;

use super::*;

/// The number of values in the model's window.
const SIZE: usize = 128;

/// A window of the number line, value by value. Outside of it the set is empty.
#[derive(Clone)]
struct Model {
    base: u128,
    has: [bool; SIZE],
}

impl Model {
    fn empty(base: u128) -> Model {
        Model { base, has: [false; SIZE] }
    }

    fn set(&mut self, span: Span, to: bool) {
        for value in span.first..=span.last {
            self.has[(value - self.base) as usize] = to;
        }
    }

    fn has(&self, value: u128) -> bool {
        value.checked_sub(self.base).is_some_and(|at| at < SIZE as u128 && self.has[at as usize])
    }

    fn has_all(&self, span: Span) -> bool {
        (span.first..=span.last).all(|value| self.has(value))
    }

    fn window(&self) -> impl DoubleEndedIterator<Item = u128> + Clone + use<> {
        let base = self.base;
        (0..SIZE as u128).map(move |at| base + at)
    }

    fn values(&self) -> impl DoubleEndedIterator<Item = u128> + '_ {
        self.window().filter(|&value| self.has(value))
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for value in self.values() {
            match spans.last_mut() {
                Some(last) if last.last + 1 == value => last.last = value,
                _ => spans.push(Span::one(value)),
            }
        }
        spans
    }

    /// The spans cut into the fewest aligned blocks, each as base and bits.
    fn blocks(&self) -> Vec<(u128, u32)> {
        let mut blocks = Vec::new();
        for span in self.spans() {
            let mut at = span.first;
            loop {
                let fits =
                    |&bits: &u32| at & low_ones(bits) == 0 && span.covers(Span::block(at, bits));
                let bits = (0..8).rev().find(fits).unwrap();
                blocks.push((at, bits));
                match Span::block(at, bits).last {
                    last if last == span.last => break,
                    last => at = last + 1,
                }
            }
        }
        blocks
    }

    /// The bases of the aligned blocks of 2^`bits` values that are all in the set.
    fn block_bases(&self, bits: u32) -> impl DoubleEndedIterator<Item = u128> + '_ {
        self.values().filter(move |&base| {
            base & low_ones(bits) == 0 && self.has_all(Span::block(base, bits))
        })
    }

    /// The starts of runs of `len` values.
    fn run_starts(&self, len: u128) -> impl DoubleEndedIterator<Item = u128> + '_ {
        self.values().filter(move |&start| {
            start
                .checked_add(len - 1)
                .and_then(|last| Span::new(start, last))
                .is_some_and(|run| self.has_all(run))
        })
    }
}

const PARITIES: [Parity; 2] = [Parity::Even, Parity::Odd];

/// Compares the results of all operations.
fn compare(set: &SpanSet, model: &Model) {
    assert_eq!(set.check(), Ok(()));
    let spans = model.spans();
    let values: Vec<u128> = model.values().collect();
    assert_eq!(set.iter().collect::<Vec<_>>(), spans);
    let built = SpanSet::from_spans(spans.iter().copied());
    assert_eq!(built.check(), Ok(()));
    assert_eq!(set, &built);
    assert_eq!(set.span_count(), spans.len());
    assert_eq!(set.len(), values.len() as u128);
    assert_eq!(set.is_empty(), values.is_empty());
    assert_eq!(set.longest_run(), spans.iter().map(Span::len).max().unwrap_or(0));

    assert_eq!(set.count_of(None), values.len() as u128);
    for k in 0..=SIZE {
        assert_eq!(set.nth(k as u128), values.get(k).copied(), "nth {k}");
    }
    for parity in PARITIES {
        let of_parity: Vec<u128> =
            values.iter().copied().filter(|&value| Parity::of(value) == parity).collect();
        assert_eq!(set.count_of(Some(parity)), of_parity.len() as u128);
        for k in 0..=SIZE {
            let expected = of_parity.get(k).copied();
            assert_eq!(set.nth_of_parity(k as u128, parity), expected, "nth {k} {parity:?}");
        }
    }

    // Outside of the window as well, on both sides.
    let outside =
        [model.base.checked_sub(1), model.base.checked_add(SIZE as u128), Some(0), Some(u128::MAX)];
    for at in model.window().chain(outside.into_iter().flatten()) {
        compare_at(set, model, at, &spans, &values);
    }
    compare_blocks(set, model);
}

/// Compares the operations that begin or end at a value.
fn compare_at(set: &SpanSet, model: &Model, at: u128, spans: &[Span], values: &[u128]) {
    let lowest = |found: &[u128]| found.iter().copied().find(|&value| value >= at);
    let highest = |found: &[u128]| found.iter().copied().rfind(|&value| value <= at);

    assert_eq!(set.contains(at), model.has(at), "contains {at}");
    assert_eq!(set.span_at(at), spans.iter().copied().find(|span| span.contains(at)));
    assert_eq!(set.first_at_or_after(at), lowest(values), "first from {at}");
    assert_eq!(set.last_at_or_before(at), highest(values), "last to {at}");
    for parity in PARITIES {
        let of_parity: Vec<u128> =
            values.iter().copied().filter(|&value| Parity::of(value) == parity).collect();
        assert_eq!(set.first_of_parity(at, parity), lowest(&of_parity), "{parity:?} from {at}");
        assert_eq!(set.last_of_parity(at, parity), highest(&of_parity), "{parity:?} to {at}");
    }
    for other in [0, 1, 2, 7, 31, 90].into_iter().filter_map(|more| at.checked_add(more)) {
        let window = Span { first: at, last: other };
        let within: Vec<Span> = spans.iter().filter_map(|span| span.intersection(window)).collect();
        assert_eq!(set.overlap_len(window), span::total(&within), "overlap with {window:?}");
        assert_eq!(set.covers(window), model.has_all(window), "covers {window:?}");
        assert_eq!(set.iter_within(window).collect::<Vec<_>>(), within);
    }
    let from = Span { first: at, last: u128::MAX };
    let rest: Vec<Span> = spans.iter().filter_map(|span| span.intersection(from)).collect();
    assert_eq!(set.overlap_len(from), span::total(&rest));
    assert_eq!(set.iter_from(at).collect::<Vec<_>>(), rest);
}

/// Compares runs and blocks of every size that fits in the window, and of one more.
fn compare_blocks(set: &SpanSet, model: &Model) {
    for len in [1, 2, 3, 4, 6, 9, 16, 40, SIZE as u128, SIZE as u128 + 1] {
        let starts: Vec<u128> = model.run_starts(len).collect();
        for at in model.window() {
            let first = starts.iter().copied().find(|&start| start >= at);
            assert_eq!(set.first_run(at, len), first, "first run of {len} from {at}");
            let last = starts.iter().copied().rfind(|&start| start + (len - 1) <= at);
            assert_eq!(set.last_run(at, len), last, "last run of {len} to {at}");
        }
    }
    assert_eq!(set.first_run(0, 0), None);

    let blocks = model.blocks();
    assert_eq!(set.largest_block_bits(), blocks.iter().map(|&(_, bits)| bits).max());
    for bits in 0..=8 {
        let bases: Vec<u128> = model.block_bases(bits).collect();
        for at in model.window() {
            let first = bases.iter().copied().find(|&base| base >= at);
            assert_eq!(set.first_block(at, bits), first, "first block of 2^{bits} from {at}");
            let last = bases.iter().copied().rfind(|&base| base | low_ones(bits) <= at);
            assert_eq!(set.last_block(at, bits), last, "last block of 2^{bits} to {at}");
        }
        let tightest = blocks.iter().map(|&(_, size)| size).filter(|&size| size >= bits).min();
        let mut fitting = blocks.iter().filter(|&&(_, size)| Some(size) == tightest);
        let low = fitting.clone().next().map(|&(base, _)| base);
        let high = fitting.next_back().map(|&(base, size)| base + ((1 << size) - (1 << bits)));
        assert_eq!(set.best_fit_block(bits), low, "best fit of 2^{bits}");
        assert_eq!(set.best_fit_block_high(bits), high, "best fit of 2^{bits} from above");
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Unite,
    Subtract,
}

/// Windows at the low end, at the high end, and around a large power of two.
fn bases() -> impl Strategy<Value = u128> {
    prop_oneof![Just(0), Just(u128::MAX - (SIZE as u128 - 1)), Just((1 << 64) - 45)]
}

/// Mostly short spans, so that the set has many; some cross many leaves.
fn windows() -> impl Strategy<Value = (u128, u128)> {
    let len = prop_oneof![6 => 1..4u128, 2 => 1..12u128, 1 => 1..SIZE as u128];
    (0..SIZE as u128, len).prop_map(|(at, len)| (at, (at + len - 1).min(SIZE as u128 - 1)))
}

fn steps() -> impl Strategy<Value = Vec<(Step, (u128, u128))>> {
    let step = prop_oneof![Just(Step::Unite), Just(Step::Subtract)];
    prop::collection::vec((step, windows()), 1..48)
}

/// The initial set: one value in `stride`, nothing, or everything.
fn comb(base: u128, stride: usize) -> Model {
    let mut model = Model::empty(base);
    for at in 0..SIZE {
        model.has[at] = stride > 0 && at % stride == 0;
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn set_agrees_with_the_model(base in bases(), stride in 0..4usize, steps in steps()) {
        let mut model = comb(base, stride);
        let mut set = SpanSet::from_spans(model.spans());
        compare(&set, &model);
        for (step, (first, last)) in steps {
            let span = Span { first: base + first, last: base + last };
            let disjoint = (span.first..=span.last).all(|value| !model.has(value));
            match step {
                Step::Unite if disjoint => set.insert(span),
                Step::Unite => set.unite(span),
                Step::Subtract if model.has_all(span) => set.remove(span),
                Step::Subtract => set.subtract(span),
            }
            model.set(span, matches!(step, Step::Unite));
            compare(&set, &model);
        }
    }

    #[test]
    fn common_values_are_those_of_the_intersection(
        base in bases(),
        sets in prop::collection::vec((1..3usize, steps()), 1..4),
    ) {
        let mut all = comb(base, 1);
        let mut built = Vec::new();
        for (stride, steps) in sets {
            let mut model = comb(base, stride);
            for (step, (first, last)) in steps {
                model.set(Span { first: base + first, last: base + last }, matches!(step, Step::Unite));
            }
            for at in 0..SIZE {
                all.has[at] &= model.has[at];
            }
            built.push(SpanSet::from_spans(model.spans()));
        }
        let sets: Vec<&SpanSet> = built.iter().collect();
        let common = SpanSet::from_spans(all.spans());
        for at in all.window().chain([0, u128::MAX]) {
            let steps = &mut 100_000;
            prop_assert_eq!(first_common(&sets, at, None, steps), Ok(common.first_at_or_after(at)));
            for parity in PARITIES {
                let found = first_common(&sets, at, Some(parity), steps);
                prop_assert_eq!(found, Ok(common.first_of_parity(at, parity)));
            }
            for len in [1, 2, 3, 5, 9, 30] {
                let found = first_common_run(&sets, at, len, steps);
                prop_assert_eq!(found, Ok(common.first_run(at, len)));
            }
            for bits in 0..=6 {
                let found = first_common_block(&sets, at, bits, steps);
                prop_assert_eq!(found, Ok(common.first_block(at, bits)));
            }
        }
    }

    #[test]
    fn summary_of_any_span_is_correct(ends in prop::array::uniform2((any::<u128>(), 0..128u32))) {
        // Shifted, so that the ends have all magnitudes and alignments.
        let [a, b] = ends.map(|(bits, shift)| (bits >> shift, bits << shift));
        for (a, b) in [(a.0, b.0), (a.0, b.1), (a.1, b.1), (a.0, u128::MAX - b.0)] {
            let span = Span { first: a.min(b), last: a.max(b) };
            let set = SpanSet::from_spans([span]);
            prop_assert_eq!(set.check(), Ok(()));
            for bits in 0..=128 {
                let low = set.best_fit_block(bits);
                let high = set.best_fit_block_high(bits);
                prop_assert_eq!(low.is_some(), set.first_block(0, bits).is_some());
                prop_assert_eq!(high.is_some(), low.is_some());
                for base in low.into_iter().chain(high) {
                    prop_assert!(base & low_ones(bits) == 0);
                    prop_assert!(span.covers(Span::block(base, bits)));
                }
            }
        }
    }
}

#[test]
fn no_sets_have_no_common_value() {
    assert_eq!(first_common(&[], 0, None, &mut 1), Ok(None));
    assert_eq!(first_common_run(&[], 0, 1, &mut 1), Ok(None));
    assert_eq!(first_common_block(&[], 0, 0, &mut 1), Ok(None));
}

#[test]
fn tree_of_many_levels_shrinks_to_an_empty_root() {
    let mut set = SpanSet::new();
    let order: Vec<u128> = (0..3000).map(|at| at * 1009 % 3000 * 2).collect();
    for &value in &order {
        set.insert(Span::one(value));
    }
    assert_eq!(set.check(), Ok(()));
    assert_eq!(set.span_count(), 3000);
    for (at, &value) in order.iter().enumerate() {
        set.remove(Span::one(value));
        if at % 50 == 0 {
            assert_eq!(set.check(), Ok(()));
        }
    }
    assert_eq!(set.check(), Ok(()));
    assert!(set.is_empty());
    assert_eq!(set, SpanSet::default());
}

#[test]
fn one_span_can_absorb_or_remove_many_leaves() {
    let comb = SpanSet::from_spans((0..500).map(|at| Span::one(at * 3)));
    let mut set = comb.clone();
    set.unite(Span { first: 4, last: 1400 });
    assert_eq!(set.check(), Ok(()));
    // Spans that it only touches, at 3 and 1401, are merged as well.
    assert_eq!(set.span_at(4), Span::new(3, 1401));
    let mut set = comb.clone();
    set.unite(Span { first: 0, last: u128::MAX });
    assert_eq!(set.check(), Ok(()));
    assert_eq!(set.span_count(), 1);
    let mut set = comb;
    set.subtract(Span { first: 1, last: 1496 });
    assert_eq!(set.check(), Ok(()));
    assert_eq!(format!("{set:?}"), "{0, 1497}");
    set.subtract(Span { first: 0, last: u128::MAX });
    assert_eq!(set.check(), Ok(()));
    assert!(set.is_empty());
}
