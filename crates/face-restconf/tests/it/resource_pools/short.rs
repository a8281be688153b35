//! Short forms of frequent requests in transcripts. Pools whose names begin with `ip` are address pools, all others id
//! pools.
//!
//! - `pool p {…}`: PUT of a pool with this configuration; `change p {…}`: PATCH; `drop p`: DELETE
//! - `ask p a {…}`: PUT of a request, and its response; `withdraw p a`: DELETE
//! - `answers p`: all requests with their responses; `free p`: the available values; `alarms`: all alarms
//!
//! The lines of a block are sent one after the other.

use serde_json::Value;

use crate::resource_pools::server::{Answer, POOLS, Server};

/// `None`: the block is not a short form.
pub async fn answer(server: &Server, block: &str) -> Option<String> {
    let mut replies = Vec::new();
    for line in block.lines() {
        let mut words = line.splitn(2, ' ');
        let (verb, rest) = (words.next()?, words.next().unwrap_or_default());
        replies.push(match verb {
            "pool" => put(server, "PUT", rest).await,
            "change" => put(server, "PATCH", rest).await,
            "drop" => said(&server.ask("DELETE", &path(rest), "").await),
            "ask" => ask(server, rest).await,
            "withdraw" => {
                let (pool, key) = rest.split_once(' ').expect("a pool and a request");
                said(&server.ask("DELETE", &request(pool, key), "").await)
            }
            "answers" => answers(server, rest).await,
            "free" => free(server, rest).await,
            "alarms" => alarms(server).await,
            _ => return None,
        });
    }
    Some(replies.join("\n"))
}

fn is_ip(pool: &str) -> bool {
    pool.starts_with("ip")
}

fn module(pool: &str) -> &'static str {
    if is_ip(pool) { "ipaddress-allocator" } else { "id-allocator" }
}

fn list(pool: &str) -> &'static str {
    if is_ip(pool) { "ip-address-pool" } else { "id-pool" }
}

fn path(pool: &str) -> String {
    format!("{POOLS}/{}:{}={pool}", module(pool), list(pool))
}

fn request(pool: &str, key: &str) -> String {
    format!("{}/allocation={key}", path(pool))
}

/// The status, and the error message.
fn said(answer: &Answer) -> String {
    if answer.status < 400 {
        return answer.status.to_string();
    }
    let body = answer.json();
    let error = &body["ietf-restconf:errors"]["error"][0];
    let text = |name: &str| error[name].as_str().unwrap_or("-").to_owned();
    format!(
        "{} {} {}\n    at {}",
        answer.status,
        text("error-tag"),
        text("error-message"),
        text("error-path")
    )
}

async fn put(server: &Server, method: &str, rest: &str) -> String {
    let (pool, config) = rest.split_once(' ').expect("a pool and what it is");
    let mut entry: Value = serde_json::from_str(config).expect("JSON");
    entry["name"] = pool.into();
    let body = serde_json::json!({ format!("{}:{}", module(pool), list(pool)): [entry] });
    said(&server.ask(method, &path(pool), &body.to_string()).await)
}

async fn ask(server: &Server, rest: &str) -> String {
    let mut words = rest.splitn(3, ' ');
    let (pool, key) = (words.next().expect("a pool"), words.next().expect("a request"));
    let mut entry = serde_json::json!({ "id": key, "username": "admin" });
    if let Some(wanted) = words.next() {
        entry["request"] = serde_json::from_str(wanted).expect("JSON");
    }
    let body = serde_json::json!({ format!("{}:allocation", module(pool)): [entry] });
    let answer = server.ask("PUT", &request(pool, key), &body.to_string()).await;
    if answer.status >= 400 {
        return said(&answer);
    }
    let response = server.ask("GET", &format!("{}/response", request(pool, key)), "").await;
    let response = &response.json()[format!("{}:response", module(pool))];
    format!("{} {}", answer.status, response_of(response))
}

/// A response in one or two words.
fn response_of(response: &Value) -> String {
    match (&response["id"], response["subnet"].as_str(), response["error"].as_str()) {
        (Value::Number(id), None, None) => id.to_string(),
        (Value::Null, Some(subnet), None) => {
            format!("{subnet} from {}", response["from"].as_str().unwrap_or("-"))
        }
        (Value::Null, None, Some(error)) => format!("! {error}|"),
        (Value::Null, None, None) => "wanted".to_owned(),
        _ => panic!("no response: {response}"),
    }
}

async fn answers(server: &Server, pool: &str) -> String {
    let all = server.ask("GET", &format!("{}/allocation", path(pool)), "").await;
    if all.status != 200 {
        return all.status.to_string();
    }
    let all = all.json();
    let entries = all[format!("{}:allocation", module(pool))].as_array().expect("entries");
    let shown = entries.iter().map(|entry| {
        format!("{}: {}", entry["id"].as_str().expect("an id"), response_of(&entry["response"]))
    });
    shown.collect::<Vec<_>>().join("\n")
}

async fn free(server: &Server, pool: &str) -> String {
    let tree = if is_ip(pool) {
        "ipaddress-allocator-oper:ip-allocator"
    } else {
        "id-allocator-oper:id-allocator"
    };
    let path = format!("/restconf/data/{tree}/pool={pool}/available");
    let all = server.ask("GET", &path, "").await;
    if all.status != 200 {
        return all.status.to_string();
    }
    let all = all.json();
    let entries = all.as_object().expect("an object").values().next().expect("a list").clone();
    let shown = entries.as_array().expect("entries").iter().map(|entry| {
        if is_ip(pool) {
            format!("{}/{}", entry["address"].as_str().expect("an address"), entry["cidrmask"])
        } else {
            format!("{}-{}", entry["start"], entry["end"])
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

async fn alarms(server: &Server) -> String {
    let path = "/restconf/data/allod-resource-pools:alarms/alarm-list/alarm";
    let all = server.ask("GET", path, "").await;
    if all.status != 200 {
        return all.status.to_string();
    }
    let all = all.json();
    let entries = all["allod-resource-pools:alarm"].as_array().expect("entries");
    let shown = entries.iter().map(|entry| {
        let text = |name: &str| entry[name].as_str().expect("a text").to_owned();
        format!(
            "{} {}: {}, {}",
            text("type"),
            text("managed-object"),
            text("last-perceived-severity"),
            text("last-alarm-text")
        )
    });
    shown.collect::<Vec<_>>().join("\n")
}
