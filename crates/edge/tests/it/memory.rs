//! The budget of bytes in flight: half-sent bodies, unread replies, and what is released when a connection ends.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use allod_edge::{Access, Body, HttpLimits, Reply, Route, StreamWriter};
use bytes::Bytes;
use http::Method;

use crate::server::{STALLS, Server, get, read_all};

const MIB: usize = 1 << 20;

/// The reply of `/large` is larger than what a socket on loopback buffers.
const REPLY: usize = 32 * MIB;

const BODY: usize = 8 * MIB;

fn routes() -> Vec<Route> {
    let large = || async { Reply::new(Bytes::from(vec![b'x'; REPLY]).into()) };
    vec![
        Route::new(Method::PUT, "/body", Access::Write, |call| async move {
            Reply::new(call.body.len().to_string().into_bytes().into())
        })
        .with_body_limit("body_test_max", BODY as u64),
        Route::new(Method::GET, "/large", Access::Read, move |_| large()),
        Route::new(Method::POST, "/large", Access::Write, move |_| large()),
        Route::new(Method::GET, "/parts", Access::Read, |_| async { Reply::new(in_parts()) }),
        Route::new(Method::GET, "/small", Access::Read, |_| async {
            Reply::new(Bytes::from_static(b"small").into())
        }),
    ]
}

/// The parts of streams that were made so far.
static PARTS_MADE: AtomicUsize = AtomicUsize::new(0);

const PART: usize = 64 * 1024;

/// What the stream of `/parts` needs until it has ended.
const HELD: usize = 8 * MIB;

/// The reply of `/large` as a stream.
fn in_parts() -> Body {
    let fill = |sink: StreamWriter| async move {
        for _ in 0..REPLY / PART {
            PARTS_MADE.fetch_add(1, Ordering::Relaxed);
            sink.send(vec![b'x'; PART]).await;
        }
        Ok(())
    };
    Body::stream(fill).holding(HELD as u64)
}

fn start(total: usize, client: usize, stall_ms_max: u64) -> Server {
    let limits = HttpLimits {
        in_flight_bytes_max: total as u64,
        in_flight_bytes_per_client_max: client as u64,
        stall_ms_max,
        ..HttpLimits::default()
    };
    Server::start(routes(), limits)
}

/// Sends the head and the first half of a large body.
fn send_half(server: &Server) -> TcpStream {
    let mut stream = server.connect();
    let head = format!(
        "PUT /body HTTP/1.1\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: {BODY}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b'x'; BODY / 2]).unwrap();
    stream
}

/// Whether a reply has begun to arrive.
fn has_reply(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    !matches!(peeked, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} does not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_small_served(server: &Server) -> bool {
    server.send(&get("/small")).ends_with("small")
}

#[test]
fn half_sent_bodies_beyond_the_budget_are_refused_while_small_requests_are_served() {
    for (total, client, status, name) in [
        (64 * MIB, 20 * MIB, "429", "in_flight_bytes_per_client_max"),
        (20 * MIB, 64 * MIB, "503", "in_flight_bytes_max"),
    ] {
        let server = start(total, client, 30_000);
        let halves: Vec<TcpStream> = (0..8).map(|_| send_half(&server)).collect();
        wait_until("a refusal", || halves.iter().any(has_reply));
        assert!(is_small_served(&server));
        let (mut done, mut refused) = (0, 0);
        for mut stream in halves {
            // A refused request may end while its body is being sent.
            let _ = stream.write_all(&vec![b'x'; BODY / 2]);
            let mut reply = String::new();
            let _ = stream.read_to_string(&mut reply);
            if reply.starts_with(&format!("HTTP/1.1 {status} ")) {
                assert!(reply.contains("retry-after: 1"), "{reply}");
                assert!(reply.contains(&format!("{name} is {}", 20 * MIB)), "{reply}");
                refused += 1;
            } else {
                assert!(reply.ends_with(&BODY.to_string()), "{reply}");
                done += 1;
            }
        }
        assert!(done >= 2 && refused >= 1 && done + refused == 8, "{done} {refused}");
        // Everything is released, so the whole budget is available again.
        let mut again: Vec<TcpStream> = (0..2).map(|_| send_half(&server)).collect();
        for stream in &mut again {
            stream.write_all(&vec![b'x'; BODY / 2]).unwrap();
            assert!(read_all(stream).ends_with(&BODY.to_string()));
        }
    }
}

#[test]
fn bodies_of_closed_connections_are_released() {
    let server = start(20 * MIB, 20 * MIB, 30_000);
    for _ in 0..3 {
        let halves: Vec<TcpStream> = (0..8).map(|_| send_half(&server)).collect();
        wait_until("a refusal", || halves.iter().any(has_reply));
        drop(halves);
        wait_until("a free budget", || {
            let mut both = [send_half(&server), send_half(&server)];
            both.iter_mut().all(|stream| {
                let _ = stream.write_all(&vec![b'x'; BODY / 2]);
                let mut reply = String::new();
                let _ = stream.read_to_string(&mut reply);
                reply.ends_with(&BODY.to_string())
            })
        });
    }
}

/// Asks for a large reply, and reads only its first bytes.
fn ask_large(server: &Server, method: &str) -> (TcpStream, String) {
    let mut stream = server.connect();
    write!(stream, "{method} /large HTTP/1.1\r\n\r\n").unwrap();
    let mut line = [0; 12];
    stream.read_exact(&mut line).unwrap();
    (stream, String::from_utf8(line.to_vec()).unwrap())
}

#[test]
fn unread_replies_count_until_the_connection_ends() {
    let server = start(256 * MIB, 2 * REPLY + MIB, 30_000);
    let (first, line) = ask_large(&server, "GET");
    assert_eq!(line, "HTTP/1.1 200");
    let (_second, line) = ask_large(&server, "GET");
    assert_eq!(line, "HTTP/1.1 200");
    let (mut third, line) = ask_large(&server, "GET");
    assert_eq!(line, "HTTP/1.1 429");
    let mut rest = [0; 600];
    let len = third.read(&mut rest).unwrap();
    let rest = String::from_utf8_lossy(&rest[..len]);
    assert!(rest.contains("retry-after: 1") && rest.contains("client_bytes_exceeded"), "{rest}");
    // The reply to a write says what has happened, so it is sent.
    assert_eq!(ask_large(&server, "POST").1, "HTTP/1.1 200");
    assert!(is_small_served(&server));
    drop(first);
    wait_until("a large reply", || ask_large(&server, "GET").1 == "HTTP/1.1 200");
}

#[test]
fn stream_is_made_as_fast_as_it_is_read_and_what_it_holds_counts_until_it_ends() {
    let server = start(256 * MIB, 2 * HELD + MIB, 30_000);
    let ask = || {
        let mut stream = server.connect();
        write!(stream, "GET /parts HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
        let mut line = [0; 12];
        stream.read_exact(&mut line).unwrap();
        (stream, String::from_utf8(line.to_vec()).unwrap())
    };
    let (mut first, line) = ask();
    assert_eq!(line, "HTTP/1.1 200");
    let (_second, line) = ask();
    assert_eq!(line, "HTTP/1.1 200");
    assert_eq!(ask().1, "HTTP/1.1 429");
    assert!(is_small_served(&server));
    // The sockets buffer a part of the two streams; the rest is not made before the clients read.
    assert!(PARTS_MADE.load(Ordering::Relaxed) < 2 * (REPLY / PART));
    let whole = read_all(&mut first);
    assert_eq!(whole.matches('x').count() / PART, REPLY / PART);
    wait_until("room for another stream", || ask().1 == "HTTP/1.1 200");
}

#[test]
fn reply_above_the_limits_is_sent_if_it_is_the_only_one() {
    let server = start(MIB, MIB, 30_000);
    let reply = server.send(&get("/large"));
    assert!(reply.starts_with("HTTP/1.1 200 ") && reply.len() > REPLY);
}

#[test]
fn client_that_does_not_read_a_large_reply_is_disconnected() {
    let _alone = STALLS.lock();
    let server = start(256 * MIB, REPLY + MIB, 100);
    let (mut silent, line) = ask_large(&server, "GET");
    assert_eq!(line, "HTTP/1.1 200");
    // The connection of the silent client stays open on its side; the server ends it.
    wait_until("another large reply", || ask_large(&server, "GET").1 == "HTTP/1.1 200");
    let mut all = Vec::new();
    let ended = silent.read_to_end(&mut all);
    assert!(ended.is_err() || all.len() < REPLY, "{ended:?}");
}
