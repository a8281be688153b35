//! Bodies without an end, and large bodies that stop in the middle.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::slow::has_answer;
use crate::wire;
use crate::{Sent, Target};

const SILENCE: Duration = Duration::from_secs(5);

/// How long after its limit an endless body may be read.
const LATE_MAX: Duration = Duration::from_secs(20);

const CHUNKED: &str = "PUT /restconf/config/id-manager:id-pools HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

/// Pieces that are repeated for ever: large chunks, chunks of one byte, extensions, trailers.
fn endless() -> Vec<(&'static str, String)> {
    vec![
        ("", format!("10000\r\n{}\r\n", " ".repeat(0x10000))),
        ("", "1\r\n \r\n".repeat(4000)),
        ("", format!("1;{}\r\n \r\n", "x".repeat(1000)).repeat(50)),
        ("0\r\n", "x: y\r\n".repeat(4000)),
        ("", "0".repeat(20_000)),
    ]
}

pub(super) fn send_endless(target: &Target) -> Result<Sent> {
    let pieces = endless();
    let rounds = target.effort.pick(2, 1);
    let time_max = Duration::from_millis(target.limits.get("request_ms_max")?) + LATE_MAX;
    let sent = super::parallel(pieces.len(), |number| {
        let (first, piece) = &pieces[number];
        let mut longest = 0;
        for _ in 0..rounds {
            let mut stream = wire::connect(target.address)?;
            stream.write_all(CHUNKED.as_bytes())?;
            stream.write_all(first.as_bytes())?;
            let (begun, mut sent) = (Instant::now(), 0_u64);
            while stream.write_all(piece.as_bytes()).is_ok() && !has_answer(&stream)? {
                sent += piece.len() as u64;
                ensure!(
                    begun.elapsed() < time_max,
                    "an endless body of shape {number} is not refused"
                );
            }
            let came = wire::read_rest(&mut stream, SILENCE)?;
            let status = came.status();
            ensure!(
                status.is_none_or(|status| (400..500).contains(&status)),
                "{status:?} for an endless body of shape {number}"
            );
            longest = longest.max(sent);
        }
        Ok(longest)
    })?;
    let longest = sent.iter().max().copied().unwrap_or(0) >> 20;
    let count = rounds * pieces.len() as u64;
    Ok(Sent { count, answers: format!("refused after {longest} MiB at most") })
}

/// The first half of the largest bodies there are, on many connections that stay open.
pub(super) fn send_halves(target: &Target) -> Result<Sent> {
    let clients = target.effort.pick(120, 24);
    let body = target.limits.get("restconf_body_bytes_max")? as usize;
    let half = vec![b' '; body / 2];
    let head = format!(
        "PUT /restconf/config/id-manager:id-pools HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {body}\r\n\r\n"
    );
    let mut open = Vec::new();
    for _ in 0..clients {
        let mut stream = wire::connect(target.address)?;
        stream.write_all(head.as_bytes())?;
        // The server refuses while the body is being sent.
        let _ = stream.write_all(&half);
        open.push(stream);
    }
    // The server waits for the rest of a refused body for a second, then it answers.
    std::thread::sleep(target.effort.pick(Duration::from_secs(5), Duration::from_secs(3)));
    let mut refused = 0;
    for stream in &mut open {
        if has_answer(stream)? {
            let came = wire::read_rest(stream, Duration::from_millis(200))?;
            let status = came.status();
            ensure!(matches!(status, None | Some(408 | 429 | 503)), "{status:?} for half a body");
            refused += 1;
        }
    }
    ensure!(
        refused > 0,
        "no half of {clients} bodies was refused: the budget of bytes has no effect"
    );
    Ok(Sent { count: clients, answers: format!("{refused} refused with 429 or 503") })
}
