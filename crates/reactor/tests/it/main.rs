//! Integration tests of this crate, in one binary so that they link once.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod authority;
mod driver;
mod outbox;
