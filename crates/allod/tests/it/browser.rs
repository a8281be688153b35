//! A real browser with a hostile page: a server without authentication does what the pages of its own origin ask, and
//! nothing that other pages ask.

mod relay;

use std::process::{Command, Stdio};

use allod_testkit::server::Server;

use self::relay::Relay;

/// The name of a page's site that resolves to a loopback address, as after DNS rebinding.
const REBOUND: &str = "rebound.example";

/// Opens the page in a new browser, waits for its script, and returns its text.
fn browse(url: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--virtual-time-budget=30000",
        "--dump-dom",
    ]);
    browser.arg(format!("--user-data-dir={}", profile.path().display()));
    browser.arg(format!("--host-resolver-rules=MAP {REBOUND} 127.0.0.1"));
    let started = browser.arg(url).stdin(Stdio::null()).stderr(Stdio::piped()).output();
    let output = started.unwrap_or_else(|error| {
        panic!("chromium cannot be started (cargo xtask test installs it): {error}")
    });
    let (text, said) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("\nend<"), "the script of {url} did not end: {text}\n{said}");
    text.replace("&lt;", "<").replace("&quot;", "\"").replace("&amp;", "&")
}

/// The line of an attempt.
fn line<'a>(text: &'a str, attempt: &str) -> &'a str {
    let start = format!("{attempt}: ");
    let lines = text.lines().map(|line| line.rsplit('>').next().unwrap_or_default());
    lines.into_iter().find(|line| line.starts_with(&start)).unwrap_or_default()
}

fn start() -> (Server, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()).env_clear();
    let server = Server::of(command);
    let pool = server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["1-9"]}"#);
    assert_eq!(pool.status, 201, "{}", pool.text());
    let claim = server.put("/v1/pools/p/claims/leased", r#"{"ttl":36000}"#);
    assert_eq!(claim.status, 201, "{}", claim.text());
    (server, data)
}

/// What a page could have changed: the pools, and whether the claim still has its lease.
fn state(server: &Server) -> (String, String, bool) {
    let (pools, ids) =
        (server.get("/v1/pools"), server.get("/restconf/config/id-manager:id-pools"));
    let claim = server.get("/v1/pools/p/claims/leased");
    (pools.text().to_owned(), ids.text().to_owned(), claim.text().contains("\"expires\""))
}

#[test]
fn pages_of_other_origins_change_nothing_and_read_nothing() {
    let (server, _data) = start();
    let relay = Relay::start(server.address);
    let (port, target) = (relay.port(), server.address);
    let before = state(&server);
    // Another port of the same host, another loopback name, and a foreign name that resolves to loopback.
    for (host, base) in [
        ("127.0.0.1", format!("http://{target}")),
        ("localhost", format!("http://{target}")),
        (REBOUND, format!("http://{target}")),
        (REBOUND, format!("http://{REBOUND}:{}", target.port())),
    ] {
        let text = browse(&format!("http://{host}:{port}/page?base={base}"));
        assert_eq!(state(&server), before, "{host} {base}: {text}");
        assert_eq!(line(&text, "json"), "json: TypeError", "{host} {base}: {text}");
        assert_eq!(line(&text, "read"), "read: TypeError", "{host} {base}: {text}");
    }
}

#[test]
fn page_whose_name_resolves_to_loopback_is_not_of_the_servers_origin() {
    let (server, _data) = start();
    let relay = Relay::start(server.address);
    let before = state(&server);
    // The page and the server have one origin for the browser, so that it would show the answers to the page.
    let text = browse(&format!("http://{REBOUND}:{}/page", relay.port()));
    assert_eq!(state(&server), before, "{text}");
    assert!(line(&text, "json").starts_with("json: basic 403"), "{text}");
    let read = line(&text, "read");
    assert!(read.starts_with("read: basic 403") && read.contains("host_not_allowed"), "{text}");
}

#[test]
fn page_of_the_servers_own_origin_is_served() {
    let (server, _data) = start();
    let relay = Relay::start(server.address);
    let text = browse(&format!("http://localhost:{}/page", relay.port()));
    assert!(line(&text, "json").starts_with("json: basic 201"), "{text}");
    assert!(line(&text, "read").contains("\"json\""), "{text}");
    assert!(server.get("/v1/pools").text().contains("\"json\""));
    // It too must name the type of a body.
    assert!(!server.get("/restconf/config/id-manager:id-pools").text().contains("untyped"));
}
