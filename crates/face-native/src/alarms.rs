//! Routes of alarms.

use std::ops::Bound;
use std::sync::Arc;

use allod_core::alarm::command::AlarmCommand;
use allod_core::alarm::{Alarm, AlarmKind, Alarms};
use allod_core::command::Command;
use allod_core::view::{self, NoCursor, Page};
use allod_edge::{Call, Problem, Reply};
use http::StatusCode;

use crate::query::{AFTER, LIMIT, Param, QueryParams};
use crate::wire::{AlarmList, PurgeBody};
use crate::{Native, refusals, to_wire};

const OBJECT_PREFIX: Param = Param {
    name: "object_prefix",
    about: "Only alarms of pools and services whose name starts with this.",
};
const KIND: Param = Param { name: "kind", about: "Only alarms of this kind." };
const RAISED: Param =
    Param { name: "raised", about: "`true`: only raised alarms; `false`: only cleared ones." };

pub(crate) const LIST_QUERY: &[Param] = &[OBJECT_PREFIX, KIND, RAISED, LIMIT, AFTER];

/// How many alarms are examined for one page.
const LOOKED_AT_MAX: usize = 10_000;

struct AlarmFilter<'a> {
    prefix: &'a str,
    kind: Option<AlarmKind>,
    raised: Option<bool>,
}

impl AlarmFilter<'_> {
    fn fits(&self, alarm: &Alarm) -> bool {
        alarm.object.starts_with(self.prefix)
            && self.kind.is_none_or(|kind| kind == alarm.kind)
            && self.raised.is_none_or(|raised| raised == alarm.cleared_ms.is_none())
    }
}

/// The key of an alarm, by which the list is sorted.
type AlarmKey = (Arc<str>, AlarmKind);

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, LIST_QUERY).map_err(|problem| problem.reply())?;
    let read = || {
        let filter = AlarmFilter {
            prefix: query.text(OBJECT_PREFIX.name).unwrap_or_default(),
            kind: query.text(KIND.name).map(kind).transpose()?,
            raised: query.flag(RAISED.name)?,
        };
        let after = match query.text(AFTER.name) {
            None => None,
            Some(text) => Some(key(text).ok_or_else(|| query.no_cursor(NoCursor))?),
        };
        Ok((filter, after, query.limit()?))
    };
    let (filter, after, limit) = read().map_err(|problem: Problem| problem.reply())?;
    native.wait_for_position(&call).await?;
    let (page, at) = native.read(|snapshot| {
        (page(view::alarms(snapshot.state), &filter, after, limit), snapshot.at)
    })?;
    let alarms = page.items.iter().map(to_wire::outbox::alarm).collect();
    let body = AlarmList { alarms, next: page.next.as_deref() };
    let reply = to_wire::json(StatusCode::OK, &body, &at);
    Ok(match &page.next {
        Some(next) => to_wire::link_next(reply, call.head.uri.path(), &query.with_after(next)),
        None => reply,
    })
}

/// Alarms by object, after `after`.
fn page(
    alarms: &Alarms,
    filter: &AlarmFilter<'_>,
    after: Option<AlarmKey>,
    limit: usize,
) -> Page<Alarm> {
    // Objects with the prefix are contiguous; start at the first of them.
    let first = (filter.prefix.into(), AlarmKind::ALL[0]);
    let from = match after {
        Some(after) if after >= first => Bound::Excluded(after),
        _ => Bound::Included(first),
    };
    let mut items = Vec::new();
    let mut seen: Option<&AlarmKey> = None;
    for (looked_at, (key, alarm)) in alarms.range((from, Bound::Unbounded)).enumerate() {
        if !alarm.object.starts_with(filter.prefix) {
            break;
        }
        if items.len() >= limit || looked_at == LOOKED_AT_MAX {
            let next = seen.map(|(object, kind)| format!("{}:{object}", kind.name()));
            return Page { items, next };
        }
        seen = Some(key);
        if filter.fits(alarm) {
            items.push(alarm.clone());
        }
    }
    Page { items, next: None }
}

fn key(text: &str) -> Option<AlarmKey> {
    let (kind, object) = text.split_once(':')?;
    Some((object.into(), AlarmKind::from_name(kind)?))
}

fn kind(text: &str) -> Result<AlarmKind, Problem> {
    AlarmKind::from_name(text).ok_or_else(|| {
        let shown: String = text.chars().take(64).collect();
        let known = AlarmKind::ALL.map(AlarmKind::name).join(", ");
        Problem::malformed(format!("kind is '{shown}'; expected one of: {known}"))
    })
}

pub(crate) async fn purge(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let read = || {
        QueryParams::read(&call, &[])?;
        let body: PurgeBody<'_> = call.json()?;
        Ok((Arc::from(&*body.object), kind(&body.kind)?))
    };
    let (object, kind) = read().map_err(|problem: Problem| problem.reply())?;
    let command = Command::Alarm(AlarmCommand::Purge { object, kind });
    let decided = native.submit(command).await?;
    decided.answer.map_err(|refused| refusals::alone(&refused, &decided.at))?;
    Ok(to_wire::no_content(&decided.at))
}
