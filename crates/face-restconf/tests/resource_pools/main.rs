//! The resource-manager as its clients see it: over RESTCONF, in process.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where it cannot go on"
)]

mod at_once;
mod many;
mod replies;
mod server;
mod short;
mod transcripts;
