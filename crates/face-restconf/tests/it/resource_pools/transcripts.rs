//! Transcripts of the resource-manager over RESTCONF: requests, each followed by the expected reply.
//!
//! Each file under `transcripts/` runs against a fresh engine on a journal in memory. The clock stands still until `wait`
//! moves it. `start` restarts the server on the same journal. In a path, `~` is the path of the pools. Frequent requests
//! have short forms (`short`). `ALLOD_UPDATE_GOLDEN=1 cargo test` rewrites the files instead of comparing them.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_testkit::transcript::{self, ManualClock};
use http::Request;
use http_body_util::Full;

use crate::resource_pools::server::{Answer, POOLS, Server};
use crate::resource_pools::{replies, short};

/// Parses a request of a transcript.
fn parse(text: &str) -> Request<Full<bytes::Bytes>> {
    let mut lines = text.lines();
    let (method, uri) = lines.next().and_then(|line| line.split_once(' ')).expect("METHOD path");
    let uri = uri.replacen('~', POOLS, 1);
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
        let kind = if body.starts_with('<') { "xml" } else { "json" };
        request = request.header("content-length", body.len());
        if !typed {
            request = request.header("content-type", format!("application/yang-data+{kind}"));
        }
    }
    request.body(Full::from(body)).expect("a request")
}

/// The status, the relevant headers, and the body.
fn format_reply(answer: &Answer) -> String {
    let mut text = answer.status.to_string();
    for name in ["location", "content-type", "etag", "allow"] {
        if let Some(value) = answer.headers.get(name).map(|value| value.to_str().unwrap()) {
            write!(text, "\n   {name}: {value}").unwrap();
        }
    }
    let body = answer.body.trim().replace("},{", "},\n{").replace("><", ">\n<");
    let body = body.replace("\n\n", "\n");
    if !body.is_empty() {
        write!(text, "\n{body}").unwrap();
    }
    text
}

/// The module of `site_transcripts`.
const SITE: (&str, &str) = ("acme-resources.yang", include_str!("acme-resources.yang"));

#[tokio::test]
async fn replies_match_the_transcripts() {
    check("transcripts", &[]).await;
}

#[tokio::test]
async fn replies_with_a_module_of_the_site_match_the_transcripts() {
    check("site_transcripts", &[SITE]).await;
}

/// In a transcript, `start without` restarts the server without the modules.
async fn check(folder: &str, modules: &[(&str, &str)]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/resource_pools").join(folder);
    let mut number = 0;
    transcript::check(&folder, async |text: &str| {
        number += 1;
        let mut step = 0;
        let clock = ManualClock::morning();
        let (storage, checkpoints) = (MemoryStorage::new(), Arc::new(MemoryCheckpoints::new()));
        let start = async |modules: &[(&str, &str)]| {
            let journal = Arc::new(storage.open());
            Server::start_with_modules(journal, checkpoints.clone(), clock.clone(), modules).await
        };
        let mut server = Some(start(modules).await);
        let played = transcript::play(text, &clock, async |block: &str| {
            if let "start" | "start without" = block {
                server.take().into_iter().for_each(Server::stop);
                server = Some(start(if block == "start" { modules } else { &[] }).await);
                return None;
            }
            let server = server.as_ref()?;
            match short::answer(server, block).await {
                Some(reply) => Some(reply),
                None => {
                    step += 1;
                    let answer = server.answer(parse(block)).await;
                    let asked = block.lines().next()?.replacen('~', POOLS, 1);
                    // Other tools check the replies against our modules only.
                    if modules.is_empty() {
                        replies::keep(&format!("{number:02}-{step:02}"), &asked, &answer);
                    }
                    Some(format_reply(&answer))
                }
            }
        })
        .await;
        if let Some(server) = server.as_ref().filter(|_| modules.is_empty()) {
            replies::keep_all(&format!("{number:02}"), server).await;
        }
        played
    })
    .await;
}
