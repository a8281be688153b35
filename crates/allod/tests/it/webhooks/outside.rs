//! Requests of the resource-manager that are answered from outside, with a site's own YANG module, over restarts and in a
//! restored backup.

use allod_testkit::server::Server;
use serde_json::{Value, json};

use crate::webhooks::hook::{Hook, HookBehaviour};
use crate::webhooks::inventory::Inventory;
use crate::webhooks::{Folder, eventually};

const POOLS: &str = "/restconf/data/resource-allocator:resource-pools/id-allocator:id-pool";

const MODULE: &str = r#"module acme {
  yang-version 1.1;
  namespace "urn:acme";
  prefix acme;
  import resource-allocator { prefix ralloc; }
  import id-allocator { prefix idalloc; }
  augment "/ralloc:resource-pools/idalloc:id-pool" {
    leaf region { type string; }
  }
  augment "/ralloc:resource-pools/idalloc:id-pool/idalloc:allocation/idalloc:request" {
    leaf vrf { type string; }
    leaf cost { type uint8; }
  }
}
"#;

fn folder(hook: &Hook) -> Folder {
    let settings = format!("{}\n[restconf]\nmodules = \"yang\"\n", hook.settings());
    let folder = Folder::new(&[], &settings);
    std::fs::create_dir(folder.0.path().join("yang")).unwrap();
    std::fs::write(folder.0.path().join("yang/acme.yang"), MODULE).unwrap();
    folder
}

#[track_caller]
fn put(server: &Server, path: &str, body: Value, status: u16) {
    let answer = server.put(&format!("{POOLS}{path}"), &body.to_string());
    assert_eq!(answer.status, status, "{path}: {}", answer.text());
}

fn request(server: &Server, key: &str, site: Value) {
    let entry = json!({"id": key, "username": "admin", "allocating-service": [format!("/{key}")], "request": site});
    put(
        server,
        &format!("=vlans/allocation={key}"),
        json!({"id-allocator:allocation": [entry]}),
        201,
    );
}

/// The response of a request; `null` if it has none.
fn response(server: &Server, key: &str) -> Value {
    let answer = server.get(&format!("{POOLS}=vlans/allocation={key}/response"));
    let body: Value = serde_json::from_str(&answer.text()).unwrap();
    body["id-allocator:response"].clone()
}

fn withdraw(server: &Server, key: &str) {
    let path = format!("{POOLS}=vlans/allocation={key}");
    assert_eq!(server.client().send("DELETE", &path, &[], None).unwrap().status, 204);
}

#[test]
fn authority_answers_the_requests_of_a_pool() {
    let hook = Hook::start(HookBehaviour::Answer(204));
    let inventory = Inventory::start(40..=41);
    let folder = folder(&hook);
    let server = folder.serve();
    let pool = json!({"id-allocator:id-pool": [{
        "name": "vlans", "range": {"start": 20, "end": 60},
        "allod-resource-pools:authority": "ipam", "acme:region": "north"}]});
    put(&server, "=vlans", pool.clone(), 400);
    let authority = json!({"kind": "http", "url": format!("http://{}", inventory.address)});
    let answer = server.put("/v1/authorities/ipam", &authority.to_string());
    assert!(answer.status < 300, "{}", answer.text());
    put(&server, "=vlans", pool, 201);

    request(&server, "a", json!({"acme:vrf": "red", "acme:cost": 7}));
    eventually("it is granted", || response(&server, "a") == json!({"id": 40}));
    let asked = &inventory.asked()[0];
    assert_eq!(asked["params"], json!({"region": "north", "vrf": "red", "cost": "7"}));
    assert_eq!(
        (&asked["pool"], &asked["key"], &asked["owner"]),
        (&json!("vlans"), &json!("a"), &json!("/a"))
    );
    hook.wait_for("the service is notified", |received| received.len() == 1);
    assert_eq!(hook.received()[0].target, "/a");

    // A request waits while the authority is down, also over a kill.
    inventory.set_available(false);
    request(&server, "b", json!({}));
    assert_eq!(response(&server, "b"), Value::Null);
    server.kill();
    let server = folder.serve();
    assert_eq!(response(&server, "b"), Value::Null);
    assert_eq!(response(&server, "a"), json!({"id": 40}));
    inventory.set_available(true);
    eventually("it is granted", || response(&server, "b") == json!({"id": 41}));
    hook.wait_for("the service is notified", |received| received.len() == 2);

    // A refusal is the error of the response; what the authority has said is for the administrator.
    request(&server, "c", json!({}));
    let refused = "the authority of pool vlans has refused the request: exhausted";
    eventually("it is refused", || response(&server, "c") == json!({"error": refused}));
    hook.wait_for("the service is notified", |received| received.len() == 3);

    // A withdrawn value is held until the authority has confirmed the release.
    inventory.set_available(false);
    withdraw(&server, "a");
    let held = || server.get("/v1/pools/vlans/values/40").text();
    assert!(held().contains(r#""state":"held""#), "{}", held());
    inventory.set_available(true);
    eventually("it is released", || !held().contains(r#""state":"held""#));
    assert_eq!(inventory.values(), [41]);
    server.stop();
}

#[test]
fn pools_requests_and_their_own_leaves_survive_a_backup() {
    let hook = Hook::start(HookBehaviour::Answer(204));
    let folder = folder(&hook);
    let server = folder.serve();
    let pool = json!({"id-allocator:id-pool": [{
        "name": "vlans", "range": {"start": 20, "end": 60},
        "allod-resource-pools:allocator": "external", "acme:region": "north"}]});
    put(&server, "=vlans", pool, 201);
    request(&server, "a", json!({"acme:vrf": "red"}));
    request(&server, "b", json!({"acme:cost": 9}));
    put(&server, "=vlans/allocation=a/response", json!({"id-allocator:response": {"id": 33}}), 201);
    hook.wait_for("the service is notified", |received| received.len() == 1);
    let before = server.get(&format!("{POOLS}=vlans")).text();
    assert!(
        before.contains(r#""acme:region":"north""#) && before.contains(r#""acme:vrf":"red""#),
        "{before}"
    );
    let said = folder.run(&server, &["backup", "--to", "copy.allod"]);
    server.stop();
    let output = folder.allod(&["restore", "copy.allod", "--data", "restored"]).output().unwrap();
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    std::fs::remove_dir_all(folder.0.path().join("data")).unwrap();
    std::fs::rename(folder.0.path().join("restored"), folder.0.path().join("data")).unwrap();
    let server = folder.serve();
    assert_eq!(server.get(&format!("{POOLS}=vlans")).text(), before);
    put(&server, "=vlans/allocation=b/response", json!({"id-allocator:response": {"id": 33}}), 409);
    put(&server, "=vlans/allocation=b/response", json!({"id-allocator:response": {"id": 34}}), 201);
    server.stop();
}

#[test]
fn server_does_not_start_with_an_invalid_module() {
    let hook = Hook::start(HookBehaviour::Answer(204));
    let folder = folder(&hook);
    let wrong = MODULE.replace("type uint8", "type uint9");
    std::fs::write(folder.0.path().join("yang/acme.yang"), wrong).unwrap();
    let start = ["serve", "--listen", "127.0.0.1:0", "--data", "data"];
    let output = folder.allod(&start).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("yang/acme.yang:12: "), "{said}");
}
