//! Documentation that several routes share: request headers and replies.

use crate::query::Param;

/// The parts of a request that a route reads besides its path.
pub(crate) struct RequestSpec {
    pub query: &'static [Param],
    pub headers: &'static [&'static HeaderSpec],
    /// The schema of the body.
    pub body: Option<&'static str>,
}

impl RequestSpec {
    /// Whether clients can ask the route to wait.
    pub(crate) fn can_wait(&self) -> bool {
        self.headers.iter().any(|header| header.name == PREFER.name)
    }
}

/// A request header.
pub(crate) struct HeaderSpec {
    pub name: &'static str,
    pub about: &'static str,
}

/// A documented reply: status, schema of the body, description.
pub(crate) struct ReplySpec(pub u16, pub Option<&'static str>, pub &'static str);

const IF_MATCH: &HeaderSpec = &HeaderSpec {
    name: "If-Match",
    about: "The ETag that the resource must have, or `*` if it must exist. Otherwise 412.",
};
const IF_NONE_MATCH: &HeaderSpec = &HeaderSpec {
    name: "If-None-Match",
    about: "`*`: the resource must not exist yet. Otherwise 412.",
};
const MIN_POSITION: &HeaderSpec = &HeaderSpec {
    name: "Allod-Min-Position",
    about: "Wait until the answer reflects this position of the journal or a later one (read your own writes).",
};
const CONSISTENCY: &HeaderSpec = &HeaderSpec {
    name: "Allod-Consistency",
    about: "`linearizable`: the answer reflects everything that was acknowledged before the request.",
};
pub(super) const IDEMPOTENCY_KEY: &HeaderSpec = &HeaderSpec {
    name: "Idempotency-Key",
    about: "A request that is repeated with the same key gets the stored answer and is not carried out again.",
};

pub(super) const PREFER: &HeaderSpec = &HeaderSpec {
    name: "Prefer",
    about: "`wait=N`: in a pool with an authority, wait up to N seconds for its answer.",
};

pub(super) const LAST_EVENT_ID: &HeaderSpec = &HeaderSpec {
    name: "Last-Event-ID",
    about: "The id of the last event seen; the stream resumes after it. Takes precedence over `from`.",
};

pub(super) const PLAIN: RequestSpec = RequestSpec { query: &[], headers: &[], body: None };
pub(super) const READ: RequestSpec = RequestSpec { headers: &[MIN_POSITION, CONSISTENCY], ..PLAIN };
pub(super) const GUARDED: RequestSpec = RequestSpec { headers: &[IF_MATCH], ..PLAIN };
pub(super) const WAITING: RequestSpec = RequestSpec { headers: &[IF_MATCH, PREFER], ..PLAIN };
pub(super) const WAITING_PUT: RequestSpec =
    RequestSpec { headers: &[IF_MATCH, IF_NONE_MATCH, PREFER], ..PLAIN };
pub(super) const GUARDED_PUT: RequestSpec =
    RequestSpec { headers: &[IF_MATCH, IF_NONE_MATCH], ..PLAIN };

pub(super) const PROBLEM: Option<&str> = Some("Problem");
pub(super) const CLAIM: Option<&str> = Some("Claim");
pub(super) const RECONCILIATION: Option<&str> = Some("Reconciliation");
pub(super) const LOOK_UP: Option<&str> = Some("LookUp");
pub(super) const AUTHORITY: Option<&str> = Some("Authority");

pub(super) const MALFORMED: ReplySpec =
    ReplySpec(400, PROBLEM, "The request is malformed or contradicts itself.");
pub(super) const UNKNOWN_NAME: ReplySpec = ReplySpec(
    400,
    PROBLEM,
    "The request is malformed, or names a resource class or trait that does not exist.",
);
pub(super) const NO_POOL: ReplySpec = ReplySpec(404, PROBLEM, "The pool does not exist.");
pub(super) const NO_AUTHORITY: ReplySpec = ReplySpec(404, PROBLEM, "The authority does not exist.");
pub(super) const NO_LOOK_UP: ReplySpec = ReplySpec(404, PROBLEM, "The look-up does not exist.");
pub(super) const NOT_HELD: ReplySpec =
    ReplySpec(404, PROBLEM, "The pool does not exist, or the key holds nothing.");
pub(super) const KEPT: ReplySpec = ReplySpec(
    409,
    PROBLEM,
    "The resource-manager manages the claim, or it is stuck or being released at its authority.",
);
pub(super) const NO_NOTICE: ReplySpec = ReplySpec(404, PROBLEM, "The notification does not exist.");
pub(super) const TRIMMED: ReplySpec = ReplySpec(
    410,
    PROBLEM,
    "`position_trimmed`: this part of the journal has been trimmed; `oldest_position` is the oldest position retained.",
);
pub(super) const DIFFERS: ReplySpec =
    ReplySpec(412, PROBLEM, "The condition of If-Match or If-None-Match does not hold.");
pub(super) const LIMITED: ReplySpec =
    ReplySpec(422, PROBLEM, "A limit is exceeded; `limit` is its name.");
