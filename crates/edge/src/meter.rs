//! Metrics of the protocol, and the Prometheus exporter of the process.
//!
//! Each route has the handles of its metrics, so that recording a request is a few atomic additions without lookup or
//! allocation. Other crates register their metrics through the `metrics` facade; this exporter has them all.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use http::{Method, StatusCode};
use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

use crate::auth::AuthMeter;

/// Upper bounds of the histograms that other crates register, in seconds.
const BUCKETS_S: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// Upper bounds of the histograms whose name ends in `_commands`: counts.
const BUCKETS_COUNT: [f64; 12] =
    [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0];

/// `BUCKETS_S` in nanoseconds, for request durations.
const BUCKETS_NS: [(u64, &str); 14] = [
    (100_000, "0.0001"),
    (250_000, "0.00025"),
    (500_000, "0.0005"),
    (1_000_000, "0.001"),
    (2_500_000, "0.0025"),
    (5_000_000, "0.005"),
    (10_000_000, "0.01"),
    (25_000_000, "0.025"),
    (50_000_000, "0.05"),
    (100_000_000, "0.1"),
    (250_000_000, "0.25"),
    (1_000_000_000, "1"),
    (5_000_000_000, "5"),
    (30_000_000_000, "30"),
];

/// Durations of the requests of one route. The facade's histograms store every sample until a scrape, which allocates
/// every few hundred requests; this one counts in place.
struct Durations {
    method: String,
    route: &'static str,
    /// One for each bound and one for larger values. Not cumulative.
    counts: [AtomicU64; BUCKETS_NS.len() + 1],
    sum_ns: AtomicU64,
}

/// The durations of all routes of the process.
static DURATIONS: Mutex<Vec<Arc<Durations>>> = Mutex::new(Vec::new());

impl Durations {
    /// The durations of this route; created if missing.
    fn of(method: &str, route: &'static str) -> Arc<Durations> {
        let mut all = DURATIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().find(|known| known.method == method && known.route == route);
        if let Some(known) = known {
            return known.clone();
        }
        let (method, counts, sum_ns) = (method.to_owned(), Default::default(), AtomicU64::new(0));
        let new = Arc::new(Durations { method, route, counts, sum_ns });
        all.push(new.clone());
        new
    }

    fn record(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let slot = BUCKETS_NS.iter().position(|(bound, _)| ns <= *bound);
        self.counts[slot.unwrap_or(BUCKETS_NS.len())].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    fn render(&self, text: &mut String) -> std::fmt::Result {
        let labels = format!("method=\"{}\",route=\"{}\"", self.method, self.route);
        let mut total = 0;
        let bounds = BUCKETS_NS.iter().map(|(_, text)| *text).chain(["+Inf"]);
        for (bound, count) in bounds.zip(&self.counts) {
            total += count.load(Ordering::Relaxed);
            writeln!(text, "{REQUEST_SECONDS}_bucket{{{labels},le=\"{bound}\"}} {total}")?;
        }
        let sum_s = self.sum_ns.load(Ordering::Relaxed) as f64 / 1e9;
        writeln!(text, "{REQUEST_SECONDS}_sum{{{labels}}} {sum_s}")?;
        writeln!(text, "{REQUEST_SECONDS}_count{{{labels}}} {total}")
    }
}

const REQUEST_SECONDS: &str = "allod_http_request_seconds";
const REQUEST_SECONDS_HELP: &str =
    "Time from the end of the request headers to the reply, by route and method";

/// The metrics of the process.
#[derive(Clone)]
pub struct Exporter(PrometheusHandle);

impl std::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Exporter")
    }
}

impl Exporter {
    /// Installs the exporter as the recorder of the process at the first call. Call it before any metric is registered.
    pub fn install() -> Exporter {
        static INSTALLED: OnceLock<Exporter> = OnceLock::new();
        INSTALLED
            .get_or_init(|| {
                let recorder = recorder();
                let handle = recorder.handle();
                if metrics::set_global_recorder(recorder).is_err() {
                    tracing::warn!(
                        "another metrics recorder is already installed; /metrics will be empty"
                    );
                }
                describe();
                Exporter(handle)
            })
            .clone()
    }

    /// All metrics in Prometheus' text form.
    pub fn render(&self) -> String {
        let mut text = self.0.render();
        let _ = writeln!(text, "# HELP {REQUEST_SECONDS} {REQUEST_SECONDS_HELP}");
        let _ = writeln!(text, "# TYPE {REQUEST_SECONDS} histogram");
        for durations in DURATIONS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // Writing to a string cannot fail.
            let _ = durations.render(&mut text);
        }
        text
    }

    /// Aggregates histogram samples regularly, so that they do not accumulate between scrapes.
    pub(crate) async fn keep_up(self) {
        let mut clock = tokio::time::interval(Duration::from_secs(2));
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            self.0.run_upkeep();
        }
    }
}

fn recorder() -> PrometheusRecorder {
    let counts = Matcher::Suffix("_commands".to_owned());
    let builder = PrometheusBuilder::new().set_buckets(&BUCKETS_S);
    let builder =
        builder.and_then(|builder| builder.set_buckets_for_metric(counts, &BUCKETS_COUNT));
    // Only an empty list of buckets is an error.
    builder.unwrap_or_default().build_recorder()
}

fn describe() {
    describe_counter!(
        "allod_http_requests_total",
        "Requests answered, by route, method and status"
    );
    describe_gauge!("allod_http_connections", "Open connections");
    describe_gauge!("allod_http_requests_in_flight", "Requests in flight");
    describe_counter!(
        "allod_http_connections_refused_total",
        "Connections refused because connections_max was reached"
    );
    describe_gauge!(
        "allod_http_in_flight_bytes",
        "Bytes of large request bodies and replies in memory; see in_flight_bytes_max"
    );
    describe_gauge!("allod_http_streams", "Open streaming replies");
    describe_counter!(
        "allod_http_bytes_refused_total",
        "Requests refused because in_flight_bytes_max or in_flight_bytes_per_client_max was reached"
    );
    describe_counter!(
        "allod_http_stalls_total",
        "Connections closed because the client did not read for stall_ms_max"
    );
    describe_counter!(
        "allod_tls_handshakes_failed_total",
        "TLS handshakes that failed or timed out"
    );
    crate::auth::describe();
    crate::reload::describe();
}

/// Metrics of the whole server.
pub(crate) struct ServerMeter {
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    pub(crate) in_flight: Gauge,
    pub(crate) in_flight_bytes: Gauge,
    pub(crate) bytes_refused: Counter,
    pub(crate) streams: Gauge,
    pub(crate) stalls: Counter,
    pub(crate) handshakes_failed: Counter,
    pub(crate) auth: AuthMeter,
    /// Requests that matched no route.
    pub(crate) unrouted: RouteMeter,
}

impl ServerMeter {
    pub(crate) fn new() -> ServerMeter {
        ServerMeter {
            connections: gauge!("allod_http_connections"),
            connections_refused: counter!("allod_http_connections_refused_total"),
            in_flight: gauge!("allod_http_requests_in_flight"),
            in_flight_bytes: gauge!("allod_http_in_flight_bytes"),
            bytes_refused: counter!("allod_http_bytes_refused_total"),
            streams: gauge!("allod_http_streams"),
            stalls: counter!("allod_http_stalls_total"),
            handshakes_failed: counter!("allod_tls_handshakes_failed_total"),
            auth: AuthMeter::new(),
            unrouted: RouteMeter::labelled("other", "none"),
        }
    }
}

/// The statuses that the server sends; any other is counted under the last entry.
const STATUSES: [u16; 27] = [
    200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413,
    414, 415, 422, 429, 500, 503, 504, 0,
];

/// Metrics of one route.
pub(crate) struct RouteMeter {
    method: String,
    path: &'static str,
    by_status: [OnceLock<Counter>; STATUSES.len()],
    durations: Arc<Durations>,
}

impl RouteMeter {
    pub(crate) fn new(method: &Method, path: &'static str) -> RouteMeter {
        RouteMeter::labelled(method.as_str(), path)
    }

    fn labelled(method: &str, path: &'static str) -> RouteMeter {
        RouteMeter {
            method: method.to_owned(),
            path,
            by_status: Default::default(),
            durations: Durations::of(method, path),
        }
    }

    pub(crate) fn record(&self, status: StatusCode, took: Duration) {
        let last = STATUSES.len() - 1;
        let slot = STATUSES[..last].iter().position(|&known| known == status.as_u16());
        let counter = self.by_status[slot.unwrap_or(last)].get_or_init(|| {
            let status = slot.map_or("other".to_owned(), |slot| STATUSES[slot].to_string());
            let method = self.method.clone();
            counter!("allod_http_requests_total", "method" => method, "route" => self.path, "status" => status)
        });
        counter.increment(1);
        self.durations.record(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_counted_in_their_buckets() {
        let durations = Durations::of("GET", "/test-of-durations");
        for us in [1, 100, 101, 900, 60_000_000] {
            durations.record(Duration::from_micros(us));
        }
        let mut text = String::new();
        durations.render(&mut text).unwrap();
        for line in [
            "allod_http_request_seconds_bucket{method=\"GET\",route=\"/test-of-durations\",le=\"0.0001\"} 2",
            "le=\"0.00025\"} 3",
            "le=\"0.001\"} 4",
            "le=\"30\"} 4",
            "le=\"+Inf\"} 5",
            "_count{method=\"GET\",route=\"/test-of-durations\"} 5",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn histogram_of_counts_has_count_buckets() {
        let recorder = recorder();
        let handle = recorder.handle();
        metrics::with_local_recorder(&recorder, || {
            metrics::histogram!("test_of_batch_commands").record(3.0);
            metrics::histogram!("test_of_batch_seconds").record(0.003);
        });
        let text = handle.render();
        for line in [
            "test_of_batch_commands_bucket{le=\"2\"} 0",
            "test_of_batch_commands_bucket{le=\"4\"} 1",
            "test_of_batch_commands_bucket{le=\"2048\"} 1",
            "test_of_batch_seconds_bucket{le=\"0.0025\"} 0",
            "test_of_batch_seconds_bucket{le=\"0.005\"} 1",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
