//! Reads the body of a request into memory, within its limit and the budget of bytes in flight.

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt;
use hyper::body::Body;

use crate::Problem;
use crate::budget::{BudgetExceeded, ByteShare, SMALL_BYTES_MAX};
use crate::route::BodyLimit;

/// How much of a body that is refused is read and discarded, so that the client reads the reply instead of failing to send.
const DRAIN_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The same for a request that fails authentication.
const DRAIN_DENIED_BYTES_MAX: u64 = 64 * 1024;

/// Why a body is not read.
pub(crate) enum BodyRefused {
    TooLong,
    Budget(BudgetExceeded),
    Broken,
}

impl BodyRefused {
    pub(crate) fn problem(&self, body_limit: BodyLimit) -> Problem {
        match self {
            BodyRefused::TooLong => too_long(body_limit),
            BodyRefused::Budget(exceeded) => exceeded.problem(),
            BodyRefused::Broken => {
                Problem::malformed("the body ended early or was not framed correctly")
            }
        }
    }
}

/// Whether the body is certain to be small.
pub(crate) fn is_small<B: Body>(body: &B) -> bool {
    body.size_hint().upper().is_some_and(|len| len <= SMALL_BYTES_MAX)
}

/// Reads the whole body. `share` counts it as it arrives. A body that arrives in one piece, as most do, is not copied.
pub(crate) async fn read<B>(
    body: &mut B,
    body_limit: BodyLimit,
    share: &mut ByteShare,
) -> Result<Bytes, BodyRefused>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > body_limit.max {
        return Err(BodyRefused::TooLong);
    }
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    let mut seen = 0_u64;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyRefused::Broken)?.into_data() else { continue };
        seen += data.len() as u64;
        if seen > body_limit.max {
            return Err(BodyRefused::TooLong);
        }
        if seen > SMALL_BYTES_MAX && seen > all.capacity() as u64 {
            // The buffer doubles, as `BytesMut` would let it, but never beyond the limit, and is counted before.
            let room = (2 * seen).min(body_limit.max);
            share.grow_to(room).map_err(BodyRefused::Budget)?;
            all.reserve(usize::try_from(room).unwrap_or(usize::MAX) - all.len());
        }
        match &mut first {
            None => first = Some(data),
            Some(start) => {
                if all.is_empty() {
                    all.extend_from_slice(start);
                }
                all.extend_from_slice(&data);
            }
        }
    }
    Ok(if all.is_empty() { first.unwrap_or_default() } else { all.freeze() })
}

/// Reads and discards the rest of a refused body. Only worthwhile if it reaches the end.
pub(crate) async fn drain<B>(body: &mut B, body_limit: BodyLimit)
where
    B: Body<Data = Bytes> + Unpin,
{
    discard(body, DRAIN_BYTES_MAX.max(body_limit.max)).await;
}

/// Reads and discards a short body: a client whose body is not read may never read the reply.
pub(crate) async fn drain_denied<B>(body: &mut B)
where
    B: Body<Data = Bytes> + Unpin,
{
    discard(body, DRAIN_DENIED_BYTES_MAX).await;
}

async fn discard<B>(body: &mut B, mut left: u64)
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > left {
        return;
    }
    while let Some(Ok(frame)) = body.frame().await {
        let len = frame.data_ref().map_or(0, Bytes::len) as u64;
        match left.checked_sub(len) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

fn too_long(BodyLimit { limit, max }: BodyLimit) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_long",
        "the body is too long",
        format!("the body has more than {max} bytes; {limit} is {max}"),
    )
}
