//! The cost of HTTP and JSON alone: an axum handler that parses the body of a claim and answers, without pool or journal.
//!
//! It has the same routes, allocator and runtime as allod, and answers of the same length, so that a comparison shows the
//! cost of the actual work. With a file, each claim also waits for a sync of that file, which all claims that wait share.

mod sync;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path as FilePath;

use anyhow::{Context, Result};
use axum::extract::{DefaultBodyLimit, Path};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, put};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use sync::Syncer;

/// The body of a claim with all fields of the real one.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct BareClaimBody {
    value: Option<serde_json::Value>,
    fallback: Option<bool>,
    count: Option<u32>,
    contiguous: Option<bool>,
    prefix_len: Option<u8>,
    parity: Option<String>,
    strategy: Option<String>,
    ttl: Option<u64>,
    owner: Option<String>,
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Serialize)]
struct BareClaimReply<'a> {
    pool: &'a str,
    key: &'a str,
    owner: &'a str,
    /// Uses all fields of the body, so that the compiler does not remove their parsing.
    asked: usize,
    padding: &'a str,
}

/// The length of an answer without its strings.
const FIXED_BYTES: usize = 54;

/// Serves until the process ends. Bodies are at least `reply_bytes` long. With `file`, claims are synced to it.
pub fn serve(listener: TcpListener, reply_bytes: usize, file: Option<&FilePath>) -> Result<()> {
    let syncer = file.map(Syncer::start).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let spaces: &'static str = " ".repeat(reply_bytes).leak();
        let answer = move |path: Path<(String, String)>, body: Json<BareClaimBody>| {
            let syncer = syncer.clone();
            async move {
                if let Some(syncer) = syncer {
                    syncer.sync().await;
                }
                claim(&path.0, &body.0, reply_bytes, spaces)
            }
        };
        let look = move || async move { blob(Path(reply_bytes)).await };
        let app = Router::new()
            .route("/v1/pools/{pool}/claims/{key}", put(answer).get(look))
            .route("/blob/{bytes}", get(blob))
            .route("/allocations/{consumer}", put(allocate))
            .layer(DefaultBodyLimit::max(8 << 20));
        axum::serve(listener.tap_io(without_delay), app).await.context("the bare server stopped")
    })
}

/// A body of the requested length.
async fn blob(Path(bytes): Path<usize>) -> impl IntoResponse {
    static SPACES: [u8; 4 << 20] = [b' '; 4 << 20];
    ([("content-type", "application/json")], &SPACES[..bytes.min(SPACES.len())])
}

/// The body of Placement's PUT of allocations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllocationsBody {
    allocations: BTreeMap<String, ResourcesBody>,
    project_id: String,
    user_id: String,
    consumer_generation: Option<u64>,
    consumer_type: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResourcesBody {
    resources: BTreeMap<String, u64>,
}

async fn allocate(Path(consumer): Path<String>, Json(body): Json<AllocationsBody>) -> StatusCode {
    let asked: u64 = body.allocations.values().flat_map(|one| one.resources.values()).sum();
    let named = [&consumer, &body.project_id, &body.user_id, &body.consumer_type];
    if asked == 0 || named.iter().any(|name| name.is_empty()) || body.consumer_generation == Some(0)
    {
        return StatusCode::BAD_REQUEST;
    }
    StatusCode::NO_CONTENT
}

/// Disables Nagle's algorithm, as allod does: an answer is one write.
fn without_delay(tcp: &mut tokio::net::TcpStream) {
    // Fails only on a closed connection, which the next read reports.
    let _ = tcp.set_nodelay(true);
}

fn claim(
    (pool, key): &(String, String),
    body: &BareClaimBody,
    reply_bytes: usize,
    spaces: &str,
) -> impl IntoResponse + use<> {
    let asked = [
        body.value.is_some(),
        body.fallback.is_some(),
        body.count.is_some(),
        body.contiguous.is_some(),
        body.prefix_len.is_some(),
        body.parity.is_some(),
        body.strategy.is_some(),
        body.ttl.is_some(),
        body.labels.is_some(),
    ];
    let asked = asked.into_iter().filter(|&asked| asked).count();
    let owner = body.owner.as_deref().filter(|owner| owner.len() < 64).unwrap_or(key);
    let bare = BareClaimReply { pool, key, owner, asked, padding: "" };
    let bare_bytes = FIXED_BYTES + pool.len() + key.len() + owner.len();
    let padding = &spaces[..reply_bytes.saturating_sub(bare_bytes)];
    (StatusCode::CREATED, Json(BareClaimReply { padding, ..bare })).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_requested_length() {
        let reply = BareClaimReply { pool: "p", key: "k", owner: "o", asked: 0, padding: "" };
        assert_eq!(serde_json::to_string(&reply).unwrap().len(), FIXED_BYTES + 3);
    }
}
