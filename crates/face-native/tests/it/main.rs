//! Integration tests of this crate, in one binary so that they link once.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod authorisation;
mod reported;
mod schema;
mod stock;
mod stream;
mod transcripts;
mod waiting;
mod wanted;
mod watch;
