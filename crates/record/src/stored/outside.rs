//! Request pools and requests that are answered from outside, or that have nodes of a site's own modules.

use allod_core::requests::event::{RequestAnswered, RequestPoolDefined, RequestWithdrawn};
use allod_core::requests::{
    Allocator, Answer, Failure, OutsideFailure, Request, RequestPool, SiteNode, SiteNodes,
    SiteValue,
};
use serde::{Deserialize, Serialize};

use super::form::{StoredForm, stored_structs};
use super::number::RefusalCodeV1;
use super::requests::{AnswerV1, RequestPoolV1, RequestV1};

stored_structs! {
    SiteNodeV1<'a> of SiteNode {
        path: &'a str,
        #[serde(borrow)]
        value: SiteValueV1<'a>,
    }

    OutsideFailureV1<'a> of OutsideFailure {
        code: Option<RefusalCodeV1>,
        text: &'a str,
    }

    RequestPoolDefinedV2<'a> of RequestPoolDefined {
        pool: &'a str,
        #[serde(borrow)]
        config: RequestPoolV2<'a>,
    }

    RequestAnsweredV2<'a> of RequestAnswered {
        pool: &'a str,
        key: &'a str,
        #[serde(borrow)]
        request: RequestV2<'a>,
        #[serde(borrow)]
        answer: AnswerV2<'a>,
        version: u64,
    }

    RequestWithdrawnV2<'a> of RequestWithdrawn {
        pool: &'a str,
        key: &'a str,
        version: u64,
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum SiteValueV1<'a> {
    Text(&'a str),
    Json(&'a str),
}

impl<'a> StoredForm<'a, SiteValue> for SiteValueV1<'a> {
    fn store(value: &'a SiteValue) -> SiteValueV1<'a> {
        match value {
            SiteValue::Text(text) => SiteValueV1::Text(text),
            SiteValue::Json(text) => SiteValueV1::Json(text),
        }
    }

    fn load(self) -> SiteValue {
        match self {
            SiteValueV1::Text(text) => SiteValue::Text(text.into()),
            SiteValueV1::Json(text) => SiteValue::Json(text.into()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SiteNodesV1<'a>(#[serde(borrow)] Vec<SiteNodeV1<'a>>);

impl<'a> StoredForm<'a, SiteNodes> for SiteNodesV1<'a> {
    fn store(nodes: &'a SiteNodes) -> SiteNodesV1<'a> {
        SiteNodesV1(nodes.iter().map(StoredForm::store).collect())
    }

    fn load(self) -> SiteNodes {
        self.0.into_iter().map(StoredForm::load).collect()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum AllocatorV1<'a> {
    Internal,
    External,
    Authority(&'a str),
}

impl<'a> StoredForm<'a, Allocator> for AllocatorV1<'a> {
    fn store(allocator: &'a Allocator) -> AllocatorV1<'a> {
        match allocator {
            Allocator::Internal => AllocatorV1::Internal,
            Allocator::External => AllocatorV1::External,
            Allocator::Authority(name) => AllocatorV1::Authority(name),
        }
    }

    fn load(self) -> Allocator {
        match self {
            AllocatorV1::Internal => Allocator::Internal,
            AllocatorV1::External => Allocator::External,
            AllocatorV1::Authority(name) => Allocator::Authority(name.into()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestPoolV2<'a> {
    config: RequestPoolV1,
    #[serde(borrow)]
    allocator: Option<AllocatorV1<'a>>,
    #[serde(borrow)]
    site: SiteNodesV1<'a>,
}

impl<'a> StoredForm<'a, RequestPool> for RequestPoolV2<'a> {
    fn store(pool: &'a RequestPool) -> RequestPoolV2<'a> {
        RequestPoolV2 {
            config: StoredForm::store(pool),
            allocator: StoredForm::store(&pool.allocator),
            site: StoredForm::store(&pool.site),
        }
    }

    fn load(self) -> RequestPool {
        let (allocator, site) = (self.allocator.load(), self.site.load());
        RequestPool { allocator, site, ..self.config.load() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestV2<'a> {
    #[serde(borrow)]
    request: RequestV1<'a>,
    #[serde(borrow)]
    site: SiteNodesV1<'a>,
}

impl<'a> StoredForm<'a, Request> for RequestV2<'a> {
    fn store(request: &'a Request) -> RequestV2<'a> {
        RequestV2 { request: StoredForm::store(request), site: StoredForm::store(&request.site) }
    }

    fn load(self) -> Request {
        Request { site: self.site.load(), ..self.request.load() }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum AnswerV2<'a> {
    Known(AnswerV1),
    Wanted,
    #[serde(borrow)]
    Outside(OutsideFailureV1<'a>),
}

impl<'a> StoredForm<'a, Answer> for AnswerV2<'a> {
    fn store(answer: &'a Answer) -> AnswerV2<'a> {
        match answer {
            Answer::Wanted => AnswerV2::Wanted,
            Answer::Failed(Failure::Outside(failure)) => {
                AnswerV2::Outside(StoredForm::store(failure))
            }
            Answer::Granted | Answer::Failed(_) => AnswerV2::Known(StoredForm::store(answer)),
        }
    }

    fn load(self) -> Answer {
        match self {
            AnswerV2::Known(answer) => answer.load(),
            AnswerV2::Wanted => Answer::Wanted,
            AnswerV2::Outside(failure) => Answer::Failed(Failure::Outside(failure.load())),
        }
    }
}

/// Whether the configuration needs version 2.
pub(crate) fn has_more(config: &RequestPool) -> bool {
    config.allocator.is_some() || !config.site.is_empty()
}

/// Whether the event needs version 2.
pub(crate) fn is_outside(event: &RequestAnswered) -> bool {
    let by_version = matches!(event.answer, Answer::Wanted | Answer::Failed(Failure::Outside(_)));
    by_version || event.version > 0 || !event.request.site.is_empty()
}

impl<'a> RequestPoolDefinedV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(event: &'a RequestPoolDefined) -> Option<RequestPoolDefinedV2<'a>> {
        has_more(&event.config).then(|| StoredForm::store(event))
    }
}

impl<'a> RequestAnsweredV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(event: &'a RequestAnswered) -> Option<RequestAnsweredV2<'a>> {
        is_outside(event).then(|| StoredForm::store(event))
    }
}

impl<'a> RequestWithdrawnV2<'a> {
    /// `None`: version 1 is sufficient.
    pub fn of(event: &'a RequestWithdrawn) -> Option<RequestWithdrawnV2<'a>> {
        (event.version > 0).then(|| StoredForm::store(event))
    }
}
