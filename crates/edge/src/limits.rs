//! The limits of the protocol: each has a name, a default and a reply.

/// The limits of one server. In brackets is the reply to a request that exceeds the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Length of a request body (413).
    pub body_bytes_max: u64,
    /// Length of the request line and all headers (431).
    pub header_bytes_max: u64,
    /// Length of path and query (414).
    pub uri_bytes_max: u64,
    /// Open connections (503 with Retry-After, then closed).
    pub connections_max: u64,
    /// Connections that wait to be accepted; the kernel has a limit of its own (later ones wait longer).
    pub accept_queue_max: u64,
    /// Bytes of large bodies and replies in memory, of all clients (503 with Retry-After).
    pub in_flight_bytes_max: u64,
    /// The same for one client (429 with Retry-After).
    pub in_flight_bytes_per_client_max: u64,
    /// From the end of the headers to the head of the reply (408 while the body is being received, 504 after).
    pub request_ms_max: u64,
    /// From an accepted connection to the end of its TLS handshake (closed).
    pub handshake_ms_max: u64,
    /// From the first byte of a request to the end of its headers (408, then closed).
    pub header_read_ms_max: u64,
    /// How long an idle connection stays open (closed).
    pub idle_ms_max: u64,
    /// How long a client may not read what is sent to it (closed).
    pub stall_ms_max: u64,
    /// How long a stopping server waits for the requests in flight.
    pub stop_ms_max: u64,
    /// How long a stopping server waits for requests that are not complete (closed).
    pub stop_receive_ms_max: u64,
}

impl Default for HttpLimits {
    fn default() -> HttpLimits {
        HttpLimits {
            body_bytes_max: 1024 * 1024,
            header_bytes_max: 64 * 1024,
            uri_bytes_max: 8 * 1024,
            connections_max: 16_000,
            accept_queue_max: 4096,
            in_flight_bytes_max: 512 * 1024 * 1024,
            in_flight_bytes_per_client_max: 256 * 1024 * 1024,
            request_ms_max: 30_000,
            handshake_ms_max: 10_000,
            header_read_ms_max: 10_000,
            idle_ms_max: 300_000,
            stall_ms_max: 30_000,
            stop_ms_max: 30_000,
            stop_receive_ms_max: 1000,
        }
    }
}
