//! Watchers with any filter, start position and speed see every matching change of the journal once and in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use allod_core::blocks::command::BlocksCommand;
use allod_core::command::Command;
use allod_core::random;
use allod_edge::{App, Body};
use allod_engine::{Config, Engine, Handle};
use allod_face_native::{Native, ReasonDetail, WatchLimits, change};
use allod_journal::Journal;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_record::Item;
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use crate::stock;

struct Server {
    app: App,
    storage: MemoryStorage,
    handle: Handle,
    _engine: Engine,
}

impl Server {
    async fn start(config: Config, limits: WatchLimits) -> Server {
        let storage = MemoryStorage::new();
        let (journal, checkpoints) = (storage.open(), MemoryCheckpoints::new());
        let engine = Engine::start(Arc::new(journal), Arc::new(checkpoints), config).unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let native =
            Native::new(handle.clone(), Vec::new(), limits, Default::default(), Default::default());
        let app = App::new(native.routes(), allod_edge::HttpLimits::default()).unwrap();
        Server { app, storage, handle, _engine: engine }
    }

    async fn send(&self, method: &str, path: &str, body: &str) -> http::Response<Body> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", "application/json");
        self.app.answer(request.body(Full::from(body.to_owned())).unwrap()).await
    }

    async fn change(&self, method: &str, path: &str, body: &str) {
        let reply = self.send(method, path, body).await;
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        assert!([200, 201, 204, 409].contains(&status), "{method} {path}: {status} {body:?}");
    }

    /// The whole journal as changes with all events.
    fn all(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for frame in self.storage.open().read(1, usize::MAX).unwrap() {
            let items = allod_record::decode(&frame.body).unwrap();
            for (position, item) in allod_record::with_positions(&items, frame.position).unwrap() {
                let Item::Entry(entry) = item else { continue };
                if let Some(change) =
                    change(position, entry.at_ms, &entry.events, &|_| None, ReasonDetail::Full)
                {
                    all.push(serde_json::to_value(change).unwrap());
                }
            }
        }
        all
    }
}

/// The filter of a watcher, as a query and in a form to compare with.
#[derive(Debug, Clone, Default)]
struct Wish {
    pools: Vec<String>,
    owner_prefix: Option<String>,
    providers: Vec<String>,
    consumers: Vec<String>,
    kinds: Vec<String>,
}

/// The uuid of a provider or consumer by its number.
fn uuid(letter: char, n: u64) -> String {
    format!("00000000-0000-4000-8000-0000000000{letter}{n}")
}

impl Wish {
    fn roll(seed: &mut u64) -> Wish {
        let mut wish = Wish::default();
        for _ in 0..random::next(seed) % 3 {
            wish.pools.push(format!("pool-{}", random::next(seed) % 5));
        }
        if random::next(seed).is_multiple_of(2) {
            let owner = format!("owner-{}", random::next(seed) % 12);
            wish.owner_prefix = Some(owner[..4 + random::next(seed) as usize % 4].to_owned());
        }
        if random::next(seed).is_multiple_of(3) {
            // Such a watcher sees no events of pools.
            wish = Wish::default();
            for _ in 0..1 + random::next(seed) % 2 {
                wish.providers.push(uuid('a', random::next(seed) % 3));
            }
            for _ in 0..random::next(seed) % 3 {
                wish.consumers.push(uuid('c', random::next(seed) % 5));
            }
        }
        let kinds = [
            "allocations_set",
            "allocations_released",
            "pool_defined",
            "claim_granted",
            "claim_released",
            "lease_changed",
            "quarantine_ended",
        ];
        for _ in 0..random::next(seed) % 3 {
            wish.kinds.push(kinds[random::next(seed) as usize % kinds.len()].to_owned());
        }
        wish
    }

    fn query(&self) -> String {
        let pools = self.pools.iter().map(|pool| format!("&pool={pool}"));
        let owner = self.owner_prefix.iter().map(|prefix| format!("&owner_prefix={prefix}"));
        let kinds = self.kinds.iter().map(|kind| format!("&kind={kind}"));
        let providers = self.providers.iter().map(|uuid| format!("&provider={uuid}"));
        let consumers = self.consumers.iter().map(|uuid| format!("&consumer={uuid}"));
        pools.chain(owner).chain(kinds).chain(providers).chain(consumers).collect()
    }

    /// The matching part of a change, if any, computed from its JSON.
    fn of(&self, change: &Value) -> Option<Value> {
        let is_in = |list: &[String], text: &Value| {
            list.is_empty() || text.as_str().is_some_and(|text| list.iter().any(|e| e == text))
        };
        let picked = |event: &&Value| {
            let held = event["allocations"].as_object().into_iter().flatten();
            let left = event["left"].as_array().into_iter().flatten();
            let mut providers: Vec<Value> = held.map(|(uuid, _)| uuid.clone().into()).collect();
            providers.extend(left.cloned());
            providers.extend(event.get("provider").cloned());
            let by_provider = self.providers.is_empty()
                || providers.iter().any(|provider| is_in(&self.providers, provider));
            let owner = event.get("owner").and_then(Value::as_str);
            let prefix = self.owner_prefix.as_deref();
            is_in(&self.pools, &event["pool"])
                && is_in(&self.kinds, &event["kind"])
                && is_in(&self.consumers, &event["consumer"])
                && by_provider
                && prefix.is_none_or(|p| owner.is_some_and(|owner| owner.starts_with(p)))
        };
        let events: Vec<Value> =
            change["events"].as_array().unwrap().iter().filter(picked).cloned().collect();
        let mut left = change.clone();
        left["events"] = Value::Array(events.clone());
        (!events.is_empty()).then_some(left)
    }
}

/// One event: its id, and its data unless it is a heartbeat.
type Message = (u64, Option<Value>);

/// Reads events from a body.
struct Messages {
    body: Body,
    text: Vec<u8>,
    ready: VecDeque<Message>,
}

impl Messages {
    fn new(reply: http::Response<Body>) -> Messages {
        assert_eq!(reply.status(), 200);
        assert_eq!(reply.headers()["content-type"], "text/event-stream");
        Messages { body: reply.into_body(), text: Vec::new(), ready: VecDeque::new() }
    }

    async fn next(&mut self) -> Option<Message> {
        while self.ready.is_empty() {
            let frame = self.body.frame().await?.unwrap();
            let data: Bytes = frame.into_data().unwrap();
            self.text.extend_from_slice(&data);
            while let Some(end) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let message: Vec<u8> = self.text.drain(..end + 2).collect();
                self.ready.push_back(parsed(std::str::from_utf8(&message).unwrap()));
            }
        }
        self.ready.pop_front()
    }
}

fn parsed(message: &str) -> Message {
    let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
    let id = field("id: ").unwrap().parse().unwrap();
    let data: Value = serde_json::from_str(field("data: ").unwrap()).unwrap();
    assert_eq!(data["position"], id);
    let heartbeat = field("event: ").is_some_and(|name| name == "heartbeat");
    (id, (!heartbeat).then_some(data))
}

/// Watches in many short sessions, each resuming after the previous one, until `end` is reached.
async fn watch(
    server: Arc<Server>,
    wish: Wish,
    mut seed: u64,
    done: Arc<AtomicBool>,
) -> Vec<Value> {
    let mut from = 0;
    let mut got: Vec<Value> = Vec::new();
    loop {
        let path = format!("/v1/watch?from={from}{}", wish.query());
        let mut messages = Messages::new(server.send("GET", &path, "").await);
        for _ in 0..random::next(&mut seed) % 60 {
            let (id, data) = messages.next().await.unwrap();
            assert!(id > from || (id == from && data.is_none()), "{id} after {from}");
            let heartbeat = data.is_none();
            got.extend(data);
            from = id;
            if heartbeat && done.load(Ordering::Acquire) {
                let end = server.handle.status().at.position;
                if id == end {
                    return got;
                }
            }
            if random::next(&mut seed).is_multiple_of(8) {
                // So slow that the hub drops its messages.
                tokio::time::sleep(Duration::from_millis(random::next(&mut seed) % 8)).await;
            }
        }
    }
}

async fn some_changes(server: &Server, mut seed: u64, count: usize) {
    for n in 0..5 {
        let (kind, ranges) =
            if n % 2 == 0 { ("id32", "0-999") } else { ("ipv4_prefix", "10.0.0.0/8") };
        let body = format!(
            r#"{{"kind":"{kind}","ranges":["{ranges}"],"quarantine":{}}}"#,
            [0.0, 0.005][n % 2]
        );
        server.change("PUT", &format!("/v1/pools/pool-{n}"), &body).await;
    }
    for _ in 0..count {
        let pool = random::next(&mut seed) % 5;
        let (key, owner) = (random::next(&mut seed) % 40, random::next(&mut seed) % 12);
        let path = format!("/v1/pools/pool-{pool}/claims/k{key}");
        let size = if pool.is_multiple_of(2) { "" } else { r#","prefix_len":24"# };
        match random::next(&mut seed) % 8 {
            6 => {
                let consumer = uuid('c', key % 5);
                let held: Vec<String> = (0..3)
                    .filter(|_| random::next(&mut seed).is_multiple_of(2))
                    .map(|n| format!(r#""{}":{{"VCPU":1}}"#, uuid('a', n)))
                    .collect();
                let held = held.join(",");
                let body = format!(
                    r#"{{"ops":[{{"allocate":{{"consumer":"{consumer}","project":"p","user":"u","allocations":{{{held}}}}}}}]}}"#
                );
                server.change("POST", "/v1/transactions", &body).await;
            }
            7 => {
                let consumer = uuid('c', key % 5);
                let body = format!(r#"{{"ops":[{{"deallocate":{{"consumer":"{consumer}"}}}}]}}"#);
                server.change("POST", "/v1/transactions", &body).await;
            }
            0..3 => {
                let body = format!(r#"{{"owner":"owner-{owner}"{size}}}"#);
                server.change("PUT", &path, &body).await;
            }
            3 => server.change("DELETE", &path, "").await,
            4 => {
                let ops: Vec<String> = (0..3)
                    .map(|n| format!(r#"{{"release":{{"pool":"pool-{n}","key":"k{key}"}}}}"#))
                    .collect();
                let body = format!(r#"{{"ops":[{}]}}"#, ops.join(","));
                server.change("POST", "/v1/transactions", &body).await;
            }
            _ => {
                let labels = random::next(&mut seed) % 9;
                let body =
                    format!(r#"{{"kind":"id32","ranges":["0-999"],"labels":{{"n":"{labels}"}}}}"#);
                server.change("PUT", "/v1/pools/pool-0", &body).await;
            }
        }
    }
}

async fn watchers_see_the_filtered_journal(seed: u64, feed_bytes_max: usize, watch_bytes_max: u64) {
    let limits = WatchLimits { watch_bytes_max, watch_heartbeat_ms: 10, ..WatchLimits::default() };
    let config = Config { feed_bytes_max, ..Config::default() };
    let server = Arc::new(Server::start(config, limits).await);
    for n in 0..3 {
        let host = format!("{} host-{n} VCPU=9", uuid('a', n));
        stock::provide(&server.handle, &host).await;
    }
    let done = Arc::new(AtomicBool::new(false));
    let mut dice = seed;
    let watchers: Vec<_> = (0..12)
        .map(|n| {
            // Some have equal filters and share a group.
            let wish = Wish::roll(&mut (seed + n % 9));
            let watching =
                watch(server.clone(), wish.clone(), random::next(&mut dice), done.clone());
            (wish, tokio::spawn(watching))
        })
        .collect();
    let writers: Vec<_> = (0..4)
        .map(|n| {
            let server = server.clone();
            tokio::spawn(async move { some_changes(&server, seed * 100 + n, 250).await })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    // The last quarantines must end before the journal is compared.
    let began = std::time::Instant::now();
    let quarantine_is_due = |snapshot: &allod_engine::Snapshot<'_>| {
        let due_ms = snapshot.state.next_due_ms();
        due_ms.is_some_and(|due_ms| due_ms < snapshot.now_ms + 1000)
    };
    while server.handle.read(quarantine_is_due).unwrap() {
        assert!(began.elapsed() < Duration::from_secs(20), "quarantines do not end, seed {seed}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    done.store(true, Ordering::Release);
    for (wish, watcher) in watchers {
        let got = tokio::time::timeout(Duration::from_secs(60), watcher).await;
        let got = got.unwrap_or_else(|_| panic!("{wish:?} never ends, seed {seed}")).unwrap();
        let wanted: Vec<Value> = server.all().iter().filter_map(|one| wish.of(one)).collect();
        for (n, (got, wanted)) in got.iter().zip(&wanted).enumerate() {
            assert_eq!(got, wanted, "change {n} of {wish:?}, seed {seed}");
        }
        assert_eq!(got.len(), wanted.len(), "{wish:?}, seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watcher_sees_the_filtered_journal() {
    for seed in 1..4 {
        watchers_see_the_filtered_journal(seed, 16 << 20, 1 << 20).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_watcher_sees_the_filtered_journal() {
    for seed in 11..14 {
        watchers_see_the_filtered_journal(seed, 16 << 20, 2000).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watcher_sees_the_filtered_journal_if_the_hub_falls_behind() {
    for seed in 21..24 {
        watchers_see_the_filtered_journal(seed, 1, 2000).await;
    }
}

#[tokio::test]
async fn watchers_max_is_enforced() {
    let limits = WatchLimits { watchers_max: 2, ..WatchLimits::default() };
    let server = Server::start(Config::default(), limits).await;
    let first = server.send("GET", "/v1/watch", "").await;
    let second = server.send("GET", "/v1/watch?pool=p", "").await;
    assert_eq!((first.status(), second.status()), (http::StatusCode::OK, http::StatusCode::OK));
    let third = server.send("GET", "/v1/watch", "").await;
    assert_eq!(
        (third.status().as_u16(), &third.headers()["retry-after"]),
        (503, &"5".parse().unwrap())
    );
    let body = third.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("watchers_max is 2"));
    drop(first);
    assert_eq!(server.send("GET", "/v1/watch", "").await.status(), 200);
    // A HEAD request takes no slot.
    for _ in 0..5 {
        assert_eq!(server.send("HEAD", "/v1/watch", "").await.status(), 200);
    }
}

#[tokio::test]
async fn idle_stream_has_heartbeats_with_the_position() {
    let limits = WatchLimits { watch_heartbeat_ms: 20, ..WatchLimits::default() };
    let server = Server::start(Config::default(), limits).await;
    server.change("PUT", "/v1/pools/p", r#"{"kind":"id32","ranges":["0-9"]}"#).await;
    let reply = server.send("GET", "/v1/watch?pool=other", "").await;
    assert_eq!(reply.headers()["allod-position"], "2");
    let mut messages = Messages::new(reply);
    assert_eq!(messages.next().await, Some((2, None)));
    server.change("PUT", "/v1/pools/p/claims/a", "{}").await;
    // It does not match the filter, but the heartbeat advances past it.
    let began = tokio::time::Instant::now();
    while messages.next().await.unwrap() != (3, None) {
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    assert_eq!(messages.next().await, Some((3, None)));
}

#[tokio::test]
async fn removal_of_a_pool_is_seen_by_each_watcher_that_may_have_a_claim_in_it() {
    let server = Server::start(Config::default(), WatchLimits::default()).await;
    for pool in ["p", "q"] {
        let path = format!("/v1/pools/{pool}");
        server.change("PUT", &path, r#"{"kind":"id32","ranges":["0-9"]}"#).await;
        server.change("PUT", &format!("{path}/claims/a"), r#"{"owner":"tenant-1"}"#).await;
    }
    // As the id-manager's interface deletes a pool: with its claims.
    let delete = Command::Blocks(BlocksCommand::Delete { pool: "p".into() });
    server.handle.submit(delete).await.unwrap().answer.unwrap();
    server.change("PUT", "/v1/pools/q/claims/b", r#"{"owner":"tenant-1"}"#).await;
    let end = server.handle.status().at.position;
    // (filter, whether it sees the removal, whether it sees the claim in the other pool)
    for (filter, removal, claim) in [
        ("pool=p", true, false),
        ("pool=q", false, true),
        ("owner_prefix=tenant-1", true, true),
        ("owner_prefix=tenant-1&pool=p", true, false),
        ("pool=p&kind=claim_granted", false, false),
        ("kind=pool_removed", true, false),
    ] {
        let path = format!("/v1/watch?from={}&{filter}", end - 2);
        let mut messages = Messages::new(server.send("GET", &path, "").await);
        let mut seen = Vec::new();
        loop {
            let (id, data) = messages.next().await.unwrap();
            seen.extend(data.map(|data| data["events"][0]["kind"].as_str().unwrap().to_owned()));
            if id == end {
                break;
            }
        }
        assert_eq!(seen.contains(&"pool_removed".to_owned()), removal, "{filter}: {seen:?}");
        assert_eq!(seen.contains(&"claim_granted".to_owned()), claim, "{filter}: {seen:?}");
    }
}

#[tokio::test]
async fn stream_ends_when_the_engine_stops() {
    let server = Server::start(Config::default(), WatchLimits::default()).await;
    let mut messages = Messages::new(server.send("GET", "/v1/watch", "").await);
    assert!(messages.next().await.is_some());
    let Server { _engine, .. } = server;
    tokio::task::spawn_blocking(move || _engine.stop()).await.unwrap().unwrap();
    assert_eq!(messages.next().await, None);
}
