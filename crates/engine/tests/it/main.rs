//! Integration tests of this crate, in one binary so that they link once.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod clock;
mod engine;
mod golden_journal;
mod history;
mod long_reads;
mod power_loss;
mod reader;
mod retention;
mod witness;
mod writer;
