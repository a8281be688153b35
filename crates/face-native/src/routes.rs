//! The table of routes. The server and the OpenAPI document are both made from it, so neither can know a route that the
//! other does not.

use std::sync::Arc;

use allod_edge::{Access, Answer, Call, Reply};
use http::Method;

use crate::query::Param;
use crate::scope::Scope;
use crate::{
    Native, about, alarms, backup, candidates, claims, consumers, history, outbox, pools,
    providers, transactions, watch,
};

/// One route: how it is reached, what answers, and what is to be said about it.
pub(crate) struct Entry {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    /// What it does when the token is for some pools only.
    pub scope: Scope,
    pub run: fn(Arc<Native>, Call) -> Answer,
    /// The operation's name in the OpenAPI document.
    pub name: &'static str,
    pub summary: &'static str,
    pub query: &'static [Param],
    /// Request headers that it looks at.
    pub headers: &'static [&'static Header],
    /// The schema of its body.
    pub body: Option<&'static str>,
    pub replies: &'static [Shape],
}

/// A request header.
pub(crate) struct Header {
    pub name: &'static str,
    pub about: &'static str,
}

/// A reply that a route can give: its status, the schema of its body, and when it is given.
pub(crate) struct Shape(pub u16, pub Option<&'static str>, pub &'static str);

/// Boxes the future of a handler in which `?` may end the work early: either way it is a reply.
fn boxed(answer: impl Future<Output = Result<Reply, Reply>> + Send + 'static) -> Answer {
    Box::pin(async { answer.await.unwrap_or_else(|early| early) })
}

const IF_MATCH: &Header = &Header {
    name: "If-Match",
    about: "The ETag that the thing must have, or `*`: it must exist. 412 otherwise.",
};
const IF_NONE_MATCH: &Header =
    &Header { name: "If-None-Match", about: "`*`: it must not exist yet. 412 otherwise." };
const MIN_POSITION: &Header = &Header {
    name: "Allod-Min-Position",
    about: "Answer from this position of the journal or a later one: read your own writes.",
};
const CONSISTENCY: &Header = &Header {
    name: "Allod-Consistency",
    about: "`linearizable`: the answer covers everything acknowledged before the request.",
};
const IDEMPOTENCY_KEY: &Header = &Header {
    name: "Idempotency-Key",
    about: "Under this key the answer is remembered and given again, not decided again.",
};

const LAST_EVENT_ID: &Header = &Header {
    name: "Last-Event-ID",
    about: "The id of the last message seen: goes on after it. Counts more than `from`.",
};

const READ: &[&Header] = &[MIN_POSITION, CONSISTENCY];
const GUARDED: &[&Header] = &[IF_MATCH];
const GUARDED_PUT: &[&Header] = &[IF_MATCH, IF_NONE_MATCH];

const PROBLEM: Option<&str> = Some("Problem");
const CLAIM: Option<&str> = Some("Claim");

const MALFORMED: Shape = Shape(400, PROBLEM, "The request cannot be read, or contradicts itself.");
const UNKNOWN_NAME: Shape = Shape(
    400,
    PROBLEM,
    "The request cannot be read, or names a resource class or trait that does not exist.",
);
const NO_POOL: Shape = Shape(404, PROBLEM, "There is no such pool.");
const NOT_HELD: Shape =
    Shape(404, PROBLEM, "There is no such pool, or nothing is held under this key.");
const KEPT: Shape =
    Shape(409, PROBLEM, "It was asked for through the resource-manager, which keeps it.");
const NO_NOTICE: Shape = Shape(404, PROBLEM, "There is no such notice in the outbox.");
const TRIMMED: Shape = Shape(
    410,
    PROBLEM,
    "`position_trimmed`: the journal no longer reaches back that far; `oldest_position` says how far.",
);
const DIFFERS: Shape = Shape(412, PROBLEM, "It is not as If-Match or If-None-Match say.");
const LIMITED: Shape = Shape(422, PROBLEM, "A limit is exceeded; `limit` names it.");

pub(crate) static TABLE: &[Entry] = &[
    Entry {
        method: Method::PUT,
        path: "/v1/pools/{pool}",
        access: Access::Admin,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(pools::put(native, call)),
        name: "putPool",
        summary: "Define a pool, or change its definition",
        query: pools::PUT_QUERY,
        headers: GUARDED_PUT,
        body: Some("PoolBody"),
        replies: &[
            Shape(200, Some("Pool"), "The pool is defined like this now, or was already."),
            Shape(201, Some("Pool"), "The pool is new."),
            MALFORMED,
            Shape(
                409,
                PROBLEM,
                "The kind cannot change, held values would be outside, or the resource-manager keeps the pool.",
            ),
            DIFFERS,
            LIMITED,
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/pools/{pool}",
        access: Access::Read,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(pools::get(native, call)),
        name: "getPool",
        summary: "A pool and how full it is",
        query: &[],
        headers: READ,
        body: None,
        replies: &[Shape(200, Some("Pool"), "The pool."), MALFORMED, NO_POOL],
    },
    Entry {
        method: Method::DELETE,
        path: "/v1/pools/{pool}",
        access: Access::Admin,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(pools::delete(native, call)),
        name: "deletePool",
        summary: "Remove a pool that nobody uses",
        query: &[],
        headers: GUARDED,
        body: None,
        replies: &[
            Shape(204, None, "There is no such pool now."),
            MALFORMED,
            Shape(
                409,
                PROBLEM,
                "It has claims, or values in quarantine, or the resource-manager keeps it.",
            ),
            DIFFERS,
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/pools",
        access: Access::Read,
        scope: Scope::Filtered,
        run: |native, call| boxed(pools::list(native, call)),
        name: "listPools",
        summary: "Pools in the order of their names",
        query: pools::LIST_QUERY,
        headers: READ,
        body: None,
        replies: &[Shape(200, Some("PoolList"), "A page of pools."), MALFORMED],
    },
    Entry {
        method: Method::PUT,
        path: "/v1/pools/{pool}/claims/{key}",
        access: Access::Write,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(claims::put(native, call)),
        name: "putClaim",
        summary: "Claim a value under a key; the same again gives the same claim",
        query: &[],
        headers: GUARDED_PUT,
        body: Some("ClaimBody"),
        replies: &[
            Shape(200, CLAIM, "The key holds this already."),
            Shape(201, CLAIM, "The claim is new."),
            MALFORMED,
            NO_POOL,
            Shape(409, PROBLEM, "`taken`, `exhausted`, `params_differ` and others; see `code`."),
            DIFFERS,
            LIMITED,
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/pools/{pool}/claims/{key}",
        access: Access::Read,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(claims::get(native, call)),
        name: "getClaim",
        summary: "What is held under a key",
        query: &[],
        headers: READ,
        body: None,
        replies: &[Shape(200, CLAIM, "The claim."), MALFORMED, NOT_HELD],
    },
    Entry {
        method: Method::DELETE,
        path: "/v1/pools/{pool}/claims/{key}",
        access: Access::Write,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(claims::delete(native, call)),
        name: "deleteClaim",
        summary: "Release what is held under a key",
        query: &[],
        headers: GUARDED,
        body: None,
        replies: &[
            Shape(204, None, "Nothing is held under this key now."),
            MALFORMED,
            Shape(404, PROBLEM, "There is no such pool, or with If-Match nothing is held."),
            KEPT,
            DIFFERS,
        ],
    },
    Entry {
        method: Method::POST,
        path: "/v1/pools/{pool}/claims/{key}/renew",
        access: Access::Write,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(claims::renew(native, call)),
        name: "renewClaim",
        summary: "Start the lease of a claim anew",
        query: &[],
        headers: GUARDED,
        body: Some("RenewBody"),
        replies: &[
            Shape(200, CLAIM, "The claim with its new lease."),
            MALFORMED,
            NOT_HELD,
            Shape(
                409,
                PROBLEM,
                "The claim has no lease, and `ttl` was not given; or the resource-manager keeps it.",
            ),
            DIFFERS,
            LIMITED,
        ],
    },
    Entry {
        method: Method::POST,
        path: "/v1/pools/{pool}/claims/{key}/confirm",
        access: Access::Write,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(claims::confirm(native, call)),
        name: "confirmClaim",
        summary: "Make a leased claim permanent",
        query: &[],
        headers: GUARDED,
        body: None,
        replies: &[
            Shape(200, CLAIM, "The claim, without a lease."),
            MALFORMED,
            NOT_HELD,
            KEPT,
            DIFFERS,
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/pools/{pool}/claims",
        access: Access::Read,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(claims::list(native, call)),
        name: "listClaims",
        summary: "Claims of a pool in the order of their values",
        query: claims::LIST_QUERY,
        headers: READ,
        body: None,
        replies: &[Shape(200, Some("ClaimList"), "A page of claims."), MALFORMED, NO_POOL],
    },
    Entry {
        method: Method::GET,
        path: "/v1/pools/{pool}/values/{*value}",
        access: Access::Read,
        scope: Scope::PoolInPath,
        run: |native, call| boxed(claims::value(native, call)),
        name: "getValue",
        summary: "Who has or had a value, or why nobody can; the slash of a prefix may stand as it is",
        query: claims::VALUE_QUERY,
        headers: READ,
        body: None,
        replies: &[
            Shape(200, Some("ValueAnswer"), "What can be said of the value."),
            Shape(400, PROBLEM, "It cannot be read, or `at` is in the future: `position_unknown`."),
            Shape(404, PROBLEM, "There is no such pool, or there was none then."),
            TRIMMED,
            LIMITED,
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/claims",
        access: Access::Read,
        scope: Scope::Filtered,
        run: |native, call| boxed(claims::by_owner(native, call)),
        name: "listClaimsByOwner",
        summary: "Claims in all pools in the order of their owners",
        query: claims::BY_OWNER_QUERY,
        headers: READ,
        body: None,
        replies: &[Shape(200, Some("ClaimList"), "A page of claims."), MALFORMED],
    },
    Entry {
        method: Method::GET,
        path: "/v1/history",
        access: Access::Read,
        scope: Scope::Filtered,
        run: |native, call| boxed(history::list(native, call)),
        name: "getHistory",
        summary: "What happened, by pool, value, key, owner, provider, consumer and time",
        query: history::QUERY,
        headers: READ,
        body: None,
        replies: &[
            Shape(
                200,
                Some("HistoryAnswer"),
                "A page of changes; one may be short and have a next.",
            ),
            MALFORMED,
            TRIMMED,
        ],
    },
    Entry {
        method: Method::POST,
        path: "/v1/transactions",
        access: Access::Write,
        scope: Scope::PoolsInBody,
        run: |native, call| boxed(transactions::post(native, call)),
        name: "postTransaction",
        summary: "Claims, releases, allocations and checks over any pools, providers and consumers, all or nothing",
        query: &[],
        headers: &[IDEMPOTENCY_KEY],
        body: Some("TransactionBody"),
        replies: &[
            Shape(200, Some("TransactionAnswer"), "All of it happened, or would have."),
            MALFORMED,
            Shape(409, PROBLEM, "None of it happened: `op` says which operation was refused."),
            Shape(422, PROBLEM, "A limit is exceeded, or the idempotency key was used before."),
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/providers",
        access: Access::Read,
        scope: Scope::Capacity,
        run: |native, call| boxed(providers::list(native, call)),
        name: "listProviders",
        summary: "Providers with all that they have and give out, in the order of their uuids",
        query: providers::LIST_QUERY,
        headers: READ,
        body: None,
        replies: &[Shape(200, Some("ProviderList"), "A page of providers."), UNKNOWN_NAME],
    },
    Entry {
        method: Method::GET,
        path: "/v1/providers/{provider}",
        access: Access::Read,
        scope: Scope::Capacity,
        run: |native, call| boxed(providers::get(native, call)),
        name: "getProvider",
        summary: "A provider, what it has and how much of it is given out",
        query: providers::GET_QUERY,
        headers: READ,
        body: None,
        replies: &[
            Shape(200, Some("Provider"), "The provider."),
            MALFORMED,
            Shape(404, PROBLEM, "There is no such provider."),
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/consumers",
        access: Access::Read,
        scope: Scope::Capacity,
        run: |native, call| boxed(consumers::list(native, call)),
        name: "listConsumers",
        summary: "Consumers and what they hold, in the order of their uuids",
        query: consumers::LIST_QUERY,
        headers: READ,
        body: None,
        replies: &[Shape(200, Some("ConsumerList"), "A page of consumers."), MALFORMED],
    },
    Entry {
        method: Method::GET,
        path: "/v1/consumers/{consumer}",
        access: Access::Read,
        scope: Scope::Capacity,
        run: |native, call| boxed(consumers::get(native, call)),
        name: "getConsumer",
        summary: "A consumer and what it holds",
        query: &[],
        headers: READ,
        body: None,
        replies: &[
            Shape(200, Some("Consumer"), "The consumer."),
            MALFORMED,
            Shape(404, PROBLEM, "It holds nothing."),
        ],
    },
    Entry {
        method: Method::POST,
        path: "/v1/candidates",
        access: Access::Read,
        scope: Scope::Capacity,
        run: |native, call| boxed(candidates::post(native, call)),
        name: "findCandidates",
        summary: "Who could serve a request for capacity, and why others could not; nothing is taken",
        query: &[],
        headers: READ,
        body: Some("CandidatesBody"),
        replies: &[
            Shape(200, Some("CandidatesAnswer"), "Perhaps none; with `explain` also why."),
            UNKNOWN_NAME,
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/alarms",
        access: Access::Read,
        scope: Scope::AllPools,
        run: |native, call| boxed(alarms::list(native, call)),
        name: "listAlarms",
        summary: "What is wrong with pools and services, and what was, in the order of their names",
        query: alarms::LIST_QUERY,
        headers: READ,
        body: None,
        replies: &[Shape(200, Some("AlarmList"), "A page of alarms."), MALFORMED],
    },
    Entry {
        method: Method::POST,
        path: "/v1/alarms/purge",
        access: Access::Admin,
        scope: Scope::AllPools,
        run: |native, call| boxed(alarms::purge(native, call)),
        name: "purgeAlarm",
        summary: "Forget an alarm that is over",
        query: &[],
        headers: &[],
        body: Some("PurgeBody"),
        replies: &[
            Shape(204, None, "It is no longer in the list."),
            MALFORMED,
            Shape(409, PROBLEM, "There is no such alarm, or it is still raised."),
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/outbox",
        access: Access::Read,
        scope: Scope::AllPools,
        run: |native, call| boxed(outbox::list(native, call)),
        name: "listNotices",
        summary: "What services are still to be told, and what could not be told, oldest first",
        query: outbox::LIST_QUERY,
        headers: READ,
        body: None,
        replies: &[Shape(200, Some("NoticeList"), "A page of notices."), MALFORMED],
    },
    Entry {
        method: Method::POST,
        path: "/v1/outbox/{number}/retry",
        access: Access::Admin,
        scope: Scope::AllPools,
        run: |native, call| boxed(outbox::retry(native, call)),
        name: "retryNotice",
        summary: "Have a notice told at once, with all its attempts anew",
        query: &[],
        headers: &[],
        body: None,
        replies: &[Shape(204, None, "It is due now."), MALFORMED, NO_NOTICE],
    },
    Entry {
        method: Method::DELETE,
        path: "/v1/outbox/{number}",
        access: Access::Admin,
        scope: Scope::AllPools,
        run: |native, call| boxed(outbox::delete(native, call)),
        name: "dropNotice",
        summary: "Have a notice told to nobody",
        query: &[],
        headers: &[],
        body: None,
        replies: &[Shape(204, None, "It is gone."), MALFORMED, NO_NOTICE],
    },
    Entry {
        method: Method::GET,
        path: "/v1/status",
        access: Access::Read,
        scope: Scope::NoPools,
        run: |native, call| boxed(about::status(native, call)),
        name: "getStatus",
        summary: "How the server is doing, also while it starts",
        query: &[],
        headers: &[],
        body: None,
        replies: &[Shape(200, Some("Status"), "How it is doing."), MALFORMED],
    },
    Entry {
        method: Method::GET,
        path: "/v1/backup",
        access: Access::Admin,
        scope: Scope::AllPools,
        run: |native, call| boxed(backup::get(native, call)),
        name: "getBackup",
        summary: "Everything that the journal holds now, as one stream for `allod restore`",
        query: &[],
        headers: &[],
        body: None,
        replies: &[
            Shape(
                200,
                None,
                "The backup, application/octet-stream. Whole only if its end is there.",
            ),
            MALFORMED,
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/watch",
        access: Access::Read,
        scope: Scope::Filtered,
        run: |native, call| boxed(watch::get(native, call)),
        name: "watch",
        summary: "What happens, as it happens, from any position that is kept",
        query: watch::QUERY,
        headers: &[LAST_EVENT_ID],
        body: None,
        replies: &[
            Shape(
                200,
                Some("Change"),
                "Server-sent events without an end: the data of each is a change, its id the position. Those named `heartbeat` say up to which position there is nothing more.",
            ),
            Shape(400, PROBLEM, "The request cannot be read, or the position is not there yet."),
            Shape(410, PROBLEM, "The position is no longer kept; `oldest_position` is."),
        ],
    },
    Entry {
        method: Method::GET,
        path: "/v1/limits",
        access: Access::Read,
        scope: Scope::NoPools,
        run: |native, call| boxed(about::limits(native, call)),
        name: "getLimits",
        summary: "Every limit of this server by name",
        query: &[],
        headers: &[],
        body: None,
        replies: &[Shape(200, Some("Limits"), "Names and numbers.")],
    },
    Entry {
        method: Method::GET,
        path: "/v1/openapi.json",
        access: Access::Read,
        scope: Scope::NoPools,
        run: |native, call| boxed(about::describe(native, call)),
        name: "getOpenapi",
        summary: "This document",
        query: &[],
        headers: &[],
        body: None,
        replies: &[Shape(200, Some("Document"), "OpenAPI 3.1.")],
    },
    Entry {
        method: Method::GET,
        path: "/v1/docs",
        access: Access::Read,
        scope: Scope::NoPools,
        run: |native, call| boxed(about::docs(native, call)),
        name: "getDocs",
        summary: "This document as a page to read",
        query: &[],
        headers: &[],
        body: None,
        replies: &[Shape(200, Some("Page"), "The page; it needs nothing from anywhere else.")],
    },
];
