//! The reactor: tells the world outside what the outbox says that it is to be told.
//!
//! What is to be told is state, and so is every attempt: the journal has it, and a server that starts anew goes on where the
//! last one ended. Here is only the doing. A notice is settled when whoever was told has said so, and not before: each is
//! told at least once, those of one target in order and one at a time.
//!
//! - `runner`: takes what is ready, has it told, and has the outcome written down
//! - `courier`: what can tell a notice to somebody; another way to tell one is another courier
//! - `webhook`: the courier that makes HTTP requests of notices
//! - `backoff`: when what failed is tried again
//! - `limits`, `meter`: how much of it there may be, and how it goes
//!
//! Not here: who is told what, and what becomes of a notice that was not taken, which are the core's.

mod backoff;
mod courier;
mod limits;
mod meter;
mod runner;
pub mod webhook;

pub use courier::{Courier, Lane, Telling, Told};
pub use limits::Limits;
pub use runner::Reactor;
