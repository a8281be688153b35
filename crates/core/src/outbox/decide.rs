//! What becomes of a notification after an attempt, or when an operator intervenes.

use super::command::OutboxCommand;
use super::event::{DeliveryFailed, NotificationClosed};
use super::refusal::OutboxRefusal;
use crate::alarm::{self, AlarmKind};
use crate::decide::Draft;
use crate::receipt::Outcome;
use crate::refusal::Refusal;

pub(crate) fn run(draft: &mut Draft<'_>, command: &OutboxCommand) -> Result<Outcome, Refusal> {
    let number = command.number();
    let Some(notification) = draft.state.outbox.get(number).cloned() else {
        return Err(OutboxRefusal::NotificationUnknown { number }.into());
    };
    let target = &notification.target;
    let alarm = |draft: &mut Draft<'_>, raised| {
        alarm::decide::set(draft, target, AlarmKind::Undelivered, false, raised);
    };
    match command {
        OutboxCommand::Delivered { .. } => {
            let delivered = true;
            draft.record(NotificationClosed { number, delivered });
            alarm(draft, false);
        }
        OutboxCommand::Drop { .. } => {
            let delivered = false;
            draft.record(NotificationClosed { number, delivered });
            // A delivery would clear the alarm, but a service may never get another notification.
            if !draft.state.outbox.has_dead(target) {
                alarm(draft, false);
            }
        }
        OutboxCommand::Failed { error, again_ms, .. } => {
            let (attempts, error, again_ms) = (notification.attempts + 1, error.clone(), *again_ms);
            let failed = DeliveryFailed { number, attempts, error, again_ms };
            draft.record(failed);
            if again_ms.is_none() {
                alarm(draft, true);
            }
        }
        OutboxCommand::Retry { .. } => {
            let error = notification.error.clone().unwrap_or_default();
            let (attempts, again_ms) = (0, Some(draft.now_ms));
            let failed = DeliveryFailed { number, attempts, error, again_ms };
            draft.record(failed);
        }
    }
    Ok(Outcome::NotificationChanged)
}
