//! The protocol over its routes, with a small model behind it.
//!
//! Each file under `transcripts/` runs against a fresh engine on a journal in memory. The clock stands still until `wait`
//! moves it; `stale N` makes the next N plans use an old state, `meddle N` makes that many of them conflict with a change,
//! `trim` trims the journal. Every route must occur in a transcript.

mod limits;
mod streams;
mod toy;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use allod_core::limits::Limits as CoreLimits;
use allod_edge::{App, Body, Guard, HttpLimits, Reply};
use allod_engine::{Config, Engine};
use allod_face_restconf::yang::{Schema, embedded};
use allod_face_restconf::{Restconf, RestconfSettings};
use allod_journal::Journal;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_testkit::transcript::{self, ManualClock, fits};
use http::Request;
use http_body_util::{BodyExt, Full};

use toy::Toy;

pub(crate) struct Server {
    pub app: App,
    pub toy: Arc<Toy>,
    clock: Arc<ManualClock>,
    storage: MemoryStorage,
    routes: BTreeSet<(String, &'static str)>,
    pub engine: Engine,
}

impl Server {
    pub async fn start(settings: RestconfSettings, guard: Guard) -> Server {
        Server::start_with(settings, guard, Config::default()).await
    }

    pub async fn start_with(settings: RestconfSettings, guard: Guard, config: Config) -> Server {
        Server::start_limited(settings, guard, config, HttpLimits::default()).await
    }

    async fn start_limited(
        settings: RestconfSettings,
        guard: Guard,
        config: Config,
        http_limits: HttpLimits,
    ) -> Server {
        let (clock, storage) = (ManualClock::morning(), MemoryStorage::new());
        let limits = CoreLimits { label_bytes_max: 1 << 20, ..CoreLimits::default() };
        let engine = Engine::start_with_clock(
            Arc::new(storage.open()),
            Arc::new(MemoryCheckpoints::new()),
            Config { limits, ..config },
            clock.clone(),
        );
        let engine = engine.unwrap();
        let handle = engine.handle();
        while !handle.status().ready {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        let schema = schema();
        let toy = Arc::new(Toy::new(schema.clone(), handle.clone()));
        let face = Restconf::new(handle, settings, schema, vec![toy.clone()]).unwrap();
        let routes = face.routes();
        let known = routes.iter().map(|route| (route.method.to_string(), route.path)).collect();
        let mut app = App::new(routes, http_limits).unwrap().with_guard(guard);
        for prefix in ["/restconf", "/rests", "/.well-known/host-meta"] {
            app = app.error_format(prefix, face.error_format());
        }
        Server { app, toy, clock, storage, routes: known, engine }
    }

    /// Trims the journal up to a position.
    pub fn trim(&self, position: u64) {
        let journal = self.storage.open();
        journal.trim(journal.seq_of_position(position).unwrap()).unwrap();
    }

    pub async fn ask(&self, text: &str) -> (String, String) {
        format_reply(self.app.answer(parse(text)).await).await
    }
}

pub(crate) fn schema() -> Arc<Schema> {
    let files = [embedded::PROTOCOL, &[("toy.yang", include_str!("protocol/toy.yang"))]].concat();
    Arc::new(Schema::compile(&files).unwrap())
}

/// Parses a request of a transcript.
pub(crate) fn parse(text: &str) -> Request<Full<bytes::Bytes>> {
    let mut lines = text.lines();
    let (method, uri) = lines.next().and_then(|line| line.split_once(' ')).expect("METHOD path");
    let mut request = Request::builder().method(method).uri(uri).header("host", "allod:8778");
    let (mut body, mut typed) = (String::new(), false);
    for line in lines {
        match line.split_once(": ") {
            Some((name, value)) if body.is_empty() && !line.starts_with(['{', '[', '<']) => {
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

/// The status with the relevant headers, and the body.
async fn format_reply(reply: Reply) -> (String, String) {
    let (head, body) = reply.into_parts();
    assert!(head.headers.contains_key("x-request-id"));
    let mut text = head.status.as_u16().to_string();
    if let Some(position) = head.headers.get("allod-position") {
        write!(text, " position {}", position.to_str().unwrap()).unwrap();
    }
    let names = ["content-type", "etag", "last-modified", "location", "allow", "accept-patch"];
    for name in names.into_iter().chain(["retry-after", "www-authenticate"]) {
        if let Some(value) = head.headers.get(name) {
            write!(text, "\n   {name}: {}", value.to_str().unwrap()).unwrap();
        }
    }
    let kind = head.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap());
    let body = read(body).await;
    if kind.ends_with("json") && !body.is_empty() {
        assert!(serde_json::from_str::<serde_json::Value>(&body).is_ok(), "{body}");
    }
    // Empty lines separate requests in a transcript.
    let lines: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
    (text, lines.join("\n"))
}

/// The whole body; of an event stream, everything up to the first comment.
async fn read(mut body: Body) -> String {
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let data = frame.expect("an unbroken body").into_data().expect("data");
        all.extend_from_slice(&data);
        if data.starts_with(b": nothing new") {
            break;
        }
    }
    String::from_utf8(all).unwrap()
}

async fn play(text: &str, unseen: &mut BTreeSet<(String, &'static str)>) -> String {
    let settings = RestconfSettings {
        plans_max: 3,
        restconf_body_bytes_max: 2000,
        ..RestconfSettings::default()
    };
    let server = Server::start(settings, Guard::Disabled).await;
    let answer = async |block: &str| {
        let toy = &server.toy;
        for (word, counter) in [("stale ", &toy.stale), ("meddle ", &toy.meddle)] {
            if let Some(count) = block.strip_prefix(word) {
                counter.store(count.parse().unwrap(), Ordering::Relaxed);
                return None;
            }
        }
        if let Some(position) = block.strip_prefix("trim ") {
            server.trim(position.parse().unwrap());
            return None;
        }
        let request = parse(block);
        let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
        unseen.retain(|(known, template)| *known != method || !is_at(template, &path));
        let (head, body) = format_reply(server.app.answer(request).await).await;
        Some(format!("{head}\n{body}"))
    };
    transcript::play(text, &server.clock, answer).await
}

#[tokio::test]
async fn replies_match_the_transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/protocol/transcripts");
    let mut unseen = Server::start(RestconfSettings::default(), Guard::Disabled).await.routes;
    transcript::check(&folder, async |text| play(text, &mut unseen).await).await;
    assert!(unseen.is_empty(), "in no transcript: {unseen:?}");
}

/// Whether a path matches a route template. The other root, and a trailing slash, count as the same.
fn is_at(template: &str, path: &str) -> bool {
    let plain =
        |text: &str| text.replacen("/rests", "/restconf", 1).trim_end_matches('/').to_owned();
    let (template, path) = (plain(template), plain(path));
    match template.strip_suffix("/{*rest}") {
        Some(above) => path == above || path.starts_with(&format!("{above}/")),
        None => fits(&template, &path),
    }
}

#[tokio::test]
async fn read_of_a_future_position_times_out() {
    let limits = HttpLimits { request_ms_max: 50, ..HttpLimits::default() };
    let server = Server::start_limited(
        RestconfSettings::default(),
        Guard::Disabled,
        Config::default(),
        limits,
    )
    .await;
    let request = parse("GET /restconf/data/toy:shop\nallod-min-position: 1000");
    let mut answer = std::pin::pin!(server.app.answer(request));
    // The time limit is checked at each poll; a connection polls regularly.
    let reply = loop {
        tokio::select! {
            reply = &mut answer => break reply,
            () = tokio::time::sleep(std::time::Duration::from_millis(5)) => {}
        }
    };
    let (head, body) = format_reply(reply).await;
    assert!(head.starts_with("504"), "{head}");
    assert!(body.contains(r#""error-tag":"operation-failed""#), "{body}");
}
