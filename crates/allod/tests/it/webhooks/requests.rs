//! From a request over RESTCONF to the notified service, with kills and commands of the operator.

use allod_testkit::server::Server;
use serde_json::{Value, json};

use crate::webhooks::hook::{Hook, HookBehaviour, ReceivedRequest};
use crate::webhooks::{Folder, eventually, metric};

const POOL: &str =
    "/restconf/data/resource-allocator:resource-pools/ipaddress-allocator:ip-address-pool=net";
const ALARMS: &str = "/restconf/data/allod-resource-pools:alarms/alarm-list/alarm";

/// Services in NSO are re-deployed; all others get a plain notification.
fn settings(hook: &Hook) -> String {
    let url = format!("http://{}", hook.address);
    format!(
        "[[webhook]]\nmatch = \"/ncs:services\"\nshape = \"nso\"\nurl = \"{url}\"\n\
         [[webhook]]\nurl = \"{url}/hook\"\n"
    )
}

fn request(key: &str, service: &str, size: u8) -> Value {
    let request = json!({ "subnet-size": size });
    json!({ "id": key, "username": "admin", "allocating-service": [service], "request": request })
}

/// Creates the pool and these requests in one edit.
fn make(server: &Server, requests: Value) {
    let subnet = json!([{ "address": "10.0.0.0", "cidrmask": 24 }]);
    let pool = json!({ "name": "net", "subnet": subnet, "allocation": requests });
    let body = json!({ "ipaddress-allocator:ip-address-pool": [pool] });
    let answer = server.put(POOL, &body.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text());
}

fn ask(server: &Server, key: &str, service: &str) {
    let body = json!({ "ipaddress-allocator:allocation": [request(key, service, 30)] });
    let answer = server.put(&format!("{POOL}/allocation={key}"), &body.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text());
    // The result is available as soon as the request is accepted, independently of the notification.
    let response = server.get(&format!("{POOL}/allocation={key}/response")).text();
    assert!(response.contains("10.0.0."), "{response}");
}

fn alarm(server: &Server) -> Value {
    let said: Value = serde_json::from_str(&server.get(ALARMS).text()).unwrap();
    said["allod-resource-pools:alarm"][0].clone()
}

fn notices(received: &[ReceivedRequest]) -> Vec<&str> {
    received.iter().map(|received| &*received.notice).collect()
}

fn is_empty(server: &Server) -> bool {
    server.get("/v1/outbox").text() == r#"{"notices":[],"next":null}"#
}

#[test]
fn one_transaction_notifies_each_service_once_in_its_shape() {
    let hook = Hook::start(HookBehaviour::Answer(204));
    let folder = Folder::new(&[], &settings(&hook));
    let server = folder.serve();
    let (vpn, other) = ("/ncs:services/vpn:vpn[name='x/1']", "/other[id='7']");
    make(&server, json!([request("a", vpn, 30), request("b", vpn, 31), request("c", other, 29)]));
    hook.wait_for("both are delivered", |received| received.len() >= 2);
    eventually("the outbox is not empty", || is_empty(&server));
    let mut received = hook.received();
    received.sort_by(|one, other| one.line.cmp(&other.line));
    let lines: Vec<&str> = received.iter().map(|received| &*received.line).collect();
    let redeploy = "POST /restconf/data/tailf-ncs:services/vpn:vpn=x%2F1/reactive-re-deploy";
    assert_eq!(lines, ["POST /hook", redeploy]);
    let said: Value = serde_json::from_str(&received[0].target).unwrap();
    assert_eq!((&said["target"], &said["how"]), (&json!(other), &json!("default")));
    assert_eq!(said["pools"], json!([{ "pool": "net", "allocation": "c" }]));
    // Moved allocations are notified to their services as well.
    let exclude =
        json!({ "ipaddress-allocator:exclude": [{ "address": "10.0.0.0", "cidrmask": 30 }] });
    let answer = server.put(&format!("{POOL}/exclude=10.0.0.0,30"), &exclude.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text());
    hook.wait_for("it is delivered", |received| received.len() == 3);
    eventually("the outbox is not empty", || is_empty(&server));
    assert_eq!((hook.received().len(), &*hook.received()[2].line), (3, redeploy));
}

#[test]
fn notifications_committed_before_a_kill_are_delivered_after_it_in_order() {
    let hook = Hook::start(HookBehaviour::Silent);
    let folder = Folder::new(&[], &settings(&hook));
    let server = folder.serve();
    make(&server, json!([request("a", "/s", 30)]));
    hook.wait_for("the first is sent", |received| received.len() == 1);
    for key in ["b", "c", "d"] {
        ask(&server, key, "/s");
    }
    server.kill();
    hook.now(HookBehaviour::Answer(200));
    let server = folder.serve();
    hook.wait_for("all are delivered", |received| received.len() >= 5);
    eventually("the outbox is not empty", || is_empty(&server));
    let received = hook.received();
    let about = |received: &ReceivedRequest| {
        let said: Value = serde_json::from_str(&received.target).unwrap();
        said["pools"][0]["allocation"].as_str().unwrap().to_owned()
    };
    let keys: Vec<String> = received.iter().map(about).collect();
    assert_eq!(keys, ["a", "a", "b", "c", "d"]);
    assert_eq!(received[0].notice, received[1].notice);
    // The webhook is down, and the server is killed before any delivery.
    let address = hook.address;
    hook.stop();
    ask(&server, "e", "/s");
    server.kill();
    let hook = Hook::at(address, HookBehaviour::Answer(200));
    let server = folder.serve();
    // On a slow machine it may have been given up before the kill.
    eventually("it is not delivered", || {
        drop(folder.run(&server, &["outbox", "retry", "--dead"]));
        !hook.received().is_empty()
    });
    eventually("the outbox is not empty", || is_empty(&server));
    assert_eq!(hook.received().iter().map(about).collect::<Vec<_>>(), ["e"]);
}

#[test]
fn a_failed_delivery_raises_an_alarm_and_a_retry_clears_it() {
    let hook = Hook::start(HookBehaviour::Answer(500));
    let folder = Folder::new(&[], &settings(&hook));
    let server = folder.serve();
    make(&server, json!([request("a", "/s", 30)]));
    eventually("it is not given up", || {
        server.get("/v1/outbox?dead=true").text().contains("\"number\"")
    });
    let received = hook.received();
    assert_eq!(received.len(), 3);
    assert!(notices(&received).iter().all(|notice| *notice == received[0].notice), "{received:?}");
    let raised = alarm(&server);
    assert_eq!(raised["type"], "service-activation-failure", "{raised}");
    assert_eq!((&raised["managed-object"], &raised["is-cleared"]), (&json!("/s"), &json!(false)));
    assert_eq!(raised["last-perceived-severity"], "critical");
    let alarms = folder.run(&server, &["alarms"]);
    assert!(alarms.contains("/s ") && alarms.contains("undelivered"), "{alarms}");
    let listed = folder.run(&server, &["outbox", "list", "--dead"]);
    assert!(listed.contains(&received[0].notice) && listed.contains("given up"), "{listed}");
    // It stays given up after a kill.
    server.kill();
    let server = folder.serve();
    assert_eq!(alarm(&server), raised);
    hook.now(HookBehaviour::Answer(204));
    let retried = folder.run(&server, &["outbox", "retry", &received[0].notice]);
    assert_eq!(retried, format!("retrying {}\n", received[0].notice));
    eventually("the outbox is not empty", || is_empty(&server));
    assert_eq!(hook.received().len(), 4);
    assert_eq!(folder.run(&server, &["alarms"]), "no active alarms\n");
    let over = alarm(&server);
    assert_eq!((&over["is-cleared"], &over["managed-object"]), (&json!(true), &json!("/s")));
    assert_eq!(over["last-perceived-severity"], "cleared");
}

#[test]
fn without_webhooks_nothing_is_queued_and_alarms_are_still_counted() {
    let folder = Folder::new(&[], "");
    let server = folder.serve();
    let subnet = json!([{ "address": "10.0.0.1", "cidrmask": 32 }]);
    let pool = json!({
        "name": "net",
        "subnet": subnet,
        "alarms": { "enabled": [null] },
        "allocation": [request("a", "/s", 32)],
    });
    let body = json!({ "ipaddress-allocator:ip-address-pool": [pool] });
    assert_eq!(server.put(POOL, &body.to_string()).status, 201);
    assert!(is_empty(&server));
    assert_eq!(alarm(&server)["type"], "ip-address-pool-exhausted");
    let alarms = folder.run(&server, &["alarms"]);
    assert!(alarms.contains("net ") && alarms.contains("exhausted"), "{alarms}");
    let raised = |count: &str| {
        let counted = || metric(&server, "allod_alarms{kind=\"exhausted\"}");
        eventually("it is not counted", || counted().as_deref() == Some(count));
    };
    raised("1");
    let gone = server.client().send("DELETE", &format!("{POOL}/allocation=a"), &[], None).unwrap();
    assert_eq!(gone.status, 204);
    raised("0");
}
