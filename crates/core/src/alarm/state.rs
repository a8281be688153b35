//! The list of alarms.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use super::{Alarm, AlarmKind};

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
