//! Metrics of one authority. Its gauges are zero once the authority is removed.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use allod_core::authority::{Authorities, ExternalState};
use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};

use crate::authority::connector::AuthorityAnswer;

/// What an authority is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Abilities,
    Find,
    Grant,
    Release,
    LookUp,
    List,
}

impl Operation {
    const COUNT: usize = 6;

    fn name(self) -> &'static str {
        match self {
            Operation::Abilities => "abilities",
            Operation::Find => "find",
            Operation::Grant => "grant",
            Operation::Release => "release",
            Operation::LookUp => "lookup",
            Operation::List => "list",
        }
    }
}

/// The sort of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerSort {
    Yes,
    No,
    NotNow,
    Working,
    Unknown,
    Unsupported,
}

impl AnswerSort {
    const COUNT: usize = 6;

    fn name(self) -> &'static str {
        match self {
            AnswerSort::Yes => "yes",
            AnswerSort::No => "no",
            AnswerSort::NotNow => "not_now",
            AnswerSort::Working => "working",
            AnswerSort::Unknown => "unknown",
            AnswerSort::Unsupported => "unsupported",
        }
    }
}

impl<T> From<&AuthorityAnswer<T>> for AnswerSort {
    fn from(answer: &AuthorityAnswer<T>) -> AnswerSort {
        match answer {
            AuthorityAnswer::Yes(_) => AnswerSort::Yes,
            AuthorityAnswer::No { .. } => AnswerSort::No,
            AuthorityAnswer::NotNow { .. } => AnswerSort::NotNow,
            AuthorityAnswer::Working { .. } => AnswerSort::Working,
            AuthorityAnswer::Unknown { .. } => AnswerSort::Unknown,
            AuthorityAnswer::Unsupported => AnswerSort::Unsupported,
        }
    }
}

pub(super) struct AuthorityMetrics {
    name: Arc<str>,
    /// By operation and answer. Registered at first use.
    calls: [[OnceLock<Counter>; AnswerSort::COUNT]; Operation::COUNT],
    errors: Counter,
    seconds: Histogram,
    open: [(ExternalState, Gauge); 4],
    oldest_seconds: Gauge,
}

pub(super) fn describe() {
    describe_counter!(
        "allod_authority_calls_total",
        "Requests to an authority, by operation and outcome"
    );
    describe_counter!(
        "allod_authority_errors_total",
        "Requests to an authority without a definite answer"
    );
    describe_histogram!("allod_authority_call_seconds", "Duration of requests to an authority");
    describe_gauge!("allod_authority_wanted", "Claims that wait for their authority");
    describe_gauge!("allod_authority_releasing", "Releases that their authority has not confirmed");
    describe_gauge!("allod_authority_stuck", "Claims whose outcome an operator must find out");
    describe_gauge!(
        "allod_authority_conflicts",
        "Claims that got a value that they cannot have; an operator must resolve them"
    );
    describe_gauge!(
        "allod_authority_oldest_seconds",
        "Age of the oldest claim or release that waits for its authority"
    );
}

impl AuthorityMetrics {
    pub fn new(name: &Arc<str>) -> AuthorityMetrics {
        let label = || name.to_string();
        AuthorityMetrics {
            name: name.clone(),
            calls: Default::default(),
            errors: counter!("allod_authority_errors_total", "authority" => label()),
            seconds: histogram!("allod_authority_call_seconds", "authority" => label()),
            open: [
                (ExternalState::Wanted, gauge!("allod_authority_wanted", "authority" => label())),
                (
                    ExternalState::Releasing,
                    gauge!("allod_authority_releasing", "authority" => label()),
                ),
                (ExternalState::Stuck, gauge!("allod_authority_stuck", "authority" => label())),
                (
                    ExternalState::Conflict,
                    gauge!("allod_authority_conflicts", "authority" => label()),
                ),
            ],
            oldest_seconds: gauge!("allod_authority_oldest_seconds", "authority" => label()),
        }
    }

    pub fn called(&self, operation: Operation, answer: AnswerSort, took: Duration) {
        let counter = self.calls[operation as usize][answer as usize].get_or_init(|| {
            counter!(
                "allod_authority_calls_total",
                "authority" => self.name.to_string(),
                "operation" => operation.name(),
                "outcome" => answer.name()
            )
        });
        counter.increment(1);
        if matches!(answer, AnswerSort::NotNow | AnswerSort::Unknown) {
            self.errors.increment(1);
        }
        self.seconds.record(took);
    }

    /// Sets the gauges.
    pub fn publish(&self, authorities: &Authorities, now_ms: u64) {
        let counts = authorities.counts(&self.name);
        for (state, gauge) in &self.open {
            gauge.set(counts.of(*state) as f64);
        }
        let oldest_ms = authorities.oldest_ms(&self.name).unwrap_or(now_ms);
        self.oldest_seconds.set(now_ms.saturating_sub(oldest_ms) as f64 / 1000.0);
    }

    /// The authority was removed.
    pub fn clear(&self) {
        self.open.iter().for_each(|(_, gauge)| gauge.set(0.0));
        self.oldest_seconds.set(0.0);
    }
}
