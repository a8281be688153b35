//! One check of a look-up: asks the authority for the value under a name and reports what it has.

use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_core::authority::LookUp;
use allod_core::authority::command::{AuthorityCommand, LookUpCommand, LookUpReport, SeenValue};
use allod_core::command::Command;
use allod_engine::{EngineError, Handle};
use serde_json::Value;
use tracing::{debug, info};

use super::attempt::{AttemptContext, AttemptEnd, RESUBMIT_AFTER};
use super::lane::Slot;
use super::metrics::Operation;
use crate::authority::connector::{AuthorityAnswer, Fact};
use crate::authority::decision::retry_after_ms;
use crate::limits::ReactorLimits;

/// When to ask again an authority that cannot look up values.
const UNSUPPORTED_AGAIN_MS: u64 = 300_000;

/// Asks for one look-up and reports the answer.
pub(super) async fn check(
    context: Arc<AttemptContext>,
    look_up: Arc<LookUp>,
    slot: Slot,
) -> AttemptEnd {
    let began = Instant::now();
    let answer = context.remote.connector.look_up(&look_up.key).await;
    context.metrics.called(Operation::LookUp, (&answer).into(), began.elapsed());
    let mut end = AttemptEnd { has_answered: true, ..AttemptEnd::default() };
    let report = match answer {
        AuthorityAnswer::Yes(fact) => LookUpReport::Seen(fact.map(seen)),
        AuthorityAnswer::NotNow { after, message } => {
            end = AttemptEnd { trouble: Some(after), ..AttemptEnd::default() };
            failed(&context.handle, &context.limits, &look_up, &message, after)
        }
        AuthorityAnswer::Working { after, message } => {
            failed(&context.handle, &context.limits, &look_up, &message, Some(after))
        }
        AuthorityAnswer::Unknown { message } => {
            end = AttemptEnd { trouble: Some(None), ..AttemptEnd::default() };
            failed(&context.handle, &context.limits, &look_up, &message, None)
        }
        AuthorityAnswer::No { message, .. } => {
            failed(&context.handle, &context.limits, &look_up, &message, None)
        }
        AuthorityAnswer::Unsupported => {
            let after = Duration::from_millis(UNSUPPORTED_AGAIN_MS);
            failed(
                &context.handle,
                &context.limits,
                &look_up,
                "the authority cannot look up values",
                Some(after),
            )
        }
    };
    if end.has_answered {
        drop(slot);
    }
    submit(&context.handle, &look_up, report).await;
    end
}

/// The report that a check failed.
pub(super) fn failed(
    handle: &Handle,
    limits: &ReactorLimits,
    look_up: &LookUp,
    message: &str,
    said: Option<Duration>,
) -> LookUpReport {
    let (authority, key) = (&look_up.authority, &look_up.key);
    info!(%authority, %key, reason = message, "a look-up failed, will retry");
    let (first_ms, max_ms) = (limits.authority_backoff_first_ms, limits.authority_backoff_max_ms);
    let own_ms = retry_after_ms(first_ms, max_ms, look_up.attempts);
    let said_ms = said.map_or(0, |said| said.as_millis() as u64);
    let now_ms = handle.status().now_ms;
    let again_ms = now_ms.saturating_add(own_ms.max(said_ms));
    LookUpReport::Failed { reason: message.into(), again_ms }
}

/// Submits a report until it is stored or refused.
pub(super) async fn submit(handle: &Handle, look_up: &LookUp, report: LookUpReport) {
    loop {
        let command = LookUpCommand::Report {
            authority: look_up.authority.clone(),
            key: look_up.key.clone(),
            version: look_up.version,
            report: report.clone(),
        };
        let command = Command::Authority(AuthorityCommand::LookUp(command));
        match handle.submit(command).await {
            Ok(reply) => {
                if let Err(refused) = reply.answer {
                    let key = &look_up.key;
                    debug!(%key, refusal = %refused.refusal, "a report about a look-up was refused");
                }
                return;
            }
            Err(EngineError::Stopping) => return,
            Err(failure) => {
                debug!(%failure, "the report about a look-up cannot be stored yet");
                tokio::time::sleep(RESUBMIT_AFTER).await;
            }
        }
    }
}

fn seen(fact: Fact) -> SeenValue {
    let mut text = String::new();
    write_sorted(&fact.value, &mut text);
    SeenValue { value: text.into(), version: fact.version.map(Into::into) }
}

/// Writes JSON with the members of objects in the order of their names, so that equal values have equal texts.
fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_str());
            text.push('{');
            for (n, (name, value)) in members.into_iter().enumerate() {
                if n > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                write_sorted(value, text);
            }
            text.push('}');
        }
        Value::Array(members) => {
            text.push('[');
            for (n, value) in members.iter().enumerate() {
                if n > 0 {
                    text.push(',');
                }
                write_sorted(value, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_texts() {
        let one: Value = serde_json::from_str(r#"{"b":[{"y":1,"x":null}],"a":"ü\n"}"#).unwrap();
        let mut text = String::new();
        write_sorted(&one, &mut text);
        assert_eq!(text, r#"{"a":"ü\n","b":[{"x":null,"y":1}]}"#);
    }
}
