//! UUIDs and bodies of the requests, and a client that tracks positions.

use std::time::Duration;

use allod_core::capacity::Uuid;
use allod_testkit::http::{self, Response};
use allod_testkit::server::Server;
use serde_json::{Map, Value, json};

pub const HOT: u32 = 4;
/// A scarce resource class.
pub const CPUS: &str = "VCPU";
pub const CPUS_TOTAL: u32 = 30;
/// A plentiful resource class.
pub const MEMORY: &str = "MEMORY_MB";
/// A resource class with exactly enough capacity for the movers.
pub const DISKS: &str = "DISK_GB";

pub fn provider(hot: u32) -> Uuid {
    Uuid(0xaaaa_0000_0000_4000_8000_0000_0000_0000 + u128::from(hot))
}

/// The UUID of a consumer, by kind and two numbers.
pub fn consumer(kind: u8, client: u32, n: u32) -> Uuid {
    let below = u128::from(kind) << 48 | u128::from(client) << 24 | u128::from(n);
    Uuid(0xcccc_0000_0000_4000_8000_0000_0000_0000 + below)
}

/// The allocation of a consumer: an amount of a class of one provider, or none.
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

/// A client that remembers the last position it has seen.
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
        assert!(
            answer.header("allod-position").is_some(),
            "the answer to GET {path} has no position"
        );
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
