//! Requests that hide a second request in an ambiguous body: the hidden one must not be carried out.
//!
//! A proxy in front of the server may see the end of the body elsewhere, so the server must refuse what is ambiguous, or close
//! the connection before it reads on.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::{Sent, Target};
use allod_testkit::largest::LargeRequest;

const SILENCE: Duration = Duration::from_millis(400);

const POOL: &str = r#"{"kind":"id32","ranges":["1-9"]}"#;

fn hidden() -> String {
    let length = POOL.len();
    format!(
        "PUT /v1/pools/smuggled HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{POOL}"
    )
}

/// The headers of each request, its version, and its body before the hidden request.
fn shapes() -> Vec<(&'static str, String, &'static str)> {
    let hidden = hidden().len();
    let of = |version, headers: &str, body| (version, headers.to_owned(), body);
    vec![
        of(
            "1.1",
            &format!("content-length: {}\r\ntransfer-encoding: chunked\r\n", hidden + 5),
            "0\r\n\r\n",
        ),
        of("1.1", "transfer-encoding: chunked\r\ncontent-length: 5\r\n", "0\r\n\r\n"),
        of("1.1", "content-length: 2\r\ncontent-length: 200\r\n", "{}"),
        of("1.1", "content-length: 2, 200\r\n", "{}"),
        of("1.1", "content-length: +2\r\n", "{}"),
        of("1.1", "content-length: 0x2\r\n", "{}"),
        of("1.1", "content-length: 2 \r\ncontent-length: 3\r\n", "{}"),
        of("1.1", "content-length : 2\r\n", "{}"),
        of("1.1", "transfer-encoding : chunked\r\n", "0\r\n\r\n"),
        of("1.1", "transfer-encoding: chunked, identity\r\n", "0\r\n\r\n"),
        of("1.1", "transfer-encoding: identity, chunked\r\ncontent-length: 5\r\n", "0\r\n\r\n"),
        of("1.1", "transfer-encoding: xchunked\r\n", "0\r\n\r\n"),
        of("1.1", "transfer-encoding: \u{b}chunked\r\n", "0\r\n\r\n"),
        of("1.1", "transfer-encoding:\r\n chunked\r\n", "0\r\n\r\n"),
        of("1.1", "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n", "0\r\n\r\n"),
        of("1.0", "transfer-encoding: chunked\r\n", "0\r\n\r\n"),
        of("1.0", "content-length: 5\r\ntransfer-encoding: chunked\r\n", "0\r\n\r\n"),
        of("1.1", "transfer-encoding: chunked\r\n", "fffffffffffffffff\r\n"),
        of("1.1", "transfer-encoding: chunked\r\n", "-1\r\n"),
        of("1.1", "transfer-encoding: chunked\r\n", "0x0\r\n\r\n"),
        of("1.1", "transfer-encoding: chunked\r\n", "2\r\n{}X0\r\n\r\n"),
        of("1.1", "transfer-encoding: chunked\r\n", "2;a\nb\r\n{}\r\n0\r\n\r\n"),
        of("1.1", "transfer-encoding: chunked\r\n", "0 1\r\n\r\n"),
    ]
}

pub(super) fn send(target: &Target) -> Result<Sent> {
    let rounds = target.effort.pick(10, 1);
    let (shapes, hidden) = (shapes(), hidden());
    let mut refused = 0;
    for _ in 0..rounds {
        for (version, headers, body) in &shapes {
            let bytes = format!(
                "PUT /v1/pools/outer HTTP/{version}\r\nhost: localhost\r\ncontent-type: application/json\r\n{headers}\r\n{body}{hidden}"
            );
            let came = target.exchange(bytes.as_bytes(), SILENCE)?;
            let statuses = came.statuses();
            ensure!(
                statuses.iter().all(|status| *status < 500),
                "{statuses:?} for HTTP/{version} with {headers:?} and {body:?}"
            );
            let found = target.ask(&LargeRequest::get("/v1/pools/smuggled".into()))?;
            ensure!(
                found.status == 404,
                "the request after HTTP/{version} with {headers:?} and the body {body:?} was carried out; the answers were {statuses:?}"
            );
            refused += u64::from(statuses.first().is_some_and(|status| *status >= 400));
        }
    }
    let count = rounds * shapes.len() as u64;
    Ok(Sent { count, answers: format!("{refused} refused; no hidden request was carried out") })
}
