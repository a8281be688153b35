//! The pool scope of a token: a prefix of the names of the pools that the token may use.
//!
//! Such a token reads and writes only these pools, and lists show only these. A request that names another pool gets 403,
//! whether that pool exists or not; the names of pools are not secret. Providers and consumers belong to no pool, so such a
//! token cannot use them at all.
//!
//! Each entry of the route table says in `scope` how it enforces this.

use allod_edge::{Call, Identity, Problem, Reply};
use http::StatusCode;
use serde::Serialize;

use crate::wire::{CheckBody, OpBody};

/// How a route enforces the pool scope of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeRule {
    /// The first path parameter is the pool. Checked here, before the handler runs.
    PoolInPath,
    /// The body names pools. The handler checks each of them.
    PoolsInBody,
    /// A list over many pools; the handler leaves out the pools that the token does not allow.
    Filtered,
    /// The route concerns all pools, so such a token is denied. Checked here.
    AllPools,
    /// The route concerns providers and consumers, so such a token is denied. Checked here.
    Capacity,
    /// The route reveals nothing about pools.
    NoPools,
}

impl ScopeRule {
    /// The rule for a token with a pool scope, as text for the security guide.
    pub fn about(self) -> &'static str {
        match self {
            ScopeRule::PoolInPath => "the pool must match",
            ScopeRule::PoolsInBody => "every pool must match",
            ScopeRule::Filtered => "shows matching pools",
            ScopeRule::AllPools | ScopeRule::Capacity => "not allowed",
            ScopeRule::NoPools => "no restriction",
        }
    }

    /// Checks what can be checked before the handler runs.
    pub(crate) fn admit(self, call: &Call) -> Result<(), Problem> {
        let allowed = AllowedPools::of(call);
        if allowed.is_unrestricted() {
            return Ok(());
        }
        match self {
            ScopeRule::PoolInPath => allowed.require(&call.param(0)?),
            ScopeRule::AllPools => {
                Err(allowed.denied("this request concerns all pools".to_owned()))
            }
            ScopeRule::Capacity => Err(allowed.denied_capacity()),
            ScopeRule::PoolsInBody | ScopeRule::Filtered | ScopeRule::NoPools => Ok(()),
        }
    }
}

/// The pools that the client may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllowedPools<'a>(&'a Identity);

impl<'a> AllowedPools<'a> {
    pub(crate) fn of(call: &'a Call) -> AllowedPools<'a> {
        AllowedPools(call.identity())
    }

    pub(crate) fn is_unrestricted(self) -> bool {
        self.prefix().is_empty()
    }

    /// The common prefix of the names of the allowed pools; empty if all are allowed.
    pub(crate) fn prefix(self) -> &'a str {
        self.0.scope().unwrap_or_default()
    }

    /// The prefix of the pools that begin with `prefix` and are allowed; `None` if there are none.
    pub(crate) fn narrowed<'b>(self, prefix: &'b str) -> Option<&'b str>
    where
        'a: 'b,
    {
        let own = self.prefix();
        if prefix.starts_with(own) { Some(prefix) } else { own.starts_with(prefix).then_some(own) }
    }

    pub(crate) fn require(self, pool: &str) -> Result<(), Problem> {
        if pool.starts_with(self.prefix()) {
            return Ok(());
        }
        Err(self.denied(format!("'{pool}' does not match")))
    }

    /// Checks every pool of a transaction; the reply names the operation that is denied.
    pub(crate) fn require_each(self, ops: &[OpBody]) -> Result<(), Reply> {
        #[derive(Serialize)]
        struct InOp {
            op: usize,
        }
        if self.is_unrestricted() {
            return Ok(());
        }
        for (op, body) in ops.iter().enumerate() {
            let allowed = match named_pools(body) {
                Some(pools) => pools.into_iter().try_for_each(|pool| self.require(pool)),
                None => Err(self.denied_capacity()),
            };
            allowed.map_err(|problem| problem.reply_with(InOp { op }))?;
        }
        Ok(())
    }

    /// Denies access to providers and consumers unless all pools are allowed.
    pub(crate) fn require_capacity(self) -> Result<(), Problem> {
        if self.is_unrestricted() { Ok(()) } else { Err(self.denied_capacity()) }
    }

    fn denied_capacity(self) -> Problem {
        let (name, prefix) = (self.0.name().unwrap_or_default(), self.prefix());
        Problem::new(
            StatusCode::FORBIDDEN,
            "capacity_not_allowed",
            "token restricted to pools",
            format!(
                "the token '{name}' is restricted to pools whose names begin with '{prefix}'; providers and consumers need a token without restriction"
            ),
        )
    }

    fn denied(self, but: String) -> Problem {
        let (name, prefix) = (self.0.name().unwrap_or_default(), self.prefix());
        Problem::new(
            StatusCode::FORBIDDEN,
            "pool_not_allowed",
            "token restricted to other pools",
            format!(
                "the token '{name}' is restricted to pools whose names begin with '{prefix}'; {but}"
            ),
        )
    }
}

/// The pools that an operation names; `None` if it concerns providers or consumers.
fn named_pools(op: &OpBody) -> Option<Vec<&str>> {
    Some(match op {
        OpBody::Claim(body) => {
            body.pool.iter().chain(body.pools.iter().flatten()).map(|name| &*name.0).collect()
        }
        OpBody::Release(body) | OpBody::Confirm(body) => vec![&body.pool.0],
        OpBody::Renew(body) => vec![&body.pool.0],
        OpBody::Check(CheckBody::Claim(body)) => vec![&body.pool.0],
        OpBody::Check(CheckBody::Free(body)) => vec![&body.pool.0],
        OpBody::Check(CheckBody::Pool(body)) => vec![&body.pool.0],
        OpBody::Allocate(_)
        | OpBody::Deallocate(_)
        | OpBody::Extend(_)
        | OpBody::Check(CheckBody::Provider(_) | CheckBody::Consumer(_)) => return None,
    })
}
