//! A small cloud, and a client that loads it into any Placement.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::Duration;

use allod_testkit::http::{Client, Response};
use serde_json::{Value, json};

pub const NEWEST: &str = "1.39";

/// A Placement server at a path.
#[derive(Debug)]
pub struct Placement {
    pub url: String,
    pub address: SocketAddr,
    below: &'static str,
    client: RefCell<Client>,
}

impl Placement {
    pub fn at(address: SocketAddr, below: &'static str) -> Placement {
        let client = RefCell::new(Client::new(address, Duration::from_secs(20)));
        Placement { url: format!("http://{address}{below}"), address, below, client }
    }

    pub fn ask(&self, method: &str, path: &str, version: &str, body: Option<&Value>) -> Response {
        let version = format!("placement {version}");
        let headers = [("x-auth-token", "admin"), ("openstack-api-version", &version)];
        let body = body.map(Value::to_string);
        let path = format!("{}{path}", self.below);
        self.client.borrow_mut().send(method, &path, &headers, body.as_deref()).unwrap()
    }

    /// Sends a write that must succeed.
    pub fn write(&self, method: &str, path: &str, body: &Value) {
        self.write_as(NEWEST, method, path, body);
    }

    fn write_as(&self, version: &str, method: &str, path: &str, body: &Value) {
        let answer = self.ask(method, path, version, Some(body).filter(|body| !body.is_null()));
        assert!((200..300).contains(&answer.status), "{method} {path}: {}", answer.text());
    }

    pub fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, NEWEST, None);
        assert_eq!(answer.status, 200, "GET {path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// Sets a part of a provider, at its present generation.
    pub fn set(&self, provider: u32, part: &str, value: Value) {
        let path = format!("/resource_providers/{}/{part}", provider_uuid(provider));
        let generation = self.get(&path)["resource_provider_generation"].clone();
        let mut body = json!({ "resource_provider_generation": generation });
        body[part] = value;
        self.write("PUT", &path, &body);
    }

    /// Sets the allocations of a consumer; `kind` is its type.
    pub fn hold(&self, consumer: &str, kind: Option<&str>, held: &[(u32, Value)]) {
        let path = format!("/allocations/{consumer}");
        let generation = self.get(&path).get("consumer_generation").cloned();
        let all = held.iter().map(|(of, what)| (provider_uuid(*of), json!({ "resources": what })));
        let mut body = json!({
            "allocations": all.collect::<serde_json::Map<_, _>>(),
            "project_id": "a project",
            "user_id": format!("the user of {consumer}"),
            "consumer_generation": generation,
        });
        match kind {
            Some(kind) => {
                body["consumer_type"] = json!(kind);
                self.write("PUT", &path, &body);
            }
            None => self.write_as("1.37", "PUT", &path, &body),
        }
    }

    pub fn create(&self, provider: u32, parent: Option<u32>) {
        let body = json!({
            "name": format!("provider-{provider}"),
            "uuid": provider_uuid(provider),
            "parent_provider_uuid": parent.map(provider_uuid),
        });
        self.write("POST", "/resource_providers", &body);
    }

    /// All providers and allocations, with generations.
    pub fn everything(&self) -> Value {
        let mut all = self.get("/resource_providers");
        let rows = all["resource_providers"].as_array_mut().unwrap();
        rows.sort_by_key(|row| row["uuid"].to_string());
        for row in rows {
            let uuid = row["uuid"].as_str().unwrap().to_owned();
            for part in ["inventories", "traits", "aggregates", "usages", "allocations"] {
                row[part] = self.get(&format!("/resource_providers/{uuid}/{part}"));
            }
        }
        all
    }
}

pub fn provider_uuid(provider: u32) -> String {
    format!("aaaaaaaa-0000-4000-8000-{provider:012}")
}

pub fn consumer_uuid(consumer: u32) -> String {
    format!("cccccccc-0000-4000-8000-{consumer:012}")
}

pub fn stock(total: u32) -> Value {
    json!({ "total": total })
}

/// An unusual spelling of a UUID, which the real Placement keeps.
pub const ODD_CONSUMER: &str = "DDDDDDDD00004000800000000000000D";

pub const SHARING: u32 = 90;
pub const BARE: u32 = 91;
pub const SHRUNK: u32 = 92;
/// The numbers of the compute hosts. Each has two NUMA nodes with one device each.
pub const COMPUTES: std::ops::Range<u32> = 1..4;

pub const PROVIDERS: usize = 3 * 5 + 3;
pub const CONSUMERS: u64 = 3 * 2 + 4;

/// The counts of the cloud in the report.
pub const COUNTS: [(&str, u64); 9] = [
    ("resource_classes", 2),
    ("traits", 2),
    ("providers", PROVIDERS as u64),
    ("inventories", 3 * (1 + 2 * 2 + 2) + 1 + 2),
    ("provider_traits", 3 * 3 + 1),
    ("provider_aggregates", 3 + 2),
    ("usages", 3 * (1 + 2 * 2 + 2) + 1 + 2),
    ("consumers", CONSUMERS),
    ("allocations", 3 * (4 + 1) + 2 + 1 + 1 + 1),
];

pub fn fill(placement: &Placement) {
    for name in ["CUSTOM_SLICE", "CUSTOM_GOLD"] {
        placement.write("PUT", &format!("/resource_classes/{name}"), &Value::Null);
        placement.write("PUT", &format!("/traits/{name}"), &Value::Null);
    }
    let [a, b] = ["eeeeeeee-0000-4000-8000-00000000000a", "eeeeeeee-0000-4000-8000-00000000000b"];
    placement.create(SHARING, None);
    let disk = json!({ "total": 10_000, "reserved": 7, "min_unit": 10, "max_unit": 500, "step_size": 10, "allocation_ratio": 1.5 });
    placement.set(SHARING, "inventories", json!({ "DISK_GB": disk }));
    placement.set(SHARING, "traits", json!(["MISC_SHARES_VIA_AGGREGATE"]));
    placement.set(SHARING, "aggregates", json!([a, b]));
    placement.create(BARE, None);
    for compute in COMPUTES {
        placement.create(compute, None);
        placement.set(compute, "inventories", json!({ "MEMORY_MB": stock(4096) }));
        placement.set(compute, "traits", json!(["CUSTOM_GOLD", "COMPUTE_NODE"]));
        placement.set(compute, "aggregates", json!([a]));
        for node in [compute * 10, compute * 10 + 1] {
            let node = 1000 + node;
            placement.create(node, Some(compute));
            let cpus = json!({ "total": 8, "allocation_ratio": 16.0, "max_unit": 8 });
            placement.set(node, "inventories", json!({ "VCPU": cpus, "PCPU": stock(2) }));
            placement.create(node + 1000, Some(node));
            placement.set(node + 1000, "inventories", json!({ "CUSTOM_SLICE": stock(3) }));
        }
        placement.set(1000 + compute * 10, "traits", json!(["HW_NUMA_ROOT"]));
        let node = 1000 + compute * 10;
        let held = [
            (compute, json!({ "MEMORY_MB": 512 })),
            (node, json!({ "VCPU": 3 })),
            (node + 1000, json!({ "CUSTOM_SLICE": 2 })),
            (SHARING, json!({ "DISK_GB": 20 })),
        ];
        placement.hold(&consumer_uuid(compute), Some("INSTANCE"), &held);
        let moved = [(compute, json!({ "MEMORY_MB": 64 }))];
        placement.hold(&consumer_uuid(100 + compute), Some("MIGRATION"), &moved);
    }
    // Allocations stay when the inventory shrinks or gets other units.
    placement.create(SHRUNK, None);
    placement.set(SHRUNK, "inventories", json!({ "VCPU": stock(64), "DISK_GB": stock(100) }));
    placement.hold(
        &consumer_uuid(200),
        Some("INSTANCE"),
        &[(SHRUNK, json!({ "VCPU": 40, "DISK_GB": 7 }))],
    );
    placement.hold(&consumer_uuid(201), Some("INSTANCE"), &[(SHRUNK, json!({ "VCPU": 20 }))]);
    let portions = json!({ "total": 100, "min_unit": 10, "step_size": 10 });
    placement.set(SHRUNK, "inventories", json!({ "VCPU": stock(8), "DISK_GB": portions }));
    placement.hold(&consumer_uuid(202), None, &[(1, json!({ "MEMORY_MB": 1 }))]);
    placement.hold(ODD_CONSUMER, Some("INSTANCE"), &[(2, json!({ "MEMORY_MB": 1 }))]);
}
