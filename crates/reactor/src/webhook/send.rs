//! One webhook request on a connection of its own, within the limits of time and memory.
//!
//! A notification is delivered when a success has arrived completely. An answer that is cut off, or has no end, does not prove
//! that the receiver has finished with the notification: a proxy may have sent its head before the receiver failed.

use std::time::{Duration, Instant};

use allod_outbound::{HttpAnswer, HttpClient, OutboundError, Repeatable};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use crate::limits::ReactorLimits;

/// How much of an error answer is stored with the notification.
const EXCERPT_CHARS_MAX: usize = 200;

/// Sends the request. Anything but a complete success is an error.
pub(super) async fn send(
    client: &HttpClient,
    request: Request<Full<Bytes>>,
    limits: &ReactorLimits,
) -> Result<(), String> {
    let wait_max = Duration::from_millis(limits.webhook_ms_max);
    let began = Instant::now();
    let remaining = || wait_max.saturating_sub(began.elapsed());
    let answer = client.send(request, Repeatable::No, wait_max).await;
    let answer = answer.map_err(|error| no_answer(client, limits, error))?;
    let bytes_max = usize::try_from(limits.webhook_answer_bytes_max).unwrap_or(usize::MAX);
    if !answer.status.is_success() {
        return Err(error_answer(answer, remaining, bytes_max).await);
    }
    let status = answer.status.as_u16();
    let body = answer.whole_body(remaining(), bytes_max).await;
    body.map(drop).map_err(|error| {
        let why = match error {
            OutboundError::TimedOut(_) => {
                format!("it did not end within {} ms", limits.webhook_ms_max)
            }
            OutboundError::TooLarge(_) => format!("it is larger than {bytes_max} bytes"),
            error => error.to_string(),
        };
        format!("answered {status}, but the answer is incomplete: {why}")
    })
}

fn no_answer(client: &HttpClient, limits: &ReactorLimits, error: OutboundError) -> String {
    let endpoint = client.endpoint();
    match error {
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
    }
}

/// The status and the beginning of the body, on one line.
async fn error_answer(
    mut answer: HttpAnswer,
    remaining: impl Fn() -> Duration,
    bytes_max: usize,
) -> String {
    let mut body = Vec::new();
    while body.len() < bytes_max.min(4 * EXCERPT_CHARS_MAX) {
        match answer.chunk(remaining()).await {
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
