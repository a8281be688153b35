//! Metrics of the outbox and of alarms. All of them are there from the start, at zero, so that an alarm on one can rely on
//! it.

use allod_core::resource::AlarmKind;
use allod_core::state::State;
use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};

const KINDS: [AlarmKind; 7] = AlarmKind::ALL;

pub(crate) struct Meter {
    pub delivered: Counter,
    pub failed: Counter,
    pub given_up: Counter,
    pub unwanted: Counter,
    notices: Gauge,
    dead: Gauge,
    alarms: [Gauge; KINDS.len()],
}

impl Meter {
    pub(crate) fn new() -> Meter {
        describe_gauge!("allod_alarms", "Alarms that are raised, by their kind");
        describe_gauge!("allod_outbox_notices", "Notices in the outbox, also those given up");
        describe_gauge!("allod_outbox_dead", "Notices that were given up and wait for somebody");
        describe_counter!("allod_notices_delivered_total", "Notices that a webhook has taken");
        describe_counter!("allod_notices_failed_total", "Attempts that a webhook has not taken");
        describe_counter!("allod_notices_given_up_total", "Notices given up after all attempts");
        describe_counter!("allod_notices_unwanted_total", "Notices that no webhook is for");
        Meter {
            delivered: counter!("allod_notices_delivered_total"),
            failed: counter!("allod_notices_failed_total"),
            given_up: counter!("allod_notices_given_up_total"),
            unwanted: counter!("allod_notices_unwanted_total"),
            notices: gauge!("allod_outbox_notices"),
            dead: gauge!("allod_outbox_dead"),
            alarms: KINDS.map(|kind| gauge!("allod_alarms", "kind" => kind.name())),
        }
    }

    /// Tells how things stand.
    pub(crate) fn publish(&self, state: &State) {
        self.notices.set(state.outbox().len() as f64);
        self.dead.set(state.outbox().dead() as f64);
        for (gauge, kind) in self.alarms.iter().zip(KINDS) {
            gauge.set(state.alarms().raised(kind) as f64);
        }
    }
}
