//! Many requests in one transaction, and exhausted pools.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::resource_pools::server::{POOLS, Server};

const LIST: &str = "ipaddress-allocator:ip-address-pool";

/// A pool with one subnet.
fn pool(name: &str, address: &str, cidrmask: u8, alarms: Value) -> Value {
    json!({ "name": name, "subnet": [{ "address": address, "cidrmask": cidrmask }], "alarms": alarms })
}

/// Requests for prefixes of this length, numbered from `from`.
fn requests(from: usize, many: usize, size: u8) -> Vec<Value> {
    let one = |number: usize| json!({ "id": format!("r{number:05}"), "username": "admin", "request": { "subnet-size": size } });
    (from..from + many).map(one).collect()
}

async fn merge(server: &Server, entry: Value) {
    let body = json!({ "resource-allocator:resource-pools": { LIST: [entry] } });
    let answer = server.ask("PATCH", POOLS, &body.to_string()).await;
    assert_eq!(answer.status, 204, "{}", answer.body);
}

/// The granted values of a pool, and the number of failed requests.
async fn answers(server: &Server, pool: &str) -> (BTreeSet<String>, usize) {
    let all = server.ask("GET", &format!("{POOLS}/{LIST}={pool}/allocation"), "").await.json();
    let all = all["ipaddress-allocator:allocation"].as_array().unwrap().clone();
    let given = all.iter().filter_map(|one| one["response"]["subnet"].as_str());
    let given: Vec<String> = given.map(str::to_owned).collect();
    let (many, without) = (given.len(), all.len() - given.len());
    let given: BTreeSet<String> = given.into_iter().collect();
    assert_eq!(given.len(), many, "something was given twice");
    (given, without)
}

async fn alarms(server: &Server) -> Vec<(String, bool)> {
    let path = "/restconf/data/allod-resource-pools:alarms/alarm-list/alarm";
    let all = server.ask("GET", path, "").await.json();
    let all = all["allod-resource-pools:alarm"].as_array().cloned().unwrap_or_default();
    let shown = |one: &Value| {
        (one["type"].as_str().unwrap().to_owned(), one["is-cleared"].as_bool().unwrap())
    };
    all.iter().map(shown).collect()
}

/// Scenario 71: all hosts of a /24; the first and the last address stay free, so the pool is not empty.
#[tokio::test]
async fn all_hosts_of_a_subnet_can_be_allocated() {
    let server = Server::fresh().await;
    let mut entry = pool("p", "10.0.0.0", 24, json!({ "enabled": [null] }));
    entry["allocation"] = requests(0, 255, 32).into();
    merge(&server, entry).await;
    let (given, without) = answers(&server, "p").await;
    let hosts: BTreeSet<String> = (1..=254).map(|host| format!("10.0.0.{host}/32")).collect();
    assert_eq!((given, without), (hosts, 1));
    assert_eq!(
        alarms(&server).await,
        [("ip-address-pool-low-threshold-reached".to_owned(), false)]
    );
}

/// Scenario 87: when a /27 raises the low-threshold alarm.
#[tokio::test]
async fn an_address_pool_raises_an_alarm_before_it_is_empty() {
    let server = Server::fresh().await;
    let low = "ip-address-pool-low-threshold-reached".to_owned();
    merge(&server, pool("p", "10.0.0.0", 27, json!({ "enabled": [null] }))).await;
    merge(&server, json!({ "name": "p", "allocation": requests(0, 28, 32) })).await;
    assert_eq!(alarms(&server).await, []);
    merge(&server, json!({ "name": "p", "allocation": requests(28, 1, 32) })).await;
    assert_eq!(alarms(&server).await, [(low.clone(), false)]);
    merge(&server, json!({ "name": "p", "alarms": { "low-threshold-alarm": 5 } })).await;
    assert_eq!(alarms(&server).await, [(low.clone(), true)]);
    merge(&server, json!({ "name": "p", "alarms": { "low-threshold-alarm": 100 } })).await;
    assert_eq!(alarms(&server).await, [(low.clone(), false)]);
    let leaf = format!("{POOLS}/{LIST}=p/alarms/low-threshold-alarm");
    assert_eq!(server.ask("DELETE", &leaf, "").await.status, 204);
    assert_eq!(alarms(&server).await, [(low.clone(), false)]);
    let enabled = format!("{POOLS}/{LIST}=p/alarms/enabled");
    assert_eq!(server.ask("DELETE", &enabled, "").await.status, 204);
    assert_eq!(alarms(&server).await, [(low, true)]);
}

/// A thousand blocks in one transaction are the first thousand. Deleting the pool frees all of them.
#[tokio::test]
async fn many_requests_are_one_transaction() {
    let server = Server::fresh().await;
    let mut entry = pool("p", "10.0.0.0", 8, json!({}));
    entry["allocation"] = requests(0, 1000, 30).into();
    merge(&server, entry).await;
    let (given, without) = answers(&server, "p").await;
    assert_eq!((given.len(), without), (1000, 0));
    assert!(given.contains("10.0.15.156/30") && !given.contains("10.0.15.160/30"));
    // One more request does not depend on the others, and a new subnet moves no allocation.
    let one = requests(1000, 1, 30).remove(0);
    let body = json!({ "ipaddress-allocator:allocation": [one] });
    let path = format!("{POOLS}/{LIST}=p/allocation=r01000");
    assert_eq!(server.ask("PUT", &path, &body.to_string()).await.status, 201);
    merge(&server, json!({ "name": "p", "subnet": [{ "address": "11.0.0.0", "cidrmask": 8 }] }))
        .await;
    let (after, _) = answers(&server, "p").await;
    assert!(after.is_superset(&given) && after.contains("10.0.15.160/30"));
    assert_eq!(server.ask("DELETE", &format!("{POOLS}/{LIST}=p"), "").await.status, 204);
    assert_eq!(server.ask("GET", POOLS, "").await.status, 404);
}
