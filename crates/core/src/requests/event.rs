//! Events about request pools and standing requests.

use std::sync::Arc;

use super::{Answer, Request, RequestPool};
use crate::event::event_group;

event_group!(Requests: RequestsEvent {
    PoolDefined(RequestPoolDefined),
    Answered(RequestAnswered),
    Withdrawn(RequestWithdrawn),
    RetryScheduled(RetryScheduled),
});

/// The configuration of a request pool was set. The values that follow from it are in the `PoolDefined` beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPoolDefined {
    pub pool: Arc<str>,
    pub config: RequestPool,
}

/// A request was added or changed, or its answer changed. A granted value is in the `ClaimGranted` beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestAnswered {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    pub request: Request,
    pub answer: Answer,
    /// Only of a request that is answered from outside, else 0: the position at which it asked.
    pub version: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestWithdrawn {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    /// As in [`RequestAnswered`].
    pub version: u64,
}

/// Failed requests that can perhaps be granted are answered a few at a time. This says where the next tick continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryScheduled {
    /// `None`: the groups of all pools, because a pool with members was removed.
    pub pool: Option<Arc<str>>,
    /// `None`: all of them have been tried.
    pub retry: Option<Retry>,
}

/// Which failed requests are still to be tried, by key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// When the next ones are due.
    pub at_ms: u64,
    /// Only keys after this one. `None`: all.
    pub after: Option<Arc<str>>,
    /// Only keys up to this one. `None`: to the end.
    pub upto: Option<Arc<str>>,
    /// Then again from the first key up to this one: values have become free since those were tried.
    pub again: Option<Arc<str>>,
    /// Whether requests that fail again get the present reason.
    pub update: bool,
}

impl Retry {
    /// All requests.
    pub fn all(at_ms: u64, update: bool) -> Retry {
        Retry { at_ms, after: None, upto: None, again: None, update }
    }

    /// More values have become free: all requests are tried, those that come next first, so that none waits for ever.
    pub fn extended(&self, update: bool) -> Retry {
        let again = self.after.clone();
        Retry { upto: None, again, update: self.update || update, ..self.clone() }
    }

    /// The requests after these; `None` if there are none.
    pub fn then(self) -> Option<Retry> {
        let upto = Some(self.again?);
        Some(Retry { after: None, upto, again: None, ..self })
    }
}
