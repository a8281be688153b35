//! The native API from the client's side: a request of a history as HTTP, and an HTTP response as an answer.
//!
//! Written from the API's description and without the server's types, so that mistakes in those show.

mod ask;
mod read;

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use allod_core::claim::Want;
use allod_core::command::{ClaimOp, Command, Expect, Op, Transact};
use allod_engine::Hash;

use crate::history::{Call, CallAnswer, Request};
use crate::http::Client;

pub use ask::{Wire, wire};
pub use read::answer;

/// Sends a request and records the answer. Times are relative to `start`.
pub fn call(client: &mut Client, request: Request, start: Instant, connection: u64) -> Call {
    let request = stamped(request);
    let wire = wire(&request);
    let headers: Vec<(&str, &str)> =
        wire.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let earliest_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    let began_ns = start.elapsed().as_nanos() as u64;
    let sent = client.send(wire.method, &wire.path, &headers, wire.body.as_deref());
    let ended_ns = start.elapsed().as_nanos() as u64;
    let (answer, position, hash) = match &sent {
        Ok(response) => answer(&request, response),
        Err(_) => (CallAnswer::Lost, 0, Hash::default()),
    };
    Call { request, answer, position, hash, began_ns, ended_ns, earliest_ms, connection }
}

/// The server computes the fingerprint of a request from its body; the history needs the same one.
fn stamped(request: Request) -> Request {
    let body = wire(&request).body.unwrap_or_default();
    match request {
        Request::Command(Command::Transact(mut transact)) => {
            if let Some(idempotency) = &mut transact.idempotency {
                idempotency.fingerprint = *blake3::hash(body.as_bytes()).as_bytes();
            }
            Request::Command(Command::Transact(transact))
        }
        other => other,
    }
}

/// A claim of one value.
pub fn claim_request(pool: &str, key: &str) -> Request {
    Request::Command(Command::Transact(Transact::one(Op::Claim(ClaimOp {
        pools: vec![pool.into()],
        key: key.into(),
        owner: None,
        want: Want::any(),
        ttl_ms: None,
        labels: Arc::default(),
        expect: Expect::Any,
    }))))
}
