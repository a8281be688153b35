//! How events change the outbox.

use std::sync::Arc;

use super::Notification;
use super::event::{DeliveryFailed, NotificationQueued, OutboxEvent};
use crate::state::State;
use crate::state::undo::StateChange;

impl State {
    pub(crate) fn apply_outbox(&mut self, event: &OutboxEvent) {
        match event {
            OutboxEvent::Queued(event) => self.notification_queued(event),
            OutboxEvent::DeliveryFailed(event) => self.delivery_failed(event),
            OutboxEvent::Closed(event) => self.put_notification(event.number, None),
        }
    }

    fn notification_queued(&mut self, event: &NotificationQueued) {
        let notification = Notification {
            number: event.number,
            target: event.target.clone(),
            user: event.user.clone(),
            payload: event.payload,
            about: event.about.clone(),
            at_ms: event.at_ms,
            attempts: 0,
            error: None,
            due_ms: Some(event.at_ms),
        };
        self.put_notification(event.number, Some(notification));
    }

    fn delivery_failed(&mut self, event: &DeliveryFailed) {
        let Some(notification) = self.outbox.get(event.number) else { return };
        let notification = Notification {
            attempts: event.attempts,
            error: Some(event.error.clone()),
            due_ms: event.again_ms,
            ..Notification::clone(notification)
        };
        self.put_notification(event.number, Some(notification));
    }

    fn put_notification(&mut self, number: u128, notification: Option<Notification>) {
        let before = self.outbox.put(number, notification.map(Arc::new));
        self.note(StateChange::Notification { number, before });
    }
}
