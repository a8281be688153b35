//! The same pools through RESTCONF, the native interface and the command line, without any ID granted twice.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use allod_testkit::server::Server;
use serde_json::{Value, json};

use crate::restconf::wire::{allocate, ask, call};
use crate::restconf::{allod, start};

fn tree(address: SocketAddr) -> Value {
    let reply =
        ask(address, "GET", "/restconf/config/id-manager:id-pools", "application/json", b"");
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

fn pool<'a>(tree: &'a Value, name: &str) -> Option<&'a Value> {
    let pools = tree["id-pools"]["id-pool"].as_array().unwrap();
    pools.iter().find(|pool| pool["pool-name"] == name)
}

/// The ID that a native claim got; `None` if the pool is exhausted.
fn claim(server: &Server, pool: &str, key: &str) -> Option<u64> {
    let reply = server.put(&format!("/v1/pools/{pool}/claims/{key}"), "{}");
    let body: Value = serde_json::from_slice(&reply.body).unwrap();
    match reply.status {
        200 | 201 => Some(body["value"].as_u64().unwrap()),
        _ => {
            assert_eq!(body["code"], "exhausted", "{body}");
            None
        }
    }
}

pub fn run(server: &Server, arguments: &[&str]) -> String {
    let mut command = allod(arguments);
    let output =
        command.env("ALLOD_SERVER", format!("http://{}", server.address)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_id_manager_pool_is_visible_as_a_native_pool() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "");
    let address = server.address;
    let created = call(address, "createIdPool", json!({ "pool-name": "p", "low": 10, "high": 29 }));
    assert_eq!(created.status, 204, "{}", created.text);

    let shown: Value = serde_json::from_slice(&server.get("/v1/pools/p").body).unwrap();
    assert_eq!((&shown["kind"], &shown["ranges"]), (&json!("id32"), &json!(["10-29"])));
    assert!(run(&server, &["pool", "list"]).contains("p "));

    let mut given = BTreeSet::from([allocate(address, "p", "theirs")]);
    assert!(given.insert(claim(&server, "p", "ours").unwrap()));
    let by_hand = run(&server, &["claim", "p", "by-hand", "--quiet"]);
    assert!(given.insert(by_hand.trim().parse().unwrap()), "{by_hand} was given before");

    // Each interface sees the claims of the other, under the same key.
    let ours = claim(&server, "p", "ours").unwrap();
    assert_eq!(allocate(address, "p", "ours"), ours);
    assert!(run(&server, &["who", "p", "10"]).contains("theirs"));
    let seen = tree(address);
    let entries = pool(&seen, "p").unwrap()["id-entries"].as_array().unwrap();
    let keys: BTreeSet<&str> = entries.iter().map(|one| one["id-key"].as_str().unwrap()).collect();
    assert_eq!(keys, BTreeSet::from(["theirs", "ours", "by-hand"]));

    // Alternating, until the pool is exhausted.
    for turn in 0..100 {
        let key = format!("turn-{turn}");
        let got = if turn % 2 == 0 {
            claim(&server, "p", &key)
        } else {
            let reply = call(address, "allocateId", json!({ "pool-name": "p", "id-key": key }));
            (reply.status == 200).then(|| reply.json()["output"]["id-value"].as_u64().unwrap())
        };
        match got {
            Some(id) => assert!(given.insert(id), "{id} was given before"),
            None => break,
        }
    }
    assert_eq!(given, (10..=29).collect(), "every ID was granted once");
    let refused = call(address, "allocateId", json!({ "pool-name": "p", "id-key": "more" }));
    assert!(refused.status == 500 && refused.text.contains("Ids exhausted for pool : p"));
    assert_eq!(claim(&server, "p", "more"), None);

    // An ID released by one interface is available to the other after its delay.
    let released = server.client().send("DELETE", "/v1/pools/p/claims/ours", &[], None).unwrap();
    assert_eq!(released.status, 204, "{}", released.text());
    let still = call(address, "allocateId", json!({ "pool-name": "p", "id-key": "more" }));
    assert_eq!(still.status, 500, "{}", still.text);
    assert_eq!(server.stop().0, Some(0));
    verified(folder.path());
}

#[test]
fn a_native_id_pool_is_visible_in_the_id_manager() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "");
    let address = server.address;
    for (name, spec) in [
        ("vlans", r#"{"kind":"id32","ranges":["100-119"]}"#),
        ("lan", r#"{"kind":"ipv4_address","ranges":["10.0.0.0/24"]}"#),
    ] {
        assert_eq!(server.put(&format!("/v1/pools/{name}"), spec).status, 201);
    }
    assert_eq!(claim(&server, "vlans", "ours"), Some(100));

    let seen = tree(address);
    assert!(pool(&seen, "lan").is_none(), "address pools are not listed");
    let vlans = pool(&seen, "vlans").unwrap();
    assert_eq!(vlans["id-entries"], json!([{ "id-key": "ours", "id-value": [100] }]));
    assert_eq!(vlans["available-ids-holder"]["start"], 100);
    assert_eq!(vlans["available-ids-holder"]["end"], 119);

    let mut given = BTreeSet::from([100]);
    for key in 0..9 {
        assert!(given.insert(allocate(address, "vlans", &format!("theirs-{key}"))));
        assert!(given.insert(claim(&server, "vlans", &format!("ours-{key}")).unwrap()));
    }
    let size = json!({ "pool-name": "vlans", "id-key": "range", "size": 1 });
    let last = call(address, "allocateIdRange", size).json()["output"]["id-values"][0].as_u64();
    assert!(given.insert(last.unwrap()));
    assert_eq!(given, (100..=119).collect());
    assert_eq!(claim(&server, "vlans", "more"), None);

    let released =
        call(address, "releaseId", json!({ "pool-name": "vlans", "id-key": "ours" })).json();
    assert_eq!(released["output"]["id-values"], json!([100]));
    assert_eq!(server.get("/v1/pools/vlans/claims/ours").status, 404);
    assert_eq!(server.stop().0, Some(0));
    verified(folder.path());
}

/// Verifies the journal, independently of the interfaces.
fn verified(folder: &std::path::Path) {
    let data = folder.join("data");
    let arguments = ["journal", "verify", "--data", data.to_str().unwrap(), "--output", "json"];
    let output = allod(&arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("\"violations\":[]"), "{text}");
}
