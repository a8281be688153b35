//! Many concurrent clients of one pool.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use allod_face_restconf::RestconfSettings;

use crate::resource_pools::server::{POOLS, Server};

async fn fresh() -> Arc<Server> {
    fresh_with(RestconfSettings::default()).await
}

async fn fresh_with(settings: RestconfSettings) -> Arc<Server> {
    let server = Server::fresh_with(settings).await;
    let pool = r#"{"id-allocator:id-pool":[{"name":"vlan","range":{"start":1,"end":4094}}]}"#;
    assert_eq!(server.ask("POST", POOLS, pool).await.status, 201);
    Arc::new(server)
}

fn vlan(key: &str) -> String {
    format!("{POOLS}/id-allocator:id-pool=vlan/allocation={key}")
}

fn body(key: &str) -> String {
    format!(r#"{{"id-allocator:allocation":[{{"id":"{key}","username":"admin"}}]}}"#)
}

/// Concurrent writes to a pool need no retries, and no value is allocated twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_need_no_retries() {
    let server = fresh().await;
    let clients = (0..32).map(|client| {
        let server = server.clone();
        tokio::spawn(async move {
            let mut got = Vec::new();
            for one in 0..20 {
                let key = format!("c{client}-{one}");
                let answer = server.ask("PUT", &vlan(&key), &body(&key)).await;
                assert_eq!(answer.status, 201, "{}", answer.body);
                let response =
                    server.ask("GET", &format!("{}/response", vlan(&key)), "").await.json();
                got.push(response["id-allocator:response"]["id"].as_u64().expect("an id"));
            }
            got
        })
    });
    let mut all = BTreeSet::new();
    for client in clients.collect::<Vec<_>>() {
        for id in client.await.unwrap() {
            assert!(all.insert(id), "{id} was allocated twice");
        }
    }
    assert_eq!(all, (1..=640).collect());
}

/// If many clients create the same request, exactly one succeeds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_created_once() {
    let server = fresh().await;
    let pool = format!("{POOLS}/id-allocator:id-pool=vlan");
    for round in 0..20 {
        let key = format!("r{round}");
        let clients = (0..8).map(|_| {
            let (server, pool, body) = (server.clone(), pool.clone(), body(&key));
            tokio::spawn(async move { server.ask("POST", &pool, &body).await.status })
        });
        let mut statuses = Vec::new();
        for client in clients.collect::<Vec<_>>() {
            statuses.push(client.await.unwrap());
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    }
}

/// Leaves that different clients merge into one request are all present at the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_merges_are_not_lost() {
    let server = fresh().await;
    assert_eq!(server.ask("PUT", &vlan("a"), &body("a")).await.status, 201);
    let clients = (0..12).map(|client| {
        let server = server.clone();
        tokio::spawn(async move {
            let body = format!(
                r#"{{"id-allocator:allocation":[{{"id":"a","allocating-service":["/s{client:02}"]}}]}}"#
            );
            server.ask("PATCH", &vlan("a"), &body).await.status
        })
    });
    for client in clients.collect::<Vec<_>>() {
        assert_eq!(client.await.unwrap(), 204);
    }
    let now = server.ask("GET", &vlan("a"), "").await.json();
    let services = &now["id-allocator:allocation"][0]["allocating-service"];
    let services: BTreeSet<&str> =
        services.as_array().unwrap().iter().filter_map(|one| one.as_str()).collect();
    assert_eq!(services.len(), 12);
}

/// A busy pool can be configured, and other pools can be created meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_pool_can_be_changed() {
    // With one plan only, a request that had to plan again would fail.
    let server = fresh_with(RestconfSettings { plans_max: 1, ..RestconfSettings::default() }).await;
    let done = Arc::new(AtomicBool::new(false));
    let clients = (0..16).map(|client| {
        let (server, done) = (server.clone(), done.clone());
        tokio::spawn(async move {
            let key = format!("c{client}");
            while !done.load(Ordering::Relaxed) {
                let answer = server.ask("PUT", &vlan(&key), &body(&key)).await;
                assert_eq!(answer.status, 201, "{}", answer.body);
                assert_eq!(server.ask("DELETE", &vlan(&key), "").await.status, 204);
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    let range = format!("{POOLS}/id-allocator:id-pool=vlan/range");
    for round in 0..40 {
        let wider = format!(r#"{{"id-allocator:range":{{"start":1,"end":{}}}}}"#, 4000 + round);
        let answer = server.ask("PUT", &range, &wider).await;
        assert_eq!(answer.status, 204, "{}", answer.body);
        let new = format!(
            r#"{{"id-allocator:id-pool":[{{"name":"p{round}","range":{{"start":1,"end":9}}}}]}}"#
        );
        let answer = server.ask("POST", POOLS, &new).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    done.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
}
