//! Writes replies to files, for validation by other tools.
//!
//! If `ALLOD_REPLIES` names a folder, every reply with a body is written there as `*.reply`: the request line, the status
//! with the content type, an empty line, and the body. After each transcript, the whole tree of pools, the server's own
//! state and its streams are written too. `cargo xtask test --only yang` reads the files.

use std::path::PathBuf;
use std::time::Duration;

use http_body_util::{BodyExt, Full};

use crate::id_manager::server::{Answer, Server};

/// Requests after each transcript.
const AFTERWARDS: [(&str, &str); 10] = [
    ("/rests/data/id-manager:id-pools", "application/yang-data+json"),
    ("/rests/data/id-manager:id-pools", "application/yang-data+xml"),
    ("/restconf/config/id-manager:id-pools", "application/json"),
    ("/restconf/config/id-manager:id-pools", "application/xml"),
    ("/restconf/data/ietf-yang-library:yang-library", "application/yang-data+json"),
    ("/restconf/data/ietf-yang-library:yang-library", "application/yang-data+xml"),
    ("/restconf/data/ietf-yang-library:modules-state", "application/yang-data+json"),
    ("/restconf/data/ietf-restconf-monitoring:restconf-state", "application/yang-data+json"),
    ("/restconf/data/ietf-restconf-monitoring:restconf-state", "application/yang-data+xml"),
    ("/restconf/data", "application/yang-data+json"),
];

const STREAMS: [&str; 2] = [
    "/restconf/streams/id-manager/json?start-time=2026-01-01T00:00:00Z",
    "/restconf/streams/id-manager/xml?start-time=2026-01-01T00:00:00Z",
];

/// A stream that is silent for this long has sent everything.
const SILENCE: Duration = Duration::from_millis(100);

fn folder() -> Option<PathBuf> {
    std::env::var_os("ALLOD_REPLIES").map(PathBuf::from)
}

/// Writes the reply to a request, with the first line of the request.
pub fn keep(name: &str, request: &str, answer: &Answer) {
    let Some(folder) = folder().filter(|_| !answer.body.is_empty()) else { return };
    let first = request.lines().next().unwrap_or_default();
    let kind = answer.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
    let text = format!("{first}\n{} {kind}\n\n{}", answer.status, answer.body);
    std::fs::write(folder.join(format!("{name}.reply")), text).unwrap();
}

/// Writes the data at the end of a transcript.
pub async fn keep_tree(name: &str, server: &Server) {
    if folder().is_none() {
        return;
    }
    for (number, (path, accept)) in AFTERWARDS.into_iter().enumerate() {
        let request = http::Request::builder().uri(path).header("accept", accept);
        let answer = server.answer(request.body(Full::default()).unwrap()).await;
        keep(&format!("{name}-{number:02}"), &format!("GET {path}"), &answer);
    }
    for (number, path) in STREAMS.into_iter().enumerate() {
        let request = http::Request::builder().uri(path).body(Full::default()).unwrap();
        let answer = begun(server, request).await;
        keep(&format!("{name}-stream-{number}"), &format!("GET {path}"), &answer);
    }
}

/// The beginning of an endless stream.
async fn begun(server: &Server, request: http::Request<Full<bytes::Bytes>>) -> Answer {
    let (head, mut body) = server.app.answer(request).await.into_parts();
    let mut received = Vec::new();
    while let Ok(Some(frame)) = tokio::time::timeout(SILENCE, body.frame()).await {
        received.extend_from_slice(frame.unwrap().data_ref().unwrap());
    }
    let body = String::from_utf8(received).unwrap();
    Answer { status: head.status.as_u16(), headers: head.headers, body }
}

/// Writes notifications as a stream would send them; they have no time.
pub fn keep_events(name: &str, events: &[serde_json::Value]) {
    let message = |event: &serde_json::Value| {
        let mut event = event.clone();
        event["eventTime"] = "2026-01-01T08:00:00Z".into();
        format!("data: {}\n\n", serde_json::json!({ "ietf-restconf:notification": event }))
    };
    let body = events.iter().map(message).collect();
    let mut headers = http::HeaderMap::new();
    headers.insert("content-type", http::HeaderValue::from_static("text/event-stream"));
    keep(name, "GET /restconf/streams/id-manager/json", &Answer { status: 200, headers, body });
}
