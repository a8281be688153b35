//! The pure core: what a pool is, what a claim is, who gets which value, and how much of which provider.
//!
//! Everything here is synchronous and deterministic. There is no IO, clock, randomness, lock, logging, serialisation or
//! HTTP: time, positions and random seeds arrive in the [`command::Stamp`] of a command. Stored forms live in
//! `allod-record`, wire forms in the faces.

mod apply;
pub mod capacity;
pub mod claim;
pub mod command;
mod decide;
pub mod event;
pub mod ids;
pub mod invariant;
pub mod limits;
pub mod pool;
pub mod random;
pub mod receipt;
pub mod refusal;
pub mod resource;
pub mod search;
pub mod span;
pub mod spanset;
pub mod state;
pub mod value;
pub mod view;

pub use decide::{Decision, decide};
