//! The writer, one turn at a time, on a journal in memory that fails as it is told.

mod checkpoints;
mod faults;
mod feed;
mod rivals;
mod world;
