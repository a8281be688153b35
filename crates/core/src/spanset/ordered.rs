//! Searching in the items of one node.

/// What a processor fetches from memory at a time, in bytes.
const CACHE_LINE: usize = 64;

/// How many items at the beginning fulfil `holds`; behind them none may. Like `slice::partition_point`, made for items
/// that are not in the processor's cache: halving waits for memory at every step, while this asks for one item of every
/// cache line at once, waits for all of them together, and has the rest of the right line at hand.
#[inline]
pub(super) fn count_leading<T>(items: &[T], holds: impl Fn(&T) -> bool) -> usize {
    let stride = const { CACHE_LINE / size_of::<T>() };
    let strides: usize = items.iter().step_by(stride).map(|item| usize::from(holds(item))).sum();
    let Some(start) = strides.checked_sub(1).map(|last| last * stride) else { return 0 };
    let line = &items[start..items.len().min(start + stride)];
    start + line.iter().map(|item| usize::from(holds(item))).sum::<usize>()
}
