//! How events change alarms.

use std::sync::Arc;

use super::event::{AlarmChanged, AlarmEvent};
use super::{Alarm, AlarmKind};
use crate::state::State;
use crate::state::undo::StateChange;

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
