//! Alarms: a condition of a pool or of a service that an operator should know about.
//!
//! An alarm is raised and cleared by events, and stays listed after it was cleared until an operator purges it. Which
//! conditions raise an alarm is not decided here: `requests` does it for pools, `outbox` for failed deliveries.

mod apply;
pub mod command;
pub(crate) mod decide;
pub mod event;
pub(crate) mod invariant;
pub mod refusal;
mod state;

pub use state::Alarms;

use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlarmKind {
    Exhausted,
    Low,
    OddExhausted,
    EvenExhausted,
    OddLow,
    EvenLow,
    /// All attempts to deliver a notification to a service have failed.
    Undelivered,
}

/// An alarm that is raised, or was raised and has not been purged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alarm {
    /// The name of the pool or of the service.
    pub object: Arc<str>,
    pub kind: AlarmKind,
    /// Whether the pool is one of ids. `false` for a pool of addresses and for a service.
    pub ids: bool,
    pub raised_ms: u64,
    /// `None`: it is raised.
    pub cleared_ms: Option<u64>,
}

impl Alarm {
    pub fn is_raised(&self) -> bool {
        self.cleared_ms.is_none()
    }
}

impl AlarmKind {
    pub const ALL: [AlarmKind; 7] = [
        AlarmKind::Exhausted,
        AlarmKind::Low,
        AlarmKind::OddExhausted,
        AlarmKind::EvenExhausted,
        AlarmKind::OddLow,
        AlarmKind::EvenLow,
        AlarmKind::Undelivered,
    ];

    pub fn name(self) -> &'static str {
        match self {
            AlarmKind::Exhausted => "exhausted",
            AlarmKind::Low => "low",
            AlarmKind::OddExhausted => "odd_exhausted",
            AlarmKind::EvenExhausted => "even_exhausted",
            AlarmKind::OddLow => "odd_low",
            AlarmKind::EvenLow => "even_low",
            AlarmKind::Undelivered => "undelivered",
        }
    }

    pub fn from_name(name: &str) -> Option<AlarmKind> {
        AlarmKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
