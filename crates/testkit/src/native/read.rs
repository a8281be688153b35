//! Reads HTTP responses as answers.

use allod_core::command::{Command, Op};
use allod_engine::Hash;
use serde_json::Value;

use crate::history::{CallAnswer, ClaimSeen, OpOutcome, PoolSeen, RefusalSeen, Request, UsageSeen};
use crate::http::Response;

/// The answer, its position and its hash.
pub fn answer(request: &Request, response: &Response) -> (CallAnswer, u64, Hash) {
    let position = response.header("allod-position").and_then(|text| text.parse().ok());
    let hash = response.header("allod-hash").and_then(hash);
    let (Some(position), Some(hash)) = (position, hash) else {
        // Only decisions and reads have a position.
        return (CallAnswer::Failed, 0, Hash::default());
    };
    let body: Value = serde_json::from_slice(&response.body).unwrap_or(Value::Null);
    let answer = match response.status {
        200..300 => accepted(request, response.status, &body),
        404 if code(&body) == "claim_unknown" && matches!(request, Request::GetClaim { .. }) => {
            Some(CallAnswer::Claim(None))
        }
        404 if matches!(request, Request::GetPool { .. }) => Some(CallAnswer::Pool(None)),
        _ => Some(CallAnswer::Refused(refused(&body))),
    };
    // An answer that cannot be understood is no answer to anything, and will be judged so.
    (answer.unwrap_or_else(|| CallAnswer::Done(Vec::new())), position, hash)
}

fn hash(text: &str) -> Option<Hash> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(Hash(bytes))
}

fn code(body: &Value) -> &str {
    body["code"].as_str().unwrap_or_default()
}

fn refused(body: &Value) -> RefusalSeen {
    let by = &body["by"];
    let by = by["key"].as_str().zip(by["owner"].as_str());
    RefusalSeen {
        op: body["op"].as_u64().unwrap_or(0) as usize,
        code: code(body).to_owned(),
        by: by.map(|(key, owner)| (key.to_owned(), owner.to_owned())),
        actual: body["actual"].as_u64(),
    }
}

fn accepted(request: &Request, status: u16, body: &Value) -> Option<CallAnswer> {
    let created = status == 201;
    let done = match request {
        Request::GetClaim { .. } => return Some(CallAnswer::Claim(Some(claim(body)?))),
        Request::GetValue { .. } => {
            let state = body["state"].as_str()?.to_owned();
            let held = &body["claim"];
            let held = if held.is_null() { None } else { Some(claim(held)?) };
            return Some(CallAnswer::Value { state, claim: held });
        }
        Request::GetPool { .. } => return Some(CallAnswer::Pool(Some(pool(body)?))),
        Request::Command(Command::PutPool(_)) => {
            OpOutcome::PoolPut { created, generation: body["generation"].as_u64()? }
        }
        Request::Command(Command::DeletePool(_)) => OpOutcome::PoolDeleted,
        Request::Command(
            Command::Capacity(_)
            | Command::Blocks(_)
            | Command::Requests(_)
            | Command::Outbox(_)
            | Command::Alarm(_)
            | Command::Authority(_),
        ) => OpOutcome::Capacity,
        Request::Command(Command::Transact(transact)) => {
            let several = body.get("results").is_some();
            match transact.ops.as_slice() {
                _ if several => return results(body),
                [Op::Claim(_)] => OpOutcome::Claimed { created, claims: vec![claim(body)?] },
                [Op::Release(_)] => OpOutcome::Released { existed: None },
                _ => OpOutcome::Leased(claim(body)?),
            }
        }
        Request::Command(Command::Tick) => return None,
    };
    Some(CallAnswer::Done(vec![done]))
}

fn results(body: &Value) -> Option<CallAnswer> {
    let mut done = Vec::new();
    for result in body["results"].as_array()? {
        let (name, inner) = result.as_object()?.iter().next()?;
        done.push(match name.as_str() {
            "claim" => OpOutcome::Claimed {
                created: inner["created"].as_bool()?,
                claims: inner["claims"].as_array()?.iter().map(claim).collect::<Option<_>>()?,
            },
            "release" => OpOutcome::Released { existed: Some(inner["existed"].as_bool()?) },
            "renew" | "confirm" => OpOutcome::Leased(claim(inner)?),
            "check" => OpOutcome::Checked,
            _ => return None,
        });
    }
    Some(CallAnswer::Done(done))
}

fn claim(body: &Value) -> Option<ClaimSeen> {
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let written = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let labels = body["labels"].as_object()?.iter();
    Some(ClaimSeen {
        pool: text("pool")?,
        key: text("key")?,
        owner: text("owner")?,
        values: body["values"].as_array()?.iter().map(written).collect::<Option<_>>()?,
        version: body["version"].as_u64()?,
        held: body["state"] == "held",
        created_ms: time(body["created"].as_str()?)?,
        expires_ms: match &body["expires"] {
            Value::Null => None,
            expires => Some(time(expires.as_str()?)?),
        },
        labels: labels
            .map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
            .collect::<Option<_>>()?,
    })
}

fn pool(body: &Value) -> Option<PoolSeen> {
    let usage = &body["usage"];
    let count = |name: &str| usage[name].as_number()?.to_string().parse::<u128>().ok();
    Some(PoolSeen {
        generation: body["generation"].as_u64()?,
        usage: UsageSeen {
            size: count("size")?,
            claims: usage["claims"].as_u64()?,
            held: count("held")?,
            quarantined: count("quarantined")?,
            free: count("free")?,
        },
    })
}

/// Milliseconds since 1970 of a time such as `2026-03-01T12:00:00.000Z`.
fn time(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let before: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let months: u64 = lengths.iter().take(usize::try_from(month).ok()?.checked_sub(1)?).sum();
    let days = before + months + day.checked_sub(1)?;
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    Some((days * 86_400 + seconds) * 1000 + number(20, 23)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::claim_request;

    #[test]
    fn times_are_parsed() {
        assert_eq!(time("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(time("2000-02-29T00:00:00.000Z"), Some(951_782_400_000));
        assert_eq!(time("2024-12-31T23:59:59.001Z"), Some(1_735_689_599_001));
        assert_eq!(time("2100-03-01T00:00:00.000Z"), Some(4_107_542_400_000));
        assert_eq!(time("yesterday"), None);
    }

    #[test]
    fn answers_are_parsed() {
        let body = r#"{"pool":"p","key":"k","owner":"k","value":7,"values":[7],"version":3,"state":"held",
            "created":"1970-01-01T00:00:00.005Z","expires":null,"expired":false,"labels":{"a":"b"}}"#;
        let headers = vec![
            ("allod-position".to_owned(), "3".to_owned()),
            ("allod-hash".to_owned(), "0f".repeat(32)),
        ];
        let response = Response { status: 201, headers, body: body.into() };
        let seen = ClaimSeen {
            pool: "p".into(),
            key: "k".into(),
            owner: "k".into(),
            values: vec!["7".into()],
            version: 3,
            held: true,
            created_ms: 5,
            expires_ms: None,
            labels: vec![("a".into(), "b".into())],
        };
        let done = OpOutcome::Claimed { created: true, claims: vec![seen] };
        let expected = (CallAnswer::Done(vec![done]), 3, Hash([15; 32]));
        assert_eq!(answer(&claim_request("p", "k"), &response), expected);
        let failed = Response { status: 503, headers: Vec::new(), body: Vec::new() };
        assert_eq!(answer(&claim_request("p", "k"), &failed).0, CallAnswer::Failed);
    }
}
