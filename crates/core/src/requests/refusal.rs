//! Refusals of commands about request pools. A request that gets no value is not refused: its answer is a failure.

use std::sync::Arc;

use crate::refusal::refusals;

refusals! {
    pub enum RequestsRefusal {
        /// The pool has no requests, or its supply is of another kind (ids, addresses).
        NotRequestPool { pool: Arc<str> }
            => "not_resources", Change, "pool '{pool}' is not a resource pool of this kind";
        /// A command of another interface would change a request pool, or the claim of a request.
        Managed { pool: Arc<str>, key: Option<Arc<str>> }
            => "kept_by_resource_manager", Change, "{}", match key {
                None => format!("pool '{pool}' is managed by the resource-manager; change it there"),
                Some(key) => format!(
                    "the claim of '{key}' in pool '{pool}' belongs to a request of the resource-manager; \
                     withdraw the request there"
                ),
            };
        /// Something has changed since the state that an edit is based on.
        Changed { at: u64 }
            => "resources_changed", Reread, "the pools have changed at position {at}, after they were read";
    }
}
