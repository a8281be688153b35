//! Events about alarms.

use std::sync::Arc;

use super::AlarmKind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmEvent {
    Changed(AlarmChanged),
    Purged(AlarmPurged),
}

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
    /// The pool that the alarm is about. `None`: it is about a service.
    pub fn pool(&self) -> Option<&Arc<str>> {
        (self.kind != AlarmKind::Undelivered).then_some(&self.object)
    }
}

/// A cleared alarm was removed from the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmPurged {
    pub object: Arc<str>,
    pub kind: AlarmKind,
}
