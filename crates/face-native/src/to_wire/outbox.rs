//! Alarms and notices as JSON.

use allod_core::alarm::{Alarm, AlarmKind};
use allod_core::outbox::Notification;

use crate::wire::{self, Time};

pub(crate) fn alarm(alarm: &Alarm) -> wire::Alarm<'_> {
    wire::Alarm {
        object: &alarm.object,
        kind: alarm.kind.name(),
        of: object_of(alarm.kind, alarm.ids),
        raised: Time { ms: alarm.raised_ms },
        cleared: alarm.cleared_ms.map(|ms| Time { ms }),
    }
}

/// What the object of an alarm is.
pub(super) fn object_of(kind: AlarmKind, ids: bool) -> &'static str {
    match kind {
        AlarmKind::Undelivered => "service",
        _ if kind.is_of_authority() => "authority",
        _ if ids => "id-pool",
        _ => "ip-address-pool",
    }
}

pub(crate) fn notice(notice: &Notification) -> wire::Notice<'_> {
    let about = notice.about.iter();
    wire::Notice {
        number: notice.name(),
        target: &notice.target,
        user: &notice.user,
        how: notice.payload.0,
        pools: about.map(|(pool, key)| wire::ChangedAllocation { pool, allocation: key }).collect(),
        queued: Time { ms: notice.at_ms },
        attempts: notice.attempts,
        error: notice.error.as_deref(),
        due: notice.due_ms.map(|ms| Time { ms }),
        dead: notice.due_ms.is_none(),
    }
}
