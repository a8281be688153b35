//! The routes of look-ups.

use allod_edge::Access;
use http::Method;

use super::specs::*;
use super::{RouteEntry, boxed};
use crate::lookups;
use crate::scope::ScopeRule;

pub(super) static TABLE: &[RouteEntry] = &[
    RouteEntry {
        method: Method::PUT,
        path: "/v1/lookups/{authority}/{key}",
        access: Access::Write,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(lookups::put(native, call)),
        name: "putLookup",
        summary: "Look up a name at an authority and keep its value; a repeated request returns the same value",
        request: RequestSpec { body: Some("LookUpBody"), ..WAITING_PUT },
        replies: &[
            ReplySpec(200, LOOK_UP, "The look-up, which existed."),
            ReplySpec(201, LOOK_UP, "The look-up was created, and the authority has answered."),
            ReplySpec(
                202,
                LOOK_UP,
                "The authority has not answered within 10 seconds, or the time that Prefer names.",
            ),
            MALFORMED,
            NO_AUTHORITY,
            DIFFERS,
            LIMITED,
        ],
    },
    RouteEntry {
        method: Method::GET,
        path: "/v1/lookups/{authority}/{key}",
        access: Access::Read,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(lookups::get(native, call)),
        name: "getLookup",
        summary: "Get a look-up; the authority is not asked",
        request: READ,
        replies: &[ReplySpec(200, LOOK_UP, "The look-up."), MALFORMED, NO_LOOK_UP],
    },
    RouteEntry {
        method: Method::DELETE,
        path: "/v1/lookups/{authority}/{key}",
        access: Access::Write,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(lookups::delete(native, call)),
        name: "deleteLookup",
        summary: "Delete a look-up",
        request: GUARDED,
        replies: &[
            ReplySpec(204, None, "The look-up does not exist any more."),
            MALFORMED,
            DIFFERS,
        ],
    },
    RouteEntry {
        method: Method::POST,
        path: "/v1/lookups/{authority}/{key}/refresh",
        access: Access::Write,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(lookups::refresh(native, call)),
        name: "refreshLookup",
        summary: "Ask the authority again whether a value has changed",
        request: RequestSpec { headers: &[PREFER], ..PLAIN },
        replies: &[
            ReplySpec(200, LOOK_UP, "The authority has answered, or an attempt has failed."),
            ReplySpec(
                202,
                LOOK_UP,
                "The authority has not answered within 10 seconds, or the time that Prefer names.",
            ),
            MALFORMED,
            NO_LOOK_UP,
        ],
    },
    RouteEntry {
        method: Method::POST,
        path: "/v1/lookups/{authority}/{key}/accept",
        access: Access::Write,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(lookups::accept(native, call)),
        name: "acceptLookup",
        summary: "Take the value that the authority has now",
        request: GUARDED,
        replies: &[
            ReplySpec(200, LOOK_UP, "The look-up with its new value."),
            ReplySpec(400, PROBLEM, "The request is malformed, or the policy is `pin`."),
            NO_LOOK_UP,
            ReplySpec(409, PROBLEM, "The authority has no other value."),
            DIFFERS,
        ],
    },
    RouteEntry {
        method: Method::GET,
        path: "/v1/lookups/{authority}",
        access: Access::Read,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(lookups::list(native, call)),
        name: "listLookups",
        summary: "List the look-ups of an authority by name",
        request: RequestSpec { query: lookups::LIST_QUERY, ..READ },
        replies: &[
            ReplySpec(200, Some("LookUpList"), "A page of look-ups."),
            MALFORMED,
            NO_AUTHORITY,
        ],
    },
    RouteEntry {
        method: Method::POST,
        path: "/v1/authorities/{authority}/hints",
        access: Access::Write,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(lookups::hints(native, call)),
        name: "postHints",
        summary: "Say that values may have changed at an authority, so that it is asked again",
        request: RequestSpec { body: Some("HintsBody"), ..PLAIN },
        replies: &[ReplySpec(202, None, "The authority will be asked."), MALFORMED, NO_AUTHORITY],
    },
];
