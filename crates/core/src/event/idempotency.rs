//! Events about idempotency keys.

use std::fmt;
use std::sync::Arc;

use super::event_group;
use crate::receipt::{Outcome, Receipt, packed};

event_group!(Idempotency: IdempotencyEvent { Stored(IdempotencyStored), Expired(IdempotencyExpired) });

/// The answer to a command was stored under its idempotency key. One piece of memory, which all copies of the state share:
/// the time, the fingerprint, whether the receipt is about capacity, the length of the key, the key, and the packed receipt.
#[derive(Clone, PartialEq, Eq)]
pub struct IdempotencyStored(Arc<[u8]>);

const FINGERPRINT_BYTES: usize = 32;
const FINGERPRINT_AT: usize = size_of::<u64>();
const CAPACITY_AT: usize = FINGERPRINT_AT + FINGERPRINT_BYTES;
const LENGTH_AT: usize = CAPACITY_AT + 1;
const KEY_AT: usize = LENGTH_AT + size_of::<u32>();

impl IdempotencyStored {
    pub fn new(
        key: &str,
        fingerprint: [u8; FINGERPRINT_BYTES],
        until_ms: u64,
        receipt: &Receipt,
    ) -> IdempotencyStored {
        let mut bytes = Vec::with_capacity(KEY_AT + key.len() + 64);
        bytes.extend(until_ms.to_le_bytes());
        bytes.extend(fingerprint);
        bytes.push(receipt.outcomes.iter().any(is_about_capacity).into());
        bytes.extend((key.len() as u32).to_le_bytes());
        bytes.extend_from_slice(key.as_bytes());
        packed::pack(receipt, &mut bytes);
        IdempotencyStored(bytes.into())
    }

    /// A field of fixed size. `new` has written it.
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.copied().unwrap_or([0; N])
    }

    fn receipt_at(&self) -> usize {
        KEY_AT + u32::from_le_bytes(self.field(LENGTH_AT)) as usize
    }

    pub fn key(&self) -> &str {
        let key = self.0.get(KEY_AT..self.receipt_at()).unwrap_or_default();
        std::str::from_utf8(key).unwrap_or_default()
    }

    /// Hash of the request.
    pub fn fingerprint(&self) -> [u8; FINGERPRINT_BYTES] {
        self.field(FINGERPRINT_AT)
    }

    pub fn until_ms(&self) -> u64 {
        u64::from_le_bytes(self.field(0))
    }

    /// Whether the receipt has outcomes about capacity.
    pub fn reports_capacity(&self) -> bool {
        self.field(CAPACITY_AT) != [0]
    }

    pub fn receipt(&self) -> Receipt {
        let packed = self.0.get(self.receipt_at()..).unwrap_or_default();
        packed::unpack(packed).unwrap_or(Receipt::of(Vec::new()))
    }

    /// The approximate size in memory, for the limits.
    pub fn bytes(&self) -> u64 {
        /// In the tables of both copies of the state.
        const ENTRY: usize = 150;
        (ENTRY + self.0.len()) as u64
    }
}

fn is_about_capacity(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Allocated { .. } | Outcome::Deallocated { .. } | Outcome::Extended { .. }
    )
}

impl fmt::Debug for IdempotencyStored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotencyStored")
            .field("key", &self.key())
            .field("fingerprint", &self.fingerprint())
            .field("until_ms", &self.until_ms())
            .field("receipt", &self.receipt())
            .finish()
    }
}

/// The time of a stored answer is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyExpired {
    pub key: Arc<str>,
}
