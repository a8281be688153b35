//! Reports of an authority for tests, which no server has asked here. Tests submit them from lines such as
//!
//! ```text
//! report vlans blue granted 7 grant-7     the value, and the authority's name for the grant
//! report vlans blue refused taken in use by another tenant
//! report vlans blue failed connection refused
//! report vlans blue stuck the connection was cut
//! report vlans blue gone
//! report lookup inventory site seen {"a":1} v7    the value, and the authority's version of it
//! report lookup inventory site unknown
//! report lookup inventory site failed connection refused
//! report reconciled inventory orphan 9 missing vlans blue drifted vlans green 12
//! report reconciled inventory failed connection refused
//! ```

use std::time::Duration;

use allod_core::authority::command::{
    AuthorityCommand, GrantedValue, LookUpCommand, LookUpReport, ReconcileCommand, ReconcileReport,
    Report, SeenValue,
};
use allod_core::authority::{Drifted, Findings, Missing, Orphan, RefusalCode};
use allod_core::capacity::Uuid;
use allod_core::command::Command;
use allod_core::view;
use allod_engine::Handle;

/// Submits the report of the line, once the claim exists.
pub async fn report(handle: &Handle, line: &str) {
    if let Some(line) = line.strip_prefix("lookup ") {
        return look_up(handle, line).await;
    }
    if let Some(line) = line.strip_prefix("reconciled ") {
        return reconciled(handle, line).await;
    }
    let mut words = line.splitn(4, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (pool, key, kind, rest) = (word(), word(), word(), word());
    let report = match kind {
        "granted" => {
            let (value, handle) = rest.split_once(' ').unwrap_or((rest, ""));
            let handle = (!handle.is_empty()).then(|| handle.into());
            let value = value.into();
            Report::Granted(GrantedValue { value, handle, version: None, still_held: None })
        }
        "refused" => {
            let (code, reason) = rest.split_once(' ').expect("a code and a reason");
            let code = RefusalCode::from_name(code).expect("a code");
            Report::Refused { code, reason: reason.into() }
        }
        "failed" => {
            let again_ms = handle.status().now_ms + 60_000;
            Report::Failed { reason: rest.into(), again_ms, asked: false }
        }
        "stuck" => Report::Stuck { reason: rest.into() },
        "gone" => Report::Gone,
        _ => panic!("{line}: not known"),
    };
    let reference = reference(handle, pool, key).await;
    let command = AuthorityCommand::Report { reference, version: None, report };
    let reply = handle.submit(Command::Authority(command)).await.expect("an answer");
    reply.answer.expect("no refusal");
}

async fn reconciled(handle: &Handle, line: &str) {
    let (authority, rest) = line.split_once(' ').expect("an authority and findings");
    let report = match rest.strip_prefix("failed ") {
        Some(reason) => ReconcileReport::Failed { reason: reason.into() },
        None => ReconcileReport::Listed(findings(handle, rest).await),
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    let number = loop {
        let found = handle.read(|snapshot| {
            let last = view::authority::reconciliation(snapshot.state, authority);
            last.filter(|last| last.is_wanted()).map(|last| last.number)
        });
        match found.expect("an engine") {
            Some(number) => break number,
            None => assert!(std::time::Instant::now() < deadline, "not wanted: {line}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let report = ReconcileCommand::Report { authority: authority.into(), number, report };
    let command = Command::Authority(AuthorityCommand::Reconcile(report));
    let reply = handle.submit(command).await.expect("an answer");
    reply.answer.expect("no refusal");
}

async fn findings(handle: &Handle, text: &str) -> Findings {
    let mut found = Findings::default();
    let mut words = text.split_whitespace();
    while let Some(class) = words.next() {
        let mut word = || words.next().expect("another word");
        match class {
            "orphan" => {
                let value = word();
                // The reference ends with the value.
                let reference = format!("5d3c1f0a-7be2-8a41-9c6d-{value:0>12}").parse();
                let (reference, handle) = (reference.expect("a uuid"), Some("by hand".into()));
                let value = value.into();
                found.orphans.push(Orphan { reference, value, handle, own: false });
                found.counts.orphans += 1;
            }
            "missing" => {
                let (pool, key) = (word(), word());
                let reference = reference(handle, pool, key).await;
                let (pool, key, value) = (pool.into(), key.into(), "7".into());
                found.missing.push(Missing { reference, pool, key, value });
                found.counts.missing += 1;
            }
            "drifted" => {
                let (pool, key, seen) = (word(), word(), word());
                let reference = reference(handle, pool, key).await;
                let (pool, key, value) = (pool.into(), key.into(), "8".into());
                let seen = seen.into();
                found.drifted.push(Drifted { reference, pool, key, value, seen });
                found.counts.drifted += 1;
            }
            "nothing" => {}
            other => panic!("{other}: not known"),
        }
    }
    found
}

async fn look_up(handle: &Handle, line: &str) {
    let mut words = line.splitn(4, ' ');
    let mut word = || words.next().unwrap_or_default();
    let (authority, key, kind, rest) = (word(), word(), word(), word());
    let report = match kind {
        "seen" => {
            let (value, version) = rest.split_once(' ').unwrap_or((rest, ""));
            let version = (!version.is_empty()).then(|| version.into());
            LookUpReport::Seen(Some(SeenValue { value: value.into(), version }))
        }
        "unknown" => LookUpReport::Seen(None),
        "failed" => {
            let again_ms = handle.status().now_ms + 60_000;
            LookUpReport::Failed { reason: rest.into(), again_ms }
        }
        _ => panic!("{line}: not known"),
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    let version = loop {
        let found = handle.read(|snapshot| {
            view::authority::lookup(snapshot.state, authority, key).map(|found| found.version)
        });
        match found.expect("an engine") {
            Some(version) => break version,
            None => assert!(std::time::Instant::now() < deadline, "no look-up {line}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let (authority, key) = (authority.into(), key.into());
    let command = LookUpCommand::Report { authority, key, version, report };
    let command = Command::Authority(AuthorityCommand::LookUp(command));
    let reply = handle.submit(command).await.expect("an answer");
    reply.answer.expect("no refusal");
}

/// The reference of the claim under a key, once it exists.
pub async fn reference(handle: &Handle, pool: &str, key: &str) -> Uuid {
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        let found = handle.read(|snapshot| {
            view::authority::claim(snapshot.state, pool, key).map(|claim| claim.request.reference)
        });
        match found.expect("an engine") {
            Some(reference) => return reference,
            None => assert!(std::time::Instant::now() < deadline, "no claim {pool} {key}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The text with every reference replaced by a fixed one, because they are random.
pub fn steady(text: &str) -> String {
    let is_reference = |part: &str| {
        part.len() == 36
            && part.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                14 => byte == b'8',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(first) = rest.chars().next() {
        match rest.get(..36).filter(|part| is_reference(part)) {
            Some(_) => {
                out.push_str("REFERENCE");
                rest = &rest[36..];
            }
            None => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    out
}
