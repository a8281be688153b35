//! Alarms: a condition of a pool, a service or an authority that an operator should know about.
//!
//! An alarm is raised and cleared by events, and stays listed after it was cleared until an operator purges it. Which
//! conditions raise an alarm is not decided here: `requests` does it for pools, `outbox` for failed
//! deliveries, `authority` for claims that wait or need an operator.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use crate::decide::Draft;
use crate::event::event_group;
use crate::named::named;
use crate::receipt::Outcome;
use crate::refusal::{Refusal, refusals};
use crate::state::State;
use crate::state::undo::StateChange;

named! {
    pub enum AlarmKind {
        Exhausted = "exhausted",
        Low = "low",
        OddExhausted = "odd_exhausted",
        EvenExhausted = "even_exhausted",
        OddLow = "odd_low",
        EvenLow = "even_low",
        /// All attempts to deliver a notification to a service have failed.
        Undelivered = "undelivered",
        /// A claim or a release has waited for too long for its authority.
        Overdue = "overdue",
        /// It is unknown whether an authority has granted a value.
        Stuck = "stuck",
        /// An authority has granted a value that the claim cannot have.
        Conflict = "conflict",
        /// An authority has another value for a look-up than the one here.
        Drifted = "drifted",
    }
}

impl AlarmKind {
    /// Whether the object is an authority.
    pub fn is_of_authority(self) -> bool {
        match self {
            AlarmKind::Overdue | AlarmKind::Stuck | AlarmKind::Conflict | AlarmKind::Drifted => {
                true
            }
            AlarmKind::Exhausted
            | AlarmKind::Low
            | AlarmKind::OddExhausted
            | AlarmKind::EvenExhausted
            | AlarmKind::OddLow
            | AlarmKind::EvenLow
            | AlarmKind::Undelivered => false,
        }
    }

    /// Whether the object is a pool.
    pub fn is_of_pool(self) -> bool {
        match self {
            AlarmKind::Exhausted
            | AlarmKind::Low
            | AlarmKind::OddExhausted
            | AlarmKind::EvenExhausted
            | AlarmKind::OddLow
            | AlarmKind::EvenLow => true,
            AlarmKind::Undelivered
            | AlarmKind::Overdue
            | AlarmKind::Stuck
            | AlarmKind::Conflict
            | AlarmKind::Drifted => false,
        }
    }
}

/// An alarm that is raised, or was raised and has not been purged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// The name of the pool, the service or the authority.
    pub object: Arc<str>,
    pub kind: AlarmKind,
    /// Whether the object is a pool of ids.
    pub ids: bool,
    pub raised_ms: u64,
    /// `None`: it is raised.
    pub cleared_ms: Option<u64>,
}

impl Alarm {
    pub fn is_raised(&self) -> bool {
        self.cleared_ms.is_none()
    }

    /// The events that produce this alarm, for a checkpoint.
    pub(crate) fn events(&self) -> impl Iterator<Item = AlarmChanged> + use<> {
        let Alarm { object, kind, ids, raised_ms, cleared_ms } = self.clone();
        let raised = AlarmChanged { object, kind, ids, raised: true, at_ms: raised_ms };
        let cleared =
            cleared_ms.map(|at_ms| AlarmChanged { raised: false, at_ms, ..raised.clone() });
        std::iter::once(raised).chain(cleared)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmCommand {
    /// Removes a cleared alarm from the list.
    Purge { object: Arc<str>, kind: AlarmKind },
}

refusals! {
    pub enum AlarmRefusal {
        /// There is no such alarm, or it is still raised.
        NotCleared { object: Arc<str> }
            => "alarm_not_over", Reread, "'{object}' has no cleared alarm of this kind";
    }
}

event_group!(Alarm: AlarmEvent { Changed(AlarmChanged), Purged(AlarmPurged) });

/// An alarm was raised or cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmChanged {
    pub object: Arc<str>,
    pub kind: AlarmKind,
    /// Whether the object is a pool of ids.
    pub ids: bool,
    pub raised: bool,
    pub at_ms: u64,
}

impl AlarmChanged {
    /// The pool that the alarm is about. `None`: it is about a service or an authority.
    pub fn pool(&self) -> Option<&Arc<str>> {
        self.kind.is_of_pool().then_some(&self.object)
    }
}

/// A cleared alarm was removed from the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmPurged {
    pub object: Arc<str>,
    pub kind: AlarmKind,
}

/// All alarms, raised or cleared, by object and kind. The numbers of raised alarms are kept up to date, because the
/// metrics read them often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Alarms {
    all: BTreeMap<(Arc<str>, AlarmKind), Alarm>,
    /// By kind, in the order of [`AlarmKind::ALL`].
    raised: [usize; AlarmKind::ALL.len()],
}

impl Alarms {
    /// The number of raised alarms of this kind.
    pub fn raised(&self, kind: AlarmKind) -> usize {
        self.raised[kind as usize]
    }

    /// Inserts or replaces an alarm; `None` removes it. Returns the previous one.
    pub(crate) fn put(
        &mut self,
        object: Arc<str>,
        kind: AlarmKind,
        alarm: Option<Alarm>,
    ) -> Option<Alarm> {
        let raised =
            |alarm: &Option<Alarm>| usize::from(alarm.as_ref().is_some_and(Alarm::is_raised));
        let now = raised(&alarm);
        let before = match alarm {
            Some(alarm) => self.all.insert((object, kind), alarm),
            None => self.all.remove(&(object, kind)),
        };
        let count = &mut self.raised[kind as usize];
        *count = *count + now - raised(&before);
        before
    }
}

impl Deref for Alarms {
    type Target = BTreeMap<(Arc<str>, AlarmKind), Alarm>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl State {
    pub(crate) fn apply_alarm(&mut self, event: &AlarmEvent) {
        match event {
            AlarmEvent::Changed(event) => self.alarm_changed(event),
            AlarmEvent::Purged(event) => self.put_alarm(event.object.clone(), event.kind, None),
        }
    }

    fn alarm_changed(&mut self, event: &AlarmChanged) {
        let (object, kind) = (event.object.clone(), event.kind);
        let known = self.alarms.get(&(object.clone(), kind));
        let alarm = match (known, event.raised) {
            (None, false) => return,
            (Some(known), false) => Alarm { cleared_ms: Some(event.at_ms), ..known.clone() },
            (_, true) => {
                let (raised_ms, ids) = (event.at_ms, event.ids);
                Alarm { object: object.clone(), kind, ids, raised_ms, cleared_ms: None }
            }
        };
        self.put_alarm(object, kind, Some(alarm));
    }

    fn put_alarm(&mut self, object: Arc<str>, kind: AlarmKind, alarm: Option<Alarm>) {
        let before = self.alarms.put(object.clone(), kind, alarm);
        self.note(StateChange::Alarm { object, kind, before });
    }
}

pub(crate) fn decide(draft: &mut Draft<'_>, command: &AlarmCommand) -> Result<Outcome, Refusal> {
    let AlarmCommand::Purge { object, kind } = command.clone();
    let alarm = draft.state.alarms.get(&(object.clone(), kind));
    if alarm.is_none_or(Alarm::is_raised) {
        return Err(AlarmRefusal::NotCleared { object }.into());
    }
    draft.record(AlarmPurged { object, kind });
    Ok(Outcome::AlarmPurged)
}

/// Raises or clears an alarm, unless it already is as wanted. `ids`: the object is a pool of ids.
pub(crate) fn set(
    draft: &mut Draft<'_>,
    object: &Arc<str>,
    kind: AlarmKind,
    ids: bool,
    raised: bool,
) {
    let known = draft.state.alarms.get(&(object.clone(), kind));
    if known.is_some_and(Alarm::is_raised) == raised {
        return;
    }
    let (object, at_ms) = (object.clone(), draft.now_ms);
    draft.record(AlarmChanged { object, kind, ids, raised, at_ms });
}

/// What is wrong with the list of alarms: the numbers of raised alarms must match it.
pub(crate) fn check(state: &State) -> Vec<String> {
    let raised = |kind: AlarmKind| {
        state.alarms.values().filter(|alarm| alarm.kind == kind && alarm.is_raised()).count()
    };
    let kinds = AlarmKind::ALL.into_iter();
    let wrong = kinds.filter(|kind| raised(*kind) != state.alarms.raised(*kind));
    wrong
        .map(|kind| format!("the number of raised alarms of kind '{}' is wrong", kind.name()))
        .collect()
}
