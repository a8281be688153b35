//! OpenStack's Placement as a thing to measure: a cloud to put into it, requests to send, and the real one to compare with.

pub mod cloud;
pub mod real;
pub mod script;
