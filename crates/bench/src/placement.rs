//! Benchmarks of Placement: a cloud to load, requests to send, and the real Placement to compare with.

pub mod cloud;
pub mod real;
pub mod script;
