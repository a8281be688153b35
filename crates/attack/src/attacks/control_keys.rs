//! Keys, owners and labels with control characters, quotes and every other byte: what the server stores it also shows, in every
//! interface, as a document that a reader can parse.

use std::time::Duration;

use allod_testkit::largest::{ID_POOLS, LargeRequest};
use anyhow::{Context, Result, ensure};

use crate::wire;
use crate::{Sent, Target};

/// Texts that end up in JSON, XML, headers and log lines.
fn texts(key_bytes_max: usize) -> Vec<String> {
    let mut texts: Vec<String> = (0..32_u8).map(|byte| format!("c{}", byte as char)).collect();
    texts.extend(
        [
            "\u{7f}",
            "\u{80}",
            "\u{85}",
            "\u{2028}",
            "\u{202e}",
            "\u{feff}",
            "\u{fffe}",
            "\u{ffff}",
            "\"",
            "\\",
            "<a>&amp;]]>",
            "'--",
            "../..",
            "\u{1b}[2J",
            "\r\nset-cookie: x",
            "a/b",
            "a%2fb",
            "a,b",
            "a=b",
            "😀",
        ]
        .map(|text| format!("k{text}")),
    );
    texts.push("\u{1b}".repeat(key_bytes_max));
    texts.push("k".repeat(key_bytes_max));
    texts.push("k".repeat(key_bytes_max + 1));
    texts
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

pub(super) fn send(target: &Target) -> Result<Sent> {
    let pool = r#"{"kind":"id32","ranges":["0-4294967294"]}"#.to_owned();
    target.expect(&LargeRequest::with_body("PUT", "/v1/pools/keys".into(), pool))?;
    let texts = texts(target.limits.get("key_bytes_max")? as usize);
    let mut stored = 0;
    for text in &texts {
        let quoted = serde_json::to_string(text)?;
        let body = format!("{{\"owner\":{quoted},\"labels\":{{\"l\":\"v\"}}}}");
        let path = format!("/v1/pools/keys/claims/{}", encoded(text));
        let reply = target.ask(&LargeRequest::with_body("PUT", path, body))?;
        ensure!(
            reply.status == 201 || (400..500).contains(&reply.status),
            "{} for a claim under {quoted}: {}",
            reply.status,
            reply.text()
        );
        stored += u64::from(reply.status == 201);
        let input = format!("{{\"input\":{{\"pool-name\":\"keys\",\"id-key\":{quoted}}}}}");
        let path = "/restconf/operations/id-manager:allocateId";
        let reply = target.ask(&LargeRequest::with_body("POST", path.into(), input))?;
        ensure!(
            reply.status == 200 || (400..=500).contains(&reply.status),
            "{} for allocateId under {quoted}",
            reply.status
        );
    }
    shown(target)?;
    Ok(Sent {
        count: 2 * texts.len() as u64,
        answers: format!("{stored} stored, and shown in every interface"),
    })
}

/// Everything that shows keys can be parsed.
fn shown(target: &Target) -> Result<()> {
    for path in ["/v1/pools/keys/claims?limit=1000", "/v1/history?pool=keys&limit=1000"] {
        let reply = target.expect(&LargeRequest::get(path.to_owned()))?;
        serde_json::from_slice::<serde_json::Value>(&reply.body)
            .with_context(|| format!("the answer to GET {path} is not JSON"))?;
    }
    let tree = format!("{ID_POOLS}/keys");
    let json = target.expect(&LargeRequest::get(tree.clone()))?;
    serde_json::from_slice::<serde_json::Value>(&json.body).context("the tree is not JSON")?;
    let bytes = wire::request("GET", &tree, &[("accept", "application/xml")], b"");
    let xml = target.exchange(&bytes, Duration::from_secs(5))?;
    ensure!(matches!(xml.status(), Some(200 | 400..=599)), "{}", xml.text);
    if xml.status() == Some(200) {
        let (_, body) = xml.text.split_once("\r\n\r\n").context("an answer without a body")?;
        let wrong = body
            .chars()
            .find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{7f}'..='\u{9f}'));
        ensure!(wrong.is_none(), "the XML tree has {wrong:?}, which no XML document may contain");
    }
    // The export can be written back.
    let put = LargeRequest::with_body("PUT", tree, json.text());
    let reply = target.ask(&put)?;
    ensure!(reply.status < 300, "the export cannot be put back: {} {}", reply.status, reply.text());
    Ok(())
}
