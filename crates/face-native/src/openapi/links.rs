//! OpenAPI links: operations that take values from the reply of another one. Test tools follow them.

use utoipa::openapi::link::Link;

/// A parameter of the next request, and the expression for its value.
type LinkParam = (&'static str, &'static str);

const POOL: LinkParam = ("pool", "$request.path.pool");
const AUTHORITY: LinkParam = ("authority", "$request.path.authority");
const KEY: LinkParam = ("key", "$request.path.key");
const VALUE: LinkParam = ("value", "$response.body#/value");

/// An operation, the operation that may follow it, and the parameters of the latter.
const LINKS: [(&str, &str, &[LinkParam]); 16] = [
    ("putLookup", "getLookup", &[AUTHORITY, KEY]),
    ("putLookup", "deleteLookup", &[AUTHORITY, KEY]),
    ("putAuthority", "putLookup", &[AUTHORITY]),
    ("putAuthority", "listLookups", &[AUTHORITY]),
    ("putAuthority", "getAuthority", &[AUTHORITY]),
    ("putAuthority", "listAuthorityClaims", &[AUTHORITY]),
    ("putAuthority", "deleteAuthority", &[AUTHORITY]),
    ("putPool", "getPool", &[POOL]),
    ("putPool", "listClaims", &[POOL]),
    ("putPool", "deletePool", &[POOL]),
    ("putPool", "putClaim", &[POOL]),
    ("putClaim", "getClaim", &[POOL, KEY]),
    ("putClaim", "renewClaim", &[POOL, KEY]),
    ("putClaim", "confirmClaim", &[POOL, KEY]),
    ("putClaim", "deleteClaim", &[POOL, KEY]),
    ("putClaim", "getValue", &[POOL, VALUE]),
];

/// The links of a reply with this status, by name.
pub(super) fn links(operation: &str, status: u16) -> Vec<(&'static str, Link)> {
    if status >= 300 {
        return Vec::new();
    }
    let from_here = LINKS.iter().filter(|(from, _, _)| *from == operation);
    from_here
        .map(|(_, to, taken)| {
            let link =
                taken.iter().fold(Link::builder().operation_id(*to), |link, (name, from)| {
                    link.parameter(*name, *from)
                });
            (*to, link.build())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::table;

    #[test]
    fn links_refer_to_existing_routes() {
        for (from, to, _) in LINKS {
            for name in [from, to] {
                assert!(table().any(|entry| entry.name == name), "{name}");
            }
        }
    }
}
