//! Status, title and members of the reply to each refusal and failure.
//!
//! The tables match without a wildcard, so that a new refusal does not compile until it has a row here.

mod authority;
mod capacity;

use std::borrow::Cow;

use allod_core::refusal::{
    Advice, AlarmRefusal, AuthorityRefusal, Exhausted, OutboxRefusal, Refusal, Refused,
};
use allod_core::span::Span;
use allod_core::value::Kind;
use allod_edge::{Problem, Reply};
use allod_engine::history::HistoryError;
use allod_engine::{CommitPoint, EngineError, JournalReadError};
use http::StatusCode;

use crate::to_wire::{self, ReasonDetail};
use crate::wire::{
    ExhaustedAnswer, HeldAnswer, HolderAnswer, RefusalMembers, Time, TrimmedMembers, WireValue,
};

/// When a client whose idempotency keys are used up may retry, or one whose authority has too many claims that wait. Both
/// change all the time.
const RETRY_S: u32 = 10;

/// A refusal of a request whose path names the resource.
pub(crate) fn alone(refusal: impl Into<Refusal>, at: &CommitPoint) -> Reply {
    let refusal = refusal.into();
    reply(head(&refusal), None, &refusal, at)
}

/// A refusal of a transaction. 404 and 412 would concern the transaction itself, so both become 409; code and operation
/// number identify the cause.
pub(crate) fn in_transaction(refused: &Refused, at: &CommitPoint) -> Reply {
    let head = match head(&refused.refusal) {
        (StatusCode::NOT_FOUND | StatusCode::PRECONDITION_FAILED, title) => conflict(title),
        head => head,
    };
    reply(head, Some(refused.op), &refused.refusal, at)
}

/// A refusal as this client may read it: what an authority says about its errors is for admins.
pub(crate) fn for_client(refusal: Refusal, detail: ReasonDetail) -> Refusal {
    match refusal {
        Refusal::Authority(AuthorityRefusal::QueueFull { authority, queue_max, .. })
            if detail == ReasonDetail::Short =>
        {
            AuthorityRefusal::QueueFull { authority, queue_max, reason: None }.into()
        }
        refusal => refusal,
    }
}

/// A refusal of a query that names something that does not exist.
pub(crate) fn of_query(refusal: impl Into<Refusal>, at: &CommitPoint) -> Reply {
    let refusal = refusal.into();
    let (_, title) = head(&refusal);
    reply((StatusCode::BAD_REQUEST, title), None, &refusal, at)
}

fn reply(head: Head, op: Option<usize>, refusal: &Refusal, at: &CommitPoint) -> Reply {
    if let Refusal::ValueMalformed { .. } = refusal {
        // Answered like every other malformed field, without the members of a refusal.
        let field = op.map_or_else(String::new, |op| format!("ops[{op}]: "));
        return to_wire::at_position(Problem::malformed(format!("{field}{refusal}")).reply(), at);
    }
    let (status, title) = head;
    let mut problem = Problem::new(status, refusal.code(), title, refusal.to_string());
    if status == StatusCode::SERVICE_UNAVAILABLE {
        problem = problem.retry_after(RETRY_S);
    }
    let (advice, wait_until) = match refusal.advice() {
        Advice::Reread => ("reread", None),
        Advice::WaitUntil(ms) => ("wait_until", Some(Time { ms })),
        Advice::WaitForRelease => ("wait_for_release", None),
        Advice::Change => ("change", None),
    };
    let members = RefusalMembers { op, advice, wait_until, ..members(refusal) };
    to_wire::at_position(problem.reply_with(members), at)
}

/// The status and the title of a reply.
type Head = (StatusCode, &'static str);

fn not_found(title: &'static str) -> Head {
    (StatusCode::NOT_FOUND, title)
}

fn differs(title: &'static str) -> Head {
    (StatusCode::PRECONDITION_FAILED, title)
}

fn conflict(title: &'static str) -> Head {
    (StatusCode::CONFLICT, title)
}

fn head(refusal: &Refusal) -> Head {
    match refusal {
        Refusal::Invalid { .. } | Refusal::Config(_) => {
            (StatusCode::BAD_REQUEST, "contradictory request")
        }
        Refusal::ValueMalformed { .. } => (StatusCode::BAD_REQUEST, "malformed request"),
        Refusal::LimitExceeded { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "limit exceeded"),
        Refusal::IdempotencyDiffers { .. } => {
            (StatusCode::UNPROCESSABLE_ENTITY, "idempotency key used for another request")
        }
        Refusal::IdempotencyFull { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "no space for another idempotency key")
        }
        Refusal::SearchTooLong { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "search too long"),
        Refusal::PoolUnknown { .. } => not_found("pool not found"),
        Refusal::PoolGenerationDiffers { .. } => differs("pool generation differs"),
        Refusal::PoolKindDiffers { .. } => conflict("pool kind differs"),
        Refusal::PoolInUse { .. } => conflict("pool in use"),
        Refusal::HeldOutside { .. } => conflict("held values would be outside the pool"),
        Refusal::ClaimUnknown { .. } => not_found("claim not found"),
        Refusal::ClaimVersionDiffers { .. } => differs("claim version differs"),
        Refusal::ParamsDiffer { .. } => conflict("the key holds a different claim"),
        Refusal::NoLease { .. } => conflict("claim has no lease"),
        Refusal::ValueOutside { .. } => conflict("value outside the pool"),
        Refusal::ValueExcluded { .. } => conflict("value excluded"),
        Refusal::ValueDraining { .. } => conflict("value is being drained"),
        Refusal::ValueTaken { .. } => conflict("value taken"),
        Refusal::ValueQuarantined { .. } => conflict("value in quarantine"),
        Refusal::SyncDiffers { .. } => conflict("the pools hold different values under this key"),
        Refusal::PoolExhausted { .. } => conflict("pool exhausted"),
        Refusal::SyncExhausted { .. } => conflict("no value is free in all pools"),
        Refusal::CheckFailed { .. } => conflict("check failed"),
        Refusal::Capacity(refusal) => capacity::head(refusal),
        // Does not occur here: only the id-manager submits such commands.
        Refusal::Blocks(_) => conflict("refused by the id-manager"),
        Refusal::Requests(_) => conflict("managed by the resource-manager"),
        Refusal::Outbox(OutboxRefusal::NotificationUnknown { .. }) => {
            not_found("notification not found")
        }
        Refusal::Alarm(AlarmRefusal::NotCleared { .. }) => conflict("alarm not cleared"),
        Refusal::Authority(refusal) => authority::head(refusal),
    }
}

/// The additional members of the reply.
fn members(refusal: &Refusal) -> RefusalMembers<'_> {
    let none = RefusalMembers::default();
    match refusal {
        Refusal::Invalid { .. } | Refusal::Config(_) | Refusal::CheckFailed { .. } => none,
        Refusal::Blocks(_) | Refusal::Requests(_) | Refusal::Outbox(_) | Refusal::Alarm(_) => none,
        Refusal::Capacity(refusal) => capacity::members(refusal),
        Refusal::Authority(refusal) => authority::members(refusal),
        Refusal::LimitExceeded { limit, max, actual } => {
            RefusalMembers { limit: Some(limit), max: Some(*max), actual: Some(*actual), ..none }
        }
        Refusal::IdempotencyFull { limit, .. } => RefusalMembers { limit: Some(limit), ..none },
        Refusal::SearchTooLong { steps_max, .. } => {
            RefusalMembers { limit: Some("search_steps_max"), max: Some(*steps_max), ..none }
        }
        Refusal::IdempotencyDiffers { key } => RefusalMembers { key: Some(key), ..none },
        Refusal::PoolUnknown { pool }
        | Refusal::PoolKindDiffers { pool, .. }
        | Refusal::ValueMalformed { pool, .. } => RefusalMembers { pool: Some(pool), ..none },
        Refusal::PoolGenerationDiffers { pool, actual } => {
            RefusalMembers { pool: Some(pool), actual: *actual, ..none }
        }
        Refusal::PoolInUse { pool, held, quarantined } => RefusalMembers {
            pool: Some(pool),
            held: Some(*held),
            quarantined: Some(*quarantined),
            ..none
        },
        Refusal::HeldOutside { pool, kind, held, sample, .. } => RefusalMembers {
            pool: Some(pool),
            held: Some(*held),
            sample: sample
                .iter()
                .map(|(key, span)| HeldAnswer { pool, key, value: WireValue(*kind, *span) })
                .collect(),
            ..none
        },
        Refusal::ClaimUnknown { pool, key } | Refusal::NoLease { pool, key } => {
            RefusalMembers { pool: Some(pool), key: Some(key), ..none }
        }
        Refusal::ClaimVersionDiffers { pool, key, actual } => {
            RefusalMembers { pool: Some(pool), key: Some(key), actual: *actual, ..none }
        }
        Refusal::ParamsDiffer { pool, key, fields } => {
            RefusalMembers { pool: Some(pool), key: Some(key), fields, ..none }
        }
        Refusal::ValueOutside { pool, kind, value }
        | Refusal::ValueExcluded { pool, kind, value }
        | Refusal::ValueDraining { pool, kind, value }
        | Refusal::ValueQuarantined { pool, kind, value, .. } => about_value(pool, *kind, *value),
        Refusal::ValueTaken { pool, kind, value, by } => RefusalMembers {
            by: Some(HolderAnswer {
                key: &by.key,
                owner: &by.owner,
                expires: by.expires_ms.map(|ms| Time { ms }),
            }),
            ..about_value(pool, *kind, *value)
        },
        Refusal::SyncDiffers { key, held } => RefusalMembers {
            key: Some(key),
            sample: held
                .iter()
                .map(|(pool, kind, span)| HeldAnswer { pool, key, value: WireValue(*kind, *span) })
                .collect(),
            ..none
        },
        Refusal::PoolExhausted { pool, report } => {
            RefusalMembers { pool: Some(pool), exhausted: vec![exhausted(pool, report)], ..none }
        }
        Refusal::SyncExhausted { reports } => RefusalMembers {
            exhausted: reports.iter().map(|(pool, report)| exhausted(pool, report)).collect(),
            ..none
        },
    }
}

fn about_value(pool: &str, kind: Kind, value: Span) -> RefusalMembers<'_> {
    RefusalMembers { pool: Some(pool), value: Some(WireValue(kind, value)), ..Default::default() }
}

fn exhausted<'a>(pool: &'a str, report: &Exhausted) -> ExhaustedAnswer<'a> {
    ExhaustedAnswer {
        pool,
        size: report.size,
        held: report.held,
        expired: report.expired,
        quarantined: report.quarantined,
        quarantined_until: report.quarantined_until_ms.map(|ms| Time { ms }),
        excluded: report.excluded,
        draining: report.draining,
        manual: report.manual,
        free: report.free,
        longest_run: report.longest_run,
        largest_prefix_len: report.largest_prefix_len,
    }
}

/// The engine failed; the detail is its own error text.
pub(crate) fn failure(failure: &EngineError) -> Problem {
    let (status, code, title) = match failure {
        EngineError::QueueFull { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "queue_full", "server overloaded")
        }
        EngineError::ReadQueueFull { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "read_queue_full", "server overloaded")
        }
        EngineError::Unavailable { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "temporarily unavailable")
        }
        EngineError::Stopping => {
            (StatusCode::SERVICE_UNAVAILABLE, "stopping", "server is stopping")
        }
        EngineError::TooLarge { .. } => {
            (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "request too large")
        }
        EngineError::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error"),
    };
    let problem = Problem::new(status, code, title, failure.to_string());
    if status == StatusCode::SERVICE_UNAVAILABLE { problem.retry_after(1) } else { problem }
}

fn trimmed(detail: String, oldest_position: u64) -> Reply {
    let title = "this part of the journal has been trimmed";
    let problem = Problem::new(StatusCode::GONE, "position_trimmed", title, detail);
    problem.reply_with(TrimmedMembers { oldest_position })
}

/// A query of the history failed.
pub(crate) fn unanswered(why: &HistoryError) -> Reply {
    let detail = why.to_string();
    let none = RefusalMembers::default();
    match why {
        HistoryError::Trimmed { oldest_position } => trimmed(detail, *oldest_position),
        HistoryError::PositionUnknown { .. } | HistoryError::TimeUnknown => {
            let title = "position or time is in the future";
            Problem::new(StatusCode::BAD_REQUEST, "position_unknown", title, detail).reply()
        }
        HistoryError::PoolUnknown { pool, at, .. } => {
            let title = "the pool did not exist";
            let problem = Problem::new(StatusCode::NOT_FOUND, "pool_unknown", title, detail);
            let members = RefusalMembers { advice: "change", pool: Some(pool), ..none };
            to_wire::at_position(problem.reply_with(members), at)
        }
        HistoryError::NotAValue { at, .. } => {
            to_wire::at_position(Problem::malformed(detail).reply(), at)
        }
        HistoryError::TooWide { history_records_max } => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            let problem = Problem::new(status, "limit_exceeded", "limit exceeded", detail);
            let (limit, max) = (Some("history_records_max"), Some(*history_records_max as u64));
            problem.reply_with(RefusalMembers { advice: "change", limit, max, ..none })
        }
        HistoryError::Building { .. } => {
            let title = "history index is being built";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Problem::new(status, "index_building", title, detail).retry_after(1).reply()
        }
        HistoryError::Unavailable { what } => {
            failure(&EngineError::Unavailable { what: what.clone() }).reply()
        }
    }
}

/// A read of the journal failed.
pub(crate) fn unread(unread: &JournalReadError) -> Reply {
    match unread {
        JournalReadError::Failed(failed) => failure(failed).reply(),
        JournalReadError::Trimmed { oldest_position } => trimmed(
            format!(
                "only positions after {oldest_position} are retained; read the current state and resume from the Allod-Position of that answer"
            ),
            *oldest_position,
        ),
    }
}

/// The reply cannot be serialised, which is a bug.
pub(crate) fn unwritable(error: &serde_json::Error) -> Problem {
    internal(format!("cannot serialise the reply: {error}"))
}

/// A bug of the server.
pub(crate) fn internal(detail: impl Into<Cow<'static, str>>) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "internal error", detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_has_status_code_and_retry_after() {
        let table = [
            (EngineError::QueueFull { queue_commands_max: 7 }, 503, "queue_full"),
            (EngineError::ReadQueueFull { long_reads_queue_max: 7 }, 503, "read_queue_full"),
            (EngineError::Unavailable { what: "no room".into() }, 503, "unavailable"),
            (EngineError::Stopping, 503, "stopping"),
            (EngineError::TooLarge { bytes: 9, max: 8 }, 413, "too_large"),
            (EngineError::Internal, 500, "internal"),
        ];
        for (given, status, code) in table {
            let problem = failure(&given);
            assert_eq!((problem.status.as_u16(), problem.code), (status, code));
            assert_eq!(problem.retry_after_s.is_some(), status == 503, "{code}");
            assert_eq!(problem.detail, given.to_string());
        }
    }

    #[test]
    fn transaction_never_gets_404() {
        let refusal = Refusal::PoolUnknown { pool: "p".into() };
        assert_eq!(alone(refusal.clone(), &CommitPoint::default()).status(), 404);
        let refused = Refused { op: 3, refusal };
        assert_eq!(in_transaction(&refused, &CommitPoint::default()).status(), 409);
    }
}
