//! The limits of commands: each has a name and a default, and exceeding it is [`Refusal::LimitExceeded`].
//!
//! Limits of the protocol (body size, connections, request time) are in the edge.

use crate::refusal::Refusal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub pool_name_bytes_max: u64,
    pub key_bytes_max: u64,
    pub owner_bytes_max: u64,
    pub labels_max: u64,
    pub label_bytes_max: u64,
    pub ranges_per_pool_max: u64,
    pub pools_max: u64,
    pub values_per_claim_max: u64,
    /// Expired claims and quarantines that one new claim may end to get its values.
    pub claims_ended_per_claim_max: u64,
    pub pools_per_claim_max: u64,
    pub ops_per_transaction_max: u64,
    /// Sum of the counts of its claims, for each of their pools.
    pub values_per_transaction_max: u64,
    pub idempotency_keys_max: u64,
    pub idempotency_ms: u64,
    pub lease_ms_max: u64,
    pub providers_max: u64,
    pub provider_name_chars_max: u64,
    /// The number of levels in a tree of providers.
    pub provider_depth_max: u64,
    pub inventories_per_provider_max: u64,
    pub traits_per_provider_max: u64,
    pub aggregates_per_provider_max: u64,
    pub custom_classes_max: u64,
    pub custom_traits_max: u64,
    pub custom_name_bytes_max: u64,
    pub consumers_max: u64,
    /// Consumers whose allocations one operation replaces.
    pub consumers_per_request_max: u64,
    /// Resource classes of providers that one consumer holds.
    pub allocations_per_consumer_max: u64,
    /// Entries of id pools that one edit writes, or that are deleted with a pool.
    pub ids_per_edit_max: u64,
    /// Requests to resource pools that one edit writes, or that are deleted with a pool.
    pub requests_per_edit_max: u64,
    /// Services that one request names.
    pub services_per_request_max: u64,
    /// Notifications in the outbox, waiting or given up. 0 disables the outbox.
    pub outbox_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            pool_name_bytes_max: 255,
            key_bytes_max: 1024,
            owner_bytes_max: 1024,
            labels_max: 32,
            label_bytes_max: 256,
            ranges_per_pool_max: 100_000,
            pools_max: 1_000_000,
            values_per_claim_max: 4096,
            claims_ended_per_claim_max: 5000,
            pools_per_claim_max: 64,
            ops_per_transaction_max: 1000,
            values_per_transaction_max: 65_536,
            idempotency_keys_max: 500_000,
            idempotency_ms: 3600 * 1000,
            lease_ms_max: 100 * 366 * 24 * 3600 * 1000,
            providers_max: 2_000_000,
            provider_name_chars_max: 200,
            provider_depth_max: 64,
            inventories_per_provider_max: 1000,
            traits_per_provider_max: 10_000,
            aggregates_per_provider_max: 10_000,
            custom_classes_max: 10_000,
            custom_traits_max: 100_000,
            custom_name_bytes_max: 255,
            consumers_max: 20_000_000,
            consumers_per_request_max: 10_000,
            allocations_per_consumer_max: 10_000,
            ids_per_edit_max: 200_000,
            requests_per_edit_max: 200_000,
            services_per_request_max: 1000,
            outbox_max: 0,
        }
    }
}

/// Refuses when `actual` is above `max`.
pub fn at_most(limit: &'static str, max: u64, actual: u64) -> Result<(), Refusal> {
    if actual <= max { Ok(()) } else { Err(Refusal::LimitExceeded { limit, max, actual }) }
}
