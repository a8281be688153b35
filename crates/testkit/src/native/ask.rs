//! Writes requests as HTTP.

use allod_core::capacity::Reclaim;
use allod_core::command::capacity::{Holding, LeaseTerms};
use allod_core::command::{Check, ClaimOp, Command, Expect, Op, PutPool, Transact};
use allod_core::span::Span;
use serde_json::{Map, Value, json};

use crate::history::Request;

/// An HTTP request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    pub method: &'static str,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<String>,
}

pub fn wire(request: &Request) -> Wire {
    let get = |path: String| Wire { method: "GET", path, headers: Vec::new(), body: None };
    match request {
        Request::GetClaim { pool, key } => get(claim_path(pool, key)),
        Request::GetValue { pool, value } => get(format!("{}/values/{value}", pool_path(pool))),
        Request::GetPool { pool } => get(pool_path(pool)),
        Request::Command(Command::PutPool(put)) => {
            let query = if put.keep_held { "?keep_held=true" } else { "" };
            let path = format!("{}{query}", pool_path(&put.pool));
            with_expect("PUT", path, put.expect, Some(pool_body(put)))
        }
        Request::Command(Command::DeletePool(delete)) => {
            with_expect("DELETE", pool_path(&delete.pool), delete.expect, None)
        }
        Request::Command(Command::Transact(transact)) => transaction(transact),
        // Requests about capacity use the Placement face, which has its own tests.
        Request::Command(
            Command::Tick
            | Command::Capacity(_)
            | Command::Blocks(_)
            | Command::Requests(_)
            | Command::Outbox(_)
            | Command::Alarm(_)
            | Command::Authority(_),
        ) => get("/healthz".into()),
    }
}

fn pool_path(pool: &str) -> String {
    format!("/v1/pools/{}", escaped(pool))
}

fn claim_path(pool: &str, key: &str) -> String {
    format!("{}/claims/{}", pool_path(pool), escaped(key))
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn with_expect(method: &'static str, path: String, expect: Expect, body: Option<Value>) -> Wire {
    let headers = match expect {
        Expect::Any => Vec::new(),
        Expect::Absent => vec![("if-none-match", "*".to_owned())],
        Expect::Present => vec![("if-match", "*".to_owned())],
        Expect::Is(version) => vec![("if-match", format!("\"{version}\""))],
    };
    Wire { method, path, headers, body: body.map(|body| body.to_string()) }
}

fn pool_body(put: &PutPool) -> Value {
    let (spec, kind) = (&put.spec, put.spec.kind);
    let spans =
        |list: &[Span]| -> Value { list.iter().map(|span| kind.show_range(*span)).collect() };
    let ranges: Value = spec
        .ranges
        .iter()
        .map(|range| match range.subnet_len {
            Some(len) => format!("{}/{len}", kind.point(range.span.first)),
            None => kind.show_range(range.span),
        })
        .collect();
    json!({
        "kind": kind.name(),
        "ranges": ranges,
        "exclude": spans(&spec.exclude),
        "manual": spans(&spec.manual),
        "draining": spans(&spec.draining),
        "strategy": spec.strategy.name(),
        "keep_edges": spec.keep_edges,
        "quarantine": spec.quarantine_ms as f64 / 1000.0,
        "lease": spec.lease_ms.map(|ms| ms as f64 / 1000.0),
        "reap": spec.reap,
    })
}

fn transaction(transact: &Transact) -> Wire {
    let plain = !transact.dry_run && transact.idempotency.is_none();
    match transact.ops.as_slice() {
        [Op::Claim(op)] if plain && op.pools.len() == 1 => with_expect(
            "PUT",
            claim_path(&op.pools[0], &op.key),
            op.expect,
            Some(Value::Object(claim_body(op))),
        ),
        [Op::Release(op)] if plain => {
            with_expect("DELETE", claim_path(&op.pool, &op.key), op.expect, None)
        }
        [Op::Renew(op)] if plain => {
            let body = op.ttl_ms.map_or_else(|| json!({}), |ttl| json!({ "ttl": seconds(ttl) }));
            let path = format!("{}/renew", claim_path(&op.pool, &op.key));
            with_expect("POST", path, op.expect, Some(body))
        }
        [Op::Confirm(op)] if plain => {
            let path = format!("{}/confirm", claim_path(&op.pool, &op.key));
            with_expect("POST", path, op.expect, Some(json!({})))
        }
        ops => {
            let ops: Vec<Value> = ops.iter().map(operation).collect();
            let key = transact.idempotency.as_ref().map(|given| given.key.to_string());
            Wire {
                method: "POST",
                path: "/v1/transactions".into(),
                headers: key.map(|key| ("idempotency-key", key)).into_iter().collect(),
                body: Some(json!({ "ops": ops, "dry_run": transact.dry_run }).to_string()),
            }
        }
    }
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

fn claim_body(op: &ClaimOp) -> Map<String, Value> {
    let want = &op.want;
    let value = want.value.as_ref().map(|value| Value::from(&*value.0));
    let labels: Map<String, Value> =
        op.labels.iter().map(|(name, text)| (name.to_string(), Value::from(&**text))).collect();
    let parts = [
        ("value", value),
        ("fallback", want.fallback.then_some(true.into())),
        ("count", (want.count != 1).then(|| want.count.into())),
        ("contiguous", want.contiguous.then_some(true.into())),
        ("prefix_len", want.prefix_len.map(Value::from)),
        ("parity", want.parity.map(|parity| parity.name().into())),
        ("strategy", want.strategy.map(|strategy| strategy.name().into())),
        ("ttl", op.ttl_ms.map(|ttl| seconds(ttl).into())),
        ("owner", op.owner.as_ref().map(|owner| Value::from(&**owner))),
        ("labels", (!labels.is_empty()).then_some(Value::Object(labels))),
    ];
    parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn condition(expect: Expect) -> Value {
    match expect {
        Expect::Any => "any".into(),
        Expect::Absent => "absent".into(),
        Expect::Present => "present".into(),
        Expect::Is(version) => version.into(),
    }
}

fn operation(op: &Op) -> Value {
    match op {
        Op::Claim(op) => {
            let mut body = claim_body(op);
            let pools: Vec<&str> = op.pools.iter().map(|pool| &**pool).collect();
            body.insert("pools".into(), pools.into());
            body.insert("key".into(), Value::from(&*op.key));
            body.insert("expect".into(), condition(op.expect));
            json!({ "claim": body })
        }
        Op::Release(op) => {
            json!({ "release": { "pool": &*op.pool, "key": &*op.key, "expect": condition(op.expect) } })
        }
        Op::Renew(op) => json!({ "renew": {
            "pool": &*op.pool, "key": &*op.key, "expect": condition(op.expect), "ttl": op.ttl_ms.map(seconds),
        } }),
        Op::Confirm(op) => {
            json!({ "confirm": { "pool": &*op.pool, "key": &*op.key, "expect": condition(op.expect) } })
        }
        Op::Check(Check::Claim { pool, key, expect, owner, value }) => {
            json!({ "check": { "claim": {
            "pool": &**pool, "key": &**key, "expect": condition(*expect), "owner": owner.as_deref(),
            "value": value.as_ref().map(|value| &*value.0),
        } } })
        }
        Op::Check(Check::Free { pool, value }) => {
            json!({ "check": { "free": { "pool": &**pool, "value": &*value.0 } } })
        }
        Op::Check(Check::Pool { pool, expect }) => {
            json!({ "check": { "pool": { "pool": &**pool, "expect": condition(*expect) } } })
        }
        Op::Check(Check::Provider { provider, expect }) => {
            json!({ "check": { "provider": { "provider": provider.to_string(), "expect": condition(*expect) } } })
        }
        Op::Check(Check::Consumer { consumer, expect }) => {
            json!({ "check": { "consumer": { "consumer": consumer.to_string(), "expect": condition(*expect) } } })
        }
        Op::Allocate(op) => {
            json!({ "allocate": { "consumers": op.consumers.iter().map(holding).collect::<Vec<_>>() } })
        }
        Op::Deallocate(op) => {
            json!({ "deallocate": { "consumer": op.consumer.to_string(), "expect": condition(op.expect) } })
        }
        Op::Extend(op) => json!({ "extend": {
            "consumer": op.consumer.to_string(), "expect": condition(op.expect), "ttl": op.lease.map(|lease| seconds(lease.ttl_ms)),
            "reclaim": op.lease.map(reclaim),
        } }),
    }
}

fn holding(holding: &Holding) -> Value {
    let allocations: Map<String, Value> = holding
        .allocations
        .iter()
        .map(|(provider, resources)| {
            let resources: Map<String, Value> = resources
                .iter()
                .map(|(class, amount)| (class.to_string(), (*amount).into()))
                .collect();
            (provider.to_string(), resources.into())
        })
        .collect();
    json!({
        "consumer": holding.consumer.to_string(),
        "expect": condition(holding.expect),
        "project": &*holding.project,
        "user": &*holding.user,
        "type": holding.consumer_type.as_deref(),
        "allocations": allocations,
        "ttl": holding.lease.map(|lease| seconds(lease.ttl_ms)),
        "reclaim": holding.lease.map(reclaim),
    })
}

fn reclaim(lease: LeaseTerms) -> &'static str {
    match lease.reclaim {
        Reclaim::Reap => "reap",
        Reclaim::Keep => "keep",
    }
}
