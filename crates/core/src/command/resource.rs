//! Commands of the resource-manager, and of the outbox through which services are told.

use std::sync::Arc;

use crate::resource::{AlarmKind, Request, ResourcePool};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceCommand {
    Edit(EditResources),
    /// Asks for something: the request is there and has it, or nothing is written.
    Allocate(FindResource),
    /// What that would get. Nothing is written.
    Find(FindResource),
    Notice(NoticeCommand),
    /// Forgets an alarm that is over.
    PurgeAlarm {
        object: Arc<str>,
        kind: AlarmKind,
    },
}

/// What an operator or a service has written, all of it or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditResources {
    /// The position of the state that the edit was made on: a pool that has changed since refuses.
    pub seen: u64,
    /// Whether anything that has changed since refuses.
    pub seen_all: bool,
    pub pools: Vec<(Arc<str>, ResourceEdit)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceEdit {
    /// With all that was asked of it. One that is not there is no error.
    Remove,
    Put(Box<PutResource>),
    /// The same of a pool that is configured like this, or, for `None`, is not there: whatever else of it has changed since the
    /// edit was made is nothing to it.
    PutOver(Option<Arc<ResourcePool>>, Box<PutResource>),
    /// Only these requests: whatever else of the pool has changed since the edit was made is nothing to it.
    Requests(Vec<RequestEdit>),
}

/// What becomes of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEdit {
    pub key: Arc<str>,
    /// What it must be now, or else something has changed since. `None`: it must not be there.
    pub before: Option<Arc<Request>>,
    /// `None`: it is withdrawn.
    pub after: Option<Request>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutResource {
    /// `None`: it stays as it is.
    pub config: Option<ResourcePool>,
    /// Whether the requests below are all there are from now on.
    pub replace: bool,
    pub put: Vec<(Arc<str>, Request)>,
    pub withdraw: Vec<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindResource {
    pub pools: Vec<Arc<str>>,
    pub key: Arc<str>,
    pub request: Request,
}

/// What the reactor tells of a notice, or an operator does to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticeCommand {
    Delivered {
        number: u128,
    },
    Failed {
        number: u128,
        error: Arc<str>,
        again_ms: Option<u64>,
    },
    /// Tries it again at once.
    Retry {
        number: u128,
    },
    Drop {
        number: u128,
    },
}
