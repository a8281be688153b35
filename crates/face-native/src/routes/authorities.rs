//! The routes of authorities.

use allod_edge::Access;
use http::Method;

use super::specs::*;
use super::{RouteEntry, boxed};
use crate::scope::ScopeRule;
use crate::{authorities, reconcile};

pub(super) static TABLE: &[RouteEntry] = &[
    RouteEntry {
        method: Method::PUT,
        path: "/v1/authorities/{authority}",
        access: Access::Admin,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(authorities::put(native, call)),
        name: "putAuthority",
        summary: "Create an authority or change its definition",
        request: RequestSpec { body: Some("AuthorityBody"), ..GUARDED_PUT },
        replies: &[
            ReplySpec(200, AUTHORITY, "The authority has this definition, new or unchanged."),
            ReplySpec(201, AUTHORITY, "The authority was created."),
            MALFORMED,
            DIFFERS,
            LIMITED,
        ],
    },
    RouteEntry {
        method: Method::GET,
        path: "/v1/authorities/{authority}",
        access: Access::Read,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(authorities::get(native, call)),
        name: "getAuthority",
        summary: "Get an authority and its state",
        request: READ,
        replies: &[ReplySpec(200, AUTHORITY, "The authority."), MALFORMED, NO_AUTHORITY],
    },
    RouteEntry {
        method: Method::DELETE,
        path: "/v1/authorities/{authority}",
        access: Access::Admin,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(authorities::delete(native, call)),
        name: "deleteAuthority",
        summary: "Delete an authority that no pool and no claim needs",
        request: GUARDED,
        replies: &[
            ReplySpec(204, None, "The authority does not exist any more."),
            MALFORMED,
            ReplySpec(409, PROBLEM, "Pools or claims still need the authority."),
            DIFFERS,
        ],
    },
    RouteEntry {
        method: Method::GET,
        path: "/v1/authorities",
        access: Access::Read,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(authorities::list(native, call)),
        name: "listAuthorities",
        summary: "List authorities and their states by name",
        request: RequestSpec { query: authorities::LIST_QUERY, ..READ },
        replies: &[ReplySpec(200, Some("AuthorityList"), "A page of authorities."), MALFORMED],
    },
    RouteEntry {
        method: Method::GET,
        path: "/v1/authorities/{authority}/claims",
        access: Access::Read,
        scope: ScopeRule::Filtered,
        run: |native, call| boxed(authorities::claims(native, call)),
        name: "listAuthorityClaims",
        summary: "List the claims that an authority has to answer or an operator has to resolve, by state",
        request: RequestSpec { query: authorities::CLAIMS_QUERY, ..READ },
        replies: &[ReplySpec(200, Some("ClaimList"), "A page of claims."), MALFORMED, NO_AUTHORITY],
    },
    RouteEntry {
        method: Method::POST,
        path: "/v1/authorities/{authority}/claims/{reference}/resolve",
        access: Access::Admin,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(authorities::resolve(native, call)),
        name: "resolveClaim",
        summary: "Say what the authority has done about a claim that is stuck or in conflict",
        request: RequestSpec { body: Some("ResolveBody"), ..PLAIN },
        replies: &[
            ReplySpec(200, CLAIM, "The claim after that."),
            ReplySpec(204, None, "The claim does not exist any more."),
            MALFORMED,
            ReplySpec(404, PROBLEM, "No claim of this authority has the reference."),
            ReplySpec(
                409,
                PROBLEM,
                "The claim needs no resolution, or its value is still being released.",
            ),
        ],
    },
    RouteEntry {
        method: Method::POST,
        path: "/v1/authorities/{authority}/reconcile",
        access: Access::Admin,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(reconcile::post(native, call)),
        name: "reconcileAuthority",
        summary: "Compare what an authority lists with what is held here; nothing is changed",
        request: RequestSpec { headers: &[PREFER], ..PLAIN },
        replies: &[
            ReplySpec(200, RECONCILIATION, "The findings."),
            ReplySpec(
                202,
                RECONCILIATION,
                "The comparison has not ended within 60 seconds, or the time that Prefer names. The findings are the previous ones.",
            ),
            MALFORMED,
            NO_AUTHORITY,
        ],
    },
    RouteEntry {
        method: Method::GET,
        path: "/v1/authorities/{authority}/reconcile",
        access: Access::Read,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(reconcile::get(native, call)),
        name: "getReconciliation",
        summary: "Get the findings of the last reconciliation",
        request: RequestSpec { headers: &[PREFER], ..READ },
        replies: &[
            ReplySpec(200, RECONCILIATION, "The last reconciliation."),
            MALFORMED,
            ReplySpec(404, PROBLEM, "The authority does not exist, or has not been reconciled."),
        ],
    },
    RouteEntry {
        method: Method::POST,
        path: "/v1/authorities/{authority}/settle",
        access: Access::Admin,
        scope: ScopeRule::AllPools,
        run: |native, call| boxed(reconcile::settle(native, call)),
        name: "settleFindings",
        summary: "Adopt, release or forget findings of the last reconciliation, one or all of a class",
        request: RequestSpec { body: Some("SettleBody"), ..PLAIN },
        replies: &[
            ReplySpec(200, Some("SettleAnswer"), "What became of the findings."),
            MALFORMED,
            ReplySpec(
                404,
                PROBLEM,
                "The authority or the pool does not exist, or nothing was found for the reference.",
            ),
            ReplySpec(409, PROBLEM, "The finding cannot be settled like this."),
        ],
    },
];
