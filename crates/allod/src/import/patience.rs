//! Asking again after "not now": when that makes sense, and for how long.

use std::time::{Duration, Instant};

use http::StatusCode;

use crate::failed::Failed;

/// How long to wait before asking again, at first and at last.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// For how long to go on asking.
#[derive(Debug)]
pub struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    pub fn of(patience: Duration) -> Patience {
        Patience { until: Instant::now() + patience, pause: PAUSE_MIN }
    }

    /// Waits a while, longer each time; `false` when that is no use any more.
    pub async fn lasts(&mut self) -> bool {
        let lasts = Instant::now() + self.pause <= self.until;
        if lasts {
            tokio::time::sleep(self.pause).await;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
        lasts
    }
}

/// "Not now."
pub fn is_later(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 502..=504)
}

/// Whether it can be another one in a moment: a server that is being restarted, a connection that broke.
pub fn may_pass(failed: &Failed) -> bool {
    matches!(failed, Failed::Running(_) | Failed::Later(_))
}
