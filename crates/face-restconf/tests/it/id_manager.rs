//! The id-manager as its clients see it: over RESTCONF, in process.

mod export;
mod random;
mod replies;
mod restart;
mod scale;
mod server;
mod together;
mod told;
mod transcripts;
