//! Commands of the test language for reconciliation.
//!
//! `reconcile a`, `found a orphan=x/5/handle missing=p/k drift=p/k/8 conflict=y/5/p/k orphans=7`, each of them any number of
//! times, with `number=`; `unfound a why=…`. A reference of a grant that is unknown here consists of the letters of a name.
//! `settle a x adopt p k owner|release|forget`, where `x` may also be `p/k`. `findings a` prints the last reconciliation.

use allod_core::authority::command::{ReconcileCommand, ReconcileReport, SettleAction};
use allod_core::authority::{ConflictFound, Drifted, Findings, Missing, Orphan, Reconciliation};
use allod_core::capacity::Uuid;
use allod_core::state::State;
use allod_core::view;

use crate::values::authorities::reference;
use crate::values::capacity::{name, uuid};
use crate::values::script::{Words, number, text};

pub fn command(state: &State, words: &Words<'_>) -> Option<ReconcileCommand> {
    let authority = || text(words.plain(0));
    let report = |report| {
        let last = view::authority::reconciliation(state, words.plain(0));
        let last = last.map_or(0, |last| last.number);
        let number = words.get("number").map_or(last, number);
        ReconcileCommand::Report { authority: authority(), number, report }
    };
    Some(match words.verb() {
        "reconcile" => ReconcileCommand::Request { authority: authority() },
        "found" => report(ReconcileReport::Listed(findings(state, words))),
        "unfound" => report(ReconcileReport::Failed { reason: "why".into() }),
        "settle" => ReconcileCommand::Settle {
            authority: authority(),
            reference: of(state, words.plain(1)),
            action: match words.plain(2) {
                "adopt" => SettleAction::Adopt {
                    pool: words.plains().nth(3).map_or("".into(), text),
                    key: words.plains().nth(4).map_or("".into(), text),
                    owner: words.plains().nth(5).map_or("".into(), text),
                },
                "release" => SettleAction::Release,
                "forget" => SettleAction::Forget,
                other => panic!("'{other}' is no action"),
            },
        },
        _ => return None,
    })
}

/// The reference of a claim `p/k`, or of a grant that is unknown here.
fn of(state: &State, word: &str) -> Uuid {
    word.split_once('/').map_or_else(|| uuid(word), |(pool, key)| reference(state, pool, key))
}

fn findings(state: &State, words: &Words<'_>) -> Findings {
    let mut findings = Findings::default();
    for (named, value) in words.named() {
        let parts: Vec<&str> = value.split('/').collect();
        let claim = || reference(state, parts[0], parts[1]);
        let held = || {
            let claim = view::authority::claim(state, parts[0], parts[1]).expect("a claim");
            claim.progress.value.clone().unwrap_or_default()
        };
        match named {
            "orphan" => findings.orphans.push(Orphan {
                reference: uuid(parts[0]),
                value: text(parts[1]),
                handle: parts.get(2).copied().map(text),
                own: true,
            }),
            "missing" => findings.missing.push(Missing {
                reference: claim(),
                pool: text(parts[0]),
                key: text(parts[1]),
                value: held(),
            }),
            "drift" => findings.drifted.push(Drifted {
                reference: claim(),
                pool: text(parts[0]),
                key: text(parts[1]),
                value: held(),
                seen: text(parts[2]),
            }),
            "conflict" => findings.conflicts.push(ConflictFound {
                reference: uuid(parts[0]),
                value: text(parts[1]),
                pool: text(parts[2]),
                key: text(parts[3]),
            }),
            "orphans" => findings.counts.orphans = number(value),
            _ => {}
        }
    }
    findings
}

pub fn show(state: &State, authority: &str) -> String {
    let Some(last) = view::authority::reconciliation(state, authority) else {
        return "none".into();
    };
    let Reconciliation { number, state, findings, reason, .. } = &**last;
    let mut out = format!("{} {number}", state.name());
    for one in &findings.orphans {
        let handle = one.handle.as_deref().unwrap_or("-");
        let own = if one.own { " own" } else { "" };
        out += &format!("; orphan {} {} {handle}{own}", name(one.reference), one.value);
    }
    for one in &findings.missing {
        out += &format!("; missing {}/{} {}", one.pool, one.key, one.value);
    }
    for one in &findings.drifted {
        out += &format!("; drifted {}/{} {} to {}", one.pool, one.key, one.value, one.seen);
    }
    for one in &findings.conflicts {
        let (reference, value) = (name(one.reference), &one.value);
        out += &format!("; conflict {reference} {value} with {}/{}", one.pool, one.key);
    }
    let counts = findings.counts;
    let counts = [counts.orphans, counts.missing, counts.drifted, counts.conflicts];
    if counts != [0; 4] {
        out += &format!(" {counts:?}");
    }
    out + &reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
}
