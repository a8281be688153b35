//! Routes of pools.

use std::sync::Arc;

use allod_core::command::{Command, DeletePool};
use allod_core::receipt::Outcome;
use allod_core::refusal::Refusal;
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
    let keep_held = QueryParams::read(&call, PUT_QUERY)?.flag("keep_held")?.unwrap_or(false);
    let name: Arc<str> = call.param(0)?.into();
    let body: PoolBody = call.json()?;
    let command = from_wire::put_pool(name.clone(), body, from_wire::expect(&call)?, keep_held)?;
    let spec = command.spec.clone();
    let (receipt, at) = native.submit_alone(Command::PutPool(command)).await?;
    let Some(Outcome::PoolPut { created, generation }) = receipt.outcomes.first() else {
        return Err(wrong_outcome());
    };
    let status = if *created { StatusCode::CREATED } else { StatusCode::OK };
    let body = to_wire::defined(&name, *generation, &spec);
    Ok(to_wire::etag(to_wire::json(status, &body, &at), *generation))
}

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let name = call.param(0)?;
    QueryParams::read(&call, &[])?;
    native.wait_for_position(&call).await?;
    let (view, at) = native
        .read(|snapshot| (view::pool(snapshot.state, &name, snapshot.now_ms), snapshot.at))?;
    let view = view.ok_or_else(|| pool_unknown(&name, &at))?;
    let reply = to_wire::json(StatusCode::OK, &to_wire::pool(&view), &at);
    Ok(to_wire::etag(reply, view.generation))
}

pub(crate) async fn delete(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let delete = DeletePool { pool: call.param(0)?.into(), expect: from_wire::expect(&call)? };
    let (_, at) = native.submit_alone(Command::DeletePool(delete)).await?;
    Ok(to_wire::no_content(&at))
}

pub(crate) async fn list(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    let query = QueryParams::read(&call, LIST_QUERY)?;
    let limit = query.limit()?;
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
    let next = page.next.as_deref();
    Ok(to_wire::page(&call, &query, &PoolList { pools, next }, next, &at))
}

/// The reply to a read of a pool that does not exist.
pub(crate) fn pool_unknown(pool: &str, at: &CommitPoint) -> Reply {
    refusals::alone(Refusal::PoolUnknown { pool: pool.into() }, at)
}

/// The outcome does not match the command, which is a bug.
pub(crate) fn wrong_outcome() -> Reply {
    refusals::internal("the outcome does not match the command").reply()
}
