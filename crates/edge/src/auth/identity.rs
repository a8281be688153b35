//! Roles, and who somebody is once that is known.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Access;

/// What somebody may do; each may all that those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Reader,
    Writer,
    Admin,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::Reader, Role::Writer, Role::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Admin => "admin",
        }
    }

    /// The least role that may use a route; `None` when the edge asks for none.
    pub fn needed(access: Access) -> Option<Role> {
        match access {
            // Who somebody is suffices; the face says what they may.
            Access::Open | Access::Known => None,
            Access::Read => Some(Role::Reader),
            Access::Write => Some(Role::Writer),
            Access::Admin => Some(Role::Admin),
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        let known = Role::ALL.into_iter().find(|role| role.name() == text);
        known.ok_or_else(|| format!("'{text}' is no role; reader, writer and admin are"))
    }
}

/// Who sends a request.
#[derive(Debug, Clone, Default)]
pub enum Identity {
    /// Nobody has to say who they are, and everybody may do everything.
    #[default]
    Everybody,
    /// Somebody who did not have to say who they are, because the route is open. May do nothing else.
    Stranger,
    /// Somebody with a token of ours.
    Known(Arc<Known>),
    /// Somebody as OpenStack knows people.
    Principal(Arc<Principal>),
}

/// A user with roles in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    pub user: String,
    /// `None` when it is about the whole system.
    pub project: Option<String>,
    pub roles: Vec<String>,
    pub system_scope: Option<String>,
}

impl Principal {
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own.eq_ignore_ascii_case(role))
    }

    /// The role among ours that comes nearest.
    fn role(&self) -> Option<Role> {
        if self.has_role("admin") {
            Some(Role::Admin)
        } else if self.has_role("service") {
            Some(Role::Writer)
        } else if self.has_role("reader") || self.has_role("member") {
            Some(Role::Reader)
        } else {
            None
        }
    }
}

/// What is known of who has a token.
#[derive(Debug)]
pub struct Known {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) scope: Option<String>,
    pub(super) expires_ms: Option<u64>,
    pub(super) revoked: AtomicBool,
}

impl Identity {
    /// For the log.
    pub fn name(&self) -> Option<&str> {
        match self {
            Identity::Everybody | Identity::Stranger => None,
            Identity::Known(known) => Some(&known.name),
            Identity::Principal(principal) => Some(&principal.user),
        }
    }

    /// `None`: nothing but open routes.
    pub fn role(&self) -> Option<Role> {
        match self {
            Identity::Everybody => Some(Role::Admin),
            Identity::Stranger => None,
            Identity::Known(known) => Some(known.role),
            Identity::Principal(principal) => principal.role(),
        }
    }

    /// What the identity is confined to, in the words of its token; `None`: it is not.
    pub fn scope(&self) -> Option<&str> {
        match self {
            Identity::Everybody | Identity::Stranger | Identity::Principal(_) => None,
            Identity::Known(known) => known.scope.as_deref(),
        }
    }

    /// Whether the token has been taken back, or its time is over, since the request was admitted. A reply that goes on
    /// for long ends then.
    pub fn has_lapsed(&self) -> bool {
        match self {
            Identity::Everybody | Identity::Stranger | Identity::Principal(_) => false,
            Identity::Known(known) => {
                known.revoked.load(Ordering::Relaxed) || known.has_expired(super::expiry::now_ms())
            }
        }
    }
}

impl Known {
    pub(super) fn has_expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires_ms| expires_ms <= now_ms)
    }
}
