//! Integration tests of this crate, in one binary so that they link once.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot continue fails"
)]

mod authorisation;
mod id_manager;
mod protocol;
mod pure;
mod resource_pools;
