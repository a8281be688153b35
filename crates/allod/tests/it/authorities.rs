//! A real server whose pool is fed by another real server, with kills and cut connections between them.

mod kills;
mod proxy;
mod rivals;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use allod_testkit::server::Server;
use serde_json::{Value, json};

use crate::crash::server;
use proxy::Proxy;

const TIMEOUT_S: u64 = 2;

/// The server that owns the values, and a proxy in front of it.
struct Upstream {
    server: Server,
    proxy: Proxy,
    _data: tempfile::TempDir,
}

impl Upstream {
    fn start() -> Upstream {
        let data = tempfile::tempdir().unwrap();
        let server = server::start(data.path());
        let pool = r#"{"kind":"id32","ranges":["1-10000"]}"#;
        assert_eq!(server.put("/v1/pools/up", pool).status, 201);
        let proxy = Proxy::start(server.address);
        Upstream { server, proxy, _data: data }
    }

    /// Values by reference.
    fn list(&self) -> BTreeMap<String, u64> {
        let answer = self.server.get("/v1/pools/up/claims?limit=1000");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        let claims = body["claims"].as_array().unwrap().iter();
        claims.map(|claim| (text(&claim["key"]), claim["value"].as_u64().unwrap())).collect()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Defines the authority and its pool.
fn define(server: &Server, proxy: &Proxy) {
    let url = format!("http://{}", proxy.address);
    let authority =
        json!({"kind": "allod", "url": url, "pool": "up", "timeout": TIMEOUT_S, "parallel": 8});
    let answer = server.put("/v1/authorities/other", &authority.to_string());
    assert!(answer.status < 300, "{}", answer.text());
    let pool = r#"{"kind":"id32","authority":"other"}"#;
    let answer = server.put("/v1/pools/p", pool);
    assert!(answer.status < 300, "{}", answer.text());
}

fn start(data: &Path) -> Server {
    server::start(data)
}

fn delete(server: &Server, key: &str) -> u16 {
    let path = format!("/v1/pools/p/claims/{key}");
    server.client().send("DELETE", &path, &[], None).unwrap().status
}

/// The state of a claim. Empty if there is none.
fn state(server: &Server, key: &str) -> String {
    let answer = server.get(&format!("/v1/pools/p/claims/{key}"));
    if answer.status == 404 {
        return String::new();
    }
    text(&serde_json::from_slice::<Value>(&answer.body).unwrap()["state"])
}

/// The held claims: values by reference.
fn held(server: &Server, keys: &[String]) -> BTreeMap<String, u64> {
    let claim = |key: &String| {
        let answer = server.get(&format!("/v1/pools/p/claims/{key}"));
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        Some((text(&body["reference"]), body["value"].as_u64()?))
    };
    keys.iter().filter_map(claim).collect()
}

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(40), "not in 40 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
