//! Documents that are deep, wide or expand: JSON, XML and YANG Patch.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::wire;
use crate::{Sent, Target};

const SILENCE: Duration = Duration::from_secs(20);

const JSON: &str = "application/json";
const XML: &str = "application/xml";
const PATCH: &str = "application/yang-patch+json";

const RPC: &str = "/restconf/operations/id-manager:createIdPool";
const TREE: &str = "/restconf/config/id-manager:id-pools";
const DATA: &str = "/rests/data/id-manager:id-pools";

struct HostileDocument {
    method: &'static str,
    path: &'static str,
    media_type: &'static str,
    body: String,
}

fn documents(target: &Target) -> Result<Vec<HostileDocument>> {
    let depth = 100_000;
    let body = target.limits.get("body_bytes_max")? as usize;
    let large = target.limits.get("restconf_body_bytes_max")? as usize;
    let arrays = "[".repeat(depth);
    let objects = "{\"a\":".repeat(depth);
    let wide = |bytes: usize, each: &str| {
        let items = (bytes - 200) / (each.len() + 9);
        (0..items).map(|n| format!("\"a{n:07}\":{each}")).collect::<Vec<_>>().join(",")
    };
    let numbers = |bytes: usize| "1,".repeat(bytes / 2 - 100) + "1";
    let elements = "<a>".repeat(depth);
    let bomb = {
        let mut text = String::from("<?xml version=\"1.0\"?><!DOCTYPE a [<!ENTITY a0 \"a\">");
        for level in 1..20 {
            text.push_str(&format!(
                "<!ENTITY a{level} \"{}\">",
                format!("&a{};", level - 1).repeat(10)
            ));
        }
        text + "]><input xmlns=\"urn:opendaylight:genius:idmanager\"><pool-name>&a19;</pool-name></input>"
    };
    let attributes: String = (0..20_000).map(|n| format!(" a{n}=\"x\"")).collect();
    let edits = |count: u64, edit: &str| {
        let edits: Vec<String> =
            (0..count).map(|n| format!("{{\"edit-id\":\"e{n}\",{edit}}}")).collect();
        format!(
            "{{\"ietf-yang-patch:yang-patch\":{{\"patch-id\":\"p\",\"edit\":[{}]}}}}",
            edits.join(",")
        )
    };
    let edits_max = target.limits.get("edits_per_request_max")?;
    let deep_target =
        format!("\"operation\":\"create\",\"target\":\"{}\",\"value\":{{}}", "/a".repeat(3000));
    let of = |method, path, media_type, body| HostileDocument { method, path, media_type, body };
    Ok(vec![
        of("PUT", "/v1/pools/p", JSON, arrays.clone()),
        of("PUT", "/v1/pools/p", JSON, objects.clone()),
        of("POST", "/v1/transactions", JSON, format!("{{\"ops\":{arrays}")),
        of("POST", "/v1/transactions", JSON, format!("{{\"ops\":[{}]}}", numbers(body - 100))),
        of(
            "POST",
            "/v1/candidates",
            JSON,
            format!("{{\"groups\":[{{{}}}]}}", wide(body - 100, "1")),
        ),
        of(
            "PUT",
            "/v1/pools/p/claims/k",
            JSON,
            format!("{{\"labels\":{{{}}}}}", wide(body - 100, "\"\"")),
        ),
        of(
            "PUT",
            "/v1/pools/p",
            JSON,
            format!("{{\"kind\":\"id32\",\"ranges\":[{}]}}", numbers(body - 100)),
        ),
        of("POST", "/resource_providers", JSON, objects.clone()),
        of("POST", "/allocations", JSON, format!("{{{}}}", wide(body, "{}"))),
        of("POST", "/reshaper", JSON, format!("{{\"inventories\":{objects}")),
        of("POST", RPC, JSON, arrays.clone()),
        of("PUT", TREE, JSON, objects.clone()),
        of("PUT", TREE, JSON, format!("{{\"id-pools\":{{{}}}}}", wide(large, "1"))),
        of(
            "PUT",
            TREE,
            JSON,
            format!("{{\"id-pools\":{{\"id-pool\":[{}]}}}}", numbers(large - 100)),
        ),
        of("PUT", TREE, XML, elements.clone()),
        of("POST", RPC, XML, bomb),
        of(
            "POST",
            RPC,
            XML,
            format!("<input xmlns=\"urn:opendaylight:genius:idmanager\"{attributes}/>"),
        ),
        of(
            "PATCH",
            DATA,
            PATCH,
            edits(edits_max + 1, "\"operation\":\"remove\",\"target\":\"/id-pool=x\""),
        ),
        of("PATCH", DATA, PATCH, edits(500, &deep_target)),
        of(
            "PATCH",
            DATA,
            PATCH,
            edits(1, &format!("\"operation\":\"merge\",\"target\":\"/\",\"value\":{arrays}")),
        ),
    ])
}

pub(super) fn send(target: &Target) -> Result<Sent> {
    let documents = documents(target)?;
    let rounds = target.effort.pick(5, 1);
    for _ in 0..rounds {
        for document in &documents {
            let HostileDocument { method, path, media_type, body } = document;
            let bytes =
                wire::request(method, path, &[("content-type", media_type)], body.as_bytes());
            let came = target.exchange(&bytes, SILENCE)?;
            let status = came.status();
            let start: String = body.chars().take(60).collect();
            ensure!(
                status.is_some_and(|status| (400..500).contains(&status)),
                "{status:?} for {method} {path} with {} bytes of {media_type} like {start:?}",
                body.len()
            );
        }
    }
    Ok(Sent { count: rounds * documents.len() as u64, answers: "4xx".into() })
}
