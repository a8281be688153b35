//! Commands about alarms.

use std::sync::Arc;

use super::AlarmKind;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmCommand {
    /// Removes a cleared alarm from the list.
    Purge { object: Arc<str>, kind: AlarmKind },
}
