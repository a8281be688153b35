//! One client with a great number of idempotency keys: it uses up its own share, and no other client notices.

use std::io::{Read, Write};

use anyhow::{Context, Result, ensure};

use crate::wire;
use crate::{Sent, Target};

const OPS: &str = r#"{"ops":[{"claim":{"pool":"small-clients","key":"keyed"}}]}"#;

/// Requests that are sent before their answers are read.
const AT_ONCE: u64 = 100;

fn keyed(token: &str, key: &str, close: bool) -> String {
    let (length, close) = (OPS.len(), if close { "connection: close\r\n" } else { "" });
    format!(
        "POST /v1/transactions HTTP/1.1\r\nhost: localhost\r\n{close}authorization: Bearer {token}\r\nidempotency-key: {key}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{OPS}"
    )
}

pub(super) fn fill(target: &Target) -> Result<Sent> {
    let tokens = target.tokens()?;
    let keys = target.limits.get("idempotency_keys_max")?;
    let share = keys * target.limits.get("idempotency_client_percent_max")? / 100;
    let clients = 4;
    // Twice the share: the second half is refused.
    let each = share * 2 / clients;
    let counts = super::parallel(clients as usize, |client| {
        let mut stream = wire::connect(target.address)?;
        let (mut done, mut full) = (0_u64, 0_u64);
        for first in (0..each).step_by(AT_ONCE as usize) {
            let many: String = (first..first + AT_ONCE)
                .map(|number| keyed(&tokens.greedy, &format!("greedy-{client}-{number}"), false))
                .collect();
            stream.write_all(many.as_bytes())?;
            let answers = read_answers(&mut stream, AT_ONCE as usize)?;
            done += answers.matches("HTTP/1.1 200 ").count() as u64;
            full += answers.matches("\"code\":\"idempotency_full\"").count() as u64;
            ensure!(!answers.contains("HTTP/1.1 500 "), "{answers}");
        }
        Ok((done, full))
    })?;
    let (done, full) = counts.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    ensure!(full > 0, "{done} keys of one client were stored, and none was refused");
    ensure!(done <= share, "{done} keys of one client were stored; its share is {share}");
    // Another client has room, also for the same key.
    for key in ["other", "greedy-0-0"] {
        let bytes = keyed(&tokens.writer, key, true);
        let came =
            wire::exchange(target.address, bytes.as_bytes(), std::time::Duration::from_secs(10))?;
        ensure!(
            came.status() == Some(200),
            "another client with the key '{key}' got {}",
            came.text
        );
    }
    Ok(Sent { count: done + full, answers: format!("{done} stored, {full} refused with 503") })
}

/// Reads this many answers with a length.
fn read_answers(stream: &mut std::net::TcpStream, count: usize) -> Result<String> {
    let (mut all, mut chunk, mut at) = (Vec::new(), [0; 64 * 1024], 0);
    for _ in 0..count {
        loop {
            let parsed = allod_testkit::reply::parse(&all[at..]).map_err(anyhow::Error::msg)?;
            if let Some(parsed) = parsed {
                at += parsed.body.end;
                break;
            }
            let read = stream.read(&mut chunk).context("reading an answer")?;
            ensure!(read > 0, "the server closed the connection");
            all.extend_from_slice(&chunk[..read]);
        }
    }
    Ok(String::from_utf8_lossy(&all).into_owned())
}
