//! The rules of values and of capacity.
//!
//! Tables of requests and answers, one file for each area, all through [`script::check`]; and a naive model that plays
//! random requests beside the core. What every step must leave true is checked in [`world`].

mod answer;
mod capacity;
mod ids;
mod resource;
mod script;
mod world;

mod addresses;
mod configs;
mod edges;
mod holdings;
mod leases;
mod limits;
mod naive;
mod naive_alarms;
mod naive_blocks;
mod naive_pick;
mod naive_pool;
mod naive_resource;
mod parcels;
mod pools;
mod prefixes;
mod quarantine;
mod random;
mod random_holdings;
mod random_parcels;
mod random_resource;
mod refusals;
mod resource_steps;
mod strategies;
mod sync;
mod transactions;
mod views;
mod wanted;
mod wanted_addresses;
mod wanted_groups;
