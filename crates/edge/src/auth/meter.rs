//! What is counted about who comes: by role and by reason, never by name.

use metrics::{Counter, counter, describe_counter};

use super::{Denied, Identity, Role};

const REQUESTS: &str = "allod_auth_requests_total";
const DENIED: &str = "allod_auth_denied_total";

pub(crate) fn describe() {
    describe_counter!(
        REQUESTS,
        "Requests that came with a token which may do what it asked for, by role"
    );
    describe_counter!(
        DENIED,
        "Requests that were turned away with 401 or 403 by the edge, by reason"
    );
}

pub(crate) struct AuthMeter {
    /// In the order of the roles.
    admitted: [Counter; Role::ALL.len()],
    missing: Counter,
    malformed: Counter,
    unknown: Counter,
    expired: Counter,
    role: Counter,
}

impl AuthMeter {
    pub(crate) fn new() -> AuthMeter {
        let denied = |reason: &'static str| counter!(DENIED, "reason" => reason);
        AuthMeter {
            admitted: Role::ALL.map(|role| counter!(REQUESTS, "role" => role.name())),
            missing: denied("missing"),
            malformed: denied("malformed"),
            unknown: denied("unknown"),
            expired: denied("expired"),
            role: denied("role"),
        }
    }

    pub(crate) fn record(&self, asked: &Result<Identity, Denied>) {
        let counter = match asked {
            Ok(Identity::Everybody | Identity::Stranger) => return,
            Ok(identity @ (Identity::Known(_) | Identity::Principal(_))) => match identity.role() {
                Some(role) => &self.admitted[role as usize],
                // Known, with no role among ours: the face says what that means.
                None => return,
            },
            Err(Denied::Missing) => &self.missing,
            Err(Denied::Malformed(_)) => &self.malformed,
            Err(Denied::Unknown) => &self.unknown,
            Err(Denied::Expired { .. }) => &self.expired,
            Err(Denied::Role { .. }) => &self.role,
        };
        counter.increment(1);
    }
}
