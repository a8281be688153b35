//! Metrics of the outbox and of alarms. All exist from the start, at zero, so that alerting rules can rely on them.

use allod_core::alarm::AlarmKind;
use allod_core::view::{self, State};
use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};

const KINDS: [AlarmKind; AlarmKind::ALL.len()] = AlarmKind::ALL;

pub(crate) struct ReactorMetrics {
    pub delivered: Counter,
    pub failed: Counter,
    pub given_up: Counter,
    pub unwanted: Counter,
    notices: Gauge,
    dead: Gauge,
    alarms: [Gauge; KINDS.len()],
}

impl ReactorMetrics {
    pub(crate) fn new() -> ReactorMetrics {
        describe_gauge!("allod_alarms", "Raised alarms by kind");
        describe_gauge!(
            "allod_outbox_notices",
            "Notifications in the outbox, including those given up"
        );
        describe_gauge!("allod_outbox_dead", "Notifications given up, waiting for an operator");
        describe_counter!("allod_notices_delivered_total", "Notifications delivered");
        describe_counter!("allod_notices_failed_total", "Failed delivery attempts");
        describe_counter!(
            "allod_notices_given_up_total",
            "Notifications given up after all attempts"
        );
        describe_counter!("allod_notices_unwanted_total", "Notifications without a webhook");
        ReactorMetrics {
            delivered: counter!("allod_notices_delivered_total"),
            failed: counter!("allod_notices_failed_total"),
            given_up: counter!("allod_notices_given_up_total"),
            unwanted: counter!("allod_notices_unwanted_total"),
            notices: gauge!("allod_outbox_notices"),
            dead: gauge!("allod_outbox_dead"),
            alarms: KINDS.map(|kind| gauge!("allod_alarms", "kind" => kind.name())),
        }
    }

    /// Sets the gauges.
    pub(crate) fn publish(&self, state: &State) {
        self.notices.set(view::outbox(state).len() as f64);
        self.dead.set(view::outbox(state).dead() as f64);
        for (gauge, kind) in self.alarms.iter().zip(KINDS) {
            gauge.set(view::alarms(state).raised(kind) as f64);
        }
    }
}
