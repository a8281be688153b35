//! Transcripts: requests to the native face with their expected replies.
//!
//! Each file under `transcripts/` runs against a new engine with a journal in memory and a clock that only `wait` moves.
//! `trim` trims the journal up to a position, `provider` creates a provider (see `stock`), `wanted` uses the resource-manager
//! (see `wanted`), `report` is an answer of an authority (see `reported`), which with `meanwhile` arrives while the request
//! below it waits. `REFERENCE(pool,key)` in a request is the reference of that claim. `ALLOD_UPDATE_GOLDEN=1 cargo test` writes the actual replies into the files.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use allod_core::limits::Limits as CoreLimits;
use allod_edge::{App, HttpLimits};
use allod_engine::{Config, Engine, Handle};
use allod_face_native::{Native, WatchLimits};
use allod_journal::Journal;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_testkit::transcript::{self, ManualClock};
use http::Request;
use http_body_util::{BodyExt, Full};

use crate::{reported, schema, stock, stream, wanted};

struct Server {
    app: App,
    clock: Arc<ManualClock>,
    storage: MemoryStorage,
    handle: Handle,
    _engine: Engine,
    _index: tempfile::TempDir,
}

impl Server {
    async fn start() -> Server {
        Server::start_with(HttpLimits::default()).await
    }

    async fn start_with(limits: HttpLimits) -> Server {
        let clock = ManualClock::morning();
        let (storage, index) = (MemoryStorage::new(), tempfile::tempdir().unwrap());
        // So few that a transcript can exceed it.
        let config = Config {
            index: Some(index.path().into()),
            history_records_max: 5,
            limits: CoreLimits { outbox_max: 100, ..CoreLimits::default() },
            ..Config::default()
        };
        let engine = Engine::start_with_clock(
            Arc::new(storage.open()),
            Arc::new(MemoryCheckpoints::new()),
            config,
            clock.clone(),
        );
        let engine = engine.unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        let native = Native::new(
            handle.clone(),
            vec![("body_bytes_max", 1_048_576), ("key_bytes_max", 1024)],
            WatchLimits::default(),
            Default::default(),
            Default::default(),
        );
        let app = App::new(native.routes(), limits).unwrap();
        Server { app, clock, handle, _engine: engine, storage, _index: index }
    }
}

fn parse(text: &str) -> Request<Full<bytes::Bytes>> {
    let mut lines = text.lines();
    let (method, uri) = lines.next().and_then(|line| line.split_once(' ')).expect("METHOD path");
    let mut request = Request::builder().method(method).uri(uri);
    let (mut body, mut typed) = (String::new(), false);
    for line in lines {
        match line.split_once(": ") {
            Some((name, value)) if body.is_empty() && !line.starts_with(['{', '[']) => {
                request = request.header(name, value);
                typed |= name == "content-type";
            }
            _ => body.push_str(line),
        }
    }
    if !body.is_empty() && !typed {
        request = request.header("content-type", "application/json");
    }
    request.body(Full::from(body)).expect("a request")
}

/// The request with the reference of the claim that it names.
async fn with_reference(handle: &Handle, block: &str) -> String {
    let Some((before, rest)) = block.split_once("REFERENCE(") else { return block.to_owned() };
    let (claim, after) = rest.split_once(')').expect("pool and key");
    let (pool, key) = claim.split_once(',').expect("pool and key");
    let reference = reported::reference(handle, pool, key).await;
    format!("{before}{reference}{after}")
}

/// A reply in a transcript.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    method: String,
    path: String,
    status: u16,
    body: String,
}

/// Runs the requests of a transcript; returns it with the actual replies.
async fn play(text: &str, seen: &mut BTreeSet<Seen>) -> String {
    let server = Server::start().await;
    let answer = async |block: &str| {
        if block.starts_with("provider ") {
            for line in block.lines() {
                let line = line.strip_prefix("provider ").expect("one provider on each line");
                stock::provide(&server.handle, line).await;
            }
            return None;
        }
        if block.starts_with("wanted ") {
            for line in block.lines() {
                let line = line.strip_prefix("wanted ").expect("one thing on each line");
                wanted::tell(&server.handle, line).await;
            }
            return None;
        }
        if block.starts_with("report ") {
            for line in block.lines() {
                let line = line.strip_prefix("report ").expect("one report on each line");
                reported::report(&server.handle, line).await;
            }
            return None;
        }
        if let Some(position) = block.strip_prefix("trim ") {
            let journal = server.storage.open();
            let record = journal.seq_of_position(position.parse().expect("a position"));
            journal.trim(record.unwrap()).unwrap();
            return None;
        }
        let (reports, block): (Vec<&str>, Vec<&str>) =
            block.lines().partition(|line| line.starts_with("meanwhile "));
        let request = parse(&with_reference(&server.handle, &block.join("\n")).await);
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        let reports = async {
            for line in reports {
                let line = line.strip_prefix("meanwhile report ").expect("a report");
                reported::report(&server.handle, line).await;
            }
        };
        let (reply, ()) = tokio::join!(server.app.answer(request), reports);
        let status = reply.status().as_u16();
        let (head, body) = shown(reply).await;
        let whole = format!("{head}\n{body}");
        let stream = status == 200 && path == "/v1/watch";
        for body in if stream { changes(&body) } else { vec![body] } {
            let (method, path) = (method.clone(), path.clone());
            seen.insert(Seen { method, path, status, body });
        }
        Some(reported::steady(&whole))
    };
    transcript::play(text, &server.clock, answer).await
}

/// Status, relevant headers and body. Headers that differ between runs are only checked.
async fn shown(reply: allod_edge::Reply) -> (String, String) {
    let (head, body) = reply.into_parts();
    assert!(head.headers.contains_key("x-request-id"));
    let mut text = head.status.as_u16().to_string();
    if let Some(position) = head.headers.get("allod-position") {
        write!(text, " position {}", position.to_str().unwrap()).unwrap();
        let hash = head.headers.get("allod-hash").expect("a hash beside every position");
        assert!(hash.len() == 64 && hash.as_bytes().iter().all(u8::is_ascii_hexdigit));
    }
    for name in ["etag", "allow", "retry-after", "link", "preference-applied"] {
        if let Some(value) = head.headers.get(name) {
            write!(text, "\n   {name}: {}", value.to_str().unwrap()).unwrap();
        }
    }
    let body = stream::text(http::Response::new(body)).await;
    // Empty lines separate requests in a transcript, so those between events are removed.
    (text, steady(body.trim_end().replace("\n\n", "\n")))
}

/// The data of each event that is not a heartbeat.
fn changes(shown: &str) -> Vec<String> {
    let data = shown.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| data.contains("\"events\"")).map(str::to_owned).collect()
}

/// The body with fixed values for members that differ between runs.
fn steady(mut body: String) -> String {
    for (name, fixed) in [("hash", "\"…\""), ("bytes", "0"), ("last_append_ms", "0")] {
        let member = format!("\"{name}\":");
        if let Some(begin) = body.find(&member).map(|at| at + member.len()) {
            let end = begin + body[begin..].find([',', '}']).unwrap();
            body.replace_range(begin..end, fixed);
        }
    }
    body
}

/// Documented replies that are in no transcript; separate tests below cover them.
const UNSEEN: &[&str] = &["GET /v1/backup 200", "GET /v1/docs 200", "GET /v1/openapi.json 200"];

#[tokio::test]
async fn replies_match_the_transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcripts");
    let mut seen = BTreeSet::new();
    transcript::check(&folder, async |text| play(text, &mut seen).await).await;
    every_reply_is_documented_and_every_documented_reply_was_seen(&seen);
}

/// Checks that the replies in the transcripts match the OpenAPI document.
fn every_reply_is_documented_and_every_documented_reply_was_seen(seen: &BTreeSet<Seen>) {
    let document: serde_json::Value = serde_json::from_str(&allod_face_native::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let mut unseen = BTreeSet::new();
    for (template, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            // Replies of the edge are tested there.
            let own = responses.keys().filter(|status| !is_everywhere(status));
            unseen
                .extend(own.map(|status| format!("{} {template} {status}", method.to_uppercase())));
        }
    }
    for Seen { method, path, status, body } in seen {
        let Some((template, item)) = paths.iter().find(|(template, _)| fits(template, path)) else {
            assert_eq!(*status, 404, "{path} is not documented");
            continue;
        };
        let operation = &item[method.to_lowercase()];
        if operation.is_null() {
            assert_eq!(*status, 405, "{method} {path} is not documented");
            continue;
        }
        let documented = operation["responses"].get(status.to_string());
        let Some(documented) = documented else {
            panic!("{method} {template} {status} is not documented");
        };
        if let Some(content) = documented["content"].as_object().and_then(|all| all.values().next())
        {
            let body = serde_json::from_str(body).unwrap();
            let wrong = schema::errors(&document, &content["schema"], &body);
            assert!(wrong.is_empty(), "{method} {path} {status}: {wrong:?} in {body}");
        }
        unseen.remove(&format!("{method} {template} {status}"));
    }
    let unseen: Vec<&str> = unseen.iter().map(String::as_str).collect();
    assert_eq!(unseen, UNSEEN, "documented, and in no transcript");
}

fn is_everywhere(status: &str) -> bool {
    ["401", "403", "405", "408", "413", "414", "415", "429", "431", "500", "503", "504"]
        .contains(&status)
}

/// Whether a path matches the template.
fn fits(template: &str, path: &str) -> bool {
    let tail = template.ends_with("/values/{value}");
    let (want, got): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), path.split('/').collect());
    (want.len() == got.len() || (tail && got.len() > want.len()))
        && want.iter().zip(&got).all(|(want, got)| want.starts_with('{') || want == got)
}

#[test]
fn every_referenced_schema_exists() {
    let text = allod_face_native::openapi();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut count = 0;
    for part in text.split("\"#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(document["components"]["schemas"].get(name).is_some(), "{name} is missing");
        count += 1;
    }
    assert!(count > 50);
}

#[tokio::test]
async fn openapi_document_is_served() {
    let server = Server::start().await;
    let request = Request::get("/v1/openapi.json").body(Full::default()).unwrap();
    let reply = server.app.answer(request).await;
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, allod_face_native::openapi());
}

#[tokio::test]
async fn docs_page_is_served_with_a_strict_content_security_policy() {
    let server = Server::start().await;
    let request = Request::get("/v1/docs").body(Full::default()).unwrap();
    let reply = server.app.answer(request).await;
    assert_eq!(reply.status(), 200);
    let header = |name: &str| reply.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/html; charset=utf-8");
    assert!(header("content-security-policy").starts_with("default-src 'none';"));
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"<!doctype html>") && body.ends_with(b"</html>"));
}

#[tokio::test]
async fn backup_is_complete() {
    let server = Server::start().await;
    let ask = parse;
    server.app.answer(ask("PUT /v1/pools/p\n{\"kind\":\"id32\",\"ranges\":[\"1-9\"]}")).await;
    let reply = server.app.answer(ask("GET /v1/backup")).await;
    assert_eq!(reply.status(), 200);
    assert_eq!(reply.headers()["content-type"], "application/octet-stream");
    let bytes = reply.into_body().collect().await.expect("it is whole").to_bytes();
    let found = allod_engine::verify_segment(&bytes[..], &mut |_, _| {}).expect("it is sound");
    assert_eq!(found.verified.state.pool_count(), 1);
    assert_eq!(found.tail, server.storage.open().tail().expect("tail"));
}

#[tokio::test]
async fn read_of_a_future_position_times_out() {
    let limits = HttpLimits { request_ms_max: 50, ..HttpLimits::default() };
    let server = Server::start_with(limits).await;
    let request = parse("GET /v1/pools\nallod-min-position: 1000");
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
    assert!(body.contains(r#""code":"answer_too_slow""#), "{body}");
}
