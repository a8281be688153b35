//! The most memory that clients can make a server use, computed from its limits. The state is not part of it: it grows with
//! what is stored.

use allod_edge::{SMALL_BYTES_MAX, connection};

use crate::limits::AllLimits;

/// Parts of a large RESTCONF reply that are in memory at a time.
const RESTCONF_READ_BYTES: u64 = 3 * 64 * 1024;

/// Bytes of a posting of the history index.
const POSTING_BYTES: u64 = 8;

/// One part of the memory and its maximum in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryPart {
    pub name: &'static str,
    pub bytes: u64,
}

/// All parts; the last one is the sum of the others.
pub fn parts(limits: &AllLimits) -> Vec<MemoryPart> {
    let (edge, engine) = (&limits.edge, limits.engine());
    // A connection has a buffer in each direction, and one body and one reply that are too small for the budget.
    let buffer = u64::try_from(connection::buffer_bytes_max(edge)).unwrap_or(u64::MAX);
    let per_connection = buffer.saturating_add(SMALL_BYTES_MAX).saturating_mul(2);
    let per_search = limits.search.bytes_max();
    let mut parts: Vec<MemoryPart> = [
        ("connections", edge.connections_max.saturating_mul(per_connection)),
        ("in_flight", edge.in_flight_bytes_max),
        (
            "restconf_reads",
            limits.restconf.restconf_large_reads_max.saturating_mul(RESTCONF_READ_BYTES),
        ),
        ("long_reads", (engine.long_reads_max as u64).saturating_mul(per_search)),
        ("batches", (engine.batch_bytes_max as u64).saturating_mul(2)),
        ("feed", engine.feed_bytes_max as u64),
        ("watch", limits.native.watch_bytes_max),
        ("history_index", (engine.index_postings_max as u64).saturating_mul(POSTING_BYTES)),
    ]
    .into_iter()
    .map(|(name, bytes)| MemoryPart { name, bytes })
    .collect();
    let total = parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.bytes));
    parts.push(MemoryPart { name: "total", bytes: total });
    parts
}

#[cfg(test)]
mod tests {
    use allod_core::search::SearchLimits;

    use super::*;

    #[test]
    fn fewer_connections_and_a_smaller_budget_need_less_memory() {
        let of = |limits: &[(&str, u64)]| {
            let mut all = AllLimits::default();
            all.set(limits.iter().map(|(name, value)| ((*name).to_owned(), *value))).unwrap();
            let parts = parts(&all);
            let (total, rest) = parts.split_last().unwrap();
            assert_eq!(total.bytes, rest.iter().map(|part| part.bytes).sum::<u64>());
            total.bytes
        };
        let usual = of(&[]);
        assert_eq!(of(&[("connections_max", 15_999)]), usual - 256 * 1024);
        assert_eq!(of(&[("in_flight_bytes_max", 1)]), usual - (512 << 20) + 1);
        assert!(of(&[("header_bytes_max", 1 << 20)]) > usual);
        assert_eq!(of(&[("long_reads_max", 1)]), usual - SearchLimits::default().bytes_max());
    }
}
