//! All limits of the server by name, for `[limits]` in `allod.toml`, `--limit`, and `/v1/limits`.

use anyhow::{Result, bail};

/// The limits of all crates.
#[derive(Debug, Clone)]
pub struct AllLimits {
    pub edge: allod_edge::HttpLimits,
    pub core: allod_core::limits::Limits,
    pub engine: allod_engine::Config,
    pub native: allod_face_native::WatchLimits,
    pub wait: allod_face_native::WaitLimits,
    pub search: allod_core::search::SearchLimits,
    /// Only its numbers are limits.
    pub restconf: allod_face_restconf::RestconfSettings,
    pub reactor: allod_reactor::ReactorLimits,
}

/// The size of the outbox if webhooks are configured.
const OUTBOX_MAX_DEFAULT: u64 = 100_000;

impl Default for AllLimits {
    fn default() -> AllLimits {
        AllLimits {
            edge: Default::default(),
            core: allod_core::limits::Limits {
                outbox_max: OUTBOX_MAX_DEFAULT,
                ..Default::default()
            },
            engine: Default::default(),
            native: Default::default(),
            wait: Default::default(),
            search: Default::default(),
            restconf: Default::default(),
            reactor: Default::default(),
        }
    }
}

struct LimitRow {
    name: &'static str,
    get: fn(&AllLimits) -> u64,
    set: fn(&mut AllLimits, u64),
}

macro_rules! table {
    ($($part:ident.$name:ident),* $(,)?) => {
        &[$(LimitRow {
            name: stringify!($name),
            get: |limits| limits.$part.$name as u64,
            set: |limits, value| limits.$part.$name = value as _,
        }),*]
    };
}

static TABLE: &[LimitRow] = table![
    edge.body_bytes_max,
    edge.header_bytes_max,
    edge.uri_bytes_max,
    edge.connections_max,
    edge.accept_queue_max,
    edge.in_flight_bytes_max,
    edge.in_flight_bytes_per_client_max,
    edge.request_ms_max,
    edge.handshake_ms_max,
    edge.header_read_ms_max,
    edge.idle_ms_max,
    edge.stall_ms_max,
    edge.stop_ms_max,
    edge.stop_receive_ms_max,
    core.pool_name_bytes_max,
    core.key_bytes_max,
    core.owner_bytes_max,
    core.labels_max,
    core.label_bytes_max,
    core.ranges_per_pool_max,
    core.claims_per_pool_change_max,
    core.pools_max,
    core.values_per_claim_max,
    core.values_per_transaction_max,
    core.claims_per_transaction_max,
    core.claims_ended_per_claim_max,
    core.pools_per_claim_max,
    core.search_steps_max,
    core.ops_per_transaction_max,
    core.idempotency_keys_max,
    core.idempotency_bytes_max,
    core.idempotency_client_percent_max,
    core.idempotency_ms,
    core.lease_ms_max,
    core.providers_max,
    core.provider_name_chars_max,
    core.provider_depth_max,
    core.inventories_per_provider_max,
    core.traits_per_provider_max,
    core.aggregates_per_provider_max,
    core.custom_classes_max,
    core.custom_traits_max,
    core.custom_name_bytes_max,
    core.consumers_max,
    core.consumers_per_request_max,
    core.allocations_per_consumer_max,
    core.allocations_per_request_max,
    core.providers_per_move_max,
    core.ids_per_edit_max,
    core.ids_per_range_max,
    core.requests_per_edit_max,
    core.pools_per_edit_max,
    core.pools_per_group_max,
    core.waiting_requests_per_entry_max,
    core.services_per_request_max,
    core.authorities_max,
    core.authority_bytes_max,
    core.authority_parallel_max,
    core.authority_timeout_ms_max,
    core.refused_claim_ms,
    core.lookups_max,
    core.lookup_bytes_max,
    core.lookups_bytes_max,
    core.reconcile_findings_max,
    core.waiting_transactions_max,
    core.transaction_parts_max,
    core.settled_transaction_ms,
    core.site_data_bytes_max,
    core.response_error_bytes_max,
    core.outbox_max,
    engine.queue_commands_max,
    engine.long_reads_max,
    engine.long_reads_queue_max,
    engine.batch_commands_max,
    engine.batch_bytes_max,
    engine.feed_bytes_max,
    engine.checkpoint_bytes,
    engine.checkpoints_kept,
    engine.archive_segment_bytes,
    engine.backups_max,
    engine.index_postings_max,
    engine.history_records_max,
    engine.history_wait_ms_max,
    native.watchers_max,
    native.watch_heartbeat_ms,
    native.watch_bytes_max,
    wait.wait_ms_max,
    wait.waiters_max,
    search.candidates_max,
    search.steps_max,
    restconf.restconf_body_bytes_max,
    restconf.restconf_streams_max,
    restconf.restconf_large_reads_max,
    restconf.pools_per_read_max,
    restconf.edits_per_request_max,
    restconf.plans_max,
    restconf.stream_heartbeat_ms,
    reactor.outbox_attempts_max,
    reactor.outbox_backoff_first_ms,
    reactor.outbox_backoff_max_ms,
    reactor.outbox_takeover_ms,
    reactor.webhook_ms_max,
    reactor.webhook_parallel_max,
    reactor.webhook_answer_bytes_max,
    reactor.authority_backoff_first_ms,
    reactor.authority_backoff_max_ms,
    reactor.authority_pause_ms_max,
    reactor.authority_takeover_ms,
    reactor.authority_answer_bytes_max,
];

/// The entries that the engine writes for expired leases must fit into one record.
const BATCH_BYTES_MIN: u64 = 1 << 20;

impl AllLimits {
    /// Sets limits by name.
    pub fn set(&mut self, given: impl IntoIterator<Item = (String, u64)>) -> Result<()> {
        let mut unknown = Vec::new();
        for (name, value) in given {
            match TABLE.iter().find(|limit| limit.name == name) {
                None => unknown.push(name),
                Some(_) if value == 0 => bail!("limit {name} is 0, but must be at least 1"),
                Some(_) if name == "batch_bytes_max" && value < BATCH_BYTES_MIN => {
                    bail!("limit {name} is {value}, but must be at least {BATCH_BYTES_MIN}")
                }
                Some(limit) => (limit.set)(self, value),
            }
        }
        if !unknown.is_empty() {
            let known: Vec<&str> = TABLE.iter().map(|limit| limit.name).collect();
            bail!("unknown limits: {}; the limits are {}", unknown.join(", "), known.join(", "));
        }
        Ok(())
    }

    pub fn list(&self) -> Vec<(&'static str, u64)> {
        TABLE.iter().map(|limit| (limit.name, (limit.get)(self))).collect()
    }

    /// The engine's configuration, with the core's limits in it.
    pub fn engine(&self) -> allod_engine::Config {
        allod_engine::Config { limits: self.core, ..self.engine.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the numeric fields of a struct, from its debug output.
    fn fields(shown: &str) -> Vec<&str> {
        let inside = &shown[shown.find('{').unwrap() + 1..shown.rfind('}').unwrap()];
        let parts = inside.split(", ").filter_map(|part| part.split_once(": "));
        parts
            .filter(|(_, value)| value.trim().parse::<u64>().is_ok())
            .map(|(name, _)| name.trim())
            .collect()
    }

    #[test]
    fn the_table_has_every_limit() {
        let limits = AllLimits::default();
        let shown = [
            format!("{:?}", limits.edge),
            format!("{:?}", limits.core),
            format!("{:?}", limits.engine),
            format!("{:?}", limits.native),
            format!("{:?}", limits.wait),
            format!("{:?}", limits.search),
            format!("{:?}", limits.restconf),
            format!("{:?}", limits.reactor),
        ];
        let mut names: Vec<&str> = shown.iter().flat_map(|shown| fields(shown)).collect();
        names.sort_unstable();
        names.dedup();
        let mut known: Vec<&str> = TABLE.iter().map(|limit| limit.name).collect();
        known.sort_unstable();
        assert_eq!(known, names);
    }

    #[test]
    fn limits_are_set_by_name() {
        let mut limits = AllLimits::default();
        limits
            .set([("key_bytes_max".to_owned(), 7), ("queue_commands_max".to_owned(), 8)])
            .unwrap();
        assert_eq!(limits.engine().limits.key_bytes_max, 7);
        assert_eq!(limits.engine().queue_commands_max, 8);
        assert!(limits.list().contains(&("key_bytes_max", 7)));
        let error = limits.set([("a".to_owned(), 1), ("b".to_owned(), 1)]).unwrap_err();
        assert!(
            error.to_string().starts_with("unknown limits: a, b; the limits are body_bytes_max")
        );
        assert!(limits.set([("key_bytes_max".to_owned(), 0)]).is_err());
        assert!(limits.set([("batch_bytes_max".to_owned(), 1000)]).is_err());
    }

    #[test]
    fn the_guide_lists_every_limit_with_its_default() {
        let guide = include_str!("../../../docs/guides/operating.md");
        let limits = guide.split("\n## ").find(|part| part.starts_with("Limits\n")).unwrap();
        let rows = limits.lines().filter_map(|line| line.strip_prefix("| `"));
        let documented: Vec<String> = rows
            .map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" ").replace('`', ""))
            .collect();
        let limits = AllLimits::default().list();
        let known: Vec<String> =
            limits.into_iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(documented, known);
    }
}
