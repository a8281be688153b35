//! Searches the sorted items of one node.

/// Bytes that a processor fetches from memory at once.
const CACHE_LINE: usize = 64;

/// Like `slice::partition_point`, but faster for items that are not in the processor's cache. A binary search waits for
/// memory at every step. This reads one item of every cache line, waits for all of them together, and then has the
/// right line in the cache.
#[inline]
pub(super) fn count_leading<T>(items: &[T], holds: impl Fn(&T) -> bool) -> usize {
    let stride = const { CACHE_LINE / size_of::<T>() };
    let strides: usize = items.iter().step_by(stride).map(|item| usize::from(holds(item))).sum();
    let Some(start) = strides.checked_sub(1).map(|last| last * stride) else { return 0 };
    let line = &items[start..items.len().min(start + stride)];
    start + line.iter().map(|item| usize::from(holds(item))).sum::<usize>()
}
