//! Authentication: the reply to each kind of credentials, before the body is read, and no reply shows a token.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use allod_edge::auth::{Secret, TokenEntry};
use allod_edge::{
    Access, App, Auth, Body, Exporter, Guard, HttpLimits, Listener, Reload, Reply, Role, Route,
    Tokens,
};
use http::header::WWW_AUTHENTICATE;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};

/// A route for each access. Each replies with the identity and the debug output of the request.
fn routes() -> Vec<Route> {
    [
        ("/open", Access::Open),
        ("/read", Access::Read),
        ("/write", Access::Write),
        ("/admin", Access::Admin),
    ]
    .map(|(path, access)| {
        Route::new(Method::POST, path, access, |call| async move {
            let who = call.identity();
            let text = format!("{:?} {:?} {:?} {call:?}", who.name(), who.role(), who.scope());
            Reply::new(text.into_bytes().into())
        })
    })
    .into()
}

/// A stream that sends one line and then waits.
fn endless() -> Route {
    Route::new(Method::GET, "/endless", Access::Read, |_| async {
        Reply::new(Body::endless(|sink| async move {
            sink.send("hello\n").await;
            std::future::pending().await
        }))
    })
}

fn token(name: &str, role: Role) -> (Secret, TokenEntry) {
    let secret = Secret::generate().unwrap();
    let digest = secret.digest();
    (secret, TokenEntry { name: name.into(), role, scope: None, expires_ms: None, digest })
}

fn write(path: &Path, entries: &[&TokenEntry]) {
    let text: String = entries.iter().map(|entry| entry.table("pools")).collect();
    std::fs::write(path, text).unwrap();
}

/// Tokens of every role, one with a scope and one that has expired, and an app that uses them.
struct Fixture {
    folder: tempfile::TempDir,
    tokens: Arc<Tokens>,
    app: Arc<App>,
    secrets: Vec<Secret>,
    entries: Vec<TokenEntry>,
}

impl Fixture {
    fn new() -> Fixture {
        // Before any metric is registered.
        Exporter::install();
        let all = [
            token("reader", Role::Reader),
            token("writer", Role::Writer),
            token("admin", Role::Admin),
            token("scoped", Role::Writer),
            token("expired", Role::Admin),
        ];
        let (secrets, mut entries): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        entries[3].scope = Some("tenant-a/".into());
        entries[4].expires_ms = Some(1_000_000_000_000);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        write(&path, &entries.iter().collect::<Vec<_>>());
        let tokens = Tokens::open(&path, "pools").unwrap();
        let routes = routes().into_iter().chain([endless()]).collect();
        // An idle stream is polled every quarter of stall_ms_max.
        let app =
            App::new(routes, HttpLimits { stall_ms_max: 100, ..HttpLimits::default() }).unwrap();
        let app = Arc::new(app.with_guard(Guard::Tokens(tokens.clone())));
        Fixture { folder, tokens, app, secrets, entries }
    }

    fn bearer(&self, index: usize) -> String {
        format!("Bearer {}", self.secrets[index].reveal())
    }

    /// Status, challenge and body of the reply to a request with these headers.
    async fn ask(&self, path: &str, headers: &[(&str, String)]) -> (u16, Option<String>, String) {
        let mut request = Request::post(path).header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let reply = self.app.answer(request.body(Full::from("{}")).unwrap()).await;
        let challenge =
            reply.headers().get(WWW_AUTHENTICATE).map(|text| text.to_str().unwrap().to_owned());
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.unwrap().to_bytes();
        (status, challenge, String::from_utf8(body.to_vec()).unwrap())
    }
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte));
        let bits = bits << (8 * (3 - three.len()));
        for n in 0..=three.len() {
            text.push(SIGNS[(bits >> (18 - 6 * n)) as usize & 63] as char);
        }
    }
    text
}

#[tokio::test]
async fn credentials_decide_the_reply_and_no_reply_shows_a_token() {
    let world = Fixture::new();
    let authorization = |index| vec![("authorization", world.bearer(index))];
    let x_auth = |index: usize| vec![("x-auth-token", world.secrets[index].reveal().to_owned())];
    let raw = |text: &str| vec![("authorization", text.to_owned())];
    let unknown = Secret::generate().unwrap();
    let password = format!("any-user:{}", world.secrets[0].reveal());
    let password = raw(&format!("Basic {}", base64(password.as_bytes())));
    let twice = [authorization(0), authorization(0)].concat();
    let both = [authorization(0), x_auth(0)].concat();
    let cut = world.bearer(2);
    let cut = cut[..cut.len() - 1].to_owned();
    let upper = format!("BEARER {}", world.secrets[0].reveal());
    for (what, path, headers, status, words) in [
        ("nothing on an open route", "/open", vec![], 200, "None None None"),
        ("a wrong token on an open route", "/open", raw("Bearer nonsense"), 200, "None None None"),
        ("nothing", "/read", vec![], 401, "the request has no token"),
        ("reader reads", "/read", authorization(0), 200, "Some(\"reader\") Some(Reader) None"),
        ("as OpenStack does it", "/read", x_auth(0), 200, "Some(\"reader\") Some(Reader) None"),
        ("a scheme in capitals", "/read", raw(&upper), 200, "Some(\"reader\")"),
        (
            "reader writes",
            "/write",
            authorization(0),
            403,
            "the role writer is required; the token 'reader' has the role reader",
        ),
        ("reader administers", "/admin", authorization(0), 403, "the role admin is required"),
        ("writer reads", "/read", authorization(1), 200, "Some(Writer)"),
        ("writer writes", "/write", authorization(1), 200, "Some(Writer)"),
        (
            "writer administers",
            "/admin",
            authorization(1),
            403,
            "the token 'writer' has the role writer",
        ),
        ("admin reads", "/read", authorization(2), 200, "Some(Admin)"),
        ("admin administers", "/admin", authorization(2), 200, "Some(Admin)"),
        ("a scope", "/write", authorization(3), 200, "Some(\"tenant-a/\")"),
        (
            "an expired token",
            "/read",
            authorization(4),
            401,
            "the token 'expired' expired at 2001-09-09T01:46:40Z",
        ),
        (
            "an unknown token",
            "/read",
            raw(&format!("Bearer {}", unknown.reveal())),
            401,
            "unknown token",
        ),
        ("a token that is cut", "/read", raw(&cut), 401, "unknown token"),
        ("no token after the scheme", "/read", raw("Bearer "), 401, "not 'Bearer' and a token"),
        ("another scheme", "/read", raw("Digest dTpw"), 401, "not 'Bearer' and a token"),
        ("a token as a password", "/read", password, 200, "Some(\"reader\")"),
        ("a password that is no token", "/read", raw("Basic dTpw"), 401, "unknown token"),
        ("no password", "/read", raw("Basic dQ=="), 401, "not a user and a password"),
        ("two headers", "/read", twice, 401, "more than one token"),
        ("two kinds of header", "/read", both, 401, "more than one token"),
        (
            "a very long token",
            "/read",
            raw(&format!("Bearer {}", "x".repeat(50_000))),
            401,
            "unknown token",
        ),
        (
            "a hash instead of a token",
            "/read",
            raw(&format!("Bearer {}", world.entries[2].digest.text())),
            401,
            "unknown token",
        ),
        ("an empty token", "/read", vec![("x-auth-token", String::new())], 401, "unknown token"),
    ] {
        let (got, challenge, body) = world.ask(path, &headers).await;
        assert_eq!(got, status, "{what}: {body}");
        assert!(body.contains(words), "{what}: {body}");
        let code = match status {
            401 => "\"code\":\"unauthenticated\"",
            403 => "\"code\":\"not_allowed\"",
            _ => "",
        };
        assert!(body.contains(code), "{what}: {body}");
        assert_eq!(challenge.is_some(), status == 401, "{what}: {challenge:?}");
        assert!(challenge.is_none_or(|text| text.starts_with("Bearer realm=\"allod\"")), "{what}");
        // The debug output of the request in the body must not show it either.
        assert!(!body.contains("allod_") && !body.contains("xxxx"), "{what}: {body}");
    }
    let unknown_path = world.ask("/nowhere", &[]).await;
    assert_eq!(unknown_path.0, 404);
}

#[tokio::test]
async fn changed_tokens_file_is_in_force_and_an_invalid_one_is_not() {
    let world = Fixture::new();
    let path = world.folder.path().join("tokens.toml");
    let ask =
        async |index: usize| world.ask("/read", &[("authorization", world.bearer(index))]).await.0;
    assert_eq!((ask(0).await, ask(1).await), (200, 200));
    let reload = || world.tokens.apply(vec![std::fs::read(&path).unwrap()]);

    write(&path, &[&world.entries[1]]);
    reload().unwrap();
    assert_eq!((ask(0).await, ask(1).await), (401, 200));

    std::fs::write(&path, "[[token]]\nname = 'half").unwrap();
    let error = reload().unwrap_err();
    assert!(error.contains("tokens.toml: line 2"), "{error}");
    assert_eq!((ask(0).await, ask(1).await), (401, 200));

    std::fs::write(&path, "").unwrap();
    reload().unwrap();
    assert_eq!((ask(0).await, ask(1).await), (401, 401));
}

#[test]
fn unusable_tokens_file_is_an_error_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");
    let error = Tokens::open(&path, "pools").unwrap_err();
    assert!(error.contains("tokens.toml: No such file"), "{error}");
    std::fs::write(&path, b"\xff").unwrap();
    assert!(Tokens::open(&path, "pools").unwrap_err().contains("is not UTF-8"));
    std::fs::write(&path, "x = 1").unwrap();
    assert!(Tokens::open(&path, "pools").unwrap_err().contains("unknown key 'x'"));
}

/// Serves on loopback until the runtime ends.
async fn serve(world: &Fixture) -> std::net::SocketAddr {
    let anywhere = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(anywhere, Auth::Tokens, 16).await.unwrap();
    let address = listener.address();
    let app = world.app.clone();
    tokio::spawn(listener.serve(app, Exporter::install(), std::future::pending()));
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn denied_request_does_not_wait_for_its_body_and_a_short_body_keeps_the_connection() {
    let world = Fixture::new();
    let address = serve(&world).await;
    let conversation = move || {
        let connect = || {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            stream
        };
        // Eight megabytes are announced and none are sent.
        let mut stream = connect();
        stream.write_all(b"POST /write HTTP/1.1\r\ncontent-length: 8000000\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 401 "), "{reply}");
        assert!(reply.contains("www-authenticate: Bearer realm=\"allod\"\r\n"), "{reply}");
        // Without a content length, only a limited part is read.
        let mut stream = connect();
        stream.write_all(b"POST /write HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
        let chunk = [&b"8000\r\n"[..], &[b'x'; 0x8000], b"\r\n"].concat();
        let sent = (0..1000).take_while(|_| stream.write_all(&chunk).is_ok()).count();
        assert!(sent < 1000, "the whole body was read");
        // A short body is discarded, and the connection stays usable.
        let mut stream = connect();
        let request = b"POST /write HTTP/1.1\r\ncontent-length: 40000\r\n\r\n";
        stream.write_all(&[&request[..], &[b' '; 40_000]].concat()).unwrap();
        stream.write_all(b"POST /open HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 401 ") && reply.contains("HTTP/1.1 200 "), "{reply}");
    };
    tokio::task::spawn_blocking(conversation).await.unwrap();
    let metrics = Exporter::install().render();
    assert!(metrics.contains("allod_auth_denied_total{reason=\"missing\"}"), "{metrics}");
}

#[tokio::test]
async fn with_tokens_any_address_can_be_bound() {
    // This machine does not have the address, so binding fails, but not because of --auth.
    let error = Listener::bind("192.0.2.1:1".parse().unwrap(), Auth::Tokens, 16).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot listen on 192.0.2.1:1"), "{error}");
    assert_eq!("tokens".parse(), Ok(Auth::Tokens));
    assert!("keystone".parse::<Auth>().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stream_ends_when_its_token_is_revoked() {
    let world = Fixture::new();
    let address = serve(&world).await;
    let open = |index: usize| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head =
            format!("GET /endless HTTP/1.1\r\nauthorization: {}\r\n\r\n", world.bearer(index));
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = Vec::new();
        while !reply.ends_with(b"hello\n\r\n") {
            let mut part = [0; 512];
            let len = stream.read(&mut part).unwrap();
            assert!(len > 0, "{}", String::from_utf8_lossy(&reply));
            reply.extend_from_slice(&part[..len]);
        }
        stream
    };
    let (mut goes, mut stays) = (open(0), open(1));
    world.tokens.apply(vec![world.entries[1].table("pools").into_bytes()]).unwrap();
    // A regular end: with the final chunk.
    let mut end = [0; 5];
    goes.read_exact(&mut end).unwrap();
    assert_eq!(&end, b"0\r\n\r\n");
    stays.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let error = stays.read(&mut end).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "the stream is still open");
}
