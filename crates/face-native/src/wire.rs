//! The JSON forms of requests and replies. `from_wire` and `to_wire` translate between them and the core's types.

mod answer;
mod ask;
mod candidates;
mod capacity;
mod change;
mod named;
mod outbox;
mod scalar;

pub(crate) use answer::*;
pub(crate) use ask::*;
pub(crate) use candidates::*;
pub(crate) use capacity::*;
pub use change::Change;
pub(crate) use change::*;
pub(crate) use named::*;
pub(crate) use outbox::*;
pub(crate) use scalar::*;
