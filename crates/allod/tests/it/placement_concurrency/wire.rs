//! The words of the requests: uuids, bodies, and what an answer says about when it was true.

use std::time::Duration;

use allod_core::capacity::Uuid;
use allod_testkit::http::{self, Response};
use allod_testkit::server::Server;
use serde_json::{Map, Value, json};

pub const HOT: u32 = 4;
/// Scarce.
pub const CPUS: &str = "VCPU";
pub const CPUS_TOTAL: u32 = 30;
/// Enough for everybody.
pub const MEMORY: &str = "MEMORY_MB";
/// Just enough for those who move it.
pub const DISKS: &str = "DISK_GB";

pub fn provider(hot: u32) -> Uuid {
    Uuid(0xaaaa_0000_0000_4000_8000_0000_0000_0000 + u128::from(hot))
}

/// The consumers of one kind of client, by two numbers.
pub fn consumer(kind: u8, client: u32, n: u32) -> Uuid {
    let below = u128::from(kind) << 48 | u128::from(client) << 24 | u128::from(n);
    Uuid(0xcccc_0000_0000_4000_8000_0000_0000_0000 + below)
}

/// What one consumer is to hold: so much of a class of a hot provider, or nothing.
pub fn holding(held: Option<(u32, &str, u32)>, generation: Option<u64>) -> Value {
    let mut allocations = Map::new();
    if let Some((hot, class, amount)) = held {
        let resources = json!({ class: amount });
        allocations.insert(provider(hot).to_string(), json!({ "resources": resources }));
    }
    json!({
        "allocations": allocations,
        "project_id": "project",
        "user_id": "user",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    })
}

/// A client that remembers up to where it has seen the journal.
#[derive(Debug)]
pub struct Client {
    http: http::Client,
    pub position: u64,
}

impl Client {
    pub fn of(server: &Server) -> Client {
        Client { http: http::Client::new(server.address, Duration::from_secs(20)), position: 0 }
    }

    pub fn send(&mut self, method: &str, path: &str, body: &Value) -> Response {
        let text = (!body.is_null()).then(|| body.to_string());
        let headers = [("openstack-api-version", "placement 1.39")];
        let answer = self.http.send(method, path, &headers, text.as_deref()).unwrap();
        if let Some(position) = answer.header("allod-position") {
            let position = position.parse().unwrap();
            assert!(position >= self.position, "{method} {path} goes back in time");
            self.position = position;
        }
        answer
    }

    pub fn get(&mut self, path: &str) -> Value {
        let answer = self.send("GET", path, &Value::Null);
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.text());
        assert!(answer.header("allod-position").is_some(), "GET {path} does not say when");
        serde_json::from_slice(&answer.body).unwrap()
    }

    pub fn put(&mut self, consumer: Uuid, body: &Value) -> Response {
        self.send("PUT", &format!("/allocations/{consumer}"), body)
    }
}

/// The code of a refusal.
pub fn code(answer: &Response) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    body["errors"][0]["code"].as_str().unwrap().to_owned()
}
