//! Who is still to be told what, in order; and what is wrong with pools and services.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use crate::event::Event;
use crate::event::resource::{NoticeQueued, NoticeTried};
use crate::resource::{Alarm, AlarmKind, Redeploy};

/// Something that somebody outside is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub number: u128,
    pub target: Arc<str>,
    pub user: Arc<str>,
    pub how: Redeploy,
    pub about: Vec<(Arc<str>, Arc<str>)>,
    pub at_ms: u64,
    pub attempts: u32,
    pub error: Option<Arc<str>>,
    /// When it is to be tried. `None`: it has been given up.
    pub due_ms: Option<u64>,
}

impl Notice {
    /// The events that lead to it.
    pub(crate) fn told(&self) -> impl Iterator<Item = Event> + use<> {
        let Notice { number, target, user, how, about, at_ms, attempts, error, due_ms } =
            self.clone();
        let tried = error.map(|error| NoticeTried { number, attempts, error, again_ms: due_ms });
        let queued = NoticeQueued { number, target, user, how, about, at_ms };
        std::iter::once(Event::NoticeQueued(queued)).chain(tried.map(Event::NoticeTried))
    }

    /// How people call it: the position at which it was queued, and its place there.
    pub fn name(&self) -> String {
        notice_name(self.number)
    }
}

const PLACE_BITS: u32 = 32;
const PLACE_MASK: u128 = (1 << PLACE_BITS) - 1;

/// The name of the notice with this number.
pub fn notice_name(number: u128) -> String {
    format!("{}-{}", number >> PLACE_BITS, number & PLACE_MASK)
}

/// The number of the notice with this name, as [`notice_name`] writes it.
pub fn notice_number(name: &str) -> Option<u128> {
    let (position, place) = name.split_once('-')?;
    let (position, place): (u64, u32) = (position.parse().ok()?, place.parse().ok()?);
    let number = u128::from(position) << PLACE_BITS | u128::from(place);
    (notice_name(number) == name).then_some(number)
}

#[derive(Debug, Clone, Default)]
pub struct Outbox {
    notices: BTreeMap<u128, Arc<Notice>>,
    /// For each target what it is to be told, in order. What has been given up is not among it: it holds nobody up.
    waiting: BTreeMap<Arc<str>, BTreeSet<u128>>,
    /// The first of each target: when it is due, and its number.
    first: BTreeMap<Arc<str>, (u64, u128)>,
    due: BTreeSet<(u64, u128)>,
    /// What has been given up, by target.
    dead: BTreeSet<(Arc<str>, u128)>,
}

impl Outbox {
    pub fn len(&self) -> usize {
        self.notices.len()
    }

    pub fn is_empty(&self) -> bool {
        self.notices.is_empty()
    }

    pub fn get(&self, number: u128) -> Option<&Arc<Notice>> {
        self.notices.get(&number)
    }

    /// All of it, oldest first, from this number on.
    pub fn from(&self, number: u128) -> impl Iterator<Item = &Arc<Notice>> {
        self.notices.range(number..).map(|(_, notice)| notice)
    }

    /// What can be told now: for each target the first that it is to be told, if its time has come.
    pub fn ready(&self, now_ms: u64) -> impl Iterator<Item = &Arc<Notice>> {
        self.ready_from((0, 0), now_ms)
    }

    /// The same without those that come before this time and number, for whoever looks at some at a time.
    pub fn ready_from(&self, from: (u64, u128), now_ms: u64) -> impl Iterator<Item = &Arc<Notice>> {
        let due = self.due.range(from..).take_while(move |(due_ms, _)| *due_ms <= now_ms);
        due.filter_map(|(_, number)| self.notices.get(number))
    }

    /// When the next one can be told of those that cannot be told yet.
    pub fn due_after(&self, now_ms: u64) -> Option<u64> {
        self.due.range((now_ms.saturating_add(1), 0)..).next().map(|(at, _)| *at)
    }

    /// How many have been given up.
    pub fn dead(&self) -> usize {
        self.dead.len()
    }

    /// Whether any has been given up that this target was to be told.
    pub fn has_dead(&self, target: &Arc<str>) -> bool {
        let mut from = self.dead.range((target.clone(), 0)..);
        from.next().is_some_and(|(other, _)| other == target)
    }

    /// Puts a notice in the place of the one with its number, or takes that one out. Gives back what was there.
    pub(crate) fn put(&mut self, number: u128, notice: Option<Arc<Notice>>) -> Option<Arc<Notice>> {
        let before = self.notices.remove(&number);
        if let Some(before) = &before {
            self.dead.remove(&(before.target.clone(), number));
        }
        if let Some(now) = notice.as_ref().filter(|now| now.due_ms.is_none()) {
            self.dead.insert((now.target.clone(), number));
        }
        let targets: BTreeSet<Arc<str>> =
            before.iter().chain(&notice).map(|notice| notice.target.clone()).collect();
        if let Some(notice) = notice.clone() {
            self.notices.insert(number, notice);
        }
        for target in targets {
            let told = notice.as_ref().filter(|notice| notice.target == target);
            self.reschedule(target, number, told.is_some_and(|notice| notice.due_ms.is_some()));
        }
        before
    }

    /// Adds a number to what a target is to be told, or takes it out, and works out anew which is first.
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
        let due_ms = next.and_then(|next| self.notices.get(&next)).and_then(|next| next.due_ms);
        if let (Some(next), Some(due_ms)) = (next, due_ms) {
            self.first.insert(target, (due_ms, next));
            self.due.insert((due_ms, next));
        }
    }
}

/// What is wrong, and what was, until somebody purges it. It is counted along how much is wrong, because that is asked all
/// the time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alarms {
    all: BTreeMap<(Arc<str>, AlarmKind), Alarm>,
    /// By kind, in the order of [`AlarmKind`].
    raised: [usize; AlarmKind::ALL.len()],
}

impl Alarms {
    /// How many of this kind are raised.
    pub fn raised(&self, kind: AlarmKind) -> usize {
        self.raised[kind as usize]
    }

    /// Puts an alarm in the place of the one that there was, or none. Gives back what was there.
    pub(crate) fn put(
        &mut self,
        object: Arc<str>,
        kind: AlarmKind,
        alarm: Option<Alarm>,
    ) -> Option<Alarm> {
        let is_raised = |alarm: &Option<Alarm>| {
            usize::from(alarm.as_ref().is_some_and(|alarm| alarm.cleared_ms.is_none()))
        };
        let now = is_raised(&alarm);
        let before = match alarm {
            Some(alarm) => self.all.insert((object, kind), alarm),
            None => self.all.remove(&(object, kind)),
        };
        let count = &mut self.raised[kind as usize];
        *count = *count + now - is_raised(&before);
        before
    }
}

impl Deref for Alarms {
    type Target = BTreeMap<(Arc<str>, AlarmKind), Alarm>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_has_one_name() {
        let number = 1042 << 32 | 3;
        assert_eq!(notice_name(number), "1042-3");
        assert_eq!(notice_number("1042-3"), Some(number));
        for name in ["", "1042", "1042-", "-3", "01042-3", "+1042-3", "1-4294967296", "1-2-3"] {
            assert_eq!(notice_number(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_ready_can_be_looked_at_in_parts() {
        let mut outbox = Outbox::default();
        for (number, target, due_ms) in [(1, "a", 50), (2, "b", 10), (3, "a", 0), (4, "c", 10)] {
            let notice = Notice {
                number,
                target: target.into(),
                user: "admin".into(),
                how: Redeploy::Default,
                about: Vec::new(),
                at_ms: 0,
                attempts: 0,
                error: None,
                due_ms: Some(due_ms),
            };
            outbox.put(number, Some(Arc::new(notice)));
        }
        let ready = |from, now_ms| {
            outbox.ready_from(from, now_ms).map(|notice| notice.number).collect::<Vec<_>>()
        };
        // The third waits for the first, which goes to the same target.
        assert_eq!(ready((0, 0), 100), [2, 4, 1]);
        assert_eq!(ready((10, 3), 100), [4, 1]);
        assert_eq!(ready((0, 0), 49), [2, 4]);
        assert_eq!(ready((50, 2), 10), [0; 0]);
        assert_eq!((outbox.due_after(9), outbox.due_after(10)), (Some(10), Some(50)));
    }
}
