//! Retries while a server is unavailable: which answers and errors to retry, and for how long.

use std::time::{Duration, Instant};

use allod_outbound::OutboundError;
use http::StatusCode;

const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Pauses between the attempts of one request, until a deadline.
#[derive(Debug)]
pub struct RetrySchedule {
    until: Instant,
    pause: Duration,
}

impl RetrySchedule {
    pub fn new(patience: Duration) -> RetrySchedule {
        RetrySchedule { until: Instant::now() + patience, pause: PAUSE_MIN }
    }

    /// Pauses, longer each time. Returns `false` at once if the pause would pass the deadline.
    pub async fn pause(&mut self) -> bool {
        let in_time = Instant::now() + self.pause <= self.until;
        if in_time {
            tokio::time::sleep(self.pause).await;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        in_time
    }
}

/// Whether the server says that it is overloaded or unavailable.
pub fn is_unavailable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502..=504)
}

/// Whether the error may be temporary, as when a server restarts.
pub fn is_temporary(error: &OutboundError) -> bool {
    !matches!(error, OutboundError::TooLarge(_))
}
