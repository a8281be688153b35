//! Integration tests of this crate, in one binary so that they link once.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod attack;
mod auth;
mod authorities;
mod backup;
mod browser;
mod cli;
mod crash;
mod import;
mod placement_concurrency;
mod postgres;
mod restconf;
mod serve;
mod tour;
mod webhooks;
