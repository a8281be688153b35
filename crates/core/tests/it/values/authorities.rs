//! Commands of the test language for authorities.
//!
//! `authority a [sql] [url=U] [parallel=1] [timeout=10s] [queue=10] [alarm=300s] [expect=1]`, `rmauthority a`; a pool with
//! `authority=a` has it. `report p k asked|granted 5|refused taken|failed|stuck|gone` is what the reactor has learned about
//! the claim `k`, with `handle=`, `version=`, `still=p/k`, `why=`, `again=10s`, `at=VERSION`; `p` may be a reference, and `k`
//! then is `-`. `resolve p k granted 5|gone|ask_again`. `external p k` prints a claim, `at_authority a` the counts of an
//! authority, `ready a` the claims that are due, `next_due` when the next tick has work.

use std::sync::Arc;

use allod_core::authority::command::{AuthorityCommand, GrantedValue, Report, Resolution};
use allod_core::authority::{
    AuthoritySpec, ExternalClaim, ExternalState, Protocol, RefusalCode, SqlStatements,
};
use allod_core::capacity::Uuid;
use allod_core::command::{Command, Expect};
use allod_core::state::State;
use allod_core::view;

use crate::values::lookups;
use crate::values::reconciliations;
use crate::values::script::{Words, duration, expect, number, text};

pub fn command(state: &State, now_ms: u64, words: &Words<'_>) -> Option<Command> {
    let name = || text(words.plain(0));
    Some(Command::Authority(match words.verb() {
        "authority" => AuthorityCommand::Put {
            name: name(),
            spec: spec(words),
            expect: expect(words, Expect::Any),
        },
        "rmauthority" => {
            AuthorityCommand::Delete { name: name(), expect: expect(words, Expect::Any) }
        }
        "report" => AuthorityCommand::Report {
            reference: reference(state, words.plain(0), words.plain(1)),
            version: words.get("at").map(number),
            report: report(state, now_ms, words),
        },
        "resolve" => AuthorityCommand::Resolve {
            reference: reference(state, words.plain(0), words.plain(1)),
            resolution: match words.plain(2) {
                "granted" => Resolution::Granted { value: text(words.plain(3)) },
                "gone" => Resolution::Gone,
                "ask_again" => Resolution::AskAgain,
                other => panic!("'{other}' is no resolution"),
            },
        },
        _ => {
            let look_up = lookups::command(state, now_ms, words).map(AuthorityCommand::LookUp);
            let reconcile =
                || reconciliations::command(state, words).map(AuthorityCommand::Reconcile);
            look_up.or_else(reconcile)?
        }
    }))
}

fn spec(words: &Words<'_>) -> AuthoritySpec {
    let protocol = if words.has("sql") {
        let take = words.get("take").map(text);
        Protocol::Sql(SqlStatements { take, ..SqlStatements::default() })
    } else {
        Protocol::Http
    };
    let plain = AuthoritySpec::new(protocol, words.get("url").unwrap_or("http://127.0.0.1:1"));
    AuthoritySpec {
        secret: words.get("secret").map(text),
        parallel: words.get("parallel").map_or(plain.parallel, |many| number(many) as u32),
        timeout_ms: words.get("timeout").map_or(plain.timeout_ms, duration),
        queue_max: words.get("queue").map_or(plain.queue_max, number),
        alarm_after_ms: words.get("alarm").map_or(plain.alarm_after_ms, duration),
        poll_ms: words.get("poll").map(duration),
        reconcile_ms: words.get("reconcile").map(duration),
        ..plain
    }
}

fn report(state: &State, now_ms: u64, words: &Words<'_>) -> Report {
    let why = || words.get("why").map_or("why".into(), |why| text(&why.replace('_', " ")));
    match words.plain(2) {
        "asked" => Report::Asked,
        "granted" => Report::Granted(GrantedValue {
            value: text(words.plain(3)),
            handle: words.get("handle").map(text),
            version: words.get("version").map(text),
            still_held: words.get("still").map(|claim| {
                let (pool, key) = claim.split_once('/').expect("a pool and a key");
                reference(state, pool, key)
            }),
        }),
        "refused" => Report::Refused {
            code: RefusalCode::from_name(words.plain(3)).expect("a code"),
            reason: why(),
        },
        "failed" => Report::Failed {
            reason: why(),
            again_ms: now_ms + words.get("again").map_or(0, duration),
            asked: words.has("asked"),
        },
        "stuck" => Report::Stuck { reason: why() },
        "gone" => Report::Gone,
        other => panic!("'{other}' is no report"),
    }
}

/// The reference of a claim; or the pool itself, if it is one.
pub fn reference(state: &State, pool: &str, key: &str) -> Uuid {
    match pool.parse() {
        Ok(reference) => reference,
        Err(_) => claim(state, pool, key).expect("a claim").request.reference,
    }
}

fn claim<'a>(state: &'a State, pool: &str, key: &str) -> Option<&'a Arc<ExternalClaim>> {
    view::authority::claim(state, pool, key)
}

/// Writes the claim instead of a reference that must be looked up, and `REFERENCE` for other known references.
pub fn answered(state: &State, said: String) -> String {
    let all = view::authority::authorities(state);
    if let Some(reference) = said.strip_prefix("look up ") {
        let reference = reference.parse().expect("a reference");
        let known = all.get(reference).expect("a claim");
        return format!("look up {}/{}", known.request.pool, known.request.key);
    }
    let shown = |word: &str| match word.parse() {
        Ok(reference) if all.is_own(reference) => "REFERENCE".into(),
        _ => word.to_string(),
    };
    said.split(' ').map(shown).collect::<Vec<_>>().join(" ")
}

pub fn show(state: &State, now_ms: u64, words: &Words<'_>) -> String {
    let all = view::authority::authorities(state);
    match words.verb() {
        "external" => claim(state, words.plain(0), words.plain(1))
            .map_or("none".into(), |claim| shown(claim, now_ms)),
        "at_authority" => {
            let counts = all.counts(words.plain(0));
            let states = ExternalState::ALL.into_iter().filter(|state| counts.of(*state) > 0);
            let mut parts: Vec<String> =
                states.map(|state| format!("{} {}", state.name(), counts.of(state))).collect();
            let oldest = all.oldest_ms(words.plain(0));
            parts.extend(oldest.map(|at_ms| format!("oldest {}", before(now_ms, at_ms))));
            parts.join(", ")
        }
        "ready" => {
            let ready = all.ready_from(words.plain(0), (0, Uuid(0)), now_ms);
            let mut keys: Vec<&str> = ready.map(|claim| &*claim.request.key).collect();
            keys.sort_unstable();
            let after = all.due_after(words.plain(0), now_ms);
            let after = after.map(|at_ms| format!("next in {}", before(at_ms, now_ms)));
            keys.into_iter().chain(after.as_deref()).collect::<Vec<_>>().join(" ")
        }
        _ => state.next_due_ms().map_or("never".into(), |at_ms| before(at_ms, now_ms)),
    }
}

/// How long `earlier` is before `later`.
pub fn before(later: u64, earlier: u64) -> String {
    let ms = i128::from(later) - i128::from(earlier);
    if ms % 1000 == 0 { format!("{}s", ms / 1000) } else { format!("{ms}ms") }
}

fn shown(claim: &ExternalClaim, now_ms: u64) -> String {
    let progress = &claim.progress;
    let mut text = format!("{} v{}", progress.state.name(), progress.version);
    if progress.asked {
        text += " asked";
    }
    let named = [
        ("value", &progress.value),
        ("handle", &progress.handle),
        ("version", &progress.granted_version),
    ];
    for (name, value) in named {
        text += &value.as_ref().map(|value| format!(" {name} {value}")).unwrap_or_default();
    }
    text += &progress.code.map(|code| format!(" {}", code.name())).unwrap_or_default();
    if progress.attempts > 0 {
        text += &format!(" attempts {}", progress.attempts);
    }
    text +=
        &progress.due_ms.map(|at_ms| format!(" due {}", before(at_ms, now_ms))).unwrap_or_default();
    text += &progress.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    text
}
