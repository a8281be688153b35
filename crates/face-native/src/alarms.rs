//! Routes of alarms.

use std::ops::Bound;
use std::sync::Arc;

use allod_core::alarm::AlarmCommand;
use allod_core::alarm::{Alarm, AlarmKind, Alarms};
use allod_core::command::Command;
use allod_core::view::{self, Page};
use allod_edge::{Call, Problem, Reply};

use crate::query::{self, AFTER, EXAMINED_MAX, LIMIT, Param, QueryParams, unexpected};
use crate::wire::{AlarmList, PurgeBody};
use crate::{Native, to_wire};

const OBJECT_PREFIX: Param = Param {
    name: "object_prefix",
    about: "Only alarms of pools and services whose name starts with this.",
};
const KIND: Param = Param { name: "kind", about: "Only alarms of this kind." };
const RAISED: Param =
    Param { name: "raised", about: "`true`: only raised alarms; `false`: only cleared ones." };

pub(crate) const LIST_QUERY: &[Param] = &[OBJECT_PREFIX, KIND, RAISED, LIMIT, AFTER];

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
    let query = QueryParams::read(&call, LIST_QUERY)?;
    let filter = AlarmFilter {
        prefix: query.text(OBJECT_PREFIX.name).unwrap_or_default(),
        kind: query.text(KIND.name).map(kind).transpose()?,
        raised: query.flag(RAISED.name)?,
    };
    let (after, limit) = (query.after(key)?, query.limit()?);
    native.wait_for_position(&call).await?;
    let (page, at) = native.read(|snapshot| {
        (page(view::alarms(snapshot.state), &filter, after, limit), snapshot.at)
    })?;
    let alarms = page.items.iter().map(to_wire::outbox::alarm).collect();
    let next = page.next.as_deref();
    Ok(to_wire::page(&call, &query, &AlarmList { alarms, next }, next, &at))
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
    let of_prefix = alarms.range((from, Bound::Unbounded));
    let of_prefix = of_prefix.take_while(|(_, alarm)| alarm.object.starts_with(filter.prefix));
    let pick = |(_, alarm): (_, &Alarm)| filter.fits(alarm).then(|| alarm.clone());
    let cursor = |(_, alarm): (_, &Alarm)| format!("{}:{}", alarm.kind.name(), alarm.object);
    query::page(of_prefix, limit, EXAMINED_MAX, pick, cursor)
}

fn key(text: &str) -> Option<AlarmKey> {
    let (kind, object) = text.split_once(':')?;
    Some((object.into(), AlarmKind::from_name(kind)?))
}

fn kind(text: &str) -> Result<AlarmKind, Problem> {
    AlarmKind::from_name(text).ok_or_else(|| {
        let known = AlarmKind::ALL.map(AlarmKind::name).join(", ");
        unexpected("kind", text, &format!("one of: {known}"))
    })
}

pub(crate) async fn purge(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let body: PurgeBody = call.json()?;
    let purge = AlarmCommand::Purge { object: body.object.into(), kind: kind(&body.kind)? };
    let (_, at) = native.submit_alone(Command::Alarm(purge)).await?;
    Ok(to_wire::no_content(&at))
}
