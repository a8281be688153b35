//! The limits of the reactor, with their defaults.

/// Bounds what external systems can cost this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReactorLimits {
    /// After this many attempts delivery is given up and an alarm is raised.
    pub outbox_attempts_max: u64,
    /// The delay after the first failed attempt. It doubles after each further one.
    pub outbox_backoff_first_ms: u64,
    pub outbox_backoff_max_ms: u64,
    /// How long a due notification waits before a server that is not the leader delivers it.
    pub outbox_takeover_ms: u64,
    /// The time limit of one request, from connecting to the end of the response.
    pub webhook_ms_max: u64,
    /// Parallel requests of one webhook.
    pub webhook_parallel_max: u64,
    /// The size of a response. A larger one is a failed attempt; of an error response only the beginning is read.
    pub webhook_answer_bytes_max: u64,
    /// The delay after the first failed request to an authority for a claim. It doubles after each further one.
    pub authority_backoff_first_ms: u64,
    pub authority_backoff_max_ms: u64,
    /// The longest pause of all requests to an authority that does not answer, unless it asks for a longer one.
    pub authority_pause_ms_max: u64,
    /// How long a due claim or release waits before a server that is not the leader asks the authority.
    pub authority_takeover_ms: u64,
    /// The size of an answer of an authority.
    pub authority_answer_bytes_max: u64,
}

impl Default for ReactorLimits {
    fn default() -> ReactorLimits {
        ReactorLimits {
            outbox_attempts_max: 10,
            outbox_backoff_first_ms: 1000,
            outbox_backoff_max_ms: 5 * 60 * 1000,
            outbox_takeover_ms: 60 * 1000,
            webhook_ms_max: 30 * 1000,
            webhook_parallel_max: 8,
            webhook_answer_bytes_max: 64 * 1024,
            authority_backoff_first_ms: 200,
            authority_backoff_max_ms: 20 * 1000,
            authority_pause_ms_max: 5 * 1000,
            authority_takeover_ms: 20 * 1000,
            authority_answer_bytes_max: 1 << 20,
        }
    }
}
