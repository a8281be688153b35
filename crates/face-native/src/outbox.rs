//! Routes of the outbox: list, retry and discard undelivered notifications.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::outbox::{Notification, OutboxCommand, notification_name, notification_number};
use allod_core::view;
use allod_edge::{Call, Reply};

use crate::query::{self, AFTER, EXAMINED_MAX, LIMIT, Param, QueryParams, unexpected};
use crate::wire::NoticeList;
use crate::{Native, to_wire};

const DEAD: Param = Param {
    name: "dead",
    about: "`true`: only notifications whose attempts all failed; `false`: only those that will be tried.",
};
const TARGET_PREFIX: Param = Param {
    name: "target_prefix",
    about: "Only notifications to services whose path starts with this.",
};

pub(crate) const LIST_QUERY: &[Param] = &[DEAD, TARGET_PREFIX, LIMIT, AFTER];

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, LIST_QUERY)?;
    let dead = query.flag(DEAD.name)?;
    let prefix = query.text(TARGET_PREFIX.name).unwrap_or_default();
    let from = query.after(notification_number)?.map_or(0, |after| after + 1);
    let limit = query.limit()?;
    native.wait_for_position(&call).await?;
    let pick = |notice: &Arc<Notification>| {
        let fits = dead.is_none_or(|dead| dead == notice.due_ms.is_none())
            && notice.target.starts_with(prefix);
        fits.then(|| notice.clone())
    };
    let (page, at) = native.read(|snapshot| {
        let notices = view::outbox(snapshot.state).from(from);
        let cursor = |notice: &Arc<Notification>| notification_name(notice.number);
        (query::page(notices, limit, EXAMINED_MAX, pick, cursor), snapshot.at)
    })?;
    let notices = page.items.iter().map(|notice| to_wire::outbox::notice(notice)).collect();
    let next = page.next.as_deref();
    Ok(to_wire::page(&call, &query, &NoticeList { notices, next }, next, &at))
}

pub(crate) async fn retry(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    change(native, call, |number| OutboxCommand::Retry { number }).await
}

pub(crate) async fn delete(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    change(native, call, |number| OutboxCommand::Drop { number }).await
}

async fn change(
    native: Arc<Native>,
    call: Call,
    change: fn(u128) -> OutboxCommand,
) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let name = call.param(0)?;
    let number = notification_number(&name)
        .ok_or_else(|| unexpected("the notification", &name, "a number such as 1042-0"))?;
    let (_, at) = native.submit_alone(Command::Outbox(change(number))).await?;
    Ok(to_wire::no_content(&at))
}
