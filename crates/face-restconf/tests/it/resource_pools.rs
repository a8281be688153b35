//! The resource-manager over RESTCONF, in process.

mod at_once;
mod many;
mod replies;
mod server;
mod short;
mod site;
mod transcripts;
