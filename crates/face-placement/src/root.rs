//! `GET /`: the supported versions.

use crate::Placement;
use crate::json::JsonBuffer;
use crate::request::PlacementRequest;
use crate::to_wire::{HandlerResult, PlacementReply};
use crate::versions::Microversion;

pub(crate) fn get(face: &Placement, _: &PlacementRequest) -> HandlerResult {
    // The document does not depend on the journal. But clients use it as a health check, so it fails whenever reads
    // fail.
    let (at, now_ms) = face.read(|_, snapshot| Ok((snapshot.at, snapshot.now_ms)))?;
    let (min, max) = (Microversion::MIN, Microversion::MAX);
    let mut out = JsonBuffer::default();
    out.raw(&format!(
        "{{\"versions\":[{{\"id\":\"v{min}\",\"max_version\":\"{max}\",\"min_version\":\"{min}\",\"status\":\"CURRENT\",\"links\":[{{\"rel\":\"self\",\"href\":\"\"}}]}}]}}"
    ));
    Ok(PlacementReply::json(at, out).modified(now_ms))
}
