//! The id-manager over RESTCONF, in process.

mod export;
mod notifications;
mod random;
mod replies;
mod restart;
mod scale;
mod server;
mod together;
mod transcripts;
