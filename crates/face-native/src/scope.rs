//! Which pools a request may touch, where its token is for some of them only.
//!
//! To the edge the scope of a token is a text. Here it is the beginning of the names of the pools that the token is for:
//! it reads and writes these and no others, and lists show it nothing else. That there are other pools, and what they are
//! called, is no secret: a request that names one is answered with 403, whether it reads or writes, and whether the pool
//! exists or not. Capacity is out of its allowed altogether: a provider belongs to no pool.
//!
//! Each row of the table of routes says in its `scope` how it keeps to this.

use allod_edge::{Call, Identity, Problem, Reply};
use http::StatusCode;
use serde::Serialize;

use crate::wire::{CheckBody, OpBody};

/// How a route keeps to the pools of a token that is not for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeRule {
    /// The first parameter of the path names the one pool. Looked at here, before the handler runs.
    PoolInPath,
    /// The body names pools. The handler has each looked at, and refuses the whole request for one.
    PoolsInBody,
    /// It shows what is in many pools, and leaves out those that the token is not for.
    Filtered,
    /// It is about all pools at once, so such a token may not use it. Looked at here.
    AllPools,
    /// It is about providers and consumers, which belong to no pool, so such a token may not use it. Looked at here.
    Capacity,
    /// It says nothing of any pool.
    NoPools,
}

impl ScopeRule {
    /// What it does with a token that is for some pools only, in words for people.
    pub fn about(self) -> &'static str {
        match self {
            ScopeRule::PoolInPath => "the pool must fit",
            ScopeRule::PoolsInBody => "every pool must fit",
            ScopeRule::Filtered => "shows what fits",
            ScopeRule::AllPools | ScopeRule::Capacity => "not allowed",
            ScopeRule::NoPools => "as without",
        }
    }

    /// What can be said before the handler runs.
    pub(crate) fn admit(self, call: &Call) -> Result<(), Reply> {
        let allowed = AllowedPools::of(call);
        if allowed.is_unrestricted() {
            return Ok(());
        }
        match self {
            ScopeRule::PoolInPath => {
                let pool = call.param(0).map_err(|problem| problem.reply())?;
                allowed.require(&pool).map_err(|problem| problem.reply())
            }
            ScopeRule::AllPools => Err(allowed.denied_all_pools().reply()),
            ScopeRule::Capacity => Err(allowed.denied_capacity().reply()),
            ScopeRule::PoolsInBody | ScopeRule::Filtered | ScopeRule::NoPools => Ok(()),
        }
    }
}

/// The pools that the sender of a request may touch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllowedPools<'a>(&'a Identity);

impl<'a> AllowedPools<'a> {
    pub(crate) fn of(call: &'a Call) -> AllowedPools<'a> {
        AllowedPools(call.identity())
    }

    pub(crate) fn is_unrestricted(self) -> bool {
        self.prefix().is_empty()
    }

    /// What the names of all these pools begin with.
    pub(crate) fn prefix(self) -> &'a str {
        self.0.scope().unwrap_or_default()
    }

    /// The pools that begin with `prefix` and are within allowed, as one prefix; `None` when there can be none.
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
        Err(self.denied(format!("'{pool}' does not")))
    }

    /// Looks at every pool that a transaction names; the reply says which operation went too far.
    pub(crate) fn require_each(self, ops: &[OpBody<'_>]) -> Result<(), Reply> {
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

    /// Refuses what is about providers and consumers, unless the token is for everything.
    pub(crate) fn require_capacity(self) -> Result<(), Problem> {
        if self.is_unrestricted() { Ok(()) } else { Err(self.denied_capacity()) }
    }

    /// No provider and no consumer has a pool in its name, so there is no part of them that such a token could be for.
    fn denied_capacity(self) -> Problem {
        let (name, prefix) = (self.0.name().unwrap_or_default(), self.prefix());
        Problem::new(
            StatusCode::FORBIDDEN,
            "capacity_not_allowed",
            "the token is for pools only",
            format!(
                "the token '{name}' is for pools whose names begin with '{prefix}'; providers and consumers belong to no pool: use a token without a prefix for them"
            ),
        )
    }

    fn denied_all_pools(self) -> Problem {
        self.denied("this is about all pools".to_owned())
    }

    fn denied(self, but: String) -> Problem {
        let (name, prefix) = (self.0.name().unwrap_or_default(), self.prefix());
        Problem::new(
            StatusCode::FORBIDDEN,
            "pool_not_allowed",
            "the token is not for this pool",
            format!("the token '{name}' is for pools whose names begin with '{prefix}'; {but}"),
        )
    }
}

/// Every pool that an operation names; `None`: it is about capacity.
fn named_pools<'b>(op: &'b OpBody<'_>) -> Option<Vec<&'b str>> {
    Some(match op {
        OpBody::Claim(body) => {
            body.pool.iter().chain(body.pools.iter().flatten()).map(AsRef::as_ref).collect()
        }
        OpBody::Release(body) | OpBody::Confirm(body) => vec![&body.pool],
        OpBody::Renew(body) => vec![&body.pool],
        OpBody::Check(CheckBody::Claim(body)) => vec![&body.pool],
        OpBody::Check(CheckBody::Free(body)) => vec![&body.pool],
        OpBody::Check(CheckBody::Pool(body)) => vec![&body.pool],
        OpBody::Allocate(_)
        | OpBody::Deallocate(_)
        | OpBody::Extend(_)
        | OpBody::Check(CheckBody::Provider(_) | CheckBody::Consumer(_)) => return None,
    })
}
