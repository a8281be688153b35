//! `noauth2`: OpenStack's test strategy, which trusts what the client says about itself.
//!
//! `X-Auth-Token: user[:project]`, `X-Roles: a,b`. Without `X-Roles` the user `admin` has the role `admin` and other users
//! have none. It is not secure, so only loopback addresses can be bound.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::Denied;
use super::identity::{Identity, Principal};

const X_ROLES: HeaderName = HeaderName::from_static("x-roles");
const X_PROJECT_ID: HeaderName = HeaderName::from_static("x-project-id");
const SYSTEM_SCOPE: HeaderName = HeaderName::from_static("openstack-system-scope");

/// The user named by these headers; `token` is the value of X-Auth-Token.
pub(super) fn identify(
    token: Option<&HeaderValue>,
    headers: &HeaderMap,
) -> Result<Identity, Denied> {
    let token = token.ok_or(Denied::Missing)?;
    let token = token.to_str().map_err(|_| Denied::Malformed("the token is not ASCII"))?;
    let (user, project) = token.split_once(':').unwrap_or((token, ""));
    let project = if project.is_empty() { user } else { project };
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let roles = match text(X_ROLES) {
        Some(roles) => roles.split(',').map(str::to_owned).collect(),
        None if user == "admin" => vec!["admin".to_owned()],
        None => Vec::new(),
    };
    let system_scope = text(SYSTEM_SCOPE).filter(|scope| !scope.is_empty()).map(str::to_owned);
    let project = match (text(X_PROJECT_ID), &system_scope) {
        (Some(project), _) => Some(project.to_owned()),
        (None, None) => Some(project.to_owned()),
        (None, Some(_)) => None,
    };
    let user = user.to_owned();
    Ok(Identity::Principal(Arc::new(Principal { user, project, roles, system_scope })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    #[test]
    fn user_project_and_roles_come_from_the_headers() {
        for (token, headers, user, project, roles, system, role) in [
            ("admin", &[][..], "admin", Some("admin"), "admin", None, Some(Role::Admin)),
            ("user:p", &[], "user", Some("p"), "", None, None),
            (
                "u",
                &[("x-roles", "reader,service")],
                "u",
                Some("u"),
                "reader,service",
                None,
                Some(Role::Writer),
            ),
            ("admin", &[("x-roles", "member")], "admin", Some("admin"), "member", None, {
                Some(Role::Reader)
            }),
            ("u:p", &[("x-project-id", "q")], "u", Some("q"), "", None, None),
            ("u:p", &[("openstack-system-scope", "all")], "u", None, "", Some("all"), None),
        ] {
            let mut all = HeaderMap::new();
            for (name, value) in headers {
                all.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            }
            let identity = identify(Some(&HeaderValue::from_static(token)), &all).unwrap();
            let Identity::Principal(principal) = &identity else { panic!("{identity:?}") };
            assert_eq!(principal.user, user);
            assert_eq!(principal.project.as_deref(), project);
            assert_eq!(principal.roles.join(","), roles);
            assert_eq!(principal.system_scope.as_deref(), system);
            assert_eq!(identity.role(), role, "{token} {headers:?}");
        }
        assert!(matches!(identify(None, &HeaderMap::new()), Err(Denied::Missing)));
    }
}
