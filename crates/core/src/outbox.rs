//! The outbox: notifications for services outside, in the order in which each service gets them.
//!
//! Any part of the core may queue a notification. The outbox stores it, knows when the next attempt is due, and which
//! notifications have been given up; what its payload means is known to the producer and to the transport that
//! delivers it. Sending is the reactor's.

mod state;

pub use state::Outbox;

use std::sync::Arc;

use crate::alarm::{self, AlarmKind};
use crate::decide::Draft;
use crate::event::event_group;
use crate::receipt::Outcome;
use crate::refusal::{Refusal, refusals};

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

/// The reactor reports an attempt, or an operator intervenes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxCommand {
    /// The service has accepted it.
    Delivered { number: u128 },
    /// An attempt has failed. `again_ms`: when to try again; `None` gives it up.
    Failed { number: u128, error: Arc<str>, again_ms: Option<u64> },
    /// Tries it again at once, with the number of attempts back at zero.
    Retry { number: u128 },
    /// Removes it without delivering it.
    Drop { number: u128 },
}

impl OutboxCommand {
    fn number(&self) -> u128 {
        match self {
            OutboxCommand::Delivered { number }
            | OutboxCommand::Failed { number, .. }
            | OutboxCommand::Retry { number }
            | OutboxCommand::Drop { number } => *number,
        }
    }
}

refusals! {
    pub enum OutboxRefusal {
        NotificationUnknown { number: u128 }
            => "notice_unknown", Reread, "notification {} is not in the outbox", notification_name(*number);
    }
}

event_group!(Outbox: OutboxEvent {
    Queued(NotificationQueued),
    DeliveryFailed(DeliveryFailed),
    Closed(NotificationClosed),
});

/// A notification was added to the outbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationQueued {
    pub number: u128,
    pub target: Arc<str>,
    pub user: Arc<str>,
    pub payload: Payload,
    pub about: Vec<(Arc<str>, Arc<str>)>,
    pub at_ms: u64,
}

/// An attempt has failed, or an operator has asked for another one: then `attempts` is zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFailed {
    pub number: u128,
    pub attempts: u32,
    pub error: Arc<str>,
    /// When to try again. `None`: it is given up.
    pub again_ms: Option<u64>,
}

/// A notification has left the outbox: delivered, or dropped by an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationClosed {
    pub number: u128,
    pub delivered: bool,
}

/// What becomes of a notification after an attempt, or when an operator intervenes.
pub(crate) fn decide(draft: &mut Draft<'_>, command: &OutboxCommand) -> Result<Outcome, Refusal> {
    let number = command.number();
    let Some(notification) = draft.state.outbox.get(number).cloned() else {
        return Err(OutboxRefusal::NotificationUnknown { number }.into());
    };
    let target = &notification.target;
    let alarm = |draft: &mut Draft<'_>, raised| {
        alarm::set(draft, target, AlarmKind::Undelivered, false, raised);
    };
    match command {
        OutboxCommand::Delivered { .. } => {
            draft.record(NotificationClosed { number, delivered: true });
            alarm(draft, false);
        }
        OutboxCommand::Drop { .. } => {
            draft.record(NotificationClosed { number, delivered: false });
            // A delivery would clear the alarm, but a service may never get another notification.
            if !draft.state.outbox.has_dead(target) {
                alarm(draft, false);
            }
        }
        OutboxCommand::Failed { error, again_ms, .. } => {
            let (attempts, error, again_ms) = (notification.attempts + 1, error.clone(), *again_ms);
            draft.record(DeliveryFailed { number, attempts, error, again_ms });
            if again_ms.is_none() {
                alarm(draft, true);
            }
        }
        OutboxCommand::Retry { .. } => {
            let error = notification.error.clone().unwrap_or_default();
            let (attempts, again_ms) = (0, Some(draft.now_ms));
            draft.record(DeliveryFailed { number, attempts, error, again_ms });
        }
    }
    Ok(Outcome::NotificationChanged)
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
