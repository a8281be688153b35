//! The reactor: delivers notifications from the outbox to external systems.
//!
//! The outbox and the result of every attempt are part of the state, so a server that restarts continues where the last one
//! stopped. A notification is closed only when its receiver has acknowledged it: each is delivered at least once, and those
//! of one target in order, one at a time.
//!
//! - `runner`: finds due notifications, starts deliveries, and submits their outcome as commands
//! - `transport`: the interface to a means of delivery
//! - `webhook`: the transport that makes HTTP requests
//! - `authority`: asks the external systems that grant values, and reports what they answer
//! - `backoff`: the delay before a retry
//! - `limits`, `metrics`
//!
//! The core decides which notifications there are, and what a failed delivery means.

pub mod authority;
mod backoff;
mod limits;
mod metrics;
mod runner;
mod transport;
pub mod webhook;

pub use limits::ReactorLimits;
pub use runner::Reactor;
pub use transport::{ChannelId, Delivery, DeliveryOutcome, Transport};
