//! Decides commands about look-ups, and what follows from the answers of authorities.

use std::sync::Arc;

use super::{DriftPolicy, LookUp, LookUpState, Seen};
use crate::authority::command::{LookUpCommand, LookUpReport, SeenValue};
use crate::authority::decide::set_alarms;
use crate::authority::event::{LookUpChanged, LookUpChecked, LookUpRemoved, LookUpsRefreshed};
use crate::authority::refusal::AuthorityRefusal;
use crate::command::Expect;
use crate::decide::{Draft, valid};
use crate::limits::at_most;
use crate::receipt::Outcome;
use crate::refusal::Refusal;

pub(crate) fn run(draft: &mut Draft<'_>, command: &LookUpCommand) -> Result<Outcome, Refusal> {
    match command {
        LookUpCommand::Put { authority, key, policy, expect } => {
            put(draft, authority, key, *policy, *expect)
        }
        LookUpCommand::Delete { authority, key, expect } => delete(draft, authority, key, *expect),
        LookUpCommand::Refresh { authority, key: Some(key) } => refresh(draft, authority, key),
        LookUpCommand::Refresh { authority, key: None } => refresh_all(draft, authority),
        LookUpCommand::Accept { authority, key, expect } => accept(draft, authority, key, *expect),
        LookUpCommand::Report { authority, key, version, report } => {
            self::report(draft, authority, key, *version, report)
        }
    }
}

fn known(draft: &Draft<'_>, authority: &str, key: &str) -> Option<Arc<LookUp>> {
    draft.state.authorities.lookups.get(authority, key).cloned()
}

fn existing(
    draft: &Draft<'_>,
    authority: &Arc<str>,
    key: &Arc<str>,
) -> Result<Arc<LookUp>, Refusal> {
    known(draft, authority, key).ok_or_else(|| {
        let (authority, key) = (authority.clone(), key.clone());
        AuthorityRefusal::LookUpUnknown { authority, key }.into()
    })
}

fn ensure_version(
    authority: &Arc<str>,
    key: &Arc<str>,
    known: Option<&LookUp>,
    expect: Expect,
) -> Result<(), Refusal> {
    let actual = known.map(|known| known.version);
    if expect.holds(actual) {
        return Ok(());
    }
    let (authority, key) = (authority.clone(), key.clone());
    Err(AuthorityRefusal::LookUpVersionDiffers { authority, key, actual }.into())
}

fn put(
    draft: &mut Draft<'_>,
    authority: &Arc<str>,
    key: &Arc<str>,
    policy: DriftPolicy,
    expect: Expect,
) -> Result<Outcome, Refusal> {
    valid::key(key, draft.limits)?;
    let before = known(draft, authority, key);
    ensure_version(authority, key, before.as_deref(), expect)?;
    if let Some(before) = before {
        if before.policy == policy {
            return Ok(Outcome::LookUp(before));
        }
        let changed = LookUp { policy, ..LookUp::clone(&before) };
        return Ok(match (policy, changed.state) {
            (DriftPolicy::Follow, LookUpState::Drifted) => take_seen(draft, changed),
            _ => change(draft, changed),
        });
    }
    valid::new_key(key)?;
    if !draft.state.authorities.by_name.contains_key(authority) {
        return Err(AuthorityRefusal::AuthorityUnknown { authority: authority.clone() }.into());
    }
    let all = &draft.state.authorities.lookups;
    at_most("lookups_max", draft.limits.lookups_max, all.all.len() as u64 + 1)?;
    let look_up = LookUp {
        authority: authority.clone(),
        key: key.clone(),
        policy,
        state: LookUpState::Wanted,
        version: draft.version,
        value: None,
        value_version: None,
        resolved_ms: None,
        seen: None,
        reason: None,
        attempts: 0,
        since_ms: draft.now_ms,
        due_ms: Some(draft.now_ms),
        checked: draft.version,
    };
    let bytes = all.bytes.saturating_add(look_up.bytes());
    at_most("lookups_bytes_max", draft.limits.lookups_bytes_max, bytes)?;
    Ok(change(draft, look_up))
}

fn delete(
    draft: &mut Draft<'_>,
    authority: &Arc<str>,
    key: &Arc<str>,
    expect: Expect,
) -> Result<Outcome, Refusal> {
    let known = known(draft, authority, key);
    ensure_version(authority, key, known.as_deref(), expect)?;
    let existed = known.is_some();
    if existed {
        draft.record(LookUpRemoved { authority: authority.clone(), key: key.clone() });
        set_alarms(draft, authority);
    }
    Ok(Outcome::LookUpDeleted { existed })
}

/// The authority is asked again at once.
fn refresh(
    draft: &mut Draft<'_>,
    authority: &Arc<str>,
    key: &Arc<str>,
) -> Result<Outcome, Refusal> {
    let known = existing(draft, authority, key)?;
    if known.due_ms.is_none_or(|due_ms| due_ms > draft.now_ms) {
        let (due_ms, checked) = (Some(draft.now_ms), known.checked);
        checked_again(draft, &known, checked, due_ms, known.attempts, known.reason.clone());
    }
    Ok(Outcome::LookUp(self::known(draft, authority, key).unwrap_or(known)))
}

/// All look-ups that were last checked before this position are due.
fn refresh_all(draft: &mut Draft<'_>, authority: &Arc<str>) -> Result<Outcome, Refusal> {
    let authority = authority.clone();
    if !draft.state.authorities.by_name.contains_key(&authority) {
        return Err(AuthorityRefusal::AuthorityUnknown { authority }.into());
    }
    draft.record(LookUpsRefreshed { authority, position: draft.version });
    Ok(Outcome::LookUpsRefreshed)
}

fn accept(
    draft: &mut Draft<'_>,
    authority: &Arc<str>,
    key: &Arc<str>,
    expect: Expect,
) -> Result<Outcome, Refusal> {
    let known = existing(draft, authority, key)?;
    ensure_version(authority, key, Some(&known), expect)?;
    if known.policy == DriftPolicy::Pin {
        let what = format!("the policy of look-up '{key}' is pin, so its value never changes");
        return valid::invalid(what, "change the policy to ask or follow first");
    }
    if known.state != LookUpState::Drifted {
        let (authority, key) = (authority.clone(), key.clone());
        return Err(AuthorityRefusal::NothingToAccept { authority, key }.into());
    }
    Ok(take_seen(draft, LookUp::clone(&known)))
}

/// Replaces the value with what the authority has.
fn take_seen(draft: &mut Draft<'_>, look_up: LookUp) -> Outcome {
    let Some(seen) = look_up.seen.clone() else { return change(draft, look_up) };
    taken(draft, look_up, seen.value.map(|value| SeenValue { value, version: seen.version }))
}

fn taken(draft: &mut Draft<'_>, look_up: LookUp, value: Option<SeenValue>) -> Outcome {
    let state = match value {
        Some(_) => LookUpState::Resolved,
        None => LookUpState::Unknown,
    };
    let (value, value_version) = value.map(|seen| (seen.value, seen.version)).unzip();
    let (resolved_ms, value_version) = (value.as_ref().map(|_| draft.now_ms), value_version);
    let value_version = value_version.flatten();
    change(draft, LookUp { state, value, value_version, resolved_ms, seen: None, ..look_up })
}

fn report(
    draft: &mut Draft<'_>,
    authority: &Arc<str>,
    key: &Arc<str>,
    version: u64,
    report: &LookUpReport,
) -> Result<Outcome, Refusal> {
    let known = existing(draft, authority, key)?;
    ensure_version(authority, key, Some(&known), Expect::Is(version))?;
    match report {
        LookUpReport::Seen(seen) => match excess(draft, seen.as_ref()) {
            None => saw(draft, &known, seen.clone()),
            Some(reason) => {
                let due_ms = next_poll(draft, authority);
                failed(draft, &known, reason.into(), due_ms);
            }
        },
        LookUpReport::Failed { reason, again_ms } => {
            failed(draft, &known, reason.clone(), Some(*again_ms));
        }
    }
    Ok(Outcome::LookUp(self::known(draft, authority, key).unwrap_or(known)))
}

/// Why the value cannot be stored.
fn excess(draft: &Draft<'_>, seen: Option<&SeenValue>) -> Option<String> {
    let seen = seen?;
    let version = seen.version.as_ref().map_or(0, |version| version.len());
    let (bytes, max) = ((seen.value.len() + version) as u64, draft.limits.lookup_bytes_max);
    if bytes > max {
        return Some(format!("the value has {bytes} bytes; lookup_bytes_max is {max}"));
    }
    let all = draft.state.authorities.lookups.bytes.saturating_add(bytes);
    let max = draft.limits.lookups_bytes_max;
    (all > max).then(|| format!("there is no space for the value; lookups_bytes_max is {max}"))
}

fn saw(draft: &mut Draft<'_>, known: &LookUp, seen: Option<SeenValue>) {
    let due_ms = next_poll(draft, &known.authority);
    let checked = LookUp {
        reason: None,
        attempts: 0,
        due_ms,
        checked: draft.version,
        ..LookUp::clone(known)
    };
    let has = |value: &Option<Arc<str>>, version: &Option<Arc<str>>| {
        let (one, other) = seen.clone().map(|seen| (seen.value, seen.version)).unzip();
        (*value == one, *version == other.flatten())
    };
    match known.state {
        LookUpState::Wanted => drop(taken(draft, checked, seen)),
        LookUpState::Unknown if seen.is_some() => drop(taken(draft, checked, seen)),
        LookUpState::Unknown => again(draft, &checked),
        LookUpState::Resolved | LookUpState::Drifted => {
            match has(&known.value, &known.value_version) {
                // The drift has ended, or the authority only counts further.
                (true, true) if known.state == LookUpState::Resolved => again(draft, &checked),
                (true, _) => {
                    let value_version = seen.and_then(|seen| seen.version);
                    let state = LookUpState::Resolved;
                    change(draft, LookUp { state, value_version, seen: None, ..checked });
                }
                (false, _) if known.policy == DriftPolicy::Follow => {
                    drop(taken(draft, checked, seen));
                }
                (false, _) => drifted(draft, known, checked, seen),
            }
        }
    }
}

/// The authority has another value than the one here, which stays.
fn drifted(draft: &mut Draft<'_>, known: &LookUp, checked: LookUp, seen: Option<SeenValue>) {
    let (value, version) = seen.map(|seen| (seen.value, seen.version)).unzip();
    let seen = Seen { value, version: version.flatten(), at_ms: draft.now_ms };
    let same = |before: &Seen| before.value == seen.value && before.version == seen.version;
    if known.seen.as_ref().is_some_and(same) {
        return again(draft, &checked);
    }
    change(draft, LookUp { state: LookUpState::Drifted, seen: Some(seen), ..checked });
}

fn failed(draft: &mut Draft<'_>, known: &LookUp, reason: Arc<str>, due_ms: Option<u64>) {
    let attempts = known.attempts.saturating_add(1);
    checked_again(draft, known, draft.version, due_ms, attempts, Some(reason));
}

fn next_poll(draft: &Draft<'_>, authority: &Arc<str>) -> Option<u64> {
    let poll_ms = draft.state.authorities.by_name.get(authority)?.spec.poll_ms?;
    Some(draft.now_ms.saturating_add(poll_ms))
}

/// The authority has answered the same as before.
fn again(draft: &mut Draft<'_>, checked: &LookUp) {
    checked_again(draft, checked, checked.checked, checked.due_ms, 0, None);
}

fn checked_again(
    draft: &mut Draft<'_>,
    known: &LookUp,
    checked: u64,
    due_ms: Option<u64>,
    attempts: u32,
    reason: Option<Arc<str>>,
) {
    let (authority, key) = (known.authority.clone(), known.key.clone());
    draft.record(LookUpChecked { authority, key, checked, due_ms, attempts, reason });
}

fn change(draft: &mut Draft<'_>, look_up: LookUp) -> Outcome {
    let look_up = LookUp { version: draft.version, ..look_up };
    draft.record(LookUpChanged { look_up: look_up.clone() });
    set_alarms(draft, &look_up.authority);
    Outcome::LookUp(Arc::new(look_up))
}
