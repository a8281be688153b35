//! Routes of the outbox: list, retry and discard undelivered notifications.

use std::sync::Arc;

use allod_core::command::Command;
use allod_core::outbox::command::OutboxCommand;
use allod_core::outbox::{Notification, Outbox, notification_name, notification_number};
use allod_core::view::{self, NoCursor, Page};
use allod_edge::{Call, Problem, Reply};
use http::StatusCode;

use crate::query::{AFTER, LIMIT, Param, QueryParams};
use crate::wire::NoticeList;
use crate::{Native, refusals, to_wire};

const DEAD: Param = Param {
    name: "dead",
    about: "`true`: only notifications whose attempts all failed; `false`: only those that will be tried.",
};
const TARGET_PREFIX: Param = Param {
    name: "target_prefix",
    about: "Only notifications to services whose path starts with this.",
};

pub(crate) const LIST_QUERY: &[Param] = &[DEAD, TARGET_PREFIX, LIMIT, AFTER];

/// How many notices are looked at for one page.
const LOOKED_AT_MAX: usize = 10_000;

struct OutboxFilter<'a> {
    dead: Option<bool>,
    prefix: &'a str,
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, LIST_QUERY).map_err(|problem| problem.reply())?;
    let read = || {
        let filter = OutboxFilter {
            dead: query.flag(DEAD.name)?,
            prefix: query.text(TARGET_PREFIX.name).unwrap_or_default(),
        };
        let from = match query.text(AFTER.name) {
            None => 0,
            Some(text) => notification_number(text).ok_or_else(|| query.no_cursor(NoCursor))? + 1,
        };
        Ok((filter, from, query.limit()?))
    };
    let (filter, from, limit) = read().map_err(|problem: Problem| problem.reply())?;
    native.wait_for_position(&call).await?;
    let (page, at) = native
        .read(|snapshot| (page(view::outbox(snapshot.state), &filter, from, limit), snapshot.at))?;
    let notices = page.items.iter().map(|notice| to_wire::outbox::notice(notice)).collect();
    let body = NoticeList { notices, next: page.next.as_deref() };
    let reply = to_wire::json(StatusCode::OK, &body, &at);
    Ok(match &page.next {
        Some(next) => to_wire::link_next(reply, call.head.uri.path(), &query.with_after(next)),
        None => reply,
    })
}

/// Notices from this number on, oldest first.
fn page(
    outbox: &Outbox,
    filter: &OutboxFilter<'_>,
    from: u128,
    limit: usize,
) -> Page<Arc<Notification>> {
    let mut items = Vec::new();
    let mut seen = None;
    for (looked_at, notice) in outbox.from(from).enumerate() {
        if items.len() >= limit || looked_at == LOOKED_AT_MAX {
            return Page { items, next: seen.map(notification_name) };
        }
        seen = Some(notice.number);
        let fits = filter.dead.is_none_or(|dead| dead == notice.due_ms.is_none())
            && notice.target.starts_with(filter.prefix);
        if fits {
            items.push(notice.clone());
        }
    }
    Page { items, next: None }
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
    let read = || {
        QueryParams::read(&call, &[])?;
        let name = call.param(0)?;
        notification_number(&name).ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            let what = format!("the notification is '{shown}'; expected a number such as 1042-0");
            Problem::malformed(what)
        })
    };
    let number = read().map_err(|problem: Problem| problem.reply())?;
    let command = Command::Outbox(change(number));
    let decided = native.submit(command).await?;
    decided.answer.map_err(|refused| refusals::alone(&refused, &decided.at))?;
    Ok(to_wire::no_content(&decided.at))
}
