//! Many concurrent clients: each id is allocated once, each key gets one id, and none is lost.

use std::collections::BTreeSet;
use std::sync::Arc;

use allod_testkit::transcript::ManualClock;
use serde_json::Value;

use crate::id_manager::server::Server;

/// Runs a function concurrently, many times.
async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    many: usize,
    run: impl Fn(usize) -> F,
) -> Vec<T> {
    let running: Vec<_> = (0..many).map(|n| tokio::spawn(run(n))).collect();
    let mut done = Vec::new();
    for one in running {
        done.push(one.await.unwrap());
    }
    done
}

async fn server_with(pool: &str, low: u32, high: u32) -> Arc<Server> {
    let server = Server::fresh(ManualClock::morning()).await;
    let input = format!(r#""pool-name":"{pool}","low":{low},"high":{high}"#);
    assert_eq!(server.call("createIdPool", &input).await.status, 204);
    Arc::new(server)
}

async fn tree(server: &Server) -> Value {
    let answer = server.ask("GET", "/restconf/config/id-manager:id-pools", "").await;
    answer.json()["id-pools"]["id-pool"].take()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_15_the_same_key_gets_one_id() {
    let server = server_with("test-pool", 0, 100).await;
    let ids = at_once(3, |_| {
        let server = server.clone();
        async move { server.allocate("test-pool", "key1").await }
    });
    assert_eq!(ids.await, [Some(0); 3]);
    let tree = tree(&server).await;
    assert_eq!(tree[0]["available-ids-holder"]["cursor"], 9);
    assert_eq!(tree[1]["available-ids-holder"]["cursor"], 0);
    assert_eq!(tree[0]["id-entries"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_16_each_key_gets_its_own_id() {
    let server = server_with("test-pool", 0, 100).await;
    let ids = at_once(3, |n| {
        let server = server.clone();
        async move { server.allocate("test-pool", &format!("key{n}")).await.unwrap() }
    });
    assert_eq!(BTreeSet::from_iter(ids.await), BTreeSet::from([0, 1, 2]));
    assert_eq!(tree(&server).await[1]["available-ids-holder"]["cursor"], 2);
}

const SEED: &str = r#"{"id-pools":{"id-pool":[
{"pool-name":"test-pool","block-size":10,"child-pools":[{"child-pool-name":"test-pool.168101180"}],
"available-ids-holder":{"start":0,"end":100,"cursor":101},"released-ids-holder":{"available-id-count":0,"delayed-time-sec":0}},
{"pool-name":"test-pool.168101180","block-size":10,"parent-pool-name":"test-pool",
"available-ids-holder":{"start":0,"end":9,"cursor":10},
"released-ids-holder":{"available-id-count":3,"delayed-time-sec":30,"delayed-id-entries":[
{"id":1,"ready-time-sec":0},{"id":2,"ready-time-sec":0},{"id":3,"ready-time-sec":0}]}}]}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenarios_44_and_45_each_released_id_goes_to_one_key() {
    let server = Arc::new(Server::fresh(ManualClock::morning()).await);
    let whole = "/restconf/config/id-manager:id-pools";
    assert_eq!(server.ask("PUT", whole, SEED).await.status, 201);
    let ids = at_once(3, |n| {
        let server = server.clone();
        async move { server.allocate("test-pool", &format!("key{n}")).await.unwrap() }
    });
    assert_eq!(BTreeSet::from_iter(ids.await), BTreeSet::from([1, 2, 3]));
    let released = tree(&server).await[1]["released-ids-holder"].take();
    assert_eq!(released, serde_json::json!({"available-id-count":0,"delayed-time-sec":30}));

    assert_eq!(server.ask("PUT", whole, SEED).await.status, 200);
    let ids = at_once(3, |_| {
        let server = server.clone();
        async move { server.allocate("test-pool", "key").await.unwrap() }
    });
    assert_eq!(ids.await, [1; 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_49_an_allocated_id_can_be_released_at_once() {
    let server = server_with("p", 1, 5000).await;
    at_once(40, |n| {
        let server = server.clone();
        async move {
            let key = format!("key{n}");
            let id = server.allocate("p", &key).await.unwrap();
            let input = format!(r#""pool-name":"p","id-key":"{key}""#);
            let answer = server.call("releaseId", &input).await;
            assert_eq!(answer.json()["output"]["id-values"], serde_json::json!([id]));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scenario_25_a_thousand_keys_get_a_thousand_ids_and_none_is_lost() {
    let server = server_with("p", 1, 2000).await;
    let ids = at_once(1000, |n| {
        let server = server.clone();
        async move {
            let key = format!("key{n}");
            let id = server.allocate("p", &key).await.unwrap();
            // Every fourth client releases its id, and every eighth allocates another one.
            if n % 4 == 0 {
                let input = format!(r#""pool-name":"p","id-key":"{key}""#);
                assert_eq!(server.call("releaseId", &input).await.status, 200);
            }
            if n % 8 == 0 { server.allocate("p", &key).await } else { Some(id) }
        }
    });
    ids.await.into_iter().for_each(|id| assert!(id.is_some()));
    let tree = tree(&server).await;
    let mut seen = BTreeSet::new();
    let mut once = |id: u64| assert!(seen.insert(id), "{id} stands in two places");
    for entry in tree[0]["id-entries"].as_array().unwrap() {
        entry["id-value"].as_array().unwrap().iter().for_each(|id| once(id.as_u64().unwrap()));
    }
    for pool in tree.as_array().unwrap() {
        let released = &pool["released-ids-holder"]["delayed-id-entries"];
        let released = released.as_array().into_iter().flatten();
        released.for_each(|entry| once(entry["id"].as_u64().unwrap()));
        let available = &pool["available-ids-holder"];
        let after = available["cursor"].as_u64().unwrap() + 1;
        (after..=available["end"].as_u64().unwrap()).for_each(&mut once);
    }
    assert_eq!(seen, (1..=2000).collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_edits_succeed_and_lose_nothing() {
    let server = server_with("p", 1, 5000).await;
    let done = at_once(24, |n| {
        let server = server.clone();
        async move {
            if n % 6 == 0 {
                // Concurrently: a new pool, and an entry in the busy pool.
                let pool = format!(
                    r#"{{"id-pool":[{{"pool-name":"new{n}","block-size":1,"available-ids-holder":{{"start":1,"end":9}},"released-ids-holder":{{"delayed-time-sec":0}}}}]}}"#
                );
                let path = format!("/restconf/config/id-manager:id-pools/id-pool/new{n}");
                assert_eq!(server.ask("PUT", &path, &pool).await.status, 201);
                let id = 4000 + n;
                let entry = format!(r#"{{"id-entries":[{{"id-key":"e{n}","id-value":[{id}]}}]}}"#);
                let path =
                    format!("/restconf/config/id-manager:id-pools/id-pool/p/id-entries/e{n}");
                assert_eq!(server.ask("PUT", &path, &entry).await.status, 201);
                assert_eq!(server.ask("DELETE", &path, "").await.status, 200);
            }
            server.allocate("p", &format!("key{n}")).await.unwrap()
        }
    });
    assert_eq!(BTreeSet::from_iter(done.await), (1..=24).collect());
    assert_eq!(tree(&server).await.as_array().unwrap().len(), 2 + 4);
}
