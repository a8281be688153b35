//! The id-manager as its clients see it: over RESTCONF, in process.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test stops where it cannot go on"
)]

mod export;
mod random;
mod replies;
mod restart;
mod scale;
mod server;
mod together;
mod told;
mod transcripts;
