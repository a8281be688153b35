//! Transcripts of the Placement face: requests, each followed by the expected reply.
//!
//! Each file in `transcripts/` runs against a new engine with a journal in memory and a clock that only `wait`
//! advances. `@1.28` after a path is the microversion. Requests are made by an administrator unless they say otherwise.
//! `ALLOD_UPDATE_GOLDEN=1 cargo test` writes the actual replies into the files instead of comparing.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use allod_edge::{App, Guard, HttpLimits, Reply};
use allod_engine::{Config, Engine};
use allod_face_placement::{Placement, PlacementSettings};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_testkit::transcript::{self, ManualClock, fits};
use http::Request;
use http_body_util::{BodyExt, Full};

struct Server {
    app: App,
    clock: Arc<ManualClock>,
    routes: BTreeSet<(String, &'static str)>,
    _engine: Engine,
}

impl Server {
    async fn start() -> Server {
        Server::start_with(HttpLimits::default()).await
    }

    async fn start_with(limits: HttpLimits) -> Server {
        let clock = ManualClock::morning();
        let engine = Engine::start_with_clock(
            Arc::new(MemoryStorage::new().open()),
            Arc::new(MemoryCheckpoints::new()),
            Config::default(),
            clock.clone(),
        );
        let engine = engine.unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        let placement = Placement::new(handle, PlacementSettings::default()).unwrap();
        let routes = placement.routes();
        let known = routes.iter().map(|route| (route.method.to_string(), route.path)).collect();
        let app = App::new(routes, limits).unwrap().with_guard(Guard::NoAuth2);
        let app = app.error_format("/", Placement::error_format());
        Server { app, clock, routes: known, _engine: engine }
    }
}

/// The request in a block of a transcript.
fn parse(text: &str) -> Request<Full<bytes::Bytes>> {
    let mut lines = text.lines();
    let mut words = lines.next().unwrap().split(' ');
    let (method, uri) = (words.next().unwrap(), words.next().expect("METHOD path"));
    let mut request = Request::builder().method(method).uri(uri).header("host", "allod:8778");
    if let Some(version) = words.next().and_then(|word| word.strip_prefix('@')) {
        request = request.header("openstack-api-version", format!("placement {version}"));
    }
    let (mut body, mut headers) = (String::new(), Vec::new());
    for line in lines {
        match line.split_once(": ") {
            Some(header) if body.is_empty() && !line.starts_with(['{', '[']) => {
                headers.push(header)
            }
            _ => body.push_str(line),
        }
    }
    let usual = [("x-auth-token", "admin"), ("x-roles", "admin,service")];
    for (name, value) in usual {
        if !headers.iter().any(|(own, _)| own == &name) {
            request = request.header(name, value);
        }
    }
    if !body.is_empty() {
        request = request.header("content-length", body.len());
        if !headers.iter().any(|(own, _)| own == &"content-type") {
            request = request.header("content-type", "application/json");
        }
    }
    // `-` removes a default header.
    for (name, value) in headers.into_iter().filter(|(_, value)| *value != "-") {
        request = request.header(name, value);
    }
    request.body(Full::from(body)).expect("a request")
}

/// Runs a transcript and returns it with the actual replies.
async fn play(text: &str, unseen: &mut BTreeSet<(String, &'static str)>) -> String {
    let server = Server::start().await;
    let answer = async |block: &str| {
        let request = parse(block);
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        unseen.retain(|(known, template)| *known != method || !fits(template, &path));
        let (head, body) = shown(server.app.answer(request).await).await;
        Some(format!("{head}\n{body}"))
    };
    transcript::play(text, &server.clock, answer).await
}

/// The status, the relevant headers and the body. Headers that vary between runs are only checked for presence.
async fn shown(reply: Reply) -> (String, String) {
    let (head, body) = reply.into_parts();
    let id = head.headers["x-openstack-request-id"].to_str().unwrap().to_owned();
    assert!(id.starts_with("req-") && head.headers["x-request-id"] == id.as_str(), "{id}");
    let mut text = head.status.as_u16().to_string();
    if let Some(position) = head.headers.get("allod-position") {
        write!(text, " position {}", position.to_str().unwrap()).unwrap();
    }
    let names = ["openstack-api-version", "vary", "allow", "location", "last-modified"];
    for name in names.into_iter().chain(["cache-control", "content-type", "allod-explain"]) {
        let value = head.headers.get(name).map(|value| value.to_str().unwrap());
        if let Some(value) = value.filter(|value| *value != "application/json") {
            write!(text, "\n   {name}: {value}").unwrap();
        }
    }
    let body = body.collect().await.unwrap().to_bytes();
    let is_json = head.headers.get("content-type").is_some_and(|kind| kind == "application/json");
    assert!(!is_json || serde_json::from_slice::<serde_json::Value>(&body).is_ok(), "{body:?}");
    let body = String::from_utf8(body.to_vec()).unwrap().replace(&id, "req-…");
    // Empty lines separate blocks.
    let lines: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
    (text, lines.join("\n"))
}

#[tokio::test]
async fn replies_match_the_transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcripts");
    let mut unseen = Server::start().await.routes;
    transcript::check(&folder, async |text| play(text, &mut unseen).await).await;
    // Both mounts have the same routes.
    unseen.retain(|(_, path)| !path.starts_with("/placement"));
    assert!(unseen.is_empty(), "in no transcript: {unseen:?}");
}

#[tokio::test]
async fn read_of_a_future_position_times_out() {
    let limits = HttpLimits { request_ms_max: 50, ..HttpLimits::default() };
    let server = Server::start_with(limits).await;
    let request = parse("GET /resource_providers\nallod-min-position: 1000");
    let mut answer = std::pin::pin!(server.app.answer(request));
    // The time limit is checked at each poll; a connection polls regularly.
    let reply = loop {
        tokio::select! {
            reply = &mut answer => break reply,
            () = tokio::time::sleep(std::time::Duration::from_millis(5)) => {}
        }
    };
    let (head, body) = shown(reply).await;
    assert!(head.starts_with("504"), "{head}");
    assert!(body.contains(r#""status":504"#), "{body}");
}
