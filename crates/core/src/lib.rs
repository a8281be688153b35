//! The pure core: pools and claims, providers and allocations, and the decisions about them.
//!
//! Everything here is synchronous and deterministic. There is no IO, clock, randomness, lock, logging, serialisation or
//! HTTP: time and random seeds arrive in the [`command::Stamp`] of a command. Stored forms are in `allod-record`, wire
//! forms in the faces.
//!
//! [`authority`] has the inventories outside that grant the values of a pool, and the claims at them.
//!
//! [`blocks`] and [`requests`] are products on top of pools, each in a folder with its own commands, events, decisions
//! and state. `extension` is the only seam between them and pools.

pub mod alarm;
mod apply;
pub mod authority;
pub mod blocks;
pub mod capacity;
pub mod claim;
pub mod command;
pub mod config;
mod decide;
pub mod event;
mod extension;
pub mod invariant;
pub mod limits;
mod named;
pub mod outbox;
pub mod pool;
pub mod random;
pub mod receipt;
pub mod refusal;
pub mod requests;
pub mod search;
pub mod span;
pub mod spanset;
pub mod state;
pub mod value;
pub mod view;

pub use decide::{Decision, decide};
