//! Translates look-ups.

use std::sync::Arc;

use allod_core::authority::{LookUp, LookUpState};
use serde_json::value::RawValue;

use super::ReasonDetail;
use crate::wire::{self, SeenValue, Time};

pub(crate) fn look_up(look_up: &LookUp, detail: ReasonDetail) -> wire::LookUp<'_> {
    let reason = look_up.reason.as_deref();
    let reason = reason.map(|reason| match detail {
        ReasonDetail::Full => reason,
        ReasonDetail::Short => "the last attempt failed",
    });
    wire::LookUp {
        authority: &look_up.authority,
        key: &look_up.key,
        state: look_up.state.name(),
        policy: look_up.policy.name(),
        value: json(look_up.value.as_ref()),
        version: look_up.version,
        value_version: look_up.value_version.as_deref(),
        resolved: look_up.resolved_ms.map(|ms| Time { ms }),
        seen: look_up.seen.as_ref().filter(|_| look_up.state == LookUpState::Drifted).map(|seen| {
            SeenValue {
                value: json(seen.value.as_ref()),
                value_version: seen.version.as_deref(),
                at: Time { ms: seen.at_ms },
            }
        }),
        reason,
        attempts: look_up.attempts,
        next_attempt: look_up.due_ms.map(|ms| Time { ms }),
    }
}

/// The stored JSON. What is not JSON, which is a bug of a connector, is shown as a text.
fn json(text: Option<&Arc<str>>) -> Option<Box<RawValue>> {
    let text = text?;
    let raw = RawValue::from_string(text.to_string());
    raw.or_else(|_| serde_json::value::to_raw_value(&**text)).ok()
}
