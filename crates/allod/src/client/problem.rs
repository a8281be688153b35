//! Turns an error answer of the server into a command error with advice.

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;

use crate::error::{AdvisedError, CommandError};
use crate::output::format::{number, time};
use crate::output::style::escape_controls;

/// Problem details (RFC 9457).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ProblemAnswer {
    title: String,
    detail: String,
    code: String,
    op: Option<usize>,
    advice: String,
    wait_until: Option<String>,
    pool: Option<String>,
    key: Option<String>,
    consumer: Option<String>,
    class: Option<String>,
    amount: Option<u64>,
    limit: Option<String>,
    oldest_position: Option<u64>,
    exhausted: Vec<PoolReport>,
}

#[derive(Debug, Deserialize)]
struct PoolReport {
    pool: String,
    size: u128,
    held: u128,
    quarantined: u128,
    excluded: u128,
    draining: u128,
    manual: u128,
    free: u128,
}

/// With `several` operations in the request, the error names the one that was refused.
pub(super) fn to_error(status: StatusCode, body: Bytes, several: bool) -> CommandError {
    let problem = serde_json::from_slice::<ProblemAnswer>(&body).ok();
    let Some(problem) = problem.filter(|problem| !problem.code.is_empty()) else {
        let what = format!("the server answered {status}, which is not an answer of allod");
        let advice = vec!["check --server; perhaps a proxy answered".to_owned()];
        return error_kind(status, "")(AdvisedError { what, advice, body: None }.into());
    };
    let text = if problem.detail.is_empty() { &problem.title } else { &problem.detail };
    let what = match problem.op {
        Some(op) if several => {
            format!("the transaction was refused because of operation {op}: {text}")
        }
        _ => text.clone(),
    };
    let what = format!("{what} [{}]", problem.code);
    let mut advice: Vec<String> = problem.exhausted.iter().map(describe).collect();
    advice.extend(advise(status, &problem));
    // The texts contain names that other clients have chosen.
    let what = escape_controls(&what);
    let advice = advice.iter().map(|advice| escape_controls(advice)).collect();
    error_kind(status, &problem.code)(AdvisedError { what, advice, body: Some(body) }.into())
}

/// The kind of error, which determines the exit code. The code takes precedence over the status, because in a transaction
/// a missing pool is a 409.
fn error_kind(status: StatusCode, code: &str) -> fn(anyhow::Error) -> CommandError {
    match (status.as_u16(), code) {
        (404 | 410, _)
        | (
            _,
            "pool_unknown" | "claim_unknown" | "provider_unknown" | "consumer_unknown"
            | "authority_unknown" | "reference_unknown" | "lookup_unknown" | "finding_unknown",
        ) => CommandError::NotFound,
        (401 | 403, _) => CommandError::Denied,
        (400, _) => CommandError::Usage,
        (408 | 429 | 503 | 504, _) => CommandError::Unavailable,
        (status, _) if status >= 500 => CommandError::Failed,
        _ => CommandError::Refused,
    }
}

/// The state of the values of an exhausted pool.
fn describe(report: &PoolReport) -> String {
    let parts = [
        ("held", report.held),
        ("in quarantine", report.quarantined),
        ("excluded", report.excluded),
        ("draining", report.draining),
        ("available only with --value", report.manual),
        ("free", report.free),
    ];
    let parts = parts.iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(name, count)| format!("{} {name}", number(*count))).collect();
    format!("{} has {} values: {}", report.pool, number(report.size), parts.join(", "))
}

fn advise(status: StatusCode, problem: &ProblemAnswer) -> Option<String> {
    let pool = problem.pool.as_deref().unwrap_or("POOL");
    let key = problem.key.as_deref().unwrap_or("KEY");
    let text = match problem.code.as_str() {
        "pool_unknown" => "`allod pool list` lists the pools, `allod pool set` creates one".into(),
        "claim_unknown" => format!("`allod who {pool}` lists the claims"),
        "claim_version_differs" => {
            format!("`allod who {pool} --key {key}` shows the present claim")
        }
        "pool_generation_differs" => {
            format!("`allod pool show {pool}` shows the present definition")
        }
        "provider_unknown" => "`allod provider list` lists the providers".into(),
        "consumer_unknown" => "`allod consumer list` lists the consumers".into(),
        "authority_unknown" => {
            "`allod authority list` lists the authorities, `allod authority set` creates one".into()
        }
        "authority_generation_differs" => {
            "`allod authority show NAME` shows the present definition".into()
        }
        "authority_in_use" => {
            "`allod authority claims NAME --all` lists its claims, `allod pool list` the pools"
                .into()
        }
        "authority_busy" => "`allod authority status` shows what it waits for".into(),
        "claim_releasing" => format!("`allod who {pool} --key {key}` shows when it is gone"),
        "claim_stuck" => "`allod authority resolve` says what the authority has done".into(),
        "lookup_unknown" => {
            "`allod lookup put` looks a name up, `allod lookup list` lists them".into()
        }
        "lookup_version_differs" | "nothing_to_accept" => {
            "`allod lookup get` shows the present look-up".into()
        }
        "finding_unknown" | "reconciliation_unknown" => {
            "`allod authority reconcile NAME` compares again".into()
        }
        "nothing_to_resolve" | "reference_unknown" => {
            "`allod authority claims NAME` lists claims with their references".into()
        }
        "notice_unknown" => "`allod outbox list` lists the notifications".into(),
        "alarm_not_over" => "`allod alarms --over` lists all alarms, and which are cleared".into(),
        "consumer_generation_differs" => {
            let consumer = problem.consumer.as_deref().unwrap_or("UUID");
            format!("`allod consumer show {consumer}` shows the present allocations")
        }
        "capacity_exceeded" | "not_in_stock" | "portion_violated" => {
            let class = problem.class.as_deref().unwrap_or("CLASS");
            let amount = problem.amount.unwrap_or(1);
            format!(
                "`allod candidates --resources {class}:{amount} --explain` lists providers with free capacity"
            )
        }
        "params_differ" => "a key has one claim: release it first, or use another key".into(),
        "pool_in_use" => format!("release its claims first; `allod who {pool}` lists them"),
        "held_outside" => "--keep-held keeps claims outside the new ranges".into(),
        "limit_exceeded" => {
            let limit = problem.limit.as_deref().unwrap_or("NAME");
            format!("request less, or start the server with a higher --limit {limit}=…")
        }
        "idempotency_differs" => "use a new --idempotency-key for a new request".into(),
        "no_lease" => "give a duration with --ttl".into(),
        "position_trimmed" => match problem.oldest_position {
            Some(oldest) => format!("the oldest retained position is {oldest}"),
            None => "the server does not retain history that old".into(),
        },
        "route_unknown" => {
            "the server may be older than this program; `allod status` shows its version".into()
        }
        _ => match (status.as_u16(), problem.advice.as_str(), &problem.wait_until) {
            (401, ..) => "give a token with --token-file or ALLOD_TOKEN".into(),
            (403, ..) => "use a token with the necessary role".into(),
            (408 | 503 | 504, ..) => {
                "try again later; `allod status` shows the state of the server".into()
            }
            (_, "wait_until", Some(until)) => format!("it becomes available after {}", time(until)),
            (_, "wait_for_release", _) => {
                format!("wait for a release: `allod watch --pool {pool} --kind claim_released`")
            }
            (_, "reread", _) => "read it again, then retry".into(),
            _ => return None,
        },
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variant of the error, and whether it has the body.
    fn converted(status: u16, body: &str) -> (String, String) {
        let status = StatusCode::from_u16(status).unwrap();
        let error = to_error(status, Bytes::from(body.to_owned()), false);
        let name = format!("{error:?}").split('(').next().unwrap().to_owned();
        (name, error.body().is_some().to_string())
    }

    #[test]
    fn control_characters_in_texts_of_the_server_are_escaped() {
        let body = r#"{"code":"pool_in_use","title":"t","detail":"key '\u001b[2Ja\nb' holds it","pool":"p\u001b[1m","exhausted":[]}"#;
        let error = to_error(StatusCode::CONFLICT, Bytes::from(body), false);
        let CommandError::Refused(error) = error else { panic!("{error:?}") };
        let advised = error.downcast_ref::<AdvisedError>().unwrap();
        assert_eq!(advised.what, "key '\\u{1b}[2Ja\\nb' holds it [pool_in_use]");
        assert!(advised.advice[0].contains("allod who p\\u{1b}[1m"), "{:?}", advised.advice);
    }

    #[test]
    fn status_and_code_determine_the_exit_code() {
        for (status, code, name) in [
            (400, "malformed", "Usage"),
            (401, "token_missing", "Denied"),
            (403, "role", "Denied"),
            (404, "pool_unknown", "NotFound"),
            (409, "pool_unknown", "NotFound"),
            (409, "taken", "Refused"),
            (409, "consumer_unknown", "NotFound"),
            (409, "capacity_exceeded", "Refused"),
            (410, "position_trimmed", "NotFound"),
            (412, "claim_version_differs", "Refused"),
            (422, "limit_exceeded", "Refused"),
            (500, "internal", "Failed"),
            (503, "queue_full", "Unavailable"),
            (504, "answer_too_slow", "Unavailable"),
        ] {
            let body = format!(r#"{{"code":"{code}","detail":"d","title":"t"}}"#);
            assert_eq!(converted(status, &body), (name.to_owned(), "true".to_owned()), "{code}");
        }
        assert_eq!(converted(502, "<html>"), ("Failed".into(), "false".into()));
        assert_eq!(converted(404, "{}"), ("NotFound".into(), "false".into()));
    }
}
