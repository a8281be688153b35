//! The writer, batch by batch, on a journal in memory with injected faults.

mod checkpoints;
mod faults;
mod feed;
mod rivals;
pub mod world;
