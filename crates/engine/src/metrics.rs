//! Metrics of the engine. All exist from the start, at zero, so that alerting rules can rely on them.

/// Defines a struct of metrics, each with its sort, its name and its description.
macro_rules! metrics_struct {
    ($type:ident { $($field:ident: $sort:ident($name:literal, $about:literal),)+ }) => {
        pub(crate) struct $type {
            $(pub(crate) $field: $crate::metrics::metrics_struct!(@type $sort),)+
        }

        impl $type {
            pub(crate) fn new() -> $type {
                $($crate::metrics::metrics_struct!(@describe $sort, $name, $about);)+
                $type { $($field: ::metrics::$sort!($name),)+ }
            }
        }
    };
    (@type counter) => { ::metrics::Counter };
    (@type gauge) => { ::metrics::Gauge };
    (@type histogram) => { ::metrics::Histogram };
    (@describe counter, $name:literal, $about:literal) => { ::metrics::describe_counter!($name, $about) };
    (@describe gauge, $name:literal, $about:literal) => { ::metrics::describe_gauge!($name, $about) };
    (@describe histogram, $name:literal, $about:literal) => { ::metrics::describe_histogram!($name, $about) };
}
pub(crate) use metrics_struct;

metrics_struct!(EngineMetrics {
    queue_commands: gauge("allod_queue_commands", "Commands in the queue"),
    commands: counter("allod_commands_total", "Commands taken from the queue"),
    batch_commands: histogram("allod_batch_commands", "Commands in one batch"),
    batch_seconds: histogram("allod_batch_seconds", "Time to decide and commit a batch"),
    checkpoints: counter("allod_checkpoints_total", "Checkpoints written"),
    conflicts: counter(
        "allod_journal_conflicts_total",
        "Batches that were decided again because another server had written"
    ),
});
