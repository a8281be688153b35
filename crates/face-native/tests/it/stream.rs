//! Reads bodies that may be endless streams.

use allod_edge::{Body, Reply};
use http_body_util::BodyExt;

/// The whole body; of an event stream everything up to the first heartbeat.
pub async fn text(reply: Reply) -> String {
    let mut body: Body = reply.into_body();
    let mut all = Vec::new();
    while let Some(frame) = body.frame().await {
        let data = frame.expect("an unbroken body").into_data().expect("data");
        all.extend_from_slice(&data);
        if data.starts_with(b"event: heartbeat\n") {
            break;
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}
