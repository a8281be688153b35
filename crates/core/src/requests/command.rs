//! Commands about request pools and standing requests.

use std::sync::Arc;

use super::{AnswerRequest, Request, RequestPool};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestsCommand {
    Edit(EditRequests),
    Answer(AnswerRequest),
    /// Adds a request if it can be granted at once; otherwise changes nothing.
    Allocate(FindValue),
    /// Answers what [`RequestsCommand::Allocate`] would get. Changes nothing.
    Find(FindValue),
}

impl RequestsCommand {
    /// Whether it creates, reconfigures or removes a pool.
    pub(crate) fn changes_pools(&self) -> bool {
        match self {
            RequestsCommand::Answer(_)
            | RequestsCommand::Allocate(_)
            | RequestsCommand::Find(_) => false,
            RequestsCommand::Edit(edit) => edit.pools.iter().any(|(_, edit)| match edit {
                RequestPoolEdit::Remove => true,
                RequestPoolEdit::Put(put) | RequestPoolEdit::PutOver(_, put) => {
                    put.config.is_some()
                }
                RequestPoolEdit::Requests(_) => false,
            }),
        }
    }
}

/// Changes to pools and requests, made together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRequests {
    /// The position of the state that the edit is based on. A pool that has changed since refuses the edit.
    pub seen: u64,
    /// Whether any later change, also of other pools, refuses the edit.
    pub seen_all: bool,
    pub pools: Vec<(Arc<str>, RequestPoolEdit)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestPoolEdit {
    /// Removes the pool and all of its requests. A missing pool is no error.
    Remove,
    Put(Box<PutRequestPool>),
    /// As `Put`, but refused only if the configuration is not this one (`None`: the pool exists). Other changes to the
    /// pool since [`EditRequests::seen`] do not matter.
    PutOver(Option<Arc<RequestPool>>, Box<PutRequestPool>),
    /// Changes only these requests. Other changes to the pool since [`EditRequests::seen`] do not matter.
    Requests(Vec<RequestEdit>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEdit {
    pub key: Arc<str>,
    /// The request that the edit is based on; another one refuses the edit. `None`: there must be no request.
    pub before: Option<Arc<Request>>,
    /// `None`: the request is withdrawn.
    pub after: Option<Request>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PutRequestPool {
    /// `None`: unchanged.
    pub config: Option<RequestPool>,
    /// Whether requests that are not in `put` are withdrawn.
    pub replace: bool,
    pub put: Vec<(Arc<str>, Request)>,
    pub withdraw: Vec<Arc<str>>,
}

/// A request to several pools that must all grant the same value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindValue {
    pub pools: Vec<Arc<str>>,
    pub key: Arc<str>,
    pub request: Request,
}
