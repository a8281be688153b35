//! Sends one request on its own connection. Time and memory are bounded, whatever the server does.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::endpoint::Endpoint;
use crate::limits::ReactorLimits;

/// How much of an error response is shown to the operator.
const EXCERPT_CHARS_MAX: usize = 200;
/// The smallest buffer that hyper accepts.
const BUFFER_BYTES_MIN: usize = 8192;

/// Sends a request. An error unless the response has a success status.
pub(super) async fn send(
    endpoint: &Endpoint,
    request: Request<Full<Bytes>>,
    limits: &ReactorLimits,
) -> Result<(), String> {
    let wait_max = Duration::from_millis(limits.webhook_ms_max);
    let exchange = exchange(endpoint, request, limits);
    tokio::time::timeout(wait_max, exchange).await.unwrap_or_else(|_| {
        Err(format!("{endpoint:?} did not answer within {} ms", limits.webhook_ms_max))
    })
}

async fn exchange(
    endpoint: &Endpoint,
    request: Request<Full<Bytes>>,
    limits: &ReactorLimits,
) -> Result<(), String> {
    let broken = |error: hyper::Error| format!("the connection to {endpoint:?} broke: {error}");
    let io = TokioIo::new(endpoint.connect().await?);
    let bytes_max = usize::try_from(limits.webhook_answer_bytes_max).unwrap_or(usize::MAX);
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(bytes_max.max(BUFFER_BYTES_MIN))
        .handshake(io)
        .await
        .map_err(broken)?;
    let asked = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        if response.status().is_success() {
            return Ok(());
        }
        Err(refusal(response, bytes_max).await)
    };
    tokio::pin!(asked);
    // Driven here instead of in its own task, so that it ends with this call.
    tokio::select! {
        biased;
        outcome = &mut asked => outcome,
        _ = connection => asked.await,
    }
}

/// An error response as one line of text.
async fn refusal(response: Response<Incoming>, bytes_max: usize) -> String {
    let (head, mut body) = response.into_parts();
    let mut said = Vec::new();
    while said.len() < bytes_max.min(4 * EXCERPT_CHARS_MAX) {
        match body.frame().await {
            Some(Ok(frame)) => said.extend(frame.into_data().unwrap_or_default()),
            Some(Err(_)) | None => break,
        }
    }
    let said = String::from_utf8_lossy(&said);
    let words: Vec<&str> = said.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let words: String = words.chars().take(EXCERPT_CHARS_MAX).collect();
    let status = head.status.as_u16();
    if words.is_empty() {
        format!("answered {status}")
    } else {
        format!("answered {status}: {words}")
    }
}
