//! The limits of the reactor: each has a name and a default.

/// Nothing that somebody outside does, or does not do, costs more than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// After so many attempts a notice is given up, and an alarm says so.
    pub outbox_attempts_max: u64,
    /// How long to wait after the first attempt. After each further one it is twice as long.
    pub outbox_backoff_first_ms: u64,
    pub outbox_backoff_max_ms: u64,
    /// How long a notice lies that is ready before another server that shares the journal takes it up.
    pub outbox_takeover_ms: u64,
    /// How long one request may take, from the connection to the head of its answer.
    pub webhook_ms_max: u64,
    /// Requests of one webhook that are under way at a time.
    pub webhook_parallel_max: u64,
    /// How much of an answer is read.
    pub webhook_answer_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            outbox_attempts_max: 10,
            outbox_backoff_first_ms: 1000,
            outbox_backoff_max_ms: 5 * 60 * 1000,
            outbox_takeover_ms: 60 * 1000,
            webhook_ms_max: 30 * 1000,
            webhook_parallel_max: 8,
            webhook_answer_bytes_max: 64 * 1024,
        }
    }
}
