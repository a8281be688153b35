//! Watchers when the server is killed or stopped, and slow watchers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use allod_testkit::http::Client;
use serde_json::Value;

use crate::crash::server::{self, Server, allod, arguments};

const POOL: &str = r#"{"kind":"id32","ranges":["0-999999"]}"#;

/// One stream of changes.
struct Watch {
    socket: BufReader<TcpStream>,
    text: String,
    ended_well: bool,
}

impl Watch {
    fn open(server: &Server, query: &str, last: Option<u64>) -> Watch {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let id = last.map_or(String::new(), |last| format!("last-event-id: {last}\r\n"));
        write!(socket, "GET /v1/watch{query} HTTP/1.1\r\nhost: localhost\r\n{id}\r\n").unwrap();
        let mut socket = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(socket.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        Watch { socket, text: String::new(), ended_well: false }
    }

    /// The ID and, unless it is a heartbeat, the data of the next message; `None` at the end of the stream.
    fn next(&mut self) -> Option<(u64, Option<Value>)> {
        loop {
            if let Some((message, rest)) = self.text.split_once("\n\n") {
                let field = |name| message.lines().find_map(|line| line.strip_prefix(name));
                let id = field("id: ").unwrap().parse().unwrap();
                let data = serde_json::from_str(field("data: ").unwrap()).unwrap();
                let data = field("event: ").is_none().then_some(data);
                self.text = rest.to_owned();
                return Some((id, data));
            }
            let piece = self.chunk()?;
            self.text.push_str(&piece);
        }
    }

    /// One chunk of the body. A message may span several chunks; a killed server may stop within one.
    fn chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        self.socket.read_line(&mut size).ok().filter(|len| *len > 0)?;
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut data = vec![0; size + 2];
        self.socket.read_exact(&mut data).ok()?;
        self.ended_well = size == 0;
        data.truncate(size);
        (size > 0).then(|| String::from_utf8(data).unwrap())
    }

    /// Everything up to the first heartbeat after position `end`.
    fn until(mut self, end: u64) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some((id, data)) = self.next() {
            let heartbeat = data.is_none();
            all.extend(data);
            if heartbeat && id >= end {
                return all;
            }
        }
        panic!("the stream ended before position {end}");
    }
}

fn position(server: &Server) -> u64 {
    server.get("/v1/pools").header("allod-position").unwrap().parse().unwrap()
}

/// Claims values until the server is gone. Returns the acknowledged keys.
fn claim_until(address: std::net::SocketAddr, who: usize, stop: &AtomicBool) -> Vec<String> {
    let mut client = Client::new(address, Duration::from_secs(20));
    let mut acknowledged = Vec::new();
    for n in 0.. {
        let key = format!("{who}-{n}");
        let path = format!("/v1/pools/p/claims/{key}");
        match client.send("PUT", &path, &[], Some("{}")) {
            Ok(reply) if reply.status == 201 => acknowledged.push(key),
            _ => break,
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    acknowledged
}

#[test]
fn a_watcher_resumes_after_a_kill_without_gaps_or_duplicates() {
    let data = tempfile::tempdir().unwrap();
    let mut seen: Vec<Value> = Vec::new();
    let mut last = Some(0);
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let server = server::start(data.path());
        server.put("/v1/pools/p", POOL);
        let address = server.address;
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..4)
            .map(|who| {
                let stop = stop.clone();
                std::thread::spawn(move || claim_until(address, round * 10 + who, &stop))
            })
            .collect();
        let mut watch = Watch::open(&server, "?kind=claim_granted", last);
        let began = Instant::now();
        let mut killed = Some(server);
        // Killed while the stream is read; the rest is read to its end.
        while let Some((id, data)) = watch.next() {
            seen.extend(data);
            last = Some(id);
            if began.elapsed() > Duration::from_millis(300)
                && let Some(server) = killed.take()
            {
                server.kill();
            }
        }
        assert!(killed.is_none() && !watch.ended_well);
        for writer in writers {
            acknowledged.extend(writer.join().unwrap());
        }
    }
    let server = server::start(data.path());
    let end = position(&server);
    seen.extend(Watch::open(&server, "?kind=claim_granted", last).until(end));
    let all = Watch::open(&server, "?from=0&kind=claim_granted", None).until(end);
    assert!(seen.len() > 100, "{}", seen.len());
    assert_eq!(seen.len(), all.len());
    assert!(seen == all);
    let keys: std::collections::BTreeSet<&str> =
        seen.iter().map(|change| change["events"][0]["key"].as_str().unwrap()).collect();
    assert!(acknowledged.iter().all(|key| keys.contains(key.as_str())));
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn a_stop_ends_all_streams_at_once() {
    let data = tempfile::tempdir().unwrap();
    let server = server::start(data.path());
    let mut watches: Vec<Watch> =
        (0..50).map(|n| Watch::open(&server, &format!("?pool=p{n}"), None)).collect();
    for watch in &mut watches {
        assert!(watch.next().is_some());
    }
    let began = Instant::now();
    assert_eq!(server.stop().0, Some(0));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for mut watch in watches {
        assert!(watch.next().is_none() && watch.ended_well);
    }
}

#[test]
fn a_stalled_watcher_is_disconnected_and_can_resume_without_affecting_others() {
    let data = tempfile::tempdir().unwrap();
    let mut command = allod(&arguments(data.path()));
    command.args(["--limit", "stall_ms_max=300", "--limit", "watch_heartbeat_ms=200"]);
    let server = Server::of(command);
    server.put("/v1/pools/p", POOL);
    let mut slow = Watch::open(&server, "?from=0", None);
    let brisk = Watch::open(&server, "?from=0", None);
    let end = position(&server) + 1500;
    let brisk = std::thread::spawn(move || brisk.until(end));
    // More than the socket buffers of the stalled watcher hold.
    let labels: Vec<String> = (0..32).map(|n| format!("\"{n}\":\"{}\"", "x".repeat(250))).collect();
    let body = format!("{{\"labels\":{{{}}}}}", labels.join(","));
    let mut client = server.client();
    for n in 0..1500 {
        let path = format!("/v1/pools/p/claims/{n}");
        assert_eq!(client.send("PUT", &path, &[], Some(&body)).unwrap().status, 201);
    }
    let all = brisk.join().unwrap();
    let stalls = "allod_http_stalls_total 1\n";
    let began = Instant::now();
    while !server.get("/metrics").text().contains(stalls) {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "the stalled watcher is not disconnected"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let (mut seen, mut last) = (Vec::new(), None);
    while let Some((id, data)) = slow.next() {
        seen.extend(data);
        last = Some(id);
    }
    assert!(!slow.ended_well && seen.len() < all.len());
    seen.extend(Watch::open(&server, "", last).until(end));
    assert!(seen == all, "{} and {}", seen.len(), all.len());
    assert_eq!(server.stop().0, Some(0));
}
