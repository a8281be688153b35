//! Routes of pools.

use std::sync::Arc;

use allod_core::command::{Command, DeletePool};
use allod_core::receipt::Outcome;
use allod_core::refusal::{Refusal, Refused};
use allod_core::view::{self, Page};
use allod_edge::{Call, Reply};
use allod_engine::CommitPoint;
use http::StatusCode;

use crate::query::{AFTER, LIMIT, Param, QueryParams};
use crate::scope::AllowedPools;
use crate::wire::{PoolBody, PoolList};
use crate::{Native, from_wire, refusals, to_wire};

pub(crate) const PUT_QUERY: &[Param] = &[Param {
    name: "keep_held",
    about: "`true`: values outside the new ranges may stay held. Default: such a change is refused.",
}];

pub(crate) const LIST_QUERY: &[Param] =
    &[Param { name: "prefix", about: "Only pools whose name starts with this." }, LIMIT, AFTER];

pub(crate) async fn put(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let read = || {
        let query = QueryParams::read(&call, PUT_QUERY)?;
        let keep_held = query.flag("keep_held")?.unwrap_or(false);
        let name: Arc<str> = call.param(0)?.into();
        let body: PoolBody<'_> = call.json()?;
        from_wire::put_pool(name, body, from_wire::expect(&call)?, keep_held)
    };
    let command = read().map_err(|problem| problem.reply())?;
    let (name, spec) = (command.pool.clone(), command.spec.clone());
    let decided = native.submit(Command::PutPool(command)).await?;
    let receipt = decided.answer.map_err(|refused| refusals::alone(&refused, &decided.at))?;
    let Some(Outcome::PoolPut { created, generation }) = receipt.outcomes.first() else {
        return Err(wrong_outcome());
    };
    let status = if *created { StatusCode::CREATED } else { StatusCode::OK };
    let body = to_wire::defined(&name, *generation, &spec);
    Ok(to_wire::etag(to_wire::json(status, &body, &decided.at), *generation))
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let name = call.param(0).map_err(|problem| problem.reply())?;
    QueryParams::read(&call, &[]).map_err(|problem| problem.reply())?;
    native.wait_for_position(&call).await?;
    let (view, at) = native
        .read(|snapshot| (view::pool(snapshot.state, &name, snapshot.now_ms), snapshot.at))?;
    let view = view.ok_or_else(|| pool_unknown(&name, &at))?;
    let reply = to_wire::json(StatusCode::OK, &to_wire::pool(&view), &at);
    Ok(to_wire::etag(reply, view.generation))
}

pub(crate) async fn delete(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let read = || {
        QueryParams::read(&call, &[])?;
        Ok(DeletePool { pool: call.param(0)?.into(), expect: from_wire::expect(&call)? })
    };
    let command = read().map_err(|problem: allod_edge::Problem| problem.reply())?;
    let decided = native.submit(Command::DeletePool(command)).await?;
    decided.answer.map_err(|refused| refusals::alone(&refused, &decided.at))?;
    Ok(to_wire::no_content(&decided.at))
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, LIST_QUERY).map_err(|problem| problem.reply())?;
    let limit = query.limit().map_err(|problem| problem.reply())?;
    native.wait_for_position(&call).await?;
    let prefix = query.text("prefix").unwrap_or_default();
    let after = query.text(AFTER.name);
    let prefix = AllowedPools::of(&call).narrowed(prefix);
    let (page, at) = native.read(|snapshot| {
        let page = |prefix| view::pools(snapshot.state, snapshot.now_ms, prefix, after, limit);
        let none = Page { items: Vec::new(), next: None };
        (prefix.map_or(none, page), snapshot.at)
    })?;
    let pools = page.items.iter().map(to_wire::pool).collect();
    let reply = to_wire::json(StatusCode::OK, &PoolList { pools, next: page.next.as_deref() }, &at);
    Ok(match &page.next {
        Some(next) => to_wire::link_next(reply, call.head.uri.path(), &query.with_after(next)),
        None => reply,
    })
}

/// The reply to a read of a pool that does not exist.
pub(crate) fn pool_unknown(pool: &str, at: &CommitPoint) -> Reply {
    refusals::alone(&Refused { op: 0, refusal: Refusal::PoolUnknown { pool: pool.into() } }, at)
}

/// The outcome does not match the command, which is a bug.
pub(crate) fn wrong_outcome() -> Reply {
    allod_edge::Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "internal error",
        "the outcome does not match the command",
    )
    .reply()
}
