//! One webhook request on a connection of its own, within the limits of time and memory.

use std::time::Duration;

use allod_outbound::{HttpAnswer, HttpClient, OutboundError, Repeatable};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use crate::limits::ReactorLimits;

/// How much of an error answer is stored with the notification.
const EXCERPT_CHARS_MAX: usize = 200;

/// Sends the request. Any answer but a success is an error.
pub(super) async fn send(
    client: &HttpClient,
    request: Request<Full<Bytes>>,
    limits: &ReactorLimits,
) -> Result<(), String> {
    let wait_max = Duration::from_millis(limits.webhook_ms_max);
    let exchange = async {
        let answer = client.send(request, Repeatable::No, wait_max).await?;
        if answer.status.is_success() {
            return Ok(Ok(()));
        }
        let bytes_max = usize::try_from(limits.webhook_answer_bytes_max).unwrap_or(usize::MAX);
        Ok(Err(error_answer(answer, wait_max, bytes_max).await))
    };
    let result = tokio::time::timeout(wait_max, exchange).await;
    let endpoint = client.endpoint();
    result.unwrap_or(Err(OutboundError::TimedOut(wait_max))).unwrap_or_else(|error| {
        Err(match error {
            OutboundError::Unreachable(error) => format!("{endpoint:?} cannot be reached: {error}"),
            OutboundError::Untrusted(error) => {
                format!("the certificate of {endpoint:?} cannot be trusted: {error}")
            }
            OutboundError::TimedOut(_) => {
                format!("{endpoint:?} did not answer within {} ms", limits.webhook_ms_max)
            }
            error @ (OutboundError::Broken(_) | OutboundError::TooLarge(_)) => {
                format!("the request to {endpoint:?} failed: {error}")
            }
        })
    })
}

/// The status and the beginning of the body, on one line.
async fn error_answer(mut answer: HttpAnswer, wait_max: Duration, bytes_max: usize) -> String {
    let mut body = Vec::new();
    while body.len() < bytes_max.min(4 * EXCERPT_CHARS_MAX) {
        match answer.chunk(wait_max).await {
            Ok(Some(bytes)) => body.extend(bytes),
            Ok(None) | Err(_) => break,
        }
    }
    let body = String::from_utf8_lossy(&body);
    let words = body.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let excerpt: String = words.join(" ").chars().take(EXCERPT_CHARS_MAX).collect();
    let status = answer.status.as_u16();
    if excerpt.is_empty() {
        format!("answered {status}")
    } else {
        format!("answered {status}: {excerpt}")
    }
}
