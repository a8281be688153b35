//! Who sends a request, and whether a route is for them.
//!
//! It is asked before the body is read, so a stranger cannot make the server read or do anything. A token arrives as
//! `Authorization: Bearer …`, as `X-Auth-Token: …` or as the password of `Authorization: Basic …`; it is taken out of the
//! headers here, and nothing behind this module ever sees it.
//!
//! - `identity`: roles, and who somebody is once that is known
//! - `secret`: what a token looks like, how one is made, and its hash
//! - `basic`: a token that is presented as a password
//! - `tokens`: the tokens that a server knows, and their file
//! - `noauth2`: believing what clients say of themselves, for tests
//!
//! Not here: what the scope of a token means. To the edge it is a text; the faces say what is inside it.

mod basic;
pub mod expiry;
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

use crate::{Access, Problem, Reply};

const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// How clients prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// They do not, so only this machine may connect.
    #[default]
    None,
    /// With a token that is in a file.
    Tokens,
    /// They say who they are and are believed, so only this machine may connect.
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
            _ => Err(format!("'{text}' is no way to authenticate; none, tokens and noauth2 are")),
        }
    }
}

/// A way to authenticate at work. Another way is another arm here, and a name in [`Auth`].
#[derive(Debug, Clone, Default)]
pub enum Guard {
    /// Everybody may do everything.
    #[default]
    Everybody,
    Tokens(Arc<Tokens>),
    /// Everybody is who they say.
    NoAuth2,
}

impl Guard {
    /// Who sends a request with these headers, if the route is for them. Takes the token out of the headers.
    pub(crate) fn admit(
        &self,
        access: Access,
        headers: &mut HeaderMap,
    ) -> Result<Identity, Denied> {
        let presented = Presented::take(headers);
        if matches!(self, Guard::Everybody) {
            return Ok(Identity::Everybody);
        }
        if access == Access::Open {
            return Ok(Identity::Stranger);
        }
        let identity = match self {
            Guard::Everybody => Identity::Everybody,
            Guard::Tokens(tokens) => tokens.identify(presented.token()?)?,
            Guard::NoAuth2 => noauth2::identify(presented.value(), headers)?,
        };
        match Role::needed(access) {
            Some(needed) if identity.role() < Some(needed) => {
                Err(Denied::Role { needed, identity })
            }
            _ => Ok(identity),
        }
    }
}

/// What the headers say about who sends the request.
enum Presented {
    Nothing,
    Token(HeaderValue),
    Basic { user: HeaderValue, password: HeaderValue },
    Malformed(&'static str),
}

impl Presented {
    fn take(headers: &mut HeaderMap) -> Presented {
        let count = |name| headers.get_all(name).iter().count();
        match count(AUTHORIZATION) + count(X_AUTH_TOKEN) {
            0 => return Presented::Nothing,
            1 => {}
            _ => {
                headers.remove(AUTHORIZATION);
                headers.remove(X_AUTH_TOKEN);
                return Presented::Malformed("the request has more than one token");
            }
        }
        match (headers.remove(AUTHORIZATION), headers.remove(X_AUTH_TOKEN)) {
            (Some(value), _) => Presented::authorization(&value),
            (None, Some(value)) => Presented::Token(value),
            (None, None) => Presented::Nothing,
        }
    }

    /// Of `Bearer abc` the second part, of `Basic …` both.
    fn authorization(value: &HeaderValue) -> Presented {
        const OTHER: Presented =
            Presented::Malformed("the authorization header is not 'Bearer' and a token");
        let bytes = value.as_bytes();
        let Some(space) = bytes.iter().position(|&byte| byte == b' ') else { return OTHER };
        let (scheme, rest) = bytes.split_at(space);
        let rest = rest.trim_ascii();
        if rest.is_empty() {
            return OTHER;
        }
        if scheme.eq_ignore_ascii_case(b"basic") {
            return match basic::read(rest) {
                Some((user, password)) => Presented::Basic { user, password },
                None => Presented::Malformed("what follows 'Basic' is no user and password"),
            };
        }
        if !scheme.eq_ignore_ascii_case(b"bearer") {
            return OTHER;
        }
        HeaderValue::from_bytes(rest).map_or(OTHER, Presented::Token)
    }

    /// What somebody says of themselves, where they are believed.
    fn value(&self) -> Option<&HeaderValue> {
        match self {
            Presented::Token(value) | Presented::Basic { user: value, .. } => Some(value),
            Presented::Nothing | Presented::Malformed(_) => None,
        }
    }

    fn token(&self) -> Result<&[u8], Denied> {
        match self {
            Presented::Nothing => Err(Denied::Missing),
            Presented::Malformed(why) => Err(Denied::Malformed(why)),
            Presented::Token(value) | Presented::Basic { password: value, .. } => {
                Ok(value.as_bytes())
            }
        }
    }
}

/// Why a request is not carried out. Nothing here holds a token.
#[derive(Debug)]
pub enum Denied {
    Missing,
    Malformed(&'static str),
    /// No such token, or no longer.
    Unknown,
    /// Only who has the token gets to hear this.
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
    /// Who it was, as far as that is known.
    pub(crate) fn identity(&self) -> Identity {
        match self {
            Denied::Role { identity, .. } => identity.clone(),
            _ => Identity::Stranger,
        }
    }

    pub fn problem(&self) -> Problem {
        match self {
            Denied::Role { needed, identity } => not_allowed(*needed, identity),
            other => Problem::new(
                StatusCode::UNAUTHORIZED,
                "unauthenticated",
                "the server does not know who is asking",
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
            Denied::Unknown => "the server does not know this token".to_owned(),
            Denied::Expired { name, expires_ms } => {
                format!("the token '{name}' expired at {}", expiry::show(*expires_ms))
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
        "the token may not do this",
        format!("the role {} is needed; the token '{name}' has the role {role}", needed.name()),
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
    fn a_token_is_found_where_clients_put_it_and_taken_out() {
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
            let presented = Presented::take(&mut all);
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
    fn who_is_believed_is_the_user_of_a_password() {
        let mut all = headers(&[("authorization", "Basic YWRtaW46c2VjcmV0")]);
        let identity = Guard::NoAuth2.admit(Access::Admin, &mut all).unwrap();
        assert_eq!((identity.name(), identity.role()), (Some("admin"), Some(Role::Admin)));
    }

    #[test]
    fn without_tokens_everybody_is_admitted_and_what_they_show_is_taken_all_the_same() {
        let mut all = headers(&[("authorization", "Bearer abc")]);
        let identity = Guard::Everybody.admit(Access::Admin, &mut all).unwrap();
        assert_eq!((identity.role(), identity.scope()), (Some(Role::Admin), None));
        assert!(all.is_empty());
    }
}
