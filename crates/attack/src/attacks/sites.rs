//! What a web page makes a browser send: wrong `Host`, `Origin` and `Sec-Fetch-Site`, and bodies without a type.

use std::time::Duration;

use allod_testkit::largest::LargeRequest;
use anyhow::{Result, ensure};

use crate::wire;
use crate::{Sent, Target};

const SILENCE: Duration = Duration::from_secs(5);

const POOL: &str = r#"{"kind":"id32","ranges":["1-9"]}"#;
const PROVIDER: &str = r#"{"name":"forged"}"#;
const TREE: &str = r#"{"input":{"pool-name":"forged","low":1,"high":9}}"#;

pub(super) fn send(target: &Target) -> Result<Sent> {
    let json = ("content-type", "application/json");
    let headers: Vec<Vec<(&str, &str)>> = vec![
        vec![json, ("host", "attacker.example")],
        vec![json, ("host", "attacker.example:8778")],
        vec![json, ("host", "localhost.attacker.example")],
        vec![json, ("host", "127.0.0.1.attacker.example")],
        vec![json, ("host", "user@attacker.example")],
        vec![json, ("host", "192.0.2.1")],
        vec![json, ("host", "[2001:db8::1]")],
        vec![json, ("host", "localhost"), ("host", "attacker.example")],
        vec![json, ("origin", "https://attacker.example")],
        vec![json, ("origin", "null")],
        vec![json, ("origin", "http://localhost.attacker.example")],
        vec![json, ("sec-fetch-site", "cross-site")],
        vec![json, ("sec-fetch-site", "same-site")],
        vec![json, ("sec-fetch-site", "nonsense")],
        // What a form can send without asking the server first.
        vec![],
        vec![("content-type", "text/plain")],
        vec![("content-type", "application/x-www-form-urlencoded")],
        vec![("content-type", "multipart/form-data; boundary=x")],
    ];
    let requests = [
        ("PUT", "/v1/pools/forged", POOL),
        ("POST", "/resource_providers", PROVIDER),
        ("POST", "/restconf/operations/id-manager:createIdPool", TREE),
        ("POST", "/rests/operations/id-manager:createIdPool", TREE),
    ];
    let rounds = target.effort.pick(20, 1);
    let mut count = 0;
    for _ in 0..rounds {
        for headers in &headers {
            for (method, path, body) in requests {
                let bytes = wire::request(method, path, headers, body.as_bytes());
                let came = target.exchange(&bytes, SILENCE)?;
                let status = came.status();
                ensure!(
                    matches!(status, Some(400 | 403 | 415)),
                    "{status:?} for {method} {path} with {headers:?}"
                );
                count += 1;
            }
        }
    }
    for path in ["/v1/pools", "/resource_providers"] {
        let shown = target.expect(&LargeRequest::get(path.to_owned()))?.text();
        ensure!(!shown.contains("forged"), "a request of another site was carried out: {shown}");
    }
    Ok(Sent { count, answers: "400, 403 or 415, and nothing was changed".into() })
}
