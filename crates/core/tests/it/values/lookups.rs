//! Commands of the test language for look-ups.
//!
//! `look_up a k [pin|follow|ask]`, `rmlookup a k`, `refresh a [k]`, `accept a k`, with `expect=`. `saw a k VALUE [version=]`,
//! `saw a k nothing` and `unseen a k [again=10s] [why=]` are what the reactor has learned, with `at=VERSION`. `lookup a k`
//! prints one, `lookups a [after=k]` the keys of all, `lookups_due a` those that are due.

use std::sync::Arc;

use allod_core::authority::command::{LookUpCommand, LookUpReport, SeenValue};
use allod_core::authority::{DriftPolicy, LookUp, LookUpState};
use allod_core::command::Expect;
use allod_core::state::State;
use allod_core::view;

use crate::values::authorities::before;
use crate::values::script::{Words, duration, expect, number, text};

pub fn command(state: &State, now_ms: u64, words: &Words<'_>) -> Option<LookUpCommand> {
    let (authority, key) = (|| text(words.plain(0)), || text(words.plain(1)));
    let report = |report| {
        let known = view::authority::lookup(state, words.plain(0), words.plain(1));
        let version = known.map_or(0, |known| known.version);
        let version = words.get("at").map_or(version, number);
        LookUpCommand::Report { authority: authority(), key: key(), version, report }
    };
    let expect = expect(words, Expect::Any);
    Some(match words.verb() {
        "look_up" => {
            let policy = words.plains().nth(2).unwrap_or("pin");
            let policy = DriftPolicy::from_name(policy).expect("a policy");
            LookUpCommand::Put { authority: authority(), key: key(), policy, expect }
        }
        "rmlookup" => LookUpCommand::Delete { authority: authority(), key: key(), expect },
        "refresh" => {
            LookUpCommand::Refresh { authority: authority(), key: words.plains().nth(1).map(text) }
        }
        "accept" => LookUpCommand::Accept { authority: authority(), key: key(), expect },
        "saw" => {
            let version = words.get("version").map(text);
            let value = Some(words.plain(2)).filter(|value| *value != "nothing").map(text);
            report(LookUpReport::Seen(value.map(|value| SeenValue { value, version })))
        }
        "unseen" => report(LookUpReport::Failed {
            reason: words.get("why").map_or("why".into(), text),
            again_ms: now_ms + words.get("again").map_or(0, duration),
        }),
        _ => return None,
    })
}

pub fn show(state: &State, now_ms: u64, words: &Words<'_>) -> String {
    let authority = words.plain(0);
    match words.verb() {
        "lookup" => view::authority::lookup(state, authority, words.plain(1))
            .map_or("none".into(), |look_up| shown(look_up, now_ms)),
        "lookups" => {
            let all = view::authority::lookups_after(state, authority, words.get("after"));
            let keys: Vec<&str> = all.map(|look_up| &*look_up.key).collect();
            let counts = view::authority::lookup_counts(state, authority);
            let states = LookUpState::ALL.into_iter().filter(|state| counts.of(*state) > 0);
            let counts: Vec<String> =
                states.map(|state| format!("{} {}", state.name(), counts.of(state))).collect();
            format!("{} [{}]", keys.join(" "), counts.join(", "))
        }
        _ => {
            let due = view::authority::lookups_due(state, authority, now_ms);
            let keys: Vec<Arc<str>> = due.map(|look_up| look_up.key.clone()).collect();
            let after = view::authority::lookups_due_after(state, authority, now_ms);
            let after = after.map(|at_ms| format!("next in {}", before(at_ms, now_ms)));
            keys.iter().map(|key| &**key).chain(after.as_deref()).collect::<Vec<_>>().join(" ")
        }
    }
}

fn shown(look_up: &LookUp, now_ms: u64) -> String {
    let (state, policy) = (look_up.state.name(), look_up.policy.name());
    let mut out = format!("{state} {policy} v{}", look_up.version);
    let named = [("", &look_up.value), (" version", &look_up.value_version)];
    for (name, value) in named {
        out += &value.as_ref().map(|value| format!("{name} {value}")).unwrap_or_default();
    }
    if let Some(at_ms) = look_up.resolved_ms {
        out += &format!(" since {}", before(now_ms, at_ms));
    }
    if let Some(seen) = &look_up.seen {
        let value = seen.value.as_deref().unwrap_or("nothing");
        out += &format!(" seen {value} for {}", before(now_ms, seen.at_ms));
    }
    if look_up.attempts > 0 {
        out += &format!(" attempts {}", look_up.attempts);
    }
    out +=
        &look_up.due_ms.map(|at_ms| format!(" due {}", before(at_ms, now_ms))).unwrap_or_default();
    out += &look_up.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    out
}
