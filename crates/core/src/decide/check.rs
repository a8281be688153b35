//! Checks the conditions of a transaction.

use super::{Draft, room, valid};
use crate::command::{Check, Expect};
use crate::receipt::Outcome;
use crate::refusal::Refusal;

pub(super) fn run(draft: &mut Draft<'_>, check: &Check) -> Result<Outcome, Refusal> {
    let failed = match check {
        Check::Claim { pool, key, expect, owner, value } => {
            valid::key(key, draft.limits)?;
            let held = draft.pool(pool)?;
            let kind = held.spec.kind;
            let value = value.as_ref().map(|text| valid::value(held, text)).transpose()?;
            let row = held.held(key).map(|(_, row)| row);
            let holds = expect.holds(row.map(|row| row.version))
                && owner.as_ref().is_none_or(|owner| row.is_some_and(|row| row.owner() == owner))
                && value.is_none_or(|value| {
                    row.is_some_and(|row| row.values().spans().any(|span| span.covers(value)))
                });
            let actual = row.map_or("nothing is held under it".into(), |row| {
                let value = kind.show(row.first);
                format!("it is at version {}, held by '{}', with {value}", row.version, row.owner())
            });
            (!holds).then(|| (format!("the condition on claim '{key}' in pool '{pool}'"), actual))
        }
        Check::Free { pool: name, value } => {
            let pool = draft.pool(name)?;
            let value = valid::value(pool, value)?;
            room::in_zone(pool, value)?;
            let now_ms = draft.now_ms;
            let mut holders = pool.overlapping(value).map(|(_, row, _)| row);
            let holder =
                holders.find(|row| row.quarantined_until().is_none_or(|until| until > now_ms));
            holder.map(|row| {
                let what = format!("that {} of pool '{name}' is free", pool.spec.kind.show(value));
                (what, format!("it is held under '{}' by '{}'", row.key, row.owner()))
            })
        }
        Check::Pool { pool, expect } => {
            let actual = draft.state.pool(pool).map(|pool| pool.generation);
            generation(*expect, actual, || format!("pool '{pool}'"))
        }
        Check::Provider { provider, expect } => {
            let actual = draft.state.capacity.provider(*provider).map(|there| there.generation);
            generation(*expect, actual, || format!("provider {provider}"))
        }
        Check::Consumer { consumer, expect } => {
            let actual = draft.state.capacity.consumer(*consumer).map(|there| there.generation);
            generation(*expect, actual, || format!("consumer {consumer}"))
        }
    };
    match failed {
        None => Ok(Outcome::Checked),
        Some((what, actual)) => Err(Refusal::CheckFailed { what, actual }),
    }
}

/// Describes the condition and the actual generation; `None` when the condition holds.
fn generation(
    expect: Expect,
    actual: Option<u64>,
    of: impl Fn() -> String,
) -> Option<(String, String)> {
    let shown = || {
        actual.map_or("it does not exist".into(), |generation| {
            format!("it is at generation {generation}")
        })
    };
    (!expect.holds(actual)).then(|| (format!("the condition on {}", of()), shown()))
}
