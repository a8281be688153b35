//! Authentication, and the check of a client's role against a route.
//!
//! It runs before the body is read. A token arrives as `Authorization: Bearer …`, as `X-Auth-Token: …` or as the password
//! of `Authorization: Basic …`. It is removed from the headers here, so that no handler and no log can contain it.
//!
//! - `identity`: roles and authenticated clients
//! - `secret`: the form of a token, its generation and its hash
//! - `basic`: HTTP Basic authentication
//! - `tokens`: the tokens file
//! - `noauth2`: OpenStack's test strategy, which trusts the client
//!
//! Not here: the meaning of a token's scope. To the edge it is a string; the faces interpret it.

mod basic;
mod identity;
mod meter;
mod noauth2;
mod secret;
mod tokens;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

pub use identity::{Identity, Principal, Role};
pub(crate) use meter::{AuthMeter, describe};
pub use secret::{Digest, Secret};
pub use tokens::{TokenEntry, Tokens, parse as parse_tokens};

use crate::{Access, Problem, Reply, time};

const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// The authentication strategy (`--auth`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// No authentication; only loopback addresses can be bound.
    #[default]
    None,
    /// Tokens from a file.
    Tokens,
    /// The client's claim is trusted; only loopback addresses can be bound.
    NoAuth2,
}

impl fmt::Display for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Auth::None => "none",
            Auth::Tokens => "tokens",
            Auth::NoAuth2 => "noauth2",
        })
    }
}

impl FromStr for Auth {
    type Err = String;

    fn from_str(text: &str) -> Result<Auth, String> {
        match text {
            "none" => Ok(Auth::None),
            "tokens" => Ok(Auth::Tokens),
            "noauth2" => Ok(Auth::NoAuth2),
            _ => Err(format!(
                "unknown authentication strategy '{text}'; expected none, tokens or noauth2"
            )),
        }
    }
}

/// An authentication strategy with its data. A new strategy is a variant here and in [`Auth`].
#[derive(Debug, Clone, Default)]
pub enum Guard {
    /// Every request has full access.
    #[default]
    Disabled,
    Tokens(Arc<Tokens>),
    /// Trusts the headers of the request.
    NoAuth2,
}

impl Guard {
    /// Authenticates the request and checks its access. Removes the token from the headers.
    pub(crate) fn admit(
        &self,
        access: Access,
        headers: &mut HeaderMap,
    ) -> Result<Identity, Denied> {
        let presented = PresentedCredentials::take(headers);
        if matches!(self, Guard::Disabled) {
            return Ok(Identity::Unrestricted);
        }
        if access == Access::Open {
            return Ok(Identity::Anonymous);
        }
        let identity = match self {
            Guard::Disabled => Identity::Unrestricted,
            Guard::Tokens(tokens) => tokens.identify(presented.token()?)?,
            Guard::NoAuth2 => noauth2::identify(presented.value(), headers)?,
        };
        match Role::needed(access) {
            Some(needed) if !identity.role().is_some_and(|role| role.admits(access)) => {
                Err(Denied::Role { needed, identity })
            }
            _ => Ok(identity),
        }
    }
}

/// The credentials in the headers.
enum PresentedCredentials {
    None,
    Token(HeaderValue),
    Basic { user: HeaderValue, password: HeaderValue },
    Malformed(&'static str),
}

impl PresentedCredentials {
    fn take(headers: &mut HeaderMap) -> PresentedCredentials {
        let count = |name| headers.get_all(name).iter().count();
        match count(AUTHORIZATION) + count(X_AUTH_TOKEN) {
            0 => return PresentedCredentials::None,
            1 => {}
            _ => {
                headers.remove(AUTHORIZATION);
                headers.remove(X_AUTH_TOKEN);
                return PresentedCredentials::Malformed("the request has more than one token");
            }
        }
        match (headers.remove(AUTHORIZATION), headers.remove(X_AUTH_TOKEN)) {
            (Some(value), _) => PresentedCredentials::authorization(&value),
            (None, Some(value)) => PresentedCredentials::Token(value),
            (None, None) => PresentedCredentials::None,
        }
    }

    /// Parses `Bearer …` and `Basic …`.
    fn authorization(value: &HeaderValue) -> PresentedCredentials {
        const OTHER: PresentedCredentials =
            PresentedCredentials::Malformed("the Authorization header is not 'Bearer' and a token");
        let bytes = value.as_bytes();
        let Some(space) = bytes.iter().position(|&byte| byte == b' ') else { return OTHER };
        let (scheme, rest) = bytes.split_at(space);
        let rest = rest.trim_ascii();
        if rest.is_empty() {
            return OTHER;
        }
        if scheme.eq_ignore_ascii_case(b"basic") {
            return match basic::read(rest) {
                Some((user, password)) => PresentedCredentials::Basic { user, password },
                None => PresentedCredentials::Malformed(
                    "the value after 'Basic' is not a user and a password in base64",
                ),
            };
        }
        if !scheme.eq_ignore_ascii_case(b"bearer") {
            return OTHER;
        }
        HeaderValue::from_bytes(rest).map_or(OTHER, PresentedCredentials::Token)
    }

    /// The token or user name that `noauth2` trusts.
    fn value(&self) -> Option<&HeaderValue> {
        match self {
            PresentedCredentials::Token(value)
            | PresentedCredentials::Basic { user: value, .. } => Some(value),
            PresentedCredentials::None | PresentedCredentials::Malformed(_) => None,
        }
    }

    fn token(&self) -> Result<&[u8], Denied> {
        match self {
            PresentedCredentials::None => Err(Denied::Missing),
            PresentedCredentials::Malformed(why) => Err(Denied::Malformed(why)),
            PresentedCredentials::Token(value)
            | PresentedCredentials::Basic { password: value, .. } => Ok(value.as_bytes()),
        }
    }
}

/// Why a request is denied. It never contains a token.
#[derive(Debug)]
pub enum Denied {
    Missing,
    Malformed(&'static str),
    /// The token does not exist.
    Unknown,
    /// Reported only to a client that has the token.
    Expired {
        name: String,
        expires_ms: u64,
    },
    Role {
        needed: Role,
        identity: Identity,
    },
}

impl Denied {
    /// The client, if it was authenticated.
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Denied::Role { identity, .. } => identity.clone(),
            _ => Identity::Anonymous,
        }
    }

    pub fn problem(&self) -> Problem {
        match self {
            Denied::Role { needed, identity } => not_allowed(*needed, identity),
            other => Problem::new(
                StatusCode::UNAUTHORIZED,
                "unauthenticated",
                "authentication failed",
                other.detail(),
            ),
        }
    }

    pub fn reply(&self) -> Reply {
        let mut reply = self.problem().reply();
        let challenge = match self {
            Denied::Missing => "Bearer realm=\"allod\"",
            Denied::Malformed(_) => "Bearer realm=\"allod\", error=\"invalid_request\"",
            Denied::Unknown | Denied::Expired { .. } => {
                "Bearer realm=\"allod\", error=\"invalid_token\""
            }
            Denied::Role { .. } => return reply,
        };
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        reply
    }

    fn detail(&self) -> String {
        const SEND: &str = "send 'Authorization: Bearer' and a token";
        match self {
            Denied::Missing => format!("the request has no token; {SEND}"),
            Denied::Malformed(why) => format!("{why}; {SEND}"),
            Denied::Unknown => "unknown token".to_owned(),
            Denied::Expired { name, expires_ms } => {
                format!("the token '{name}' expired at {}", time::rfc3339_s(*expires_ms))
            }
            Denied::Role { .. } => String::new(),
        }
    }
}

fn not_allowed(needed: Role, identity: &Identity) -> Problem {
    let name = identity.name().unwrap_or_default();
    let role = identity.role().map_or("none", Role::name);
    Problem::new(
        StatusCode::FORBIDDEN,
        "not_allowed",
        "role not sufficient",
        format!("the role {} is required; the token '{name}' has the role {role}", needed.name()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn token_is_read_from_any_supported_header_and_removed() {
        for (given, token) in [
            (&[][..], Err("Missing")),
            (&[("authorization", "Bearer abc")], Ok("abc")),
            (&[("authorization", "bearer   abc ")], Ok("abc")),
            (&[("x-auth-token", "abc")], Ok("abc")),
            (&[("authorization", "Basic YWRtaW46YWJj")], Ok("abc")),
            (&[("authorization", "basic YWRtaW46YWJj")], Ok("abc")),
            (&[("authorization", "Basic abc")], Err("Malformed")),
            (&[("authorization", "Digest abc")], Err("Malformed")),
            (&[("authorization", "abc")], Err("Malformed")),
            (&[("authorization", "")], Err("Malformed")),
            (&[("authorization", "Bearer a"), ("authorization", "Bearer a")], Err("Malformed")),
            (&[("authorization", "Bearer a"), ("x-auth-token", "a")], Err("Malformed")),
            (&[("x-auth-token", "a"), ("x-auth-token", "a")], Err("Malformed")),
        ] {
            let mut all = headers(given);
            all.insert("accept", HeaderValue::from_static("*/*"));
            let presented = PresentedCredentials::take(&mut all);
            match (presented.token(), token) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted.as_bytes()),
                (Err(denied), Err(wanted)) => {
                    assert!(format!("{denied:?}").starts_with(wanted), "{given:?}: {denied:?}");
                }
                (found, _) => panic!("{given:?}: {found:?}"),
            }
            assert_eq!(all.len(), 1, "{given:?}");
        }
    }

    #[test]
    fn noauth2_trusts_the_user_of_basic_credentials() {
        let mut all = headers(&[("authorization", "Basic YWRtaW46c2VjcmV0")]);
        let identity = Guard::NoAuth2.admit(Access::Admin, &mut all).unwrap();
        assert_eq!((identity.name(), identity.role()), (Some("admin"), Some(Role::Admin)));
    }

    #[test]
    fn disabled_guard_allows_everything_and_removes_the_token() {
        let mut all = headers(&[("authorization", "Bearer abc")]);
        let identity = Guard::Disabled.admit(Access::Admin, &mut all).unwrap();
        assert_eq!((identity.role(), identity.scope()), (Some(Role::Admin), None));
        assert!(all.is_empty());
    }
}
