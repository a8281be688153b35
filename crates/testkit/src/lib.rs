//! An external checker: was every answer of a server correct? Never shipped.
//!
//! It is independent of the server on purpose. It takes the history of a run (requests, answers, times and positions)
//! and the journal, replays the journal in a naive model, and compares. It uses the core's types, but none of its
//! decisions. Also here: helpers for tests, attacks and measurements with server processes, PostgreSQL and transcripts.

pub mod capacity;
pub mod check;
pub mod golden;
pub mod history;
pub mod http;
mod judge;
pub mod largest;
pub mod memory;
pub mod model;
pub mod native;
pub mod open_files;
pub mod postgres;
mod refusals;
pub mod reply;
mod room;
pub mod server;
pub mod small_clients;
pub mod transcript;

pub use check::{Chain, CheckReport, check, read_chain};
pub use history::{
    Call, CallAnswer, ClaimSeen, History, OpOutcome, RefusalSeen, Request, UsageSeen,
};
