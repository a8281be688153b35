//! Roles, and the identity of a client.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Access;

/// A role. An admin has all of them, and every role may read. [`Role::includes`] says the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Reader,
    /// Answers requests to pools with an external allocator, and changes nothing else.
    Allocator,
    Writer,
    Admin,
}

impl Role {
    pub const ALL: [Role; 4] = [Role::Reader, Role::Allocator, Role::Writer, Role::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Allocator => "allocator",
            Role::Writer => "writer",
            Role::Admin => "admin",
        }
    }

    /// Whether this role may do what the other one may.
    pub fn includes(self, other: Role) -> bool {
        match other {
            Role::Reader => true,
            Role::Allocator | Role::Writer | Role::Admin => self == other || self == Role::Admin,
        }
    }

    /// Whether a client with this role may use a route.
    pub fn admits(self, access: Access) -> bool {
        let may_answer = access == Access::Answer && self == Role::Allocator;
        may_answer || Role::needed(access).is_none_or(|needed| self.includes(needed))
    }

    /// The role that a route requires; `None` if the edge requires none.
    pub fn needed(access: Access) -> Option<Role> {
        match access {
            // For `Authenticated` the face decides.
            Access::Open | Access::Authenticated => None,
            Access::Read => Some(Role::Reader),
            // Also the role allocator, for which the face decides.
            Access::Answer | Access::Write => Some(Role::Writer),
            Access::Admin => Some(Role::Admin),
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        let known = Role::ALL.into_iter().find(|role| role.name() == text);
        known.ok_or_else(|| {
            format!("unknown role '{text}'; expected reader, allocator, writer or admin")
        })
    }
}

/// The client that sends a request.
#[derive(Debug, Clone, Default)]
pub enum Identity {
    /// Authentication is off; the client has full access.
    #[default]
    Unrestricted,
    /// Not authenticated; only open routes allow it.
    Anonymous,
    /// Authenticated by a token from the tokens file.
    Token(Arc<TokenIdentity>),
    /// An OpenStack user.
    Principal(Arc<Principal>),
}

/// An OpenStack user with roles in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    pub user: String,
    /// `None` with system scope.
    pub project: Option<String>,
    pub roles: Vec<String>,
    pub system_scope: Option<String>,
}

impl Principal {
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own.eq_ignore_ascii_case(role))
    }

    /// The allod role that corresponds to the OpenStack roles.
    fn role(&self) -> Option<Role> {
        if self.has_role("admin") {
            Some(Role::Admin)
        } else if self.has_role("service") {
            Some(Role::Writer)
        } else if self.has_role("allocator") {
            Some(Role::Allocator)
        } else if self.has_role("reader") || self.has_role("member") {
            Some(Role::Reader)
        } else {
            None
        }
    }
}

/// A token in force.
#[derive(Debug)]
pub struct TokenIdentity {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) scope: Option<String>,
    pub(super) expires_ms: Option<u64>,
    pub(super) revoked: AtomicBool,
}

impl Identity {
    /// The name for the log.
    pub fn name(&self) -> Option<&str> {
        match self {
            Identity::Unrestricted | Identity::Anonymous => None,
            Identity::Token(known) => Some(&known.name),
            Identity::Principal(principal) => Some(&principal.user),
        }
    }

    /// `None` allows open routes only.
    pub fn role(&self) -> Option<Role> {
        match self {
            Identity::Unrestricted => Some(Role::Admin),
            Identity::Anonymous => None,
            Identity::Token(known) => Some(known.role),
            Identity::Principal(principal) => principal.role(),
        }
    }

    /// Whether the client has this role, or one that includes it.
    pub fn has(&self, needed: Role) -> bool {
        self.role().is_some_and(|role| role.includes(needed))
    }

    /// The scope of the token, as in the tokens file; `None` if it is not restricted.
    pub fn scope(&self) -> Option<&str> {
        match self {
            Identity::Unrestricted | Identity::Anonymous | Identity::Principal(_) => None,
            Identity::Token(known) => known.scope.as_deref(),
        }
    }

    /// Whether the token was revoked or has expired since the request was authenticated. Streams end then.
    pub fn has_lapsed(&self) -> bool {
        match self {
            Identity::Unrestricted | Identity::Anonymous | Identity::Principal(_) => false,
            Identity::Token(known) => {
                known.revoked.load(Ordering::Relaxed) || known.has_expired(crate::time::now_ms())
            }
        }
    }
}

impl TokenIdentity {
    pub(super) fn has_expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_admits_what_it_includes() {
        use Access::{Admin, Answer, Authenticated, Open, Read, Write};
        for (role, admitted) in [
            (Role::Reader, vec![Open, Authenticated, Read]),
            (Role::Allocator, vec![Open, Authenticated, Read, Answer]),
            (Role::Writer, vec![Open, Authenticated, Read, Answer, Write]),
            (Role::Admin, vec![Open, Authenticated, Read, Answer, Write, Admin]),
        ] {
            let all = [Open, Authenticated, Read, Answer, Write, Admin];
            let found: Vec<Access> = all.into_iter().filter(|one| role.admits(*one)).collect();
            assert_eq!(found, admitted, "{}", role.name());
        }
        assert!(!Role::Writer.includes(Role::Allocator));
        assert!(!Role::Allocator.includes(Role::Writer));
    }
}
