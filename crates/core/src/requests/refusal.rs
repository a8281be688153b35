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
        /// The allocator of the pool answers later, and the command needs an answer at once.
        AnsweredOutside { pool: Arc<str> }
            => "answered_outside", Change,
               "the allocator of pool '{pool}' is outside and answers later; write a request and read its response";
        /// Only the requests of a pool with an external allocator can be answered by a client.
        AnswersItself { pool: Arc<str> }
            => "answers_itself", Change, "pool '{pool}' has no external allocator; its responses are read only";
        RequestUnknown { pool: Arc<str>, key: Arc<str> }
            => "request_unknown", Reread, "pool '{pool}' has no request '{key}'";
        /// The answer has a value that the request does not want.
        AnswerDiffers { pool: Arc<str>, key: Arc<str>, wanted: String }
            => "answer_differs", Change, "request '{key}' in pool '{pool}' wants {wanted}";
        /// The allocator of a pool with requests cannot be changed.
        AllocatorInUse { pool: Arc<str>, requests: u64 }
            => "allocator_in_use", WaitForRelease,
               "pool '{pool}' has {requests} requests, so its allocator cannot be changed; withdraw them first";
        /// Something has changed since the state that an edit is based on.
        Changed { at: u64 }
            => "resources_changed", Reread, "the pools have changed at position {at}, after they were read";
    }
}
