//! Transcripts of the id-manager over RESTCONF: requests, each followed by the expected reply.
//!
//! Each file under `transcripts/` runs against a fresh engine on a journal in memory. The clock stands still until `wait`
//! moves it. `start name=value …` restarts the server on the same journal with these settings; `tick` runs the periodic
//! work. Requests are JSON unless they look like XML. Replies are broken into lines between list entries.
//! `ALLOD_UPDATE_GOLDEN=1 cargo test` rewrites the files instead of comparing them.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use allod_core::command::Command;
use allod_edge::Guard;
use allod_face_restconf::id_manager::settings::search_order;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_testkit::transcript::{self, ManualClock};
use http::Request;
use http_body_util::Full;

use crate::id_manager::replies;
use crate::id_manager::server::{Answer, Server, Setup};

/// Parses a request of a transcript.
fn parse(text: &str) -> Request<Full<bytes::Bytes>> {
    let mut lines = text.lines();
    let (method, uri) = lines.next().and_then(|line| line.split_once(' ')).expect("METHOD path");
    let mut request = Request::builder().method(method).uri(uri).header("host", "allod:8778");
    let (mut body, mut typed) = (String::new(), false);
    for line in lines {
        match line.split_once(": ") {
            Some((name, value)) if body.is_empty() && !line.starts_with(['{', '<', '[']) => {
                request = request.header(name, value);
                typed |= name == "content-type";
            }
            _ => body.push_str(line),
        }
    }
    if !body.is_empty() {
        let kind = if body.starts_with('<') { "application/xml" } else { "application/json" };
        request = request.header("content-length", body.len());
        if !typed {
            request = request.header("content-type", kind);
        }
    }
    request.body(Full::from(body)).expect("a request")
}

/// The status, the relevant headers, and the body.
fn format_reply(answer: &Answer) -> String {
    let mut text = answer.status.to_string();
    for name in ["location", "content-type", "www-authenticate"] {
        if let Some(value) = answer.headers.get(name).map(|value| value.to_str().unwrap()) {
            write!(text, "\n   {name}: {value}").unwrap();
        }
    }
    let body = answer.body.replace("},{", "},\n{").replace("><", ">\n<");
    if !body.is_empty() {
        write!(text, "\n{body}").unwrap();
    }
    text
}

fn setup(words: &str) -> Setup {
    let mut setup = Setup::default();
    for (name, value) in words.split_whitespace().filter_map(|word| word.split_once('=')) {
        let ids = &mut setup.id_manager;
        match name {
            "node" => ids.node = value.parse().unwrap(),
            "release_delay_s" => ids.release_delay_s = value.parse().unwrap(),
            "search_order" => ids.search_order = search_order(value).unwrap(),
            "enhanced_search_order" => ids.enhanced_search_order = search_order(value).unwrap(),
            "strict" => ids.strict = value.parse().unwrap(),
            "unknown_key" => ids.unknown_key = value.parse().unwrap(),
            "error_prefix" => setup.restconf.error_prefix = value.parse().unwrap(),
            "data_missing" => setup.restconf.data_missing = value.parse().unwrap(),
            "auth" => setup.guard = Guard::NoAuth2,
            _ => panic!("no setting {name}"),
        }
    }
    setup
}

#[tokio::test]
async fn replies_match_the_transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/id_manager/transcripts");
    let mut number = 0;
    transcript::check(&folder, async |text: &str| {
        number += 1;
        let clock = ManualClock::morning();
        let (storage, checkpoints) = (MemoryStorage::new(), Arc::new(MemoryCheckpoints::new()));
        let start = async |setup: &Setup| {
            let journal = Arc::new(storage.open());
            Server::start(journal, checkpoints.clone(), clock.clone(), setup).await
        };
        let mut server = Some(start(&Setup::default()).await);
        let mut step = 0;
        let played = transcript::play(text, &clock, async |block: &str| {
            if let Some(words) = block.strip_prefix("start") {
                server.take().into_iter().for_each(Server::stop);
                server = Some(start(&setup(words)).await);
                return None;
            }
            if block == "tick" {
                server.as_ref()?.handle.submit(Command::Tick).await.unwrap();
                return None;
            }
            step += 1;
            let answer = server.as_ref()?.answer(parse(block)).await;
            replies::keep(&format!("{number:02}-{step:02}"), block, &answer);
            Some(format_reply(&answer))
        })
        .await;
        if let Some(server) = &server {
            replies::keep_tree(&format!("{number:02}-tree"), server).await;
        }
        played
    })
    .await;
}
