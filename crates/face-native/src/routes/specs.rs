//! What routes say of themselves in the same words: the headers that they look at, and replies that many can give.

/// A request header.
pub(crate) struct HeaderSpec {
    pub name: &'static str,
    pub about: &'static str,
}

/// A reply that a route can give: its status, the schema of its body, and when it is given.
pub(crate) struct ReplySpec(pub u16, pub Option<&'static str>, pub &'static str);

pub(super) const IF_MATCH: &HeaderSpec = &HeaderSpec {
    name: "If-Match",
    about: "The ETag that the thing must have, or `*`: it must exist. 412 otherwise.",
};
pub(super) const IF_NONE_MATCH: &HeaderSpec =
    &HeaderSpec { name: "If-None-Match", about: "`*`: it must not exist yet. 412 otherwise." };
pub(super) const MIN_POSITION: &HeaderSpec = &HeaderSpec {
    name: "Allod-Min-Position",
    about: "Answer from this position of the journal or a later one: read your own writes.",
};
pub(super) const CONSISTENCY: &HeaderSpec = &HeaderSpec {
    name: "Allod-Consistency",
    about: "`linearizable`: the answer covers everything acknowledged before the request.",
};
pub(super) const IDEMPOTENCY_KEY: &HeaderSpec = &HeaderSpec {
    name: "Idempotency-Key",
    about: "Under this key the answer is remembered and given again, not decided again.",
};

pub(super) const LAST_EVENT_ID: &HeaderSpec = &HeaderSpec {
    name: "Last-Event-ID",
    about: "The id of the last message seen: goes on after it. Counts more than `from`.",
};

pub(super) const READ: &[&HeaderSpec] = &[MIN_POSITION, CONSISTENCY];
pub(super) const GUARDED: &[&HeaderSpec] = &[IF_MATCH];
pub(super) const GUARDED_PUT: &[&HeaderSpec] = &[IF_MATCH, IF_NONE_MATCH];

pub(super) const PROBLEM: Option<&str> = Some("Problem");
pub(super) const CLAIM: Option<&str> = Some("Claim");

pub(super) const MALFORMED: ReplySpec =
    ReplySpec(400, PROBLEM, "The request cannot be read, or contradicts itself.");
pub(super) const UNKNOWN_NAME: ReplySpec = ReplySpec(
    400,
    PROBLEM,
    "The request cannot be read, or names a resource class or trait that does not exist.",
);
pub(super) const NO_POOL: ReplySpec = ReplySpec(404, PROBLEM, "There is no such pool.");
pub(super) const NOT_HELD: ReplySpec =
    ReplySpec(404, PROBLEM, "There is no such pool, or nothing is held under this key.");
pub(super) const KEPT: ReplySpec =
    ReplySpec(409, PROBLEM, "It was asked for through the resource-manager, which keeps it.");
pub(super) const NO_NOTICE: ReplySpec =
    ReplySpec(404, PROBLEM, "There is no such notice in the outbox.");
pub(super) const TRIMMED: ReplySpec = ReplySpec(
    410,
    PROBLEM,
    "`position_trimmed`: the journal no longer reaches back that far; `oldest_position` says how far.",
);
pub(super) const DIFFERS: ReplySpec =
    ReplySpec(412, PROBLEM, "It is not as If-Match or If-None-Match say.");
pub(super) const LIMITED: ReplySpec =
    ReplySpec(422, PROBLEM, "A limit is exceeded; `limit` names it.");
