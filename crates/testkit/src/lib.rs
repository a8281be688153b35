//! The outside checker: was every answer that a server gave the right one? Never shipped.
//!
//! Independent of the server on purpose. It knows the history of a run (what was asked, what was answered, when, and at
//! which position) and the journal, replays the journal's facts through a naive model of its own, and compares. It uses
//! the core's vocabulary, and none of the core's decisions.

pub mod capacity;
pub mod check;
pub mod golden;
pub mod history;
pub mod http;
mod judge;
pub mod model;
pub mod native;
pub mod postgres;
mod refusals;
mod room;
pub mod server;
pub mod transcript;

pub use check::{Chain, Verdict, check, read_chain};
pub use history::{Answer, Call, ClaimSeen, Done, History, Refused, Request, UsageSeen};
