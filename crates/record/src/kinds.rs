//! All kinds of chunks that were ever stored, with their numbers, versions and feature levels.
//!
//! Rows are only added. A version that is no longer written is marked as retired and can still be read.

use crate::error::DecodeError;

/// The newest feature level that this program reads and writes.
pub const LEVEL: u32 = 7;

// Items of the body of a journal record.
pub(crate) const EPOCH_BEGUN: u32 = 1;
pub(crate) const LEVEL_RAISED: u32 = 2;
pub(crate) const ENTRY: u32 = 3;

// Items of an entry: the events of the core.
pub(crate) const POOL_DEFINED: u32 = 16;
pub(crate) const POOL_REMOVED: u32 = 17;
pub(crate) const CLAIM_GRANTED: u32 = 18;
pub(crate) const LEASE_CHANGED: u32 = 19;
pub(crate) const CLAIM_RELEASED: u32 = 20;
pub(crate) const QUARANTINE_ENDED: u32 = 21;
pub(crate) const REQUEST_REMEMBERED: u32 = 22;
pub(crate) const REQUEST_FORGOTTEN: u32 = 23;
pub(crate) const PROVIDER_DEFINED: u32 = 32;
pub(crate) const PROVIDER_REMOVED: u32 = 33;
pub(crate) const PROVIDER_COUNTED: u32 = 34;
pub(crate) const INVENTORIES_SET: u32 = 35;
pub(crate) const TRAITS_SET: u32 = 36;
pub(crate) const AGGREGATES_SET: u32 = 37;
pub(crate) const CLASS_DEFINED: u32 = 38;
pub(crate) const CLASS_REMOVED: u32 = 39;
pub(crate) const TRAIT_DEFINED: u32 = 40;
pub(crate) const TRAIT_REMOVED: u32 = 41;
pub(crate) const ALLOCATIONS_SET: u32 = 42;
pub(crate) const ALLOCATIONS_EXTENDED: u32 = 43;
pub(crate) const ALLOCATIONS_RELEASED: u32 = 44;
pub(crate) const LEDGER_DEFINED: u32 = 45;
pub(crate) const BLOCKS_MOVED: u32 = 46;
pub(crate) const RESOURCE_POOL_DEFINED: u32 = 47;
pub(crate) const REQUEST_ANSWERED: u32 = 48;
pub(crate) const REQUEST_WITHDRAWN: u32 = 49;
pub(crate) const ALARM_CHANGED: u32 = 50;
pub(crate) const ALARM_PURGED: u32 = 51;
pub(crate) const NOTICE_QUEUED: u32 = 52;
pub(crate) const NOTICE_TRIED: u32 = 53;
pub(crate) const NOTICE_SETTLED: u32 = 54;
pub(crate) const RETRY_SCHEDULED: u32 = 55;
pub(crate) const AUTHORITY_DEFINED: u32 = 56;
pub(crate) const AUTHORITY_REMOVED: u32 = 57;
pub(crate) const CLAIM_WANTED: u32 = 58;
pub(crate) const CLAIM_PROGRESSED: u32 = 59;
pub(crate) const CLAIM_CLOSED: u32 = 60;
pub(crate) const IDENTITY_DRAWN: u32 = 61;
pub(crate) const LOOKUP_CHANGED: u32 = 62;
pub(crate) const LOOKUP_CHECKED: u32 = 63;

// Parts of a checkpoint. Idempotency keys, custom names, requests, notifications, alarms, retries, and
// authorities with their claims are stored as events.
pub(crate) const CHECKPOINT_BEGUN: u32 = 64;
pub(crate) const CHECKPOINT_POOL: u32 = 65;
pub(crate) const CHECKPOINT_CLAIMS: u32 = 66;
pub(crate) const CHECKPOINT_ENDED: u32 = 67;
pub(crate) const CHECKPOINT_PROVIDER: u32 = 68;
pub(crate) const CHECKPOINT_CONSUMERS: u32 = 69;

// More events.
pub(crate) const LOOKUP_REMOVED: u32 = 70;
pub(crate) const LOOKUPS_REFRESHED: u32 = 71;
pub(crate) const RECONCILIATION_WANTED: u32 = 72;
pub(crate) const RECONCILIATION_ENDED: u32 = 73;
pub(crate) const FINDING_SETTLED: u32 = 74;

/// One version of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindInfo {
    pub number: u32,
    pub name: &'static str,
    pub version: u32,
    /// The feature level that a reader needs for it.
    pub level: u32,
    /// It can be read, but is no longer written.
    pub retired: bool,
}

const fn row(number: u32, name: &'static str, version: u32, level: u32) -> KindInfo {
    KindInfo { number, name, version, level, retired: false }
}

const fn retired(number: u32, name: &'static str, version: u32, level: u32) -> KindInfo {
    KindInfo { number, name, version, level, retired: true }
}

const KINDS: &[KindInfo] = &[
    row(EPOCH_BEGUN, "epoch_begun", 1, 1),
    row(LEVEL_RAISED, "level_raised", 1, 1),
    row(ENTRY, "entry", 1, 1),
    row(POOL_DEFINED, "pool_defined", 1, 1),
    row(POOL_DEFINED, "pool_defined", 2, 7),
    row(POOL_REMOVED, "pool_removed", 1, 1),
    row(POOL_REMOVED, "pool_removed", 2, 6),
    retired(CLAIM_GRANTED, "claim_granted", 1, 1),
    row(CLAIM_GRANTED, "claim_granted", 2, 2),
    retired(LEASE_CHANGED, "lease_changed", 1, 1),
    row(LEASE_CHANGED, "lease_changed", 2, 2),
    retired(CLAIM_RELEASED, "claim_released", 1, 1),
    row(CLAIM_RELEASED, "claim_released", 2, 2),
    retired(QUARANTINE_ENDED, "quarantine_ended", 1, 1),
    row(QUARANTINE_ENDED, "quarantine_ended", 2, 2),
    row(REQUEST_REMEMBERED, "request_remembered", 1, 1),
    row(REQUEST_REMEMBERED, "request_remembered", 2, 3),
    row(REQUEST_FORGOTTEN, "request_forgotten", 1, 1),
    row(PROVIDER_DEFINED, "provider_defined", 1, 3),
    row(PROVIDER_REMOVED, "provider_removed", 1, 3),
    row(PROVIDER_COUNTED, "provider_counted", 1, 3),
    row(INVENTORIES_SET, "inventories_set", 1, 3),
    row(TRAITS_SET, "traits_set", 1, 3),
    row(AGGREGATES_SET, "aggregates_set", 1, 3),
    row(CLASS_DEFINED, "class_defined", 1, 3),
    row(CLASS_REMOVED, "class_removed", 1, 3),
    row(TRAIT_DEFINED, "trait_defined", 1, 3),
    row(TRAIT_REMOVED, "trait_removed", 1, 3),
    row(ALLOCATIONS_SET, "allocations_set", 1, 3),
    row(ALLOCATIONS_EXTENDED, "allocations_extended", 1, 3),
    row(ALLOCATIONS_RELEASED, "allocations_released", 1, 3),
    row(LEDGER_DEFINED, "ledger_defined", 1, 4),
    row(BLOCKS_MOVED, "blocks_moved", 1, 4),
    row(RESOURCE_POOL_DEFINED, "resource_pool_defined", 1, 5),
    row(RESOURCE_POOL_DEFINED, "resource_pool_defined", 2, 7),
    row(REQUEST_ANSWERED, "request_answered", 1, 5),
    row(REQUEST_ANSWERED, "request_answered", 2, 7),
    row(REQUEST_WITHDRAWN, "request_withdrawn", 1, 5),
    row(REQUEST_WITHDRAWN, "request_withdrawn", 2, 7),
    row(ALARM_CHANGED, "alarm_changed", 1, 5),
    row(ALARM_CHANGED, "alarm_changed", 2, 7),
    row(ALARM_PURGED, "alarm_purged", 1, 5),
    row(ALARM_PURGED, "alarm_purged", 2, 7),
    row(NOTICE_QUEUED, "notice_queued", 1, 5),
    row(NOTICE_TRIED, "notice_tried", 1, 5),
    row(NOTICE_SETTLED, "notice_settled", 1, 5),
    row(RETRY_SCHEDULED, "retry_scheduled", 1, 6),
    row(AUTHORITY_DEFINED, "authority_defined", 1, 7),
    row(AUTHORITY_REMOVED, "authority_removed", 1, 7),
    row(CLAIM_WANTED, "claim_wanted", 1, 7),
    row(CLAIM_PROGRESSED, "claim_progressed", 1, 7),
    row(CLAIM_CLOSED, "claim_closed", 1, 7),
    row(IDENTITY_DRAWN, "identity_drawn", 1, 7),
    row(LOOKUP_CHANGED, "lookup_changed", 1, 7),
    row(LOOKUP_CHECKED, "lookup_checked", 1, 7),
    row(CHECKPOINT_BEGUN, "checkpoint_begun", 1, 1),
    row(CHECKPOINT_POOL, "checkpoint_pool", 1, 1),
    row(CHECKPOINT_POOL, "checkpoint_pool", 2, 4),
    row(CHECKPOINT_POOL, "checkpoint_pool", 3, 5),
    row(CHECKPOINT_POOL, "checkpoint_pool", 4, 7),
    row(CHECKPOINT_POOL, "checkpoint_pool", 5, 7),
    row(CHECKPOINT_CLAIMS, "checkpoint_claims", 1, 1),
    row(CHECKPOINT_ENDED, "checkpoint_ended", 1, 1),
    row(CHECKPOINT_ENDED, "checkpoint_ended", 2, 3),
    row(CHECKPOINT_ENDED, "checkpoint_ended", 3, 5),
    row(CHECKPOINT_PROVIDER, "checkpoint_provider", 1, 3),
    row(CHECKPOINT_CONSUMERS, "checkpoint_consumers", 1, 3),
    row(LOOKUP_REMOVED, "lookup_removed", 1, 7),
    row(LOOKUPS_REFRESHED, "lookups_refreshed", 1, 7),
    row(RECONCILIATION_WANTED, "reconciliation_wanted", 1, 7),
    row(RECONCILIATION_ENDED, "reconciliation_ended", 1, 7),
    row(FINDING_SETTLED, "finding_settled", 1, 7),
];

/// All kinds and versions, to check the documentation against.
pub fn describe() -> Vec<KindInfo> {
    KINDS.to_vec()
}

/// Refuses a feature level that this program does not know.
pub fn check_level(level: u32) -> Result<(), DecodeError> {
    if level <= LEVEL {
        Ok(())
    } else {
        Err(DecodeError::LevelTooNew { found: level, known: LEVEL })
    }
}

pub(crate) fn find(number: u32, version: u32) -> Option<&'static KindInfo> {
    KINDS.iter().find(|kind| kind.number == number && kind.version == version)
}

/// The newest version of a kind that this program knows.
pub(crate) fn newest(number: u32) -> Option<&'static KindInfo> {
    KINDS.iter().filter(|kind| kind.number == number).max_by_key(|kind| kind.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A copy of the table, on purpose: lines may be added but must not change.
    const GOLDEN: &str = "\
1 epoch_begun v1 level 1
2 level_raised v1 level 1
3 entry v1 level 1
16 pool_defined v1 level 1
16 pool_defined v2 level 7
17 pool_removed v1 level 1
17 pool_removed v2 level 6
18 claim_granted v1 level 1
18 claim_granted v2 level 2
19 lease_changed v1 level 1
19 lease_changed v2 level 2
20 claim_released v1 level 1
20 claim_released v2 level 2
21 quarantine_ended v1 level 1
21 quarantine_ended v2 level 2
22 request_remembered v1 level 1
22 request_remembered v2 level 3
23 request_forgotten v1 level 1
32 provider_defined v1 level 3
33 provider_removed v1 level 3
34 provider_counted v1 level 3
35 inventories_set v1 level 3
36 traits_set v1 level 3
37 aggregates_set v1 level 3
38 class_defined v1 level 3
39 class_removed v1 level 3
40 trait_defined v1 level 3
41 trait_removed v1 level 3
42 allocations_set v1 level 3
43 allocations_extended v1 level 3
44 allocations_released v1 level 3
45 ledger_defined v1 level 4
46 blocks_moved v1 level 4
47 resource_pool_defined v1 level 5
47 resource_pool_defined v2 level 7
48 request_answered v1 level 5
48 request_answered v2 level 7
49 request_withdrawn v1 level 5
49 request_withdrawn v2 level 7
50 alarm_changed v1 level 5
50 alarm_changed v2 level 7
51 alarm_purged v1 level 5
51 alarm_purged v2 level 7
52 notice_queued v1 level 5
53 notice_tried v1 level 5
54 notice_settled v1 level 5
55 retry_scheduled v1 level 6
56 authority_defined v1 level 7
57 authority_removed v1 level 7
58 claim_wanted v1 level 7
59 claim_progressed v1 level 7
60 claim_closed v1 level 7
61 identity_drawn v1 level 7
62 lookup_changed v1 level 7
63 lookup_checked v1 level 7
64 checkpoint_begun v1 level 1
65 checkpoint_pool v1 level 1
65 checkpoint_pool v2 level 4
65 checkpoint_pool v3 level 5
65 checkpoint_pool v4 level 7
65 checkpoint_pool v5 level 7
66 checkpoint_claims v1 level 1
67 checkpoint_ended v1 level 1
67 checkpoint_ended v2 level 3
67 checkpoint_ended v3 level 5
68 checkpoint_provider v1 level 3
69 checkpoint_consumers v1 level 3
70 lookup_removed v1 level 7
71 lookups_refreshed v1 level 7
72 reconciliation_wanted v1 level 7
73 reconciliation_ended v1 level 7
74 finding_settled v1 level 7
";

    #[test]
    fn numbers_names_versions_and_levels_never_change() {
        let table: String = describe()
            .iter()
            .map(|k| format!("{} {} v{} level {}\n", k.number, k.name, k.version, k.level))
            .collect();
        assert_eq!(table, GOLDEN);
    }

    #[test]
    fn numbers_and_names_are_unique() {
        let kinds = describe();
        for (i, a) in kinds.iter().enumerate() {
            for b in &kinds[i + 1..] {
                assert_ne!(
                    (a.number, a.version),
                    (b.number, b.version),
                    "{} is there twice",
                    a.name
                );
                assert_eq!(a.number == b.number, a.name == b.name, "{} and {}", a.name, b.name);
            }
        }
    }

    #[test]
    fn no_kind_needs_an_unknown_level() {
        assert!(describe().iter().all(|kind| (1..=LEVEL).contains(&kind.level)));
        assert_eq!(describe().iter().map(|kind| kind.level).max(), Some(LEVEL));
        assert!(check_level(LEVEL).is_ok());
        assert!(check_level(LEVEL + 1).is_err());
    }
}
