//! Malformed and hostile requests: each gets a clear error, and the server stays up.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use allod_edge::{Access, Auth, Exporter, HttpLimits, Listener, Problem, Ready, Reply, Route};
use http::Method;
use serde::Deserialize;

use crate::server::{Server, get, read_all};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Echo {
    #[serde(default)]
    name: String,
    #[serde(default)]
    list: Vec<u32>,
}

struct Always;

impl Ready for Always {
    fn ready(&self) -> Result<Option<String>, String> {
        Ok(None)
    }
}

fn routes() -> Vec<Route> {
    routes_counting(&Arc::default())
}

/// The routes; `started` counts the calls of the slow handlers.
fn routes_counting(started: &Arc<AtomicUsize>) -> Vec<Route> {
    let (slow, endless) = (started.clone(), started.clone());
    let mut routes = allod_edge::health_routes(Arc::new(Always), Exporter::install());
    routes.extend([
        Route::new(Method::POST, "/echo/{name}", Access::Open, |call| async move {
            let answer = call.param(0).and_then(|name| {
                let body: Echo = call.json()?;
                Ok(format!("{name} {} {}", body.name, body.list.len()))
            });
            answer
                .map_or_else(|problem| problem.reply(), |text| Reply::new(text.into_bytes().into()))
        }),
        Route::new(Method::GET, "/echo/{name}", Access::Open, |call| async move {
            match call.param(0) {
                Ok(name) => Reply::new(name.into_owned().into_bytes().into()),
                Err(problem) => problem.reply(),
            }
        }),
        Route::new(Method::GET, "/panic", Access::Open, |_| async { panic!("on purpose") }),
        Route::new(Method::GET, "/for-ever", Access::Open, move |_| {
            endless.fetch_add(1, Ordering::Relaxed);
            std::future::pending()
        }),
        Route::new(Method::GET, "/slow", Access::Open, move |_| {
            slow.fetch_add(1, Ordering::Relaxed);
            async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Problem::malformed("slept").reply()
            }
        }),
    ]);
    routes
}

fn post(body: &str, headers: &str) -> Vec<u8> {
    let len = body.len();
    let kind = match headers.contains("content-type") || body.is_empty() {
        true => "",
        false => "content-type: application/json\r\n",
    };
    format!(
        "POST /echo/x HTTP/1.1\r\nconnection: close\r\n{kind}{headers}content-length: {len}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[test]
fn malformed_request_gets_an_error_reply() {
    let server =
        Server::start(routes(), HttpLimits { body_bytes_max: 1000, ..HttpLimits::default() });
    let deep = format!("{{\"list\":{}", "[".repeat(900));
    let long = |n: usize| "x".repeat(n);
    let table: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("garbage", b"\x16\x03\x01 what is this\r\n\r\n".to_vec(), "400", ""),
        ("no version", b"GET /healthz\r\n\r\n".to_vec(), "400", ""),
        ("unknown method", b"BREW /echo/x HTTP/1.1\r\nconnection: close\r\n\r\n".to_vec(), "405", "\r\nallow: POST, GET, HEAD\r\n"),
        ("unknown path", get("/nowhere"), "404", "route_unknown"),
        ("huge header", format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", long(70_000)).into_bytes(), "431", ""),
        ("many headers", format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(200)).into_bytes(), "431", ""),
        ("long path", get(&format!("/echo/{}", long(9000))), "414", "uri_bytes_max is 8192"),
        ("bytes that are no UTF-8", b"GET /echo/\xff\xfe HTTP/1.1\r\n\r\n".to_vec(), "400", ""),
        ("encoded bytes that are no UTF-8", get("/echo/%ff%fe"), "400", "not UTF-8"),
        ("bad percent", get("/echo/%zz"), "400", "two hexadecimal digits"),
        ("half an escape", get("/echo/a%2"), "400", "two hexadecimal digits"),
        ("percent sign", get("/echo/a%25zz"), "200", "a%zz"),
        ("slash in a name", get("/echo/a%2Fb"), "200", "a/b"),
        ("body too long", post(&long(5000), ""), "413", "body_bytes_max is 1000"),
        ("huge body", post(&long(3_000_000), ""), "413", "body_bytes_max is 1000"),
        (
            "chunked body too long",
            format!("POST /echo/x HTTP/1.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5dc\r\n{}\r\n0\r\n\r\n", long(1500)).into_bytes(),
            "413",
            "body_bytes_max is 1000",
        ),
        (
            "bad chunk",
            b"POST /echo/x HTTP/1.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n".to_vec(),
            "400",
            "not framed correctly",
        ),
        ("deep nesting", post(&deep, ""), "400", "malformed"),
        ("broken JSON", post("{", ""), "400", "EOF"),
        ("two values", post("{} {}", ""), "400", "after the end"),
        ("wrong type inside", post(r#"{"list":[1,"x"]}"#, ""), "400", "list[1]: invalid type"),
        ("unknown field", post(r#"{"nam":1}"#, ""), "400", "unknown field `nam`, expected `name` or `list`"),
        ("not JSON", post("a=b", "content-type: application/x-www-form-urlencoded\r\n"), "415", "send application/json"),
        ("no type", post("{}", "content-type:\r\n"), "415", "media_type_missing"),
        (
            "chunked body without a type",
            b"POST /echo/x HTTP/1.1\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n".to_vec(),
            "415",
            "name the type of the body",
        ),
        ("no body", post("", ""), "200", "x  0"),
        ("a good one", post(r#"{"name":"n","list":[1,2]}"#, "content-type: Application/JSON; charset=utf-8\r\n"), "200", "x n 2"),
        ("a handler that panics", get("/panic"), "500", "internal"),
    ];
    for (what, bytes, status, words) in table {
        let reply = server.send(&bytes);
        assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {reply}");
        assert!(reply.contains(words), "{what}: {reply}");
        assert!(server.is_alive(), "{what}");
    }
    assert_eq!(server.stop(), 0);
}

#[test]
fn incomplete_headers_get_408_and_the_connection_is_closed() {
    let limits = HttpLimits { header_read_ms_max: 100, ..HttpLimits::default() };
    let server = Server::start(routes(), limits);
    let mut stream = server.connect();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nx: ").unwrap();
    let reply = read_all(&mut stream);
    assert!(reply.starts_with("HTTP/1.1 408 "), "{reply}");
    assert!(reply.contains("header_read_ms_max is 100"), "{reply}");
    // Also after a valid request.
    let mut stream = server.connect();
    stream.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    let mut first = [0; 512];
    let read = stream.read(&mut first).unwrap();
    assert!(first[..read].starts_with(b"HTTP/1.1 200 "));
    stream.write_all(b"GET").unwrap();
    let reply = read_all(&mut stream);
    assert!(reply.contains("HTTP/1.1 408 "), "{reply}");
    assert!(server.is_alive());
}

#[test]
fn incomplete_body_gets_408_and_slow_handler_gets_504() {
    let server =
        Server::start(routes(), HttpLimits { request_ms_max: 100, ..HttpLimits::default() });
    let slow =
        server.send(b"POST /echo/x HTTP/1.1\r\nconnection: close\r\ncontent-length: 9\r\n\r\n{");
    assert!(slow.starts_with("HTTP/1.1 408 ") && slow.contains("request_ms_max is 100"), "{slow}");
    let late = server.send(&get("/for-ever"));
    assert!(
        late.starts_with("HTTP/1.1 504 ") && late.contains("may have been carried out"),
        "{late}"
    );
    assert!(late.contains("retry-after: 1"), "{late}");
    assert!(server.is_alive());
}

#[test]
fn idle_connection_is_closed() {
    let server = Server::start(routes(), HttpLimits { idle_ms_max: 100, ..HttpLimits::default() });
    let mut stream = server.connect();
    stream.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    assert!(read_all(&mut stream).ends_with("ok\n"));
}

#[test]
fn connection_over_the_limit_gets_503_until_one_closes() {
    let server =
        Server::start(routes(), HttpLimits { connections_max: 2, ..HttpLimits::default() });
    let mut held: Vec<TcpStream> = (0..2).map(|_| server.connect()).collect();
    for stream in &mut held {
        stream.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
        assert!(stream.read(&mut [0; 512]).unwrap() > 0);
    }
    let reply = server.send(&get("/healthz"));
    assert!(reply.starts_with("HTTP/1.1 503 ") && reply.contains("retry-after: 1"), "{reply}");
    assert!(reply.contains("connections_max is 2"), "{reply}");
    held.pop();
    let began = Instant::now();
    while !server.is_alive() {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = Server::start(routes(), HttpLimits::default());
    let mut stream = server.connect();
    let mut writer = stream.try_clone().unwrap();
    let writing = std::thread::spawn(move || {
        for n in 0..1000 {
            let last = if n == 999 { "connection: close\r\n" } else { "" };
            let request = format!("GET /echo/n{n} HTTP/1.1\r\n{last}\r\n");
            writer.write_all(request.as_bytes()).unwrap();
        }
    });
    let all = read_all(&mut stream);
    writing.join().unwrap();
    let bodies: Vec<&str> = all.split("\r\n\r\n").skip(1).collect();
    assert_eq!(bodies.len(), 1000);
    for (n, body) in bodies.iter().enumerate() {
        assert!(body == &format!("n{n}") || body.starts_with(&format!("n{n}HTTP/1.1 ")), "{body}");
    }
}

#[test]
fn reply_is_sent_before_the_next_request_is_complete() {
    let server = Server::start(routes(), HttpLimits::default());
    let mut stream = server.connect();
    stream.write_all(b"GET /echo/first HTTP/1.1\r\n\r\nGET /echo/sec").unwrap();
    let mut reply = [0; 512];
    let len = stream.read(&mut reply).unwrap();
    assert!(reply[..len].ends_with(b"first"));
    stream.write_all(b"ond HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
    assert!(read_all(&mut stream).ends_with("second"));
}

#[test]
fn server_survives_a_client_that_disconnects_early() {
    let server = Server::start(routes(), HttpLimits::default());
    for bytes in
        [&b"GET /slow HTTP/1.1\r\n\r\n"[..], b"POST /echo/x HTTP/1.1\r\ncontent-length: 9\r\n\r\n{"]
    {
        let mut stream = server.connect();
        stream.write_all(bytes).unwrap();
        drop(stream);
    }
    assert!(server.is_alive());
}

fn wait_for_handler(started: &AtomicUsize) {
    let began = Instant::now();
    while started.load(Ordering::Relaxed) == 0 {
        assert!(began.elapsed() < Duration::from_secs(10), "the handler is not called");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn stop_answers_requests_in_flight_and_closes_idle_connections() {
    let started = Arc::default();
    let server = Server::start(routes_counting(&started), HttpLimits::default());
    let mut idle = server.connect();
    idle.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    assert!(idle.read(&mut [0; 512]).unwrap() > 0);
    let mut untouched = server.connect();
    let mut slow = server.connect();
    slow.write_all(b"GET /slow HTTP/1.1\r\n\r\n").unwrap();
    wait_for_handler(&started);
    let began = Instant::now();
    let address = server.address;
    assert_eq!(server.stop(), 0);
    assert!(began.elapsed() < Duration::from_secs(5));
    let reply = read_all(&mut slow);
    assert!(reply.contains("slept"), "{reply}");
    assert_eq!(read_all(&mut idle), "");
    assert_eq!(read_all(&mut untouched), "");
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn stop_cuts_off_requests_that_are_not_complete() {
    let started = Arc::default();
    let limits = HttpLimits { stop_receive_ms_max: 50, stop_ms_max: 8000, ..HttpLimits::default() };
    let server = Server::start(routes_counting(&started), limits);
    let mut half_body = server.connect();
    half_body.write_all(b"POST /echo/x HTTP/1.1\r\ncontent-length: 9\r\n\r\n{").unwrap();
    let mut half_head = server.connect();
    half_head.write_all(b"GET /healthz HTTP/1.1\r\nx: ").unwrap();
    let mut slow = server.connect();
    slow.write_all(b"GET /slow HTTP/1.1\r\n\r\n").unwrap();
    wait_for_handler(&started);
    // None is left to be closed after stop_ms_max, and the complete request is answered.
    assert_eq!(server.stop(), 0);
    assert!(read_all(&mut slow).contains("slept"));
    assert_eq!(read_all(&mut half_body), "");
    assert_eq!(read_all(&mut half_head), "");
}

#[test]
fn stop_waits_at_most_stop_ms_max() {
    let started = Arc::default();
    let limits = HttpLimits { stop_ms_max: 200, ..HttpLimits::default() };
    let server = Server::start(routes_counting(&started), limits);
    let mut stuck = server.connect();
    stuck.write_all(b"GET /for-ever HTTP/1.1\r\n\r\n").unwrap();
    wait_for_handler(&started);
    assert_eq!(server.stop(), 1);
}

#[test]
fn replies_have_request_ids_and_requests_are_counted() {
    let server = Server::start(routes(), HttpLimits::default());
    let reply =
        server.send(b"HEAD /healthz HTTP/1.1\r\nconnection: close\r\nx-request-id: mine\r\n\r\n");
    assert!(reply.contains("x-request-id: mine") && !reply.contains("ok\n"), "{reply}");
    assert!(server.send(&get("/nowhere")).contains("x-request-id: req-"));
    let metrics = server.send(&get("/metrics"));
    let counted = r#"allod_http_requests_total{method="GET",route="/healthz",status="200"}"#;
    assert!(metrics.contains(counted), "{metrics}");
    let timed = r#"allod_http_request_seconds_count{method="GET",route="/healthz"}"#;
    assert!(metrics.contains(timed), "{metrics}");
    assert!(metrics.contains("allod_http_connections "), "{metrics}");
}

/// The kernel's own limit for connections that wait to be accepted.
fn somaxconn() -> usize {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    text.trim().parse().unwrap()
}

#[tokio::test]
async fn as_many_connections_as_configured_can_wait_to_be_accepted() {
    let anywhere = "127.0.0.1:0".parse().unwrap();
    let queue = HttpLimits::default().accept_queue_max;
    let listener = Listener::bind(anywhere, Auth::None, queue).await.unwrap();
    // Nothing accepts them. The queue of the standard library has 128 places.
    let wanted = somaxconn().min(300);
    let connect = || TcpStream::connect_timeout(&listener.address(), Duration::from_secs(5));
    let waiting: Vec<TcpStream> = (0..wanted).map_while(|_| connect().ok()).collect();
    assert_eq!(waiting.len(), wanted);
}

#[tokio::test]
async fn without_authentication_only_loopback_can_be_bound() {
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let error = Listener::bind(address.parse().unwrap(), Auth::None, 16).await.unwrap_err();
        assert!(error.to_string().contains("listen on 127.0.0.1"), "{error}");
    }
    assert!(Listener::bind("127.0.0.1:0".parse().unwrap(), Auth::None, 16).await.is_ok());
}
