//! Metrics of the engine. All exist from the start, at zero, so that alerting rules can rely on them.

use metrics::{
    Counter, Gauge, Histogram, counter, describe_counter, describe_gauge, describe_histogram,
    gauge, histogram,
};

pub(crate) struct EngineMetrics {
    pub(crate) queue_commands: Gauge,
    pub(crate) commands: Counter,
    pub(crate) batch_commands: Histogram,
    pub(crate) batch_seconds: Histogram,
    pub(crate) checkpoints: Counter,
    pub(crate) conflicts: Counter,
}

impl EngineMetrics {
    pub(crate) fn new() -> EngineMetrics {
        describe_gauge!("allod_queue_commands", "Commands in the queue");
        describe_counter!("allod_commands_total", "Commands taken from the queue");
        describe_histogram!("allod_batch_commands", "Commands in one batch");
        describe_histogram!("allod_batch_seconds", "Time to decide and commit a batch");
        describe_counter!("allod_checkpoints_total", "Checkpoints written");
        describe_counter!(
            "allod_journal_conflicts_total",
            "Batches that were decided again because another server had written"
        );
        EngineMetrics {
            queue_commands: gauge!("allod_queue_commands"),
            commands: counter!("allod_commands_total"),
            batch_commands: histogram!("allod_batch_commands"),
            batch_seconds: histogram!("allod_batch_seconds"),
            checkpoints: counter!("allod_checkpoints_total"),
            conflicts: counter!("allod_journal_conflicts_total"),
        }
    }
}
