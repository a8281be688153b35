//! Requests whose head is malformed, or too large.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::{Sent, Target};

const SILENCE: Duration = Duration::from_secs(5);

/// Heads that no client sends by mistake. All are complete, so that the server need not wait for more.
fn malformed() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = [
        "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}\r\n\r\n",
        "GET\r\n\r\n",
        "GET /healthz\r\n\r\n",
        "GET  /healthz HTTP/1.1\r\n\r\n",
        "GET /healthz HTTP/9.9\r\n\r\n",
        "GET /healthz HTTP/1.1 extra\r\n\r\n",
        "G\u{0}T /healthz HTTP/1.1\r\n\r\n",
        "GET /v1/pools/a b HTTP/1.1\r\n\r\n",
        "GET nowhere HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "GET * HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "GET http://[::1 HTTP/1.1\r\n\r\n",
        "GET /v1/../../../etc/passwd HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "GET /v1/pools/%00%ff%zz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "CONNECT localhost:1 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /v1/pools HTTP/1.1\r\nhost localhost\r\n\r\n",
        "GET /v1/pools HTTP/1.1\r\n: value\r\n\r\n",
        "GET /v1/pools HTTP/1.1\r\nbad name: value\r\n\r\n",
        "GET /v1/pools HTTP/1.1\r\nx: a\u{0}b\r\n\r\n",
        "GET /v1/pools HTTP/1.1\r\nx: a\rb\r\n\r\n",
        "GET /v1/pools HTTP/1.1\r\nx: a\r\n folded\r\n\r\n",
        "PUT /v1/pools/p HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        "PUT /v1/pools/p HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n",
        "PUT /v1/pools/p HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1e3\r\n\r\n",
        "PUT /v1/pools/p HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n",
    ]
    .into_iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    all.push(b"GET /\xff\xfe HTTP/1.1\r\n\r\n".to_vec());
    all.push((0..=255).chain(*b"\r\n\r\n").collect());
    all.push([b"\r\n".repeat(2000), b"nonsense\r\n\r\n".to_vec()].concat());
    all
}

pub(super) fn send_malformed(target: &Target) -> Result<Sent> {
    let heads = malformed();
    let rounds = target.effort.pick(100, 8);
    let mut unanswered = 0;
    for _ in 0..rounds {
        for head in &heads {
            let shown = String::from_utf8_lossy(head).into_owned();
            let came = target.exchange(head, SILENCE)?;
            ensure!(came.is_closed, "the connection stays open after {shown:?}");
            match came.status() {
                None => unanswered += 1,
                Some(status) => {
                    ensure!((400..500).contains(&status), "{status} for {shown:?}");
                }
            }
        }
    }
    let count = rounds * heads.len() as u64;
    Ok(Sent { count, answers: format!("4xx, or closed without an answer ({unanswered})") })
}

/// Heads above their limits, many at a time.
pub(super) fn send_huge(target: &Target) -> Result<Sent> {
    let bytes = target.limits.get("header_bytes_max")? as usize;
    let uri = target.limits.get("uri_bytes_max")? as usize;
    let long = |len: usize| "x".repeat(len);
    let heads = [
        format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", long(bytes + 1)),
        format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", long(32 * bytes)),
        format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(10_000)),
        format!("GET / HTTP/1.1\r\n{}\r\n", format!("x: {}\r\n", long(1000)).repeat(200)),
        format!("GET /{} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", long(uri + 1)),
        format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", long(16 * uri)),
        format!("{} / HTTP/1.1\r\nhost: localhost\r\n\r\n", long(2 * bytes)),
    ];
    let (clients, rounds) = target.effort.pick((32, 40), (8, 4));
    let refused = super::parallel(clients, |_| {
        let mut refused = 0;
        for _ in 0..rounds {
            for head in &heads {
                let came = target.exchange(head.as_bytes(), SILENCE)?;
                let status = came.status();
                ensure!(
                    came.is_closed,
                    "the connection stays open after a head of {} bytes",
                    head.len()
                );
                ensure!(
                    status.is_none_or(|status| (400..500).contains(&status)),
                    "{status:?} for a head of {} bytes",
                    head.len()
                );
                refused += u64::from(status.is_some());
            }
        }
        Ok(refused)
    })?;
    let refused: u64 = refused.iter().sum();
    let count = (clients * rounds * heads.len()) as u64;
    Ok(Sent { count, answers: format!("{refused} got 4xx, the rest was cut off while sending") })
}
