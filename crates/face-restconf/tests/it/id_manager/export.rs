//! Export, delete, restore: the restored data is identical to the exported bytes.

use std::sync::Arc;

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, PutPool, Transact};
use allod_core::pool::{Labels, PoolRange, PoolSpec};
use allod_core::receipt::Receipt;
use allod_core::refusal::{Refusal, Refused};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_testkit::transcript::ManualClock;
use http::Request;
use http_body_util::Full;

use crate::id_manager::server::Server;

/// Pools with every feature: blocks, ranges, delayed and released ids, leases, children of other nodes.
async fn create_pools(server: &Server, clock: &ManualClock) {
    for (rpc, input) in [
        ("createIdPool", r#""pool-name":"plain","low":10,"high":60"#),
        ("allocateIdRange", r#""pool-name":"plain","id-key":"range","size":12"#),
        ("allocateId", r#""pool-name":"plain","id-key":"one""#),
        ("allocateId", r#""pool-name":"plain","id-key":"ünï <&> \"quoted\" / 'key'""#),
        ("releaseId", r#""pool-name":"plain","id-key":"range""#),
        (
            "createIdPool",
            r#""pool-name":"lease/s","low":0,"high":50,"enhanced-id-allocation":true"#,
        ),
        (
            "allocateId",
            r#""pool-name":"lease/s","id-key":"late","id-value":40,"expiration-time-sec":90"#,
        ),
        ("allocateId", r#""pool-name":"lease/s","id-key":"ever""#),
        ("allocateIdRange", r#""pool-name":"lease/s","id-key":"two","size":2"#),
        ("releaseId", r#""pool-name":"lease/s","id-key":"ever""#),
        ("createIdPool", r#""pool-name":"empty","low":1,"high":1,"enhanced-id-allocation":true"#),
        ("createIdPool", r#""pool-name":"back","low":1,"high":21"#),
        ("allocateIdRange", r#""pool-name":"back","id-key":"many","size":10"#),
        ("releaseId", r#""pool-name":"back","id-key":"many""#),
    ] {
        assert!(server.call(rpc, input).await.status < 300, "{rpc} {input}");
    }
    clock.wait(31);
    server.handle.submit(Command::Tick).await.unwrap();
    let foreign = r#"{"id-pool":[{"pool-name":"back.7","block-size":2,"parent-pool-name":"back","available-ids-holder":{"start":20,"end":21,"cursor":19},"released-ids-holder":{"delayed-time-sec":30}}]}"#;
    let shorter = r#"{"available-ids-holder":{"end":19}}"#;
    let at = "/restconf/config/id-manager:id-pools/id-pool/back";
    let held = server.ask("PATCH", &format!("{at}/available-ids-holder"), shorter).await;
    assert!(held.status < 300, "{}", held.body);
    let wider = r#"{"available-ids-holder":{"end":30,"cursor":21}}"#;
    let held = server.ask("PATCH", &format!("{at}/available-ids-holder"), wider).await;
    assert!(held.status < 300, "{}", held.body);
    let put = server.ask("PUT", &format!("{at}.7"), foreign).await;
    assert_eq!(put.status, 201, "{}", put.body);
}

async fn ask(server: &Server, method: &str, path: &str, kind: &str, body: &str) -> (u16, String) {
    let request = Request::builder().method(method).uri(path).header("host", "allod");
    let request = request.header("accept", kind).header("content-type", kind);
    let request = request.header("content-length", body.len());
    let answer = server.answer(request.body(Full::from(body.to_owned())).unwrap()).await;
    (answer.status, answer.body)
}

#[tokio::test]
async fn restored_data_is_identical() {
    for (path, kind) in [
        ("/restconf/config/id-manager:id-pools", "application/json"),
        ("/restconf/config/id-manager:id-pools", "application/xml"),
        ("/rests/data/id-manager:id-pools", "application/yang-data+json"),
        ("/rests/data/id-manager:id-pools", "application/yang-data+xml"),
        ("/restconf/data/id-manager:id-pools", "application/yang-data+json"),
    ] {
        let clock = ManualClock::morning();
        let server = Server::fresh(clock.clone()).await;
        create_pools(&server, &clock).await;
        let (status, before) = ask(&server, "GET", path, kind, "").await;
        assert_eq!(status, 200);
        // Once over the existing data, once after deleting it.
        for wipe in [false, true] {
            if wipe {
                assert!(ask(&server, "DELETE", path, kind, "").await.0 < 300);
                assert!(ask(&server, "GET", path, kind, "").await.0 >= 400);
            }
            let (status, said) = ask(&server, "PUT", path, kind, &before).await;
            assert!(status < 300, "{status} {said}");
            assert_eq!(ask(&server, "GET", path, kind, "").await.1, before);
        }
        // Allocation continues as before: enhanced pools stay enhanced, leases end, delayed ids stay delayed.
        let input = r#""pool-name":"empty","id-key":"k","expiration-time-sec":5"#;
        assert_eq!(server.call("allocateId", input).await.status, 200);
        let holder =
            "/restconf/config/id-manager:id-pools/id-pool/empty.168101180/allocated-ids-holder";
        assert_eq!(server.ask("GET", holder, "").await.status, 200);
        let input = r#""pool-name":"lease/s","id-key":"new","id-value":40"#;
        assert_ne!(server.call("allocateId", input).await.json()["output"]["id-value"], 40);
        clock.wait(90);
        let input = r#""pool-name":"lease/s","id-key":"newer","id-value":40"#;
        assert_eq!(server.call("allocateId", input).await.json()["output"]["id-value"], 40);
    }
}

#[tokio::test]
async fn pools_can_be_restored_one_by_one_parents_first() {
    let clock = ManualClock::morning();
    let server = Server::fresh(clock.clone()).await;
    create_pools(&server, &clock).await;
    let whole = "/rests/data/id-manager:id-pools";
    let before = server.ask("GET", whole, "").await;
    let pools = before.json()["id-manager:id-pools"]["id-pool"].as_array().unwrap().clone();
    assert_eq!(server.ask("DELETE", whole, "").await.status, 204);
    for pool in pools {
        let body = serde_json::json!({"id-manager:id-pool":[pool]}).to_string();
        let answer = server.ask("POST", whole, &body).await;
        assert_eq!(answer.status, 201, "{} to {body}", answer.body);
    }
    assert_eq!(server.ask("GET", whole, "").await.body, before.body);
}

#[tokio::test]
async fn a_pool_of_another_interface_can_be_read_and_used() {
    let server = Server::fresh(ManualClock::morning()).await;
    let range = |first, last| PoolRange { span: Span { first, last }, subnet_len: None };
    let spec = PoolSpec::new(Kind::Id32, vec![range(100, 109), range(200, 209)]);
    let put = PutPool { pool: "vlan".into(), spec, expect: Expect::Any, keep_held: false };
    server.handle.submit(Command::PutPool(put)).await.unwrap().answer.unwrap();
    let address = PoolSpec::new(Kind::Address4, vec![range(1, 9)]);
    let put = PutPool { pool: "net".into(), spec: address, expect: Expect::Any, keep_held: false };
    server.handle.submit(Command::PutPool(put)).await.unwrap().answer.unwrap();

    let shown = server.ask("GET", "/restconf/config/id-manager:id-pools", "").await.json();
    let pools = shown["id-pools"]["id-pool"].as_array().unwrap();
    let names: Vec<_> = pools.iter().map(|pool| pool["pool-name"].as_str().unwrap()).collect();
    assert_eq!(names, ["vlan", "vlan.168101180"]);
    assert_eq!(pools[0]["available-ids-holder"]["end"], 209);
    let mut ids = Vec::new();
    for n in 0..20 {
        ids.push(server.allocate("vlan", &format!("k{n}")).await.unwrap());
    }
    assert_eq!(ids, (100..110).chain(200..210).collect::<Vec<_>>());
    assert_eq!(server.allocate("vlan", "more").await, None);
    // A pool of another kind is not visible here, and cannot be overwritten.
    let answer = server.call("allocateId", r#""pool-name":"net","id-key":"k""#).await;
    assert_eq!((answer.status, answer.body.contains("is not a pool of ids")), (500, true));
    let pool = r#"{"id-pool":[{"pool-name":"net","block-size":1,"available-ids-holder":{"start":1,"end":9},"released-ids-holder":{"delayed-time-sec":0}}]}"#;
    let path = "/restconf/config/id-manager:id-pools/id-pool/net";
    assert_eq!(server.ask("PUT", path, pool).await.status, 409);
}

/// A claim of the native interface.
async fn claim(server: &Server, key: &str) -> Result<Receipt, Refused> {
    let op = ClaimOp {
        pools: vec!["plain".into()],
        key: key.into(),
        owner: None,
        want: Want::any(),
        ttl_ms: None,
        labels: Labels::default(),
        expect: Expect::Any,
    };
    let command = Command::Transact(Transact::one(Op::Claim(op)));
    server.handle.submit(command).await.unwrap().answer
}

#[tokio::test]
async fn every_key_that_a_native_client_can_claim_is_exported_and_restored() {
    let server = Server::fresh(ManualClock::morning()).await;
    let created = server.call("createIdPool", r#""pool-name":"plain","low":1,"high":99"#).await;
    assert_eq!(created.status, 204);
    // What XML or YANG cannot represent, and other control characters.
    for char in [
        '\0',
        '\u{7}',
        '\t',
        '\n',
        '\u{1b}',
        '\u{7f}',
        '\u{9b}',
        '\u{fdd0}',
        '\u{fffe}',
        '\u{10ffff}',
    ] {
        let refused = claim(&server, &format!("a{char}b")).await.unwrap_err();
        assert!(matches!(refused.refusal, Refusal::Invalid { .. }), "{refused:?}");
        let text = refused.refusal.to_string();
        assert!(text.contains(&format!("U+{:04X}", u32::from(char))), "{text}");
    }
    let keys = [
        " spaces ",
        "<&>\"'",
        "]]>",
        "<!--",
        "&#7;",
        "%00",
        "\u{a0}",
        "\u{ad}",
        "\u{2028}",
        "\u{202e}",
        "\u{fffd}",
        "\u{feff}",
        "e\u{301}",
        "\u{1f600}",
        "\u{e000}",
        "\u{10fffd}",
        "\\u0007",
    ];
    for key in keys {
        claim(&server, key).await.unwrap();
    }
    for kind in ["application/json", "application/xml"] {
        let path = "/restconf/config/id-manager:id-pools";
        let (_, before) = ask(&server, "GET", path, kind, "").await;
        for wipe in [false, true] {
            if wipe {
                assert!(ask(&server, "DELETE", path, kind, "").await.0 < 300);
            }
            let (status, said) = ask(&server, "PUT", path, kind, &before).await;
            assert!(status < 300, "{kind}: {status} {said}");
            assert_eq!(ask(&server, "GET", path, kind, "").await.1, before);
        }
        let held = server.handle.read(|now| {
            let claims = now.state.pool("plain").unwrap().claims_by_value();
            claims.map(|claim| claim.key.to_string()).collect::<Vec<_>>()
        });
        let held = held.unwrap();
        for key in keys {
            assert!(held.iter().any(|known| known == key), "{kind}: {key:?} is not restored");
        }
    }
}

#[tokio::test]
async fn a_pool_with_the_name_of_a_child_is_listed_once() {
    let server = Arc::new(Server::fresh(ManualClock::morning()).await);
    for pool in ["a", "a.168101180"] {
        let input = format!(r#""pool-name":"{pool}","low":1,"high":9"#);
        assert_eq!(server.call("createIdPool", &input).await.status, 204);
    }
    let shown = server.ask("GET", "/restconf/config/id-manager:id-pools", "").await.json();
    let pools = shown["id-pools"]["id-pool"].as_array().unwrap();
    let names: Vec<_> = pools.iter().map(|pool| pool["pool-name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "a.168101180", "a.168101180.168101180"]);
    assert_eq!(pools[1]["parent-pool-name"], serde_json::Value::Null);
}
