//! A face in process, with an engine on a journal in memory: from the bytes of a request to the bytes of the reply.
//!
//! An input is one or more requests in the form of the transcripts: `METHOD path`, headers, body, an empty line. Each input
//! starts from the same state, so that a failure can be repeated from its input alone.

use std::sync::Arc;
use std::time::Duration;

use allod_core::invariant;
use allod_edge::App;
use allod_engine::{Clock, Config, Engine, Handle};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use bytes::Bytes;
use http::Request;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use tokio::runtime::{Builder, Runtime};

const REQUESTS_MAX: usize = 30;

/// A reply that takes longer is a failure: requests have budgets. Far above them, because the machine may be busy.
const REPLY_MAX: Duration = Duration::from_secs(4);

/// 1 January 2026, 08:00 UTC, for ever: a lease never ends by itself.
struct FixedClock;

impl Clock for FixedClock {
    fn now_ms(&self) -> u64 {
        1_767_254_400_000
    }
}

struct Running {
    engine: Engine,
    handle: Handle,
    app: App,
    /// The position after the setup.
    position: u64,
}

pub struct FuzzServer {
    runtime: Runtime,
    face: fn(Handle) -> App,
    /// Headers that each request has unless it names them itself.
    usual: &'static [(&'static str, &'static str)],
    /// Requests that make the state in which every input starts.
    setup: &'static [u8],
    running: Option<Running>,
}

impl FuzzServer {
    pub fn new(
        face: fn(Handle) -> App,
        usual: &'static [(&'static str, &'static str)],
        setup: &'static str,
    ) -> FuzzServer {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        FuzzServer { runtime, face, usual, setup: setup.as_bytes(), running: None }
    }

    /// Sends the requests. Panics if a reply is not valid, is an internal error, or leaves a state that violates an
    /// invariant.
    pub fn run(&mut self, input: &[u8]) {
        let running = self.running.take().unwrap_or_else(|| self.start());
        for block in blocks(input).take(REQUESTS_MAX) {
            self.answer(&running.app, block);
        }
        let position = |handle: &Handle| handle.read(|now| now.at.position).expect("it is ready");
        if position(&running.handle) == running.position {
            self.running = Some(running);
            return;
        }
        let wrong = running.handle.read(|now| invariant::check(now.state)).expect("it is ready");
        assert!(wrong.is_empty(), "{wrong:?}");
        running.engine.stop().expect("the engine stops");
    }

    fn start(&self) -> Running {
        let (journal, checkpoints) = (MemoryStorage::new().open(), MemoryCheckpoints::new());
        let (journal, checkpoints) = (Arc::new(journal), Arc::new(checkpoints));
        let clock = Arc::new(FixedClock);
        let engine = Engine::start_with_clock(journal, checkpoints, Config::default(), clock);
        let engine = engine.expect("it starts");
        let handle = engine.handle();
        while !handle.status().ready {
            std::thread::sleep(Duration::from_micros(50));
        }
        let app = (self.face)(handle.clone());
        for block in blocks(self.setup) {
            let status = self.answer(&app, block).expect("the setup has requests");
            assert!(status < 300, "{status}: {}", String::from_utf8_lossy(block));
        }
        let position = handle.read(|now| now.at.position).expect("it is ready");
        Running { engine, handle, app, position }
    }

    /// The status, or `None` if the block is not a request that HTTP can carry.
    fn answer(&self, app: &App, block: &[u8]) -> Option<u16> {
        let request = parse(block, self.usual)?;
        self.runtime.block_on(async {
            let reply = tokio::time::timeout(REPLY_MAX, app.answer(request)).await;
            let (head, body) = reply.expect("an answer in time").into_parts();
            let status = head.status.as_u16();
            assert_ne!(status, 500, "{}", String::from_utf8_lossy(block));
            let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            let kind = kind.unwrap_or_default();
            if kind.starts_with("text/event-stream") {
                return Some(status);
            }
            let body = tokio::time::timeout(REPLY_MAX, body.collect()).await;
            let body = body.expect("a body in time").expect("a whole body").to_bytes();
            if kind.contains("json") {
                serde_json::from_slice::<serde_json::Value>(&body).expect("valid JSON");
            }
            Some(status)
        })
    }
}

fn blocks(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(input);
    std::iter::from_fn(move || {
        let input = rest?;
        let end = input.windows(2).position(|two| two == b"\n\n");
        rest = end.map(|end| &input[end + 2..]);
        Some(&input[..end.unwrap_or(input.len())])
    })
}

/// The request of a block, as the transcripts write it. `@1.28` after a path is the microversion of Placement.
fn parse(block: &[u8], usual: &[(&str, &str)]) -> Option<Request<Full<Bytes>>> {
    let mut lines = block.split_inclusive(|byte| *byte == b'\n');
    let first = std::str::from_utf8(lines.next()?).ok()?;
    let mut words = first.trim_end().split(' ');
    let (method, uri) = (words.next()?, words.next()?);
    let mut request = Request::builder().method(method).uri(uri).header("host", "allod:8778");
    if let Some(version) = words.next().and_then(|word| word.strip_prefix('@')) {
        request = request.header("openstack-api-version", format!("placement {version}"));
    }
    let mut named = Vec::new();
    let mut body_from = first.len();
    for line in lines {
        let header =
            std::str::from_utf8(line).ok().filter(|line| !line.starts_with(['{', '[', '"']));
        let Some((name, value)) = header.and_then(|line| line.trim_end().split_once(": ")) else {
            break;
        };
        body_from += line.len();
        // It would wait for a position that no one writes.
        if !name.eq_ignore_ascii_case("allod-min-position") {
            request = request.header(name, value);
            named.push(name.to_ascii_lowercase());
        }
    }
    let body = &block[body_from.min(block.len())..];
    let is_missing = |name: &str| !named.iter().any(|known| known == name);
    for (name, value) in usual.iter().filter(|(name, _)| is_missing(name)) {
        request = request.header(*name, *value);
    }
    if !body.is_empty() {
        if is_missing(CONTENT_LENGTH.as_str()) {
            request = request.header(CONTENT_LENGTH, body.len());
        }
        if is_missing(CONTENT_TYPE.as_str()) {
            request = request.header(CONTENT_TYPE, "application/json");
        }
    }
    request.body(Full::from(Bytes::copy_from_slice(body))).ok()
}
