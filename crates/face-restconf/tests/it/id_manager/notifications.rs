//! Event streams: live and replayed notifications.

use allod_testkit::transcript::ManualClock;
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::id_manager::server::Server;

/// The first notifications of the stream.
async fn notifications(server: &Server, many: usize) -> Vec<Value> {
    let path = "/restconf/streams/id-manager/json?start-time=2026-01-01T08:00:00Z";
    let request = http::Request::builder().uri(path).header("accept", "text/event-stream");
    let request = request.body(http_body_util::Full::<bytes::Bytes>::default()).unwrap();
    let reply = server.app.answer(request).await;
    assert_eq!(reply.status(), 200);
    let mut body = reply.into_body();
    let mut text = String::new();
    while text.matches("\"ietf-restconf:notification\"").count() < many {
        let frame = body.frame().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.map(|mut event| event["ietf-restconf:notification"].take()).collect()
}

#[tokio::test]
async fn pools_and_ids_are_notified() {
    let clock = ManualClock::morning();
    let server = Server::fresh(clock.clone()).await;
    for (rpc, input) in [
        ("createIdPool", r#""pool-name":"e","low":1,"high":9,"enhanced-id-allocation":true"#),
        ("allocateIdRange", r#""pool-name":"e","id-key":"r","size":2"#),
        ("allocateId", r#""pool-name":"e","id-key":"k","expiration-time-sec":60"#),
        ("allocateId", r#""pool-name":"e","id-key":"k""#),
        ("releaseId", r#""pool-name":"e","id-key":"k""#),
        ("deleteIdPool", r#""pool-name":"e""#),
    ] {
        assert!(server.call(rpc, input).await.status < 300);
    }
    let events = notifications(&server, 6).await;
    let bodies: Vec<Value> = events
        .iter()
        .map(|event| {
            let mut event = event.clone();
            assert!(event["eventTime"].as_str().unwrap().starts_with("2026-01-01T08:00:00"));
            event.as_object_mut().unwrap().remove("eventTime");
            event
        })
        .collect();
    let held = |key: &str, ids: &[u32], more: Value| {
        let mut held = json!({"pool-name":"e","id-key":key,"id-values":ids});
        held.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        held
    };
    assert_eq!(
        bodies,
        [
            json!({"allod-id-manager:id-pool-created":{"pool-name":"e","low":1,"high":9}}),
            json!({"allod-id-manager:id-allocated":held("r", &[1, 2], json!({"expired-time-sec":0}))}),
            json!({"allod-id-manager:id-allocated":held("k", &[3], json!({"expired-time-sec":1767254460}))}),
            json!({"allod-id-manager:id-lease-changed":held("k", &[3], json!({"expired-time-sec":0}))}),
            json!({"allod-id-manager:id-released":held("k", &[3], json!({"cause":"released"}))}),
            // What is still held ends with the pool.
            json!({"allod-id-manager:id-pool-deleted":{"pool-name":"e"}}),
        ]
    );
    crate::id_manager::replies::keep_events("notifications", &bodies);
}

#[tokio::test]
async fn if_match_refuses_an_edit_of_a_changed_pool() {
    let server = Server::fresh(ManualClock::morning()).await;
    server.call("createIdPool", r#""pool-name":"p","low":1,"high":50"#).await;
    server.call("createIdPool", r#""pool-name":"q","low":1,"high":50"#).await;
    let conditional = async |method: &str, path: &str, etag: &str, body: &str| {
        let request = http::Request::builder().method(method).uri(path).header("if-match", etag);
        let request = request.header("content-type", "application/json");
        let request = request.header("content-length", body.len());
        let body = http_body_util::Full::from(body.to_owned());
        server.answer(request.body(body).unwrap()).await.status
    };
    let (whole, p) =
        ("/rests/data/id-manager:id-pools", "/rests/data/id-manager:id-pools/id-pool=p");
    let etag = async |path: &str| {
        let answer = server.ask("GET", path, "").await;
        answer.headers["etag"].to_str().unwrap().to_owned()
    };
    let (all, one) = (etag(whole).await, etag(p).await);
    // A change of another pool changes the entity tag of the whole, but not of this pool.
    server.allocate("q", "k").await;
    assert_ne!(etag(whole).await, all);
    assert_eq!(etag(p).await, one);
    assert_eq!(conditional("DELETE", whole, &all, "").await, 412);
    let size = r#"{"id-manager:block-size":2}"#;
    assert_eq!(conditional("PUT", &format!("{p}/block-size"), &etag(p).await, size).await, 204);
    server.allocate("p", "k").await;
    assert_eq!(conditional("DELETE", p, &one, "").await, 412);
    assert_eq!(conditional("DELETE", p, &etag(p).await, "").await, 204);
    assert_eq!(conditional("DELETE", whole, &etag(whole).await, "").await, 204);
}
