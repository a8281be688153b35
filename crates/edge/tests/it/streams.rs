//! Streaming replies: backpressure, the end of a stream, and clients that do not read.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use allod_edge::{
    Access, Body, Exporter, HttpLimits, Ready, Reply, Route, StreamError, StreamWriter,
};
use bytes::Bytes;
use http::Method;

use crate::server::{STALLS, Server, get, read_all};

const MANY: usize = 64 << 20;

/// Counts the running streams of one server. (The metrics are shared by all servers of the process.)
#[derive(Clone, Default)]
struct Started(Arc<AtomicUsize>);

struct Running(Arc<AtomicUsize>);

impl Started {
    fn run(&self) -> Running {
        self.0.fetch_add(1, Ordering::Relaxed);
        Running(self.0.clone())
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Ready for Started {
    fn ready(&self) -> Result<Option<String>, String> {
        Ok(None)
    }
}

fn routes(started: &Started) -> Vec<Route> {
    let (ticking, quiet) = (started.clone(), started.clone());
    let mut routes = allod_edge::health_routes(Arc::new(started.clone()), Exporter::install());
    routes.extend([
        Route::new(Method::GET, "/ticks", Access::Open, move |_| {
            let started = ticking.clone();
            let ticks = |sink: StreamWriter| async move {
                let _running = started.run();
                loop {
                    sink.send("tick\n").await;
                    tokio::time::sleep(Duration::from_millis(40)).await;
                }
            };
            std::future::ready(Reply::new(Body::endless(ticks)))
        }),
        Route::new(Method::GET, "/many", Access::Open, |_| async {
            Reply::new(Body::stream(|sink| async move {
                let piece = Bytes::from(vec![b'#'; 1 << 16]);
                for _ in 0..MANY >> 16 {
                    sink.send(piece.clone()).await;
                }
                Ok(())
            }))
        }),
        Route::new(Method::GET, "/half", Access::Open, |_| async {
            Reply::new(Body::stream(|sink| async move {
                sink.send("half of it").await;
                tokio::time::sleep(Duration::from_millis(20)).await;
                Err(StreamError::new("the other half is gone"))
            }))
        }),
        Route::new(Method::GET, "/quiet", Access::Open, move |_| {
            let started = quiet.clone();
            let hush = |sink: StreamWriter| async move {
                let _running = started.run();
                sink.send("hush\n").await;
                std::future::pending().await
            };
            std::future::ready(Reply::new(Body::endless(hush)))
        }),
    ]);
    routes
}

fn start(limits: HttpLimits) -> Server {
    Server::start(routes(&Started::default()), limits)
}

fn metric(server: &Server, name: &str) -> u64 {
    let all = server.send(&get("/metrics"));
    let line = all.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap().parse().unwrap()
}

#[test]
fn long_stream_is_complete_and_the_connection_stays_usable() {
    let server = start(HttpLimits::default());
    let mut stream = server.connect();
    stream.write_all(b"GET /many HTTP/1.1\r\n\r\n").unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
    let all = read_all(&mut stream);
    assert_eq!(all.bytes().filter(|&byte| byte == b'#').count(), MANY);
    assert!(all.contains("\r\n0\r\n\r\nHTTP/1.1 200 ") && all.ends_with("ok\n"));
    assert_eq!(server.stop(), 0);
}

#[test]
fn failed_stream_has_no_final_chunk() {
    let server = start(HttpLimits::default());
    let reply = server.send(b"GET /half HTTP/1.1\r\n\r\n");
    assert!(reply.starts_with("HTTP/1.1 200 ") && reply.contains("half of it"), "{reply}");
    assert!(!reply.contains("\r\n0\r\n"), "{reply}");
    assert!(server.is_alive());
}

#[test]
fn request_and_idle_limits_do_not_apply_to_streams() {
    let limits = HttpLimits {
        request_ms_max: 50,
        idle_ms_max: 50,
        stall_ms_max: 50,
        ..HttpLimits::default()
    };
    let server = start(limits);
    let mut quiet = server.connect();
    quiet.write_all(b"GET /quiet HTTP/1.1\r\n\r\n").unwrap();
    let mut ticks = server.connect();
    ticks.write_all(b"GET /ticks HTTP/1.1\r\n\r\n").unwrap();
    let mut seen = String::new();
    let mut piece = [0; 4096];
    while seen.matches("tick\n").count() < 12 {
        let len = ticks.read(&mut piece).unwrap();
        assert!(len > 0, "it ended: {seen}");
        seen.push_str(std::str::from_utf8(&piece[..len]).unwrap());
    }
    assert!(metric(&server, "allod_http_streams") >= 2);
    // The idle stream is still open, and ends when the server stops.
    assert_eq!(server.stop(), 0);
    let reply = read_all(&mut quiet);
    assert!(reply.contains("hush") && reply.ends_with("\r\n0\r\n\r\n"), "{reply}");
}

#[test]
fn connection_of_a_client_that_does_not_read_is_closed() {
    let _alone = STALLS.lock();
    let server = start(HttpLimits { stall_ms_max: 100, ..HttpLimits::default() });
    let before = metric(&server, "allod_http_stalls_total");
    let mut stalled = server.connect();
    stalled.write_all(b"GET /many HTTP/1.1\r\n\r\n").unwrap();
    let mut ticks = server.connect();
    ticks.write_all(b"GET /ticks HTTP/1.1\r\n\r\n").unwrap();
    let began = Instant::now();
    while metric(&server, "allod_http_stalls_total") == before {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut all = Vec::new();
    let _ = stalled.read_to_end(&mut all);
    assert!(all.len() < MANY && !all.ends_with(b"\r\n0\r\n\r\n"));
    assert_eq!(server.stop(), 0);
    let ticks = read_all(&mut ticks);
    assert!(ticks.matches("tick\n").count() >= 2 && ticks.ends_with("\r\n0\r\n\r\n"));
}

#[test]
fn stop_ends_endless_streams_and_aborts_others() {
    let server = start(HttpLimits::default());
    let mut ticks = server.connect();
    ticks.write_all(b"GET /ticks HTTP/1.1\r\n\r\n").unwrap();
    let mut many = server.connect();
    many.write_all(b"GET /many HTTP/1.1\r\n\r\n").unwrap();
    assert!(ticks.read(&mut [0; 512]).unwrap() > 0 && many.read(&mut [0; 512]).unwrap() > 0);
    let began = Instant::now();
    assert_eq!(server.stop(), 0);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(read_all(&mut ticks).ends_with("0\r\n\r\n"));
    let mut rest = Vec::new();
    let _ = many.read_to_end(&mut rest);
    assert!(rest.len() < MANY && !rest.ends_with(b"\r\n0\r\n\r\n"));
}

#[test]
fn stream_ends_when_its_client_disconnects() {
    let started = Started::default();
    let server = Server::start(routes(&started), HttpLimits::default());
    let mut quiet = server.connect();
    quiet.write_all(b"GET /quiet HTTP/1.1\r\n\r\n").unwrap();
    assert!(quiet.read(&mut [0; 512]).unwrap() > 0);
    assert_eq!(started.count(), 1);
    drop(quiet);
    let began = Instant::now();
    while started.count() > 0 {
        assert!(began.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn head_request_starts_no_stream() {
    let started = Started::default();
    let server = Server::start(routes(&started), HttpLimits::default());
    let mut stream = server.connect();
    stream.write_all(b"HEAD /ticks HTTP/1.1\r\n\r\n").unwrap();
    let mut head = [0; 512];
    let len = stream.read(&mut head).unwrap();
    let head = std::str::from_utf8(&head[..len]).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(!head.contains("content-length"), "{head}");
    // The connection is free for the next request, and nothing runs.
    stream.write_all(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
    assert!(read_all(&mut stream).ends_with("ok\n"));
    assert_eq!(started.count(), 0);
}
