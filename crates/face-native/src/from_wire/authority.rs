//! Translates requests about authorities.

use std::sync::Arc;

use allod_core::authority::command::Resolution;
use allod_core::authority::{AuthoritySpec, Protocol, SqlStatements};
use allod_edge::Problem;

use crate::wire::{AuthorityBody, ProtocolName, ResolveBody};

/// Reads the definition of an authority, in the form of the body of `PUT /v1/authorities/{name}`.
pub fn authority_spec(definition: serde_json::Value) -> Result<AuthoritySpec, String> {
    let body = serde_json::from_value(definition).map_err(|error| error.to_string())?;
    authority(body).map_err(|problem| problem.detail.into_owned())
}

pub(crate) fn authority(body: AuthorityBody) -> Result<AuthoritySpec, Problem> {
    let AuthorityBody { kind, url, pool, find, take, release, list, lookup, .. } = body;
    let statements = [
        ("find", &find),
        ("take", &take),
        ("release", &release),
        ("list", &list),
        ("lookup", &lookup),
    ];
    let statement = statements.into_iter().find(|(_, given)| given.is_some());
    match (kind, &pool, statement) {
        (ProtocolName::Http | ProtocolName::Sql, Some(_), _) => {
            return Err(Problem::malformed("pool: only an authority of kind allod has it"));
        }
        (ProtocolName::Http | ProtocolName::Allod, _, Some((name, _))) => {
            return Err(Problem::malformed(format!(
                "{name}: only an authority of kind sql has statements"
            )));
        }
        (ProtocolName::Sql, _, _) if take.is_none() && lookup.is_none() => {
            return Err(Problem::malformed(
                "take: an authority of kind sql needs the statement take, which grants values, or lookup",
            ));
        }
        _ => {}
    }
    ensure_scheme(kind, &url)?;
    let text = |text: Option<String>| text.map(Arc::from);
    let protocol = match (kind, pool) {
        (ProtocolName::Http, _) => Protocol::Http,
        (ProtocolName::Allod, Some(pool)) => Protocol::Allod { pool: pool.into() },
        (ProtocolName::Allod, None) => {
            return Err(Problem::malformed(
                "pool is missing; an authority of kind allod needs the pool of the other server",
            ));
        }
        (ProtocolName::Sql, _) => Protocol::Sql(SqlStatements {
            find: text(find),
            take: text(take),
            release: text(release),
            list: text(list),
            lookup: text(lookup),
        }),
    };
    let plain = AuthoritySpec::new(protocol, &url);
    Ok(AuthoritySpec {
        secret: text(body.secret),
        ca: text(body.ca),
        parallel: body.parallel.unwrap_or(plain.parallel),
        timeout_ms: body.timeout.map_or(plain.timeout_ms, |timeout| timeout.ms),
        queue_max: body.queue_max.unwrap_or(plain.queue_max),
        poll_ms: body.poll.map_or(plain.poll_ms, |poll| Some(poll.ms).filter(|&ms| ms > 0)),
        reconcile_ms: body.reconcile.map(|every| every.ms).filter(|&ms| ms > 0),
        alarm_after_ms: body.alarm_after.map_or(plain.alarm_after_ms, |after| after.ms),
        ..plain
    })
}

fn ensure_scheme(kind: ProtocolName, url: &str) -> Result<(), Problem> {
    let schemes = match kind {
        ProtocolName::Http | ProtocolName::Allod => ["http", "https"],
        ProtocolName::Sql => ["postgres", "postgresql"],
    };
    let known = url.split_once("://").filter(|(_, rest)| !rest.is_empty());
    if known.is_some_and(|(scheme, _)| schemes.contains(&scheme)) {
        return Ok(());
    }
    // The URL may have a password, so it is not repeated.
    let [plain, other] = schemes;
    Err(Problem::malformed(format!("url: expected {plain}://… or {other}://…")))
}

pub(crate) fn resolution(body: ResolveBody) -> Result<Resolution, Problem> {
    match body {
        ResolveBody { granted: Some(value), gone: false, ask_again: false } => {
            Ok(Resolution::Granted { value: value.0 })
        }
        ResolveBody { granted: None, gone: true, ask_again: false } => Ok(Resolution::Gone),
        ResolveBody { granted: None, gone: false, ask_again: true } => Ok(Resolution::AskAgain),
        ResolveBody { .. } => Err(Problem::malformed(
            "expected one of granted (the value), gone (true) and ask_again (true)",
        )),
    }
}
