//! Clients that ask for the largest answers and do not read them.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use allod_testkit::largest::{self, LargeRequest};
use anyhow::{Result, ensure};

use crate::wire;
use crate::{Sent, Target};

pub(super) fn leave_unread(target: &Target) -> Result<Sent> {
    for request in largest::device_tree() {
        target.expect(&request)?;
    }
    let entries = target.effort.pick(100_000, 20_000).min(largest::id_entries_max(&target.limits)?);
    target.expect(&largest::id_pool("large", entries))?;
    let requests = [
        // Without a limit: as many candidates as the server gives.
        largest::placement_candidates(None),
        LargeRequest::get(format!("{}/large", largest::ID_POOLS)),
        LargeRequest::get("/restconf/config/id-manager:id-pools".into()),
        largest::explained_candidates("none", 1000),
    ];
    let clients = target.effort.pick(60, 12);
    let hold = target.effort.pick(Duration::from_secs(6), Duration::from_secs(1));
    let mut open = Vec::new();
    for number in 0..clients {
        let mut stream = wire::connect(target.address)?;
        stream.write_all(&requests[number % requests.len()].bytes(target.admin()))?;
        stream.set_nonblocking(true)?;
        open.push(stream);
    }
    // One byte of each answer at a time, so that the server sees progress.
    let begun = Instant::now();
    while begun.elapsed() < hold {
        std::thread::sleep(Duration::from_millis(50));
        for stream in &mut open {
            let _ = stream.read(&mut [0]);
        }
    }
    drop(open);
    Ok(Sent { count: clients as u64, answers: "held unread".into() })
}

/// Watchers and streams that do not read, while much is written.
pub(super) fn watch_greedily(target: &Target) -> Result<Sent> {
    let watchers = target.effort.pick(1000, 60);
    allod_testkit::open_files::raise(watchers)?;
    let streams_max = target.limits.get("restconf_streams_max")?;
    let mut open = Vec::with_capacity(watchers);
    for number in 0..watchers {
        let path = match number % 4 {
            0 if (number as u64) < 2 * streams_max => "/restconf/streams/id-manager/json",
            1 => "/v1/watch?from=0",
            _ => "/v1/watch",
        };
        let mut stream = wire::connect(target.address)?;
        stream.write_all(&LargeRequest::get(path.to_owned()).bytes(target.admin()))?;
        open.push(stream);
    }
    // Events with long labels: more than the budget of messages that wait for watchers.
    let bytes = target.effort.pick(2 * target.limits.get("watch_bytes_max")?, 4 << 20);
    let pool = r#"{"kind":"id32","ranges":["0-4294967295"]}"#;
    target.expect(&LargeRequest::with_body("PUT", "/v1/pools/watched".into(), pool.into()))?;
    let label = "x".repeat(200);
    let each = 200 * 10;
    for number in 0..bytes / (200 * each) {
        let ops: Vec<String> = (0..200)
            .map(|op| {
                let labels: Vec<String> = (0..10).map(|n| format!("\"l{n}\":\"{label}\"")).collect();
                let labels = labels.join(",");
                format!(r#"{{"claim":{{"pool":"watched","key":"w{number}-{op}","labels":{{{labels}}}}}}}"#)
            })
            .collect();
        let body = format!("{{\"ops\":[{}]}}", ops.join(","));
        let reply =
            target.ask(&LargeRequest::with_body("POST", "/v1/transactions".into(), body))?;
        ensure!(reply.status == 200, "{}: {}", reply.status, reply.text());
    }
    drop(open);
    Ok(Sent {
        count: watchers as u64,
        answers: format!("{} MiB were written meanwhile", bytes >> 20),
    })
}
