//! What has happened to pools of resources, to what is asked of them, and to those who wait for the answer.

use std::sync::Arc;

use crate::resource::{AlarmKind, Answer, Redeploy, Request, ResourcePool};

/// The pool is configured like this from now on. Which values that makes is a definition of the pool of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePoolDefined {
    pub pool: Arc<str>,
    pub config: ResourcePool,
}

/// The request is like this from now on, and was answered like this. What it got is a claim.
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

/// Something is wrong with an object, or is no longer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmChanged {
    pub object: Arc<str>,
    pub kind: AlarmKind,
    /// Of a pool of ids.
    pub ids: bool,
    pub raised: bool,
    pub at_ms: u64,
}

impl AlarmChanged {
    /// The pool that it is about; a service is none.
    pub fn pool(&self) -> Option<&Arc<str>> {
        (self.kind != AlarmKind::Undelivered).then_some(&self.object)
    }
}

/// An alarm that is over is no longer shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmPurged {
    pub object: Arc<str>,
    pub kind: AlarmKind,
}

/// Somebody outside is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeQueued {
    /// Its number in the outbox: the position of the entry, and the place in it.
    pub number: u128,
    pub target: Arc<str>,
    pub user: Arc<str>,
    pub how: Redeploy,
    /// The pools and keys whose answers have changed.
    pub about: Vec<(Arc<str>, Arc<str>)>,
    pub at_ms: u64,
}

/// It was tried and did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeTried {
    pub number: u128,
    pub attempts: u32,
    pub error: Arc<str>,
    /// When it is tried again. `None`: not by itself.
    pub again_ms: Option<u64>,
}

/// It has been told, or dropped by somebody who looked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeSettled {
    pub number: u128,
    pub delivered: bool,
}
