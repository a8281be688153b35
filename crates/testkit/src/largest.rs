//! The largest requests that the limits of a server allow, one function for each kind. The limits are those that the server
//! reports, so that the requests follow when a default changes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::http::{Client, Response};

/// The devices of a group, and the groups, of the candidate search: 8^8 combinations.
pub const DEVICES: u64 = 8;
pub const GROUPS: u64 = 8;

/// The paths of the RESTCONF models.
pub const ID_POOLS: &str = "/restconf/config/id-manager:id-pools/id-pool";
pub const RESOURCE_POOLS: &str =
    "/restconf/data/resource-allocator:resource-pools/id-allocator:id-pool";

/// The version header of Placement, for requests that need a new one.
const PLACEMENT: (&str, &str) = ("openstack-api-version", "placement 1.39");

/// The answer to a large request may take long.
const ANSWER_MAX: Duration = Duration::from_secs(120);

/// The limits of a server by name, as `GET /v1/limits` reports them.
#[derive(Debug, Clone)]
pub struct ReportedLimits(BTreeMap<String, u64>);

impl ReportedLimits {
    pub fn of(address: SocketAddr, token: Option<&str>) -> Result<ReportedLimits> {
        let reply = LargeRequest::get("/v1/limits".into()).send(address, token)?;
        ensure!(reply.status == 200, "GET /v1/limits answered {}", reply.status);
        Ok(ReportedLimits(serde_json::from_slice(&reply.body)?))
    }

    pub fn get(&self, name: &str) -> Result<u64> {
        self.0.get(name).copied().with_context(|| format!("the server has no limit {name}"))
    }

    /// How many items of `each` bytes a body of at most the named limit can contain, besides `rest` bytes.
    fn items(&self, limit: &str, each: usize, rest: usize) -> Result<u64> {
        Ok((self.get(limit)?.saturating_sub(rest as u64)) / each as u64)
    }
}

/// One request.
#[derive(Debug, Clone)]
pub struct LargeRequest {
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(&'static str, &'static str)>,
    pub body: Option<String>,
}

impl LargeRequest {
    pub fn get(path: String) -> LargeRequest {
        LargeRequest { method: "GET", path, headers: vec![PLACEMENT], body: None }
    }

    pub fn with_body(method: &'static str, path: String, body: String) -> LargeRequest {
        LargeRequest { method, path, headers: vec![PLACEMENT], body: Some(body) }
    }

    pub fn delete(path: String) -> LargeRequest {
        LargeRequest { method: "DELETE", path, headers: vec![], body: None }
    }

    pub fn send(&self, address: SocketAddr, token: Option<&str>) -> Result<Response> {
        self.send_on(&mut Client::new(address, ANSWER_MAX), token)
    }

    pub fn send_on(&self, client: &mut Client, token: Option<&str>) -> Result<Response> {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = self.headers.clone();
        headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let reply = client.send(self.method, &self.path, &headers, self.body.as_deref());
        reply.with_context(|| format!("{} {}", self.method, self.path))
    }

    /// Sends the request, which must succeed.
    pub fn expect(&self, address: SocketAddr, token: Option<&str>) -> Result<Response> {
        let reply = self.send(address, token)?;
        let (method, path, status) = (self.method, &self.path, reply.status);
        ensure!(status < 300, "{method} {path} answered {status}: {}", head(&reply.text()));
        Ok(reply)
    }

    /// The request as bytes, for a client of its own.
    pub fn bytes(&self, token: Option<&str>) -> Vec<u8> {
        let mut out = format!("{} {} HTTP/1.1\r\nhost: localhost\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(token) = token {
            out.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        if let Some(body) = &self.body {
            let length = body.len();
            out.push_str(&format!(
                "content-type: application/json\r\ncontent-length: {length}\r\n"
            ));
        }
        out.push_str("\r\n");
        out.push_str(self.body.as_deref().unwrap_or_default());
        out.into_bytes()
    }
}

/// The beginning of a text, for an error.
fn head(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Kinds of generated UUIDs.
const PROVIDER: u64 = 1;
const CONSUMER: u64 = 2;

/// UUID `number` of a kind and run.
fn uuid(kind: u64, run: u64, number: u64) -> String {
    format!("{kind:04x}{:04x}-0000-4000-8000-{number:012x}", run & 0xffff)
}

/// Provider `number` of a run. Run 0 is the tree of devices.
pub fn provider(run: u64, number: u64) -> String {
    uuid(PROVIDER, run, number)
}

/// The items with commas between them.
fn joined(items: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for item in items {
        // Writing into a string cannot fail.
        let _ = write!(out, "{}{item}", if out.is_empty() { "" } else { "," });
    }
    out
}

/// A pool of IDs with every second value, beginning at `first`: two of them interleave. It has as many ranges as the limits
/// allow, or fewer if `ranges_max` is less.
pub fn pool_of_ranges(
    limits: &ReportedLimits,
    pool: &str,
    first: u64,
    ranges_max: u64,
) -> Result<LargeRequest> {
    let room = limits.items("body_bytes_max", "\"1000000\",".len(), 100)?;
    let ranges = limits.get("ranges_per_pool_max")?.min(room).min(ranges_max);
    let ranges = joined((0..ranges).map(|number| format!("\"{}\"", first + 2 * number)));
    let body = format!("{{\"kind\":\"id32\",\"ranges\":[{ranges}]}}");
    Ok(LargeRequest::with_body("PUT", format!("/v1/pools/{pool}"), body))
}

/// A transaction with as many operations, and as many values, as the limits allow.
pub fn transaction_of_values(
    limits: &ReportedLimits,
    pool: &str,
    run: &str,
) -> Result<LargeRequest> {
    let ops = limits.get("ops_per_transaction_max")?;
    let values = limits.get("values_per_transaction_max")? / ops.max(1);
    let count = values.min(limits.get("values_per_claim_max")?).max(1);
    Ok(transaction((0..ops).map(|number| {
        format!(
            "{{\"claim\":{{\"pool\":\"{pool}\",\"key\":\"{run}-{number}\",\"count\":{count}}}}}"
        )
    })))
}

/// A transaction of claims, each of one value that is free in all of the pools.
pub fn transaction_of_same_values(
    limits: &ReportedLimits,
    pools: &[&str],
    run: &str,
) -> Result<LargeRequest> {
    let ops = limits.get("ops_per_transaction_max")?;
    Ok(transaction(
        (0..ops).map(|number| {
            format!("{{\"claim\":{{\"pools\":{pools:?},\"key\":\"{run}-{number}\"}}}}")
        }),
    ))
}

/// A transaction of `count` claims in one pool.
pub fn claims(pool: &str, run: &str, from: u64, count: u64) -> LargeRequest {
    transaction((from..from + count).map(|number| {
        format!("{{\"claim\":{{\"pool\":\"{pool}\",\"key\":\"{run}-{number:07}\"}}}}")
    }))
}

fn transaction(ops: impl Iterator<Item = String>) -> LargeRequest {
    let body = format!("{{\"ops\":[{}]}}", joined(ops));
    LargeRequest::with_body("POST", "/v1/transactions".into(), body)
}

/// The requests that create a host with [`GROUPS`] × [`DEVICES`] devices, each group with a class of its own.
pub fn device_tree() -> Vec<LargeRequest> {
    let mut requests: Vec<LargeRequest> = (0..GROUPS)
        .map(|group| LargeRequest {
            body: None,
            ..LargeRequest::with_body(
                "PUT",
                format!("/resource_classes/{}", class(group)),
                String::new(),
            )
        })
        .collect();
    let root = provider(0, 0);
    requests.push(create_provider(&root, "devices", None));
    for number in 0..GROUPS * DEVICES {
        let device = provider(0, 1 + number);
        requests.push(create_provider(&device, &format!("device-{number}"), Some(&root)));
        requests.push(put_inventory(&device, 0, &class(number / DEVICES)));
    }
    requests
}

fn class(group: u64) -> String {
    format!("CUSTOM_GROUP_{group}")
}

pub fn create_provider(uuid: &str, name: &str, parent: Option<&str>) -> LargeRequest {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let body =
        format!("{{\"uuid\":\"{uuid}\",\"name\":\"{name}\",\"parent_provider_uuid\":{parent}}}");
    LargeRequest::with_body("POST", "/resource_providers".into(), body)
}

/// Gives a provider of this generation an inventory that no test exhausts.
pub fn put_inventory(uuid: &str, generation: u64, class: &str) -> LargeRequest {
    let body = format!(
        "{{\"resource_provider_generation\":{generation},\"inventories\":{{\"{class}\":{{\"total\":2000000000}}}}}}"
    );
    LargeRequest::with_body("PUT", format!("/resource_providers/{uuid}/inventories"), body)
}

/// Candidates for one device of each group, natively.
pub fn explained_candidates(policy: &str, limit: u64) -> LargeRequest {
    let groups = joined((0..GROUPS).map(|group| {
        format!("{{\"name\":\"g{group}\",\"resources\":{{\"{}\":1}}}}", class(group))
    }));
    let body = format!(
        "{{\"groups\":[{groups}],\"group_policy\":\"{policy}\",\"limit\":{limit},\"explain\":true}}"
    );
    LargeRequest::with_body("POST", "/v1/candidates".into(), body)
}

/// The same, where each group may use the devices of one group only: no candidate satisfies isolation, which the search
/// finds out by trying.
pub fn impossible_candidates() -> LargeRequest {
    let groups =
        joined((0..GROUPS + 1).map(|group| {
            format!("{{\"name\":\"g{group}\",\"resources\":{{\"{}\":1}}}}", class(0))
        }));
    let body = format!(
        "{{\"groups\":[{groups}],\"group_policy\":\"isolate\",\"limit\":1000,\"explain\":true}}"
    );
    LargeRequest::with_body("POST", "/v1/candidates".into(), body)
}

/// Candidates for one device of each group, through Placement. Without a limit the server's own applies.
pub fn placement_candidates(limit: Option<u64>) -> LargeRequest {
    let groups: Vec<String> =
        (0..GROUPS).map(|group| format!("resources_G{group}={}:1", class(group))).collect();
    let limit = limit.map(|limit| format!("&limit={limit}")).unwrap_or_default();
    let query = groups.join("&");
    LargeRequest::get(format!("/allocation_candidates?{query}&group_policy=none{limit}"))
}

/// Members of the body of an allocation: `count` new consumers that hold one unit of a provider each.
fn consumers(provider: &str, run: u64, count: u64) -> String {
    joined((0..count).map(|number| {
        format!(
            "\"{}\":{{\"allocations\":{{\"{provider}\":{{\"resources\":{{\"VCPU\":1}}}}}},\"project_id\":\"p\",\"user_id\":\"u\",\"consumer_generation\":null,\"consumer_type\":\"I\"}}",
            uuid(CONSUMER, run, number)
        )
    }))
}

fn consumers_max(limits: &ReportedLimits) -> Result<u64> {
    let each = consumers(&provider(0, 0), 0, 1).len() + 1;
    let room = limits.items("body_bytes_max", each, 400)?;
    // One amount each, and four for the consumer; a reshape also has a provider, with its old and its new inventory.
    let amounts = limits.get("allocations_per_request_max")?.saturating_sub(6) / 5;
    Ok(room.min(amounts).min(limits.get("consumers_per_request_max")?))
}

/// The allocations of as many new consumers as the limits allow, on one provider with the class VCPU.
pub fn allocations(limits: &ReportedLimits, provider: &str, run: u64) -> Result<LargeRequest> {
    let body = format!("{{{}}}", consumers(provider, run, consumers_max(limits)?));
    Ok(LargeRequest::with_body("POST", "/allocations".into(), body))
}

/// A reshape of one provider with as many new consumers as the limits allow.
pub fn reshape(
    limits: &ReportedLimits,
    provider: &str,
    generation: u64,
    run: u64,
) -> Result<LargeRequest> {
    let consumers = consumers(provider, run, consumers_max(limits)?);
    let body = format!(
        "{{\"inventories\":{{\"{provider}\":{{\"resource_provider_generation\":{generation},\"inventories\":{{\"VCPU\":{{\"total\":2000000000}}}}}}}},\"allocations\":{{{consumers}}}}}"
    );
    Ok(LargeRequest::with_body("POST", "/reshaper".into(), body))
}

/// How many entries one edit of an ID pool can write.
pub fn id_entries_max(limits: &ReportedLimits) -> Result<u64> {
    let room = limits.items("restconf_body_bytes_max", id_entry(9_999_999).len() + 1, 400)?;
    Ok(room.min(limits.get("ids_per_edit_max")?))
}

fn id_entry(number: u64) -> String {
    format!("{{\"id-key\":\"k{number:07}\",\"id-value\":[{number}]}}")
}

/// A whole pool of the id-manager with this many entries.
pub fn id_pool(pool: &str, entries: u64) -> LargeRequest {
    let list = joined((0..entries).map(id_entry));
    // The cursor is the last ID that was allocated.
    let cursor = entries as i64 - 1;
    let body = format!(
        "{{\"id-pool\":[{{\"pool-name\":\"{pool}\",\"block-size\":10,\"available-ids-holder\":{{\"start\":0,\"end\":4294967294,\"cursor\":{cursor}}},\"released-ids-holder\":{{\"available-id-count\":0,\"delayed-time-sec\":0}},\"id-entries\":[{list}]}}]}}"
    );
    LargeRequest::with_body("PUT", format!("{ID_POOLS}/{pool}"), body)
}

/// A pool of the resource-manager with the IDs from 0 to `end`.
pub fn resource_pool(pool: &str, end: u64) -> LargeRequest {
    let body = format!(
        "{{\"id-allocator:id-pool\":[{{\"name\":\"{pool}\",\"range\":{{\"start\":0,\"end\":{end}}}}}]}}"
    );
    LargeRequest::with_body("PUT", format!("{RESOURCE_POOLS}={pool}"), body)
}

/// How many requests one edit of a pool of the resource-manager can write.
pub fn pool_requests_max(limits: &ReportedLimits) -> Result<u64> {
    let room = limits.items("restconf_body_bytes_max", pool_request(0).len() + 1, 400)?;
    Ok(room.min(limits.get("requests_per_edit_max")?))
}

fn pool_request(number: u64) -> String {
    format!("{{\"id\":\"a{number:07}\",\"username\":\"u\",\"request\":{{}}}}")
}

/// Adds requests to a pool of the resource-manager.
pub fn pool_requests(pool: &str, from: u64, count: u64) -> LargeRequest {
    let list = joined((from..from + count).map(pool_request));
    let body =
        format!("{{\"id-allocator:id-pool\":[{{\"name\":\"{pool}\",\"allocation\":[{list}]}}]}}");
    LargeRequest::with_body("PATCH", format!("{RESOURCE_POOLS}={pool}"), body)
}

/// Widens the range of a pool of the resource-manager.
pub fn widen(pool: &str, end: u64) -> LargeRequest {
    let body = format!("{{\"id-allocator:end\":{end}}}");
    LargeRequest::with_body("PUT", format!("{RESOURCE_POOLS}={pool}/range/end"), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(of: &[(&str, u64)]) -> ReportedLimits {
        ReportedLimits(of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect())
    }

    #[test]
    fn a_body_that_is_full_stays_below_its_limit_and_one_more_item_would_not_fit() {
        let limits = limits(&[
            ("body_bytes_max", 10_000),
            ("consumers_per_request_max", 10_000),
            ("allocations_per_request_max", 100_000),
        ]);
        let full = consumers_max(&limits).unwrap();
        let provider = provider(0, 0);
        let body = allocations(&limits, &provider, 1).unwrap().body.unwrap();
        assert!(body.len() <= 10_000, "{}", body.len());
        assert!(consumers(&provider, 1, full + 3).len() > 10_000);
    }

    #[test]
    fn a_limit_of_the_server_is_used_when_it_is_less_than_the_body_allows() {
        let limits = limits(&[("restconf_body_bytes_max", 1_000_000), ("ids_per_edit_max", 7)]);
        assert_eq!(id_entries_max(&limits).unwrap(), 7);
        assert_eq!(id_pool("p", 7).body.unwrap().matches("id-key").count(), 7);
        assert!(limits.get("absent").is_err());
    }

    #[test]
    fn bodies_are_json() {
        let limits = limits(&[
            ("body_bytes_max", 10_000),
            ("ranges_per_pool_max", 50),
            ("consumers_per_request_max", 3),
            ("allocations_per_request_max", 100),
            ("ops_per_transaction_max", 4),
            ("values_per_transaction_max", 8),
            ("values_per_claim_max", 100),
        ]);
        let mut all = device_tree();
        all.extend([
            pool_of_ranges(&limits, "p", 1, 100).unwrap(),
            transaction_of_values(&limits, "p", "r").unwrap(),
            transaction_of_same_values(&limits, &["a", "b"], "r").unwrap(),
            allocations(&limits, "x", 1).unwrap(),
            reshape(&limits, "x", 3, 1).unwrap(),
            explained_candidates("none", 1000),
            impossible_candidates(),
            id_pool("p", 3),
            resource_pool("p", 9),
            pool_requests("p", 5, 3),
            widen("p", 9),
            claims("p", "r", 0, 3),
        ]);
        for request in all {
            let body = request.body.as_deref().unwrap_or("{}");
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(body);
            assert!(parsed.is_ok(), "{} {}: {body}", request.method, request.path);
        }
    }
}
