//! Requests that are answered from outside: by a client with the role allocator, or by an authority.

use std::sync::Arc;

use super::{AlarmSettings, Request, RequestPool, Supply};
use crate::authority::RefusalCode;
use crate::pool::Labels;
use crate::span::Span;

/// What answers the requests of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allocator {
    /// This server.
    Internal,
    /// A client, with [`AnswerRequest`].
    External,
    /// The authority with this name.
    Authority(Arc<str>),
}

/// A node of a YANG module that the site has added to pools or requests. The core stores it, and passes it to the authority
/// of the pool as a parameter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteNode {
    /// Its path below the pool or the request, with module names: `acme:vrf`, `request/acme:vrf`.
    pub path: Arc<str>,
    pub value: SiteValue,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteValue {
    Text(Arc<str>),
    /// Anything but a string, as JSON.
    Json(Arc<str>),
}

/// The nodes of a pool or a request, sorted by path.
pub type SiteNodes = Arc<[SiteNode]>;

impl SiteNode {
    /// The value as text.
    pub fn text(&self) -> &Arc<str> {
        match &self.value {
            SiteValue::Text(text) | SiteValue::Json(text) => text,
        }
    }

    /// The name without the modules and the nodes above it.
    pub fn name(&self) -> &str {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        last.split_once(':').map_or(last, |(_, name)| name)
    }

    pub fn bytes(&self) -> usize {
        self.path.len() + self.text().len()
    }
}

/// A client that allocates the values of a pool answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerRequest {
    pub pool: Arc<str>,
    pub key: Arc<str>,
    /// The version of the request that it answers. A request that has changed since refuses the answer.
    pub version: u64,
    /// A pool that has changed after this position refuses the answer. `None`: other changes do not matter.
    pub seen: Option<u64>,
    pub response: Response,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    Granted(Span),
    /// The reason.
    Failed(Arc<str>),
}

/// Why an allocator or an authority has not granted a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideFailure {
    /// Only an authority has one.
    pub code: Option<RefusalCode>,
    pub text: Arc<str>,
}

impl OutsideFailure {
    pub fn code(&self) -> &'static str {
        self.code.map_or("refused_by_allocator", RefusalCode::name)
    }
}

impl RequestPool {
    /// A pool whose requests this server answers.
    pub fn new(supply: Supply, alarms: AlarmSettings) -> RequestPool {
        RequestPool { supply, alarms, allocator: None, site: SiteNodes::default() }
    }

    /// Whether this server answers the requests at once.
    pub fn answers_itself(&self) -> bool {
        matches!(self.allocator, None | Some(Allocator::Internal))
    }

    pub fn is_external(&self) -> bool {
        self.allocator == Some(Allocator::External)
    }

    pub fn authority(&self) -> Option<&Arc<str>> {
        match &self.allocator {
            Some(Allocator::Authority(name)) => Some(name),
            None | Some(Allocator::Internal | Allocator::External) => None,
        }
    }

    /// The nodes of the pool and of the request as parameters for an authority. Those of the request take precedence.
    pub fn parameters(&self, request: &Request) -> Labels {
        let all = self.site.iter().chain(request.site.iter());
        let all = all.map(|node| (Arc::from(node.name()), node.text().clone()));
        let sorted: std::collections::BTreeMap<Arc<str>, Arc<str>> = all.collect();
        sorted.into_iter().collect()
    }
}
