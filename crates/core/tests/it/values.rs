//! The rules of values and of capacity.
//!
//! Tables of requests and answers, one file for each area, all through [`script::check`]; and a naive model that plays
//! random requests beside the core. What every step must leave true is checked in [`world`].

mod answer;
mod authorities;
mod blocks;
mod capacity;
mod lookups;
mod reconciliations;
mod requests;
mod script;
mod world;

mod addresses;
mod block_pools;
mod budgets;
mod configs;
mod edges;
mod external_authorities;
mod external_claims;
mod external_conflicts;
mod external_lookups;
mod external_reconciliations;
mod external_transactions;
mod holdings;
mod leases;
mod limits;
mod naive;
mod naive_alarms;
mod naive_blocks;
mod naive_external;
mod naive_pick;
mod naive_pool;
mod naive_requests;
mod pools;
mod prefixes;
mod quarantine;
mod random;
mod random_blocks;
mod random_external;
mod random_holdings;
mod random_outside;
mod random_requests;
mod refusals;
mod request_addresses;
mod request_groups;
mod request_outside;
mod request_pools;
mod request_steps;
mod strategies;
mod sync;
mod transactions;
mod views;
