//! The id of each request, in the reply and in the log.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ids from clients are replaced.
const INCOMING_BYTES_MAX: usize = 128;

/// Generates unique ids from a random number per server start and a counter.
pub(crate) struct RequestIds {
    start: u64,
    count: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new() -> RequestIds {
        // The standard library has no other randomness. Ids must be unique, not unpredictable.
        RequestIds { start: RandomState::new().hash_one(0), count: AtomicU64::new(0) }
    }

    /// The client's own id if it is acceptable, a new one otherwise.
    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        match headers.get(HEADER) {
            Some(given) if is_acceptable(given.as_bytes()) => given.clone(),
            _ => self.make(),
        }
    }

    fn make(&self) -> HeaderValue {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        // Some clients expect the form of a random UUID; start and count fill its free bits.
        let mut text = *b"req-00000000-0000-4000-8000-000000000000";
        hex(&mut text[4..12], self.start >> 28);
        hex(&mut text[13..17], self.start >> 12);
        hex(&mut text[19..22], self.start);
        hex(&mut text[24..27], count >> 48);
        hex(&mut text[28..40], count);
        HeaderValue::from_maybe_shared(Bytes::copy_from_slice(&text))
            .unwrap_or(HeaderValue::from_static("req"))
    }
}

fn hex(into: &mut [u8], mut number: u64) {
    for digit in into.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number & 15) as usize];
        number >>= 4;
    }
}

/// Printable ASCII that needs no quoting in a log line or a header.
fn is_acceptable(id: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte);
    !id.is_empty() && id.len() <= INCOMING_BYTES_MAX && id.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acceptable_client_id_is_used_and_any_other_replaced() {
        let ids = RequestIds::new();
        let mut headers = HeaderMap::new();
        let first = ids.of(&headers);
        let text = first.to_str().unwrap();
        let lens: Vec<usize> = text.split('-').map(str::len).collect();
        assert!(text.starts_with("req-") && lens == [3, 8, 4, 4, 4, 12], "{text}");
        assert_eq!((&text[18..19], &text[23..24]), ("4", "8"));
        assert_ne!(first, ids.of(&headers));
        for (given, kept) in [("client-1", true), ("a b", false), ("", false), ("\"", false)] {
            headers.insert(HEADER, HeaderValue::from_static(given));
            assert_eq!(ids.of(&headers) == given, kept, "{given}");
        }
        headers.insert(HEADER, HeaderValue::from_str(&"x".repeat(129)).unwrap());
        assert_ne!(ids.of(&headers).len(), 129);
    }
}
