//! The outbox: notifications for services outside, in the order in which each service gets them.
//!
//! Any part of the core may queue a notification. The outbox stores it, knows when the next attempt is due, and which
//! notifications have been given up; what its payload means is known to the producer and to the transport that
//! delivers it. Sending is the reactor's.

mod apply;
pub mod command;
pub(crate) mod decide;
pub mod event;
pub mod refusal;
mod state;

pub use state::Outbox;

use std::sync::Arc;

/// A message to a service outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The position at which it was queued, and its place among the events there. See [`notification_name`].
    pub number: u128,
    /// The service that gets it.
    pub target: Arc<str>,
    /// The user on whose behalf it is sent.
    pub user: Arc<str>,
    pub payload: Payload,
    /// The pools and keys whose answers have changed.
    pub about: Vec<(Arc<str>, Arc<str>)>,
    /// When it was queued.
    pub at_ms: u64,
    /// Failed attempts.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: Option<Arc<str>>,
    /// When the next attempt is due. `None`: it has been given up.
    pub due_ms: Option<u64>,
}

/// The action that the receiver should take, in a word of the producer. The core stores and shows it, and does not
/// interpret it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Payload(pub &'static str);

impl Notification {
    /// See [`notification_name`].
    pub fn name(&self) -> String {
        notification_name(self.number)
    }
}

const PLACE_BITS: u32 = 32;
const PLACE_MASK: u128 = (1 << PLACE_BITS) - 1;

/// The number of a notification as people write it: `position-place`.
pub fn notification_name(number: u128) -> String {
    format!("{}-{}", number >> PLACE_BITS, number & PLACE_MASK)
}

/// The inverse of [`notification_name`].
pub fn notification_number(name: &str) -> Option<u128> {
    let (position, place) = name.split_once('-')?;
    let (position, place): (u64, u32) = (position.parse().ok()?, place.parse().ok()?);
    let number = u128::from(position) << PLACE_BITS | u128::from(place);
    (notification_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_name_convert_both_ways() {
        let number = 1042 << 32 | 3;
        assert_eq!(notification_name(number), "1042-3");
        assert_eq!(notification_number("1042-3"), Some(number));
        for name in ["", "1042", "1042-", "-3", "01042-3", "+1042-3", "1-4294967296", "1-2-3"] {
            assert_eq!(notification_number(name), None, "{name}");
        }
    }
}
