//! Look-ups: values of an authority that stay the same here until the policy or a client says otherwise.

pub(crate) mod decide;
pub(crate) mod state;

use std::sync::Arc;

use crate::named::named;

named! {
    /// What happens when the authority has another value.
    pub enum DriftPolicy {
        /// The difference is reported. The value never changes.
        Pin = "pin",
        /// The value is replaced.
        Follow = "follow",
        /// The difference is reported. The value is replaced when a client accepts it.
        Ask = "ask",
    }
}

named! {
    pub enum LookUpState {
        /// The authority has not answered yet.
        Wanted = "wanted",
        Resolved = "resolved",
        /// The authority has another value than the one here.
        Drifted = "drifted",
        /// The authority does not know the name.
        Unknown = "unknown",
    }
}

/// A value of an authority under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookUp {
    pub authority: Arc<str>,
    pub key: Arc<str>,
    pub policy: DriftPolicy,
    pub state: LookUpState,
    /// The journal position of the last change. A check that finds the same again is no change.
    pub version: u64,
    /// JSON.
    pub value: Option<Arc<str>>,
    /// The authority's version of the value.
    pub value_version: Option<Arc<str>>,
    /// When the value was taken.
    pub resolved_ms: Option<u64>,
    /// What the authority has instead.
    pub seen: Option<Seen>,
    /// Why the last check failed.
    pub reason: Option<Arc<str>>,
    /// Failed checks since the last one that succeeded.
    pub attempts: u32,
    /// When the look-up was requested.
    pub since_ms: u64,
    /// When the authority is asked next. `None`: on request only.
    pub due_ms: Option<u64>,
    /// The journal position of the last check.
    pub checked: u64,
}

/// What an authority has instead of the value here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// `None`: it does not know the name any more.
    pub value: Option<Arc<str>>,
    pub version: Option<Arc<str>>,
    /// When it was seen first.
    pub at_ms: u64,
}

impl LookUp {
    /// The approximate size in memory, for the limits.
    pub fn bytes(&self) -> u64 {
        /// In the tables and indexes of both copies of the state.
        const ENTRY: usize = 500;
        let seen = self.seen.as_ref();
        let texts = [
            Some(&self.authority),
            Some(&self.key),
            self.value.as_ref(),
            self.value_version.as_ref(),
            self.reason.as_ref(),
            seen.and_then(|seen| seen.value.as_ref()),
            seen.and_then(|seen| seen.version.as_ref()),
        ];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        (ENTRY + texts) as u64
    }
}
