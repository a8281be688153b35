//! Events about request pools and standing requests.

use std::sync::Arc;

use super::{Answer, Request, RequestPool};
use crate::event::event_group;

event_group!(Requests: RequestsEvent {
    PoolDefined(RequestPoolDefined),
    Answered(RequestAnswered),
    Withdrawn(RequestWithdrawn),
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
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestWithdrawn {
    pub pool: Arc<str>,
    pub key: Arc<str>,
}
