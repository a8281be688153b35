//! The limits of commands: each has a name and a default, and exceeding it is [`Refusal::LimitExceeded`].
//!
//! Limits of the protocol (body size, connections, request time) are in the edge.

use crate::refusal::Refusal;

/// Defines the limits with their defaults.
macro_rules! limits {
    ($($(#[$about:meta])* $name:ident = $default:expr,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$about])* pub $name: u64,)+
        }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($name: $default,)+ }
            }
        }
    };
}

limits! {
    pool_name_bytes_max = 255,
    key_bytes_max = 1024,
    owner_bytes_max = 1024,
    labels_max = 32,
    label_bytes_max = 256,
    /// Ranges of a pool, with exclusions, manual bands and draining parts.
    ranges_per_pool_max = 10_000,
    /// Claims whose values change between in range, manual, draining, excluded and outside with one change of a pool.
    claims_per_pool_change_max = 10_000,
    pools_max = 1_000_000,
    values_per_claim_max = 4096,
    /// Expired claims and quarantines that one new claim may end to get its values.
    claims_ended_per_claim_max = 2500,
    pools_per_claim_max = 64,
    /// Steps of the searches in one command. A step is one gap examined for a value that is free in several pools, or one
    /// expired claim examined for it. A claim or quarantine that ends because another claim needs its values is ten steps.
    search_steps_max = 30_000,
    ops_per_transaction_max = 1000,
    /// Sum of the counts of its claims, for each of their pools.
    values_per_transaction_max = 10_000,
    /// Claims of its operations, one for each of their pools.
    claims_per_transaction_max = 2500,
    idempotency_keys_max = 500_000,
    /// The approximate size of all answers that are stored under idempotency keys.
    idempotency_bytes_max = 512 << 20,
    /// The share of both limits that one authenticated client may use.
    idempotency_client_percent_max = 25,
    idempotency_ms = 3600 * 1000,
    lease_ms_max = 100 * 366 * 24 * 3600 * 1000,
    providers_max = 2_000_000,
    provider_name_chars_max = 200,
    /// The number of levels in a tree of providers.
    provider_depth_max = 64,
    inventories_per_provider_max = 1000,
    traits_per_provider_max = 10_000,
    aggregates_per_provider_max = 10_000,
    custom_classes_max = 10_000,
    custom_traits_max = 100_000,
    custom_name_bytes_max = 255,
    consumers_max = 20_000_000,
    /// Consumers whose allocations one operation replaces.
    consumers_per_request_max = 1000,
    /// Resource classes of providers that one consumer holds.
    allocations_per_consumer_max = 2000,
    /// Amounts that one request sets or releases: of inventories, and of allocations. Each provider and each consumer
    /// counts as four more. Releasing what one consumer holds is always allowed.
    allocations_per_request_max = 5000,
    /// Providers that one request moves to another parent.
    providers_per_move_max = 50_000,
    /// Entries of id pools that one edit writes or releases, with the ranges of ids that they and the pools list.
    ids_per_edit_max = 5000,
    /// Ids that one key of an id pool gets.
    ids_per_range_max = 65_536,
    /// Requests to resource pools that one edit writes, withdraws, or gives another value.
    requests_per_edit_max = 2000,
    /// Pools that one edit of id pools or resource pools changes or removes.
    pools_per_edit_max = 1000,
    /// Pools with requests of one key that must all get the same id.
    pools_per_group_max = 256,
    /// Waiting requests that one command or one tick tries to grant. Further ones are left to the next ticks.
    waiting_requests_per_entry_max = 100,
    /// Services that one request names.
    services_per_request_max = 1000,
    /// The nodes of a site's own YANG modules in one pool or one request: their names and values.
    site_data_bytes_max = 8192,
    /// The reason that an allocator writes into a response.
    response_error_bytes_max = 4096,
    authorities_max = 1000,
    /// The texts of an authority: its URL, names and statements.
    authority_bytes_max = 65_536,
    /// Requests to one authority at a time.
    authority_parallel_max = 256,
    authority_timeout_ms_max = 600 * 1000,
    lookups_max = 1_000_000,
    /// The value of one look-up with its version.
    lookup_bytes_max = 65_536,
    /// The approximate size of all look-ups.
    lookups_bytes_max = 1 << 30,
    /// Findings of each class that a reconciliation stores. Further ones are only counted.
    reconcile_findings_max = 1000,
    /// How long the refusal of an authority is shown.
    refused_claim_ms = 3600 * 1000,
    /// Notifications in the outbox, waiting or given up. 0 disables the outbox.
    outbox_max = 0,
}

/// Refuses when `actual` is above `max`.
pub fn at_most(limit: &'static str, max: u64, actual: u64) -> Result<(), Refusal> {
    if actual <= max { Ok(()) } else { Err(Refusal::LimitExceeded { limit, max, actual }) }
}
