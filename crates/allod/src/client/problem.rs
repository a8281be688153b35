//! What an answer that is no success means: which exit code, in which words, and what to do next.

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;

use crate::cli::format::{number, time};
use crate::failed::{Advised, Failed};

/// Problem details (RFC 9457) with the members that say what to do.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Problem {
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
    exhausted: Vec<Exhausted>,
}

#[derive(Debug, Deserialize)]
struct Exhausted {
    pool: String,
    size: u128,
    held: u128,
    quarantined: u128,
    excluded: u128,
    draining: u128,
    manual: u128,
    free: u128,
}

/// `several` tells whether the request had several operations, of which the refused one must be named.
pub(super) fn failed(status: StatusCode, body: Bytes, several: bool) -> Failed {
    let problem = serde_json::from_slice::<Problem>(&body).ok();
    let Some(problem) = problem.filter(|problem| !problem.code.is_empty()) else {
        let what = format!("the server answered {status}, and not in the words of allod");
        let advice = vec!["is --server right, or is there a proxy in between?".to_owned()];
        return by_status(status, "")(Advised { what, advice, body: None }.into());
    };
    let said = if problem.detail.is_empty() { &problem.title } else { &problem.detail };
    let what = match problem.op {
        Some(op) if several => {
            format!("operation {op} was refused, and so none was done: {said}")
        }
        _ => said.clone(),
    };
    let what = format!("{what} [{}]", problem.code);
    let mut advice: Vec<String> = problem.exhausted.iter().map(where_it_is).collect();
    advice.extend(next(status, &problem));
    by_status(status, &problem.code)(Advised { what, advice, body: Some(body) }.into())
}

/// The kind of failure, which is the exit code. In a transaction things that are missing are a conflict, so the code
/// counts more than the status.
fn by_status(status: StatusCode, code: &str) -> fn(anyhow::Error) -> Failed {
    match (status.as_u16(), code) {
        (404 | 410, _)
        | (_, "pool_unknown" | "claim_unknown" | "provider_unknown" | "consumer_unknown") => {
            Failed::Missing
        }
        (401 | 403, _) => Failed::Denied,
        (400, _) => Failed::Asked,
        (408 | 429 | 503 | 504, _) => Failed::Later,
        (status, _) if status >= 500 => Failed::Running,
        _ => Failed::Refused,
    }
}

/// Where the values of a pool are that has none to give.
fn where_it_is(report: &Exhausted) -> String {
    let parts = [
        ("held", report.held),
        ("in quarantine", report.quarantined),
        ("excluded", report.excluded),
        ("draining", report.draining),
        ("only by name (--value)", report.manual),
        ("free", report.free),
    ];
    let parts = parts.iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(name, count)| format!("{} {name}", number(*count))).collect();
    format!("of the {} values of {}: {}", number(report.size), report.pool, parts.join(", "))
}

/// What to do next.
fn next(status: StatusCode, problem: &Problem) -> Option<String> {
    let pool = problem.pool.as_deref().unwrap_or("POOL");
    let key = problem.key.as_deref().unwrap_or("KEY");
    let text = match problem.code.as_str() {
        "pool_unknown" => "`allod pool list` shows the pools, `allod pool set` makes one".into(),
        "claim_unknown" => format!("`allod who {pool}` shows what is held there"),
        "claim_version_differs" => {
            format!("`allod who {pool} --key {key}` shows it as it is now")
        }
        "pool_generation_differs" => {
            format!("`allod pool show {pool}` shows it as it is now")
        }
        "provider_unknown" => "`allod provider list` shows the providers".into(),
        "consumer_unknown" => "`allod consumer list` shows who holds something".into(),
        "notice_unknown" => "`allod outbox list` shows what is to be told".into(),
        "alarm_not_over" => "`allod alarms --over` shows all of them, and which are over".into(),
        "consumer_generation_differs" => {
            let consumer = problem.consumer.as_deref().unwrap_or("UUID");
            format!("`allod consumer show {consumer}` shows it as it is now")
        }
        "capacity_exceeded" | "not_in_stock" | "portion_violated" => {
            let class = problem.class.as_deref().unwrap_or("CLASS");
            let amount = problem.amount.unwrap_or(1);
            format!("`allod candidates --resources {class}:{amount} --explain` says who has it")
        }
        "params_differ" => {
            "a key holds one claim: release it first, or use another key for another claim".into()
        }
        "pool_in_use" => format!("`allod who {pool}` shows who is in it; release that first"),
        "held_outside" => "--keep-held leaves them held outside the new ranges".into(),
        "limit_exceeded" => {
            let limit = problem.limit.as_deref().unwrap_or("NAME");
            format!("ask for less, or start the server with a higher --limit {limit}=…")
        }
        "idempotency_differs" => "use a new --idempotency-key for a new request".into(),
        "no_lease" => "say for how long with --ttl".into(),
        "position_trimmed" => match problem.oldest_position {
            Some(oldest) => format!("the oldest position that is kept is {oldest}"),
            None => "history goes back only as far as the server keeps it".into(),
        },
        "route_unknown" => "is the server as new as this program? `allod status` tells".into(),
        _ => match (status.as_u16(), problem.advice.as_str(), &problem.wait_until) {
            (401, ..) => "name a token with --token-file, or ALLOD_TOKEN in the environment".into(),
            (403, ..) => "this token may not do that; use one that may".into(),
            (408 | 503 | 504, ..) => {
                "try again in a moment; `allod status` says how it is doing".into()
            }
            (_, "wait_until", Some(until)) => format!("it may be had after {}", time(until)),
            (_, "wait_for_release", _) => {
                format!("wait for a release: `allod watch --pool {pool} --kind claim_released`")
            }
            (_, "reread", _) => "look again, then repeat".into(),
            _ => return None,
        },
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exit code's name, what is said, and the advice.
    fn told(status: u16, body: &str) -> (String, String) {
        let status = StatusCode::from_u16(status).unwrap();
        let failed = failed(status, Bytes::from(body.to_owned()), false);
        let name = format!("{failed:?}").split('(').next().unwrap().to_owned();
        (name, failed.body().is_some().to_string())
    }

    #[test]
    fn the_kind_of_failure_follows_status_and_code() {
        for (status, code, name) in [
            (400, "malformed", "Asked"),
            (401, "token_missing", "Denied"),
            (403, "role", "Denied"),
            (404, "pool_unknown", "Missing"),
            (409, "pool_unknown", "Missing"),
            (409, "taken", "Refused"),
            (409, "consumer_unknown", "Missing"),
            (409, "capacity_exceeded", "Refused"),
            (410, "position_trimmed", "Missing"),
            (412, "claim_version_differs", "Refused"),
            (422, "limit_exceeded", "Refused"),
            (500, "internal", "Running"),
            (503, "queue_full", "Later"),
            (504, "answer_too_slow", "Later"),
        ] {
            let body = format!(r#"{{"code":"{code}","detail":"d","title":"t"}}"#);
            assert_eq!(told(status, &body), (name.to_owned(), "true".to_owned()), "{code}");
        }
        assert_eq!(told(502, "<html>"), ("Running".into(), "false".into()));
        assert_eq!(told(404, "{}"), ("Missing".into(), "false".into()));
    }
}
