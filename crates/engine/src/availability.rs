//! Whether the journal can be written at present, as far as the writer knows.
//!
//! The writer's calls of the journal block. So while the journal does not answer, commands are refused before they are
//! queued, and the writer alone finds out when it answers again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use allod_journal::JournalError;
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Availability {
    /// Why writes fail.
    reason: Mutex<Option<String>>,
    /// Commands are refused before they are queued. Changed only while `reason` is locked.
    refuses: AtomicBool,
    /// When the writer began the call of the journal that is in progress.
    call: Mutex<Option<Instant>>,
}

impl Availability {
    /// The last append succeeded.
    pub(crate) fn restored(&self) {
        self.set(None, false);
    }

    /// A call of the journal failed. Without room, commands that change nothing are still answered, so they are queued.
    pub(crate) fn failed(&self, error: &JournalError) {
        let refuses =
            matches!(error, JournalError::Unavailable { .. } | JournalError::Untried { .. });
        self.set(Some(error.to_string()), refuses);
    }

    /// The journal does not answer at all.
    pub(crate) fn unreachable(&self, reason: String) {
        self.set(Some(reason), true);
    }

    fn set(&self, reason: Option<String>, refuses: bool) {
        let mut held = self.reason.lock();
        *held = reason;
        self.refuses.store(refuses, Ordering::Release);
    }

    /// Why writes fail at present.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    /// Why a command is not even queued at present.
    pub(crate) fn refusal(&self) -> Option<String> {
        if self.refuses.load(Ordering::Acquire) { self.reason() } else { None }
    }

    /// Makes a call of the journal, and remembers when it began.
    pub(crate) fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        *self.call.lock() = Some(Instant::now());
        let answer = call();
        *self.call.lock() = None;
        answer
    }

    /// Refuses commands if the call in progress takes longer than `wait_max`. The end of the call decides what follows.
    pub(crate) fn check_call(&self, wait_max: Duration) {
        let call = self.call.lock();
        if call.is_some_and(|began| began.elapsed() > wait_max) {
            let seconds = wait_max.as_secs();
            self.unreachable(format!(
                "the journal is unavailable: it has not answered for {seconds} s"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_journal_that_does_not_answer_refuses_commands() {
        let availability = Availability::default();
        availability.failed(&JournalError::Full { what: "no room".into() });
        assert!(availability.reason().is_some_and(|reason| reason.contains("no room")));
        assert_eq!(availability.refusal(), None);
        availability.failed(&JournalError::Unavailable { what: "gone".into() });
        assert!(availability.refusal().is_some_and(|reason| reason.contains("gone")));
        availability.restored();
        assert_eq!((availability.reason(), availability.refusal()), (None, None));
    }

    #[test]
    fn a_call_without_an_answer_refuses_commands_until_an_append_succeeds() {
        let availability = Availability::default();
        availability.check_call(Duration::ZERO);
        assert_eq!(availability.refusal(), None);
        availability.during(|| {
            availability.check_call(Duration::from_secs(3600));
            assert_eq!(availability.refusal(), None);
            std::thread::sleep(Duration::from_millis(1));
            availability.check_call(Duration::ZERO);
        });
        assert!(availability.refusal().is_some());
        availability.restored();
        availability.check_call(Duration::ZERO);
        assert_eq!(availability.refusal(), None);
    }
}
