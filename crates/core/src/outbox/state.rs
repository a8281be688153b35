//! Notifications by number, by target and by the time of their next attempt, and how events change them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{DeliveryFailed, Notification, NotificationQueued, OutboxEvent};
use crate::event::Event;
use crate::state::State;
use crate::state::undo::StateChange;

#[derive(Debug, Clone, Default)]
pub struct Outbox {
    all: BTreeMap<u128, Arc<Notification>>,
    /// For each target its notifications in order, without those that were given up: they do not block later ones.
    waiting: BTreeMap<Arc<str>, BTreeSet<u128>>,
    /// The first notification of each target: when it is due, and its number.
    first: BTreeMap<Arc<str>, (u64, u128)>,
    /// The values of `first`.
    due: BTreeSet<(u64, u128)>,
    /// Notifications that were given up, by target.
    dead: BTreeSet<(Arc<str>, u128)>,
}

impl Outbox {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, number: u128) -> Option<&Arc<Notification>> {
        self.all.get(&number)
    }

    /// The notifications from this number on, oldest first.
    pub fn from(&self, number: u128) -> impl Iterator<Item = &Arc<Notification>> {
        self.all.range(number..).map(|(_, notification)| notification)
    }

    /// What can be delivered now: the first notification of each target, if it is due. Starts at this due time and
    /// number, so that a caller can read the list in parts.
    pub fn ready_from(
        &self,
        from: (u64, u128),
        now_ms: u64,
    ) -> impl Iterator<Item = &Arc<Notification>> {
        let due = self.due.range(from..).take_while(move |(due_ms, _)| *due_ms <= now_ms);
        due.filter_map(|(_, number)| self.all.get(number))
    }

    /// When the next notification becomes due that is not due yet.
    pub fn due_after(&self, now_ms: u64) -> Option<u64> {
        self.due.range((now_ms.saturating_add(1), 0)..).next().map(|(at, _)| *at)
    }

    /// The number of notifications that were given up.
    pub fn dead(&self) -> usize {
        self.dead.len()
    }

    /// Whether a notification to this target was given up.
    pub fn has_dead(&self, target: &Arc<str>) -> bool {
        let mut from = self.dead.range((target.clone(), 0)..);
        from.next().is_some_and(|(other, _)| other == target)
    }

    /// Inserts or replaces a notification; `None` removes it. Returns the previous one.
    pub(crate) fn put(
        &mut self,
        number: u128,
        notification: Option<Arc<Notification>>,
    ) -> Option<Arc<Notification>> {
        let before = self.all.remove(&number);
        if let Some(before) = &before {
            self.dead.remove(&(before.target.clone(), number));
        }
        if let Some(now) = notification.as_ref().filter(|now| now.due_ms.is_none()) {
            self.dead.insert((now.target.clone(), number));
        }
        let targets: BTreeSet<Arc<str>> =
            before.iter().chain(&notification).map(|one| one.target.clone()).collect();
        if let Some(notification) = notification.clone() {
            self.all.insert(number, notification);
        }
        for target in targets {
            let now = notification.as_ref().filter(|now| now.target == target);
            self.reschedule(target, number, now.is_some_and(|now| now.due_ms.is_some()));
        }
        before
    }

    /// Adds a number to the waiting notifications of a target or removes it, and finds the first one again.
    fn reschedule(&mut self, target: Arc<str>, number: u128, waits: bool) {
        if let Some(first) = self.first.remove(&target) {
            self.due.remove(&first);
        }
        let waiting = self.waiting.entry(target.clone()).or_default();
        if waits {
            waiting.insert(number);
        } else {
            waiting.remove(&number);
        }
        let next = waiting.first().copied();
        if next.is_none() {
            self.waiting.remove(&target);
        }
        let due_ms = next.and_then(|next| self.all.get(&next)).and_then(|next| next.due_ms);
        if let (Some(next), Some(due_ms)) = (next, due_ms) {
            self.first.insert(target, (due_ms, next));
            self.due.insert((due_ms, next));
        }
    }
}

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

impl Notification {
    /// The events that produce this notification, for a checkpoint.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> + use<> {
        let Notification { number, target, user, payload, about, at_ms, attempts, error, due_ms } =
            self.clone();
        let failed =
            error.map(|error| DeliveryFailed { number, attempts, error, again_ms: due_ms });
        let queued = NotificationQueued { number, target, user, payload, about, at_ms };
        std::iter::once(queued.into()).chain(failed.map(Event::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Payload;

    #[test]
    fn ready_notifications_can_be_read_in_parts() {
        let mut outbox = Outbox::default();
        for (number, target, due_ms) in [(1, "a", 50), (2, "b", 10), (3, "a", 0), (4, "c", 10)] {
            let notification = Notification {
                number,
                target: target.into(),
                user: "admin".into(),
                payload: Payload("default"),
                about: Vec::new(),
                at_ms: 0,
                attempts: 0,
                error: None,
                due_ms: Some(due_ms),
            };
            outbox.put(number, Some(Arc::new(notification)));
        }
        let ready = |from, now_ms| {
            outbox.ready_from(from, now_ms).map(|one| one.number).collect::<Vec<_>>()
        };
        // Number 3 waits for number 1, which goes to the same target.
        assert_eq!(ready((0, 0), 100), [2, 4, 1]);
        assert_eq!(ready((10, 3), 100), [4, 1]);
        assert_eq!(ready((0, 0), 49), [2, 4]);
        assert_eq!(ready((50, 2), 10), [0; 0]);
        assert_eq!((outbox.due_after(9), outbox.due_after(10)), (Some(10), Some(50)));
    }
}
