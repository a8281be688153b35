//! Metrics of authentication: by role and by reason, never by name.

use metrics::{Counter, counter, describe_counter};

use super::{Denied, Identity, Role};

const REQUESTS: &str = "allod_auth_requests_total";
const DENIED: &str = "allod_auth_denied_total";

pub(crate) fn describe() {
    describe_counter!(REQUESTS, "Authenticated requests that were allowed, by role");
    describe_counter!(DENIED, "Requests denied with 401 or 403 by the HTTP server, by reason");
}

pub(crate) struct AuthMeter {
    /// Indexed by role.
    admitted: [Counter; Role::ALL.len()],
    missing: Counter,
    malformed: Counter,
    unknown: Counter,
    expired: Counter,
    role: Counter,
    site: Counter,
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
            site: denied("site"),
        }
    }

    /// Counts a request with a foreign Host or Origin.
    pub(crate) fn record_foreign(&self) {
        self.site.increment(1);
    }

    pub(crate) fn record(&self, admitted: &Result<Identity, Denied>) {
        let counter = match admitted {
            Ok(Identity::Unrestricted | Identity::Anonymous) => return,
            Ok(identity @ (Identity::Token(_) | Identity::Principal(_))) => match identity.role() {
                Some(role) => &self.admitted[role as usize],
                // An OpenStack user without a corresponding role: the face decides.
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
