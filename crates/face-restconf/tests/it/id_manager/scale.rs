//! Large pools, and wrong clocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use allod_engine::Clock;
use allod_testkit::transcript::ManualClock;

use allod_face_restconf::RestconfSettings;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;

use crate::id_manager::server::{Server, Setup};

const MANY: u32 = 100_000;

/// A full pool with one entry for each id.
async fn full(server: &Server, expired_s: u32) {
    let mut body = format!(
        r#"{{"id-pools":{{"id-pool":[{{"pool-name":"big","block-size":1000,"child-pools":[{{"child-pool-name":"big.168101180"}}],"available-ids-holder":{{"start":1,"end":{MANY},"cursor":{MANY}}},"released-ids-holder":{{"delayed-time-sec":0}},"id-entries":["#
    );
    let entries = (1..=MANY).map(|id| format!(r#"{{"id-key":"key{id}","id-value":[{id}]}}"#));
    body.push_str(&entries.collect::<Vec<_>>().join(","));
    body.push_str(
        r#"]},{"pool-name":"big.168101180","block-size":1000,"parent-pool-name":"big","available-ids-holder":{"start":1,"end":1,"cursor":1},"released-ids-holder":{"delayed-time-sec":0},"allocated-ids-holder":{"allocated-id-entries":["#,
    );
    let held = (1..=MANY)
        .map(|id| format!(r#"{{"id":{id},"id-key":"key{id}","expired-time-sec":{expired_s}}}"#));
    body.push_str(&held.collect::<Vec<_>>().join(","));
    body.push_str("]}}]}}");
    let answer = server.ask("PUT", "/restconf/config/id-manager:id-pools", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
}

/// The shortest of several runs, to reduce the influence of other load.
async fn quickest(run: impl AsyncFn()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        run().await;
        best = best.min(start.elapsed());
    }
    best
}

#[tokio::test]
async fn scenario_89_a_full_pool_is_refused_fast_and_lookups_are_not_linear() {
    let server = Server::fresh(ManualClock::morning()).await;
    full(&server, 1_900_000_000).await;
    let at = "/rests/data/id-manager:id-pools/id-pool=big";
    let entries = format!("{at}/id-entries");
    let all = quickest(async || {
        let whole = server.ask("GET", &entries, "").await;
        assert_eq!(whole.body.matches("id-key").count(), MANY as usize);
    });
    let all = all.await;
    let exhausted = quickest(async || assert_eq!(server.allocate("big", "more").await, None));
    let entry = format!("{at}/id-entries=key77777");
    let read = quickest(async || assert_eq!(server.ask("GET", &entry, "").await.status, 200));
    let holder = format!("{at}.168101180/allocated-ids-holder/allocated-id-entries=77777");
    let by_id = quickest(async || assert_eq!(server.ask("GET", &holder, "").await.status, 200));
    let body = r#"{"id-entries":[{"id-key":"key77777","id-value":[77777]}]}"#;
    let edit = quickest(async || assert_eq!(server.ask("PUT", &entry, body).await.status, 204));
    let size = r#"{"block-size":1000}"#;
    let block_size = format!("{at}/block-size");
    let frame =
        quickest(async || assert_eq!(server.ask("PUT", &block_size, size).await.status, 204));
    let each = [exhausted.await, read.await, by_id.await, edit.await, frame.await];
    // A linear search for one of these would take about as long as reading all.
    assert!(each.iter().all(|one| *one * 8 < all), "{each:?} beside {all:?}");
}

#[tokio::test]
async fn scenario_79_the_first_expired_id_is_found_among_many() {
    let server = Server::fresh(ManualClock::morning()).await;
    full(&server, 1_000_000_000).await;
    let at = "/rests/data/id-manager:id-pools/id-pool=big.168101180/allocated-ids-holder/allocated-id-entries=4711";
    let body =
        r#"{"allocated-id-entries":[{"id":4711,"id-key":"key4711","expired-time-sec":999999999}]}"#;
    assert_eq!(server.ask("PUT", at, body).await.status, 204);
    let start = Instant::now();
    assert_eq!(server.allocate("big", "next").await, Some(4711));
    assert_eq!(server.allocate("big", "next but one").await, Some(1));
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
}

#[tokio::test]
async fn exceeded_limits_are_named_in_the_error() {
    let server = Server::fresh(ManualClock::morning()).await;
    let create = async |pool: &str, high: u32| {
        let input = format!(r#""pool-name":"{pool}","low":1,"high":{high}"#);
        server.call("createIdPool", &input).await
    };
    // The name of the child pool is limited, too.
    let long = create(&"p".repeat(250), 9).await;
    assert_eq!((long.status, long.body.contains("pool_name_bytes_max")), (400, true));
    assert_eq!(create("large", 1_000_000).await.status, 204);
    let input = format!(r#""pool-name":"large","id-key":"{}""#, "k".repeat(1025));
    let long = server.call("allocateId", &input).await;
    assert_eq!((long.status, long.body.contains("key_bytes_max")), (400, true));
    let many = r#""pool-name":"large","id-key":"many","size":65537"#;
    let many = server.call("allocateIdRange", many).await;
    assert_eq!((many.status, many.body.contains("ids_per_range_max")), (413, true));
    let most = r#""pool-name":"large","id-key":"most","size":65536"#;
    assert_eq!(server.call("allocateIdRange", most).await.status, 200);
}

struct WrongClock(AtomicU64);

impl Clock for WrongClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn scenario_90_a_clock_that_steps_back_does_not_end_leases() {
    let clock = Arc::new(WrongClock(AtomicU64::new(1_767_254_400_000)));
    let server = Server::fresh(clock.clone()).await;
    let pool = r#""pool-name":"e","low":1,"high":2,"enhanced-id-allocation":true"#;
    server.call("createIdPool", pool).await;
    let lease = r#""pool-name":"e","id-key":"a","expiration-time-sec":60"#;
    assert_eq!(server.call("allocateId", lease).await.status, 200);
    clock.0.fetch_sub(3_600_000, Ordering::Relaxed);
    assert_eq!(server.allocate("e", "b").await, Some(2));
    assert_eq!(server.allocate("e", "c").await, None);
    // The lease ends at its original time, by the clock that the server accepted.
    clock.0.fetch_add(3_600_000 + 60_000, Ordering::Relaxed);
    assert_eq!(server.allocate("e", "c").await, Some(1));
    assert_eq!(server.allocate("e", "a").await, None);
}

#[tokio::test]
async fn the_tree_of_all_pools_is_refused_above_the_limit_and_single_pools_are_not() {
    let restconf = RestconfSettings { pools_per_read_max: 2, ..RestconfSettings::default() };
    let setup = Setup { restconf, ..Setup::default() };
    let journal = Arc::new(MemoryStorage::new().open());
    let checkpoints = Arc::new(MemoryCheckpoints::new());
    let server = Server::start(journal, checkpoints, ManualClock::morning(), &setup).await;
    let tree = "/rests/data/id-manager:id-pools";
    let pools = |name: &str| {
        format!(
            r#"{{"id-manager:id-pools":{{"id-pool":[{{"pool-name":"{name}","block-size":10,"available-ids-holder":{{"start":1,"end":9,"cursor":0}},"released-ids-holder":{{"delayed-time-sec":0}}}}]}}}}"#
        )
    };
    // A merge looks only at the pools that it names.
    for (name, status) in [("a", 201), ("b", 204), ("c", 204), ("d", 204)] {
        let method = if status == 201 { "PUT" } else { "PATCH" };
        let answer = server.ask(method, tree, &pools(name)).await;
        assert_eq!(answer.status, status, "{name}: {}", answer.body);
    }
    let reads = [tree, "/rests/data/id-manager:id-pools/id-pool", "/rests/data"];
    for path in reads {
        let answer = server.ask("GET", path, "").await;
        assert_eq!(answer.status, 413, "{path}: {}", answer.body);
        assert!(answer.body.contains("too-big") && answer.body.contains("pools_per_read_max is 2"));
    }
    for (method, body) in [("PUT", pools("e")), ("DELETE", String::new())] {
        assert_eq!(server.ask(method, tree, &body).await.status, 413, "{method}");
    }
    for (method, name) in [("GET", "a"), ("DELETE", "a"), ("DELETE", "b")] {
        let answer = server.ask(method, &format!("{tree}/id-pool={name}"), "").await;
        assert!([200, 204].contains(&answer.status), "{method} {name}: {}", answer.body);
    }
    assert_eq!(server.ask("GET", tree, "").await.status, 200);
}
