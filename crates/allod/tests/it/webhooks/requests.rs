//! From a request over RESTCONF to the service that is told, with a kill and an operator in between.

use allod_testkit::server::Server;
use serde_json::{Value, json};

use crate::webhooks::hook::{Hook, Manner, Told};
use crate::webhooks::{Folder, eventually, metric};

const POOL: &str =
    "/restconf/data/resource-allocator:resource-pools/ipaddress-allocator:ip-address-pool=net";
const ALARMS: &str = "/restconf/data/allod-resource-pools:alarms/alarm-list/alarm";

/// Services of NSO are re-deployed, all others are told what has changed.
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

/// Makes the pool and these requests, in one transaction.
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
    // The answer is there when the request has been accepted, whoever is told of it.
    let response = server.get(&format!("{POOL}/allocation={key}/response")).text();
    assert!(response.contains("10.0.0."), "{response}");
}

fn alarm(server: &Server) -> Value {
    let said: Value = serde_json::from_str(&server.get(ALARMS).text()).unwrap();
    said["allod-resource-pools:alarm"][0].clone()
}

fn notices(told: &[Told]) -> Vec<&str> {
    told.iter().map(|told| &*told.notice).collect()
}

fn is_empty(server: &Server) -> bool {
    server.get("/v1/outbox").text() == r#"{"notices":[],"next":null}"#
}

#[test]
fn what_is_asked_in_one_transaction_is_told_once_to_each_in_the_shape_of_its_kind() {
    let hook = Hook::start(Manner::Answer(204));
    let folder = Folder::new(&[], &settings(&hook));
    let server = folder.serve();
    let (vpn, other) = ("/ncs:services/vpn:vpn[name='x/1']", "/other[id='7']");
    make(&server, json!([request("a", vpn, 30), request("b", vpn, 31), request("c", other, 29)]));
    hook.wait_for("both are told", |told| told.len() >= 2);
    eventually("the outbox is not empty", || is_empty(&server));
    let mut told = hook.told();
    told.sort_by(|one, other| one.line.cmp(&other.line));
    let lines: Vec<&str> = told.iter().map(|told| &*told.line).collect();
    let redeploy = "POST /restconf/data/tailf-ncs:services/vpn:vpn=x%2F1/reactive-re-deploy";
    assert_eq!(lines, ["POST /hook", redeploy]);
    let said: Value = serde_json::from_str(&told[0].target).unwrap();
    assert_eq!((&said["target"], &said["how"]), (&json!(other), &json!("default")));
    assert_eq!(said["pools"], json!([{ "pool": "net", "allocation": "c" }]));
    // What moves is told as well, to those whom it concerns.
    let exclude =
        json!({ "ipaddress-allocator:exclude": [{ "address": "10.0.0.0", "cidrmask": 30 }] });
    let answer = server.put(&format!("{POOL}/exclude=10.0.0.0,30"), &exclude.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text());
    hook.wait_for("it is told", |told| told.len() == 3);
    eventually("the outbox is not empty", || is_empty(&server));
    assert_eq!((hook.told().len(), &*hook.told()[2].line), (3, redeploy));
}

#[test]
fn what_was_committed_before_a_kill_is_told_after_it_and_in_order() {
    let hook = Hook::start(Manner::Silent);
    let folder = Folder::new(&[], &settings(&hook));
    let server = folder.serve();
    make(&server, json!([request("a", "/s", 30)]));
    hook.wait_for("the first is sent", |told| told.len() == 1);
    for key in ["b", "c", "d"] {
        ask(&server, key, "/s");
    }
    server.kill();
    hook.now(Manner::Answer(200));
    let server = folder.serve();
    hook.wait_for("all is told", |told| told.len() >= 5);
    eventually("the outbox is not empty", || is_empty(&server));
    let told = hook.told();
    let about = |told: &Told| {
        let said: Value = serde_json::from_str(&told.target).unwrap();
        said["pools"][0]["allocation"].as_str().unwrap().to_owned()
    };
    let keys: Vec<String> = told.iter().map(about).collect();
    assert_eq!(keys, ["a", "a", "b", "c", "d"]);
    assert_eq!(told[0].notice, told[1].notice);
    // Nobody listens, and the server is killed before it has told anybody.
    let address = hook.address;
    hook.stop();
    ask(&server, "e", "/s");
    server.kill();
    let hook = Hook::at(address, Manner::Answer(200));
    let server = folder.serve();
    // It may have been given up before the kill, on a slow machine.
    eventually("it is not told", || {
        drop(folder.run(&server, &["outbox", "retry", "--dead"]));
        !hook.told().is_empty()
    });
    eventually("the outbox is not empty", || is_empty(&server));
    assert_eq!(hook.told().iter().map(about).collect::<Vec<_>>(), ["e"]);
}

#[test]
fn what_a_webhook_does_not_take_is_an_alarm_and_a_retry_ends_it() {
    let hook = Hook::start(Manner::Answer(500));
    let folder = Folder::new(&[], &settings(&hook));
    let server = folder.serve();
    make(&server, json!([request("a", "/s", 30)]));
    eventually("it is not given up", || {
        server.get("/v1/outbox?dead=true").text().contains("\"number\"")
    });
    let told = hook.told();
    assert_eq!(told.len(), 3);
    assert!(notices(&told).iter().all(|notice| *notice == told[0].notice), "{told:?}");
    let raised = alarm(&server);
    assert_eq!(raised["type"], "service-activation-failure", "{raised}");
    assert_eq!((&raised["managed-object"], &raised["is-cleared"]), (&json!("/s"), &json!(false)));
    assert_eq!(raised["last-perceived-severity"], "critical");
    let alarms = folder.run(&server, &["alarms"]);
    assert!(alarms.contains("/s ") && alarms.contains("undelivered"), "{alarms}");
    let listed = folder.run(&server, &["outbox", "list", "--dead"]);
    assert!(listed.contains(&told[0].notice) && listed.contains("given up"), "{listed}");
    // It stays given up over a kill.
    server.kill();
    let server = folder.serve();
    assert_eq!(alarm(&server), raised);
    hook.now(Manner::Answer(204));
    let retried = folder.run(&server, &["outbox", "retry", &told[0].notice]);
    assert_eq!(retried, format!("due now: {}\n", told[0].notice));
    eventually("the outbox is not empty", || is_empty(&server));
    assert_eq!(hook.told().len(), 4);
    assert_eq!(folder.run(&server, &["alarms"]), "no alarm is raised\n");
    let over = alarm(&server);
    assert_eq!((&over["is-cleared"], &over["managed-object"]), (&json!(true), &json!("/s")));
    assert_eq!(over["last-perceived-severity"], "cleared");
}

#[test]
fn without_a_webhook_nothing_is_queued_and_alarms_are_counted_all_the_same() {
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
