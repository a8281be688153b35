//! One request, with what all handlers need.

use std::sync::Arc;

use allod_edge::{Call, Consistency, Identity};
use http::{HeaderMap, Method, StatusCode};

use super::Restconf;
use super::endpoint::{ApiEndpoint, EndpointKind, RESTCONF};
use super::errors::{self, ErrorResponder};
use super::media::{self, MediaType};
use crate::codec::Dialect;
use crate::error::{ErrorTag, RestconfError, Result, invalid_value};
use crate::settings::RestconfSettings;

pub(crate) struct RestconfRequest {
    pub call: Call,
    pub endpoint: ApiEndpoint,
    /// Where the path below the endpoint begins.
    rest: usize,
}

impl RestconfRequest {
    pub(crate) fn new(call: Call) -> RestconfRequest {
        let path = call.head.uri.path();
        let (endpoint, rest) = ApiEndpoint::of(path, &call.head.headers);
        let rest = path.len() - rest.len();
        RestconfRequest { call, endpoint, rest }
    }

    pub(crate) fn method(&self) -> &Method {
        &self.call.head.method
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.call.head.headers
    }

    /// The path below the endpoint, still percent-encoded.
    pub(crate) fn rest(&self) -> &str {
        self.call.head.uri.path().get(self.rest..).unwrap_or_default()
    }

    pub(crate) fn query(&self) -> &str {
        self.call.head.uri.query().unwrap_or_default()
    }

    pub(crate) fn reply_media(&self) -> Result<MediaType> {
        media::of_reply(self.headers(), self.endpoint.dialect)
    }

    /// The media type of the body. Where both dialects share a path, the types of both are accepted.
    pub(crate) fn body_media(&self) -> Result<MediaType> {
        let takes_patches = *self.method() == Method::PATCH;
        let own = media::of_body(self.headers(), self.endpoint.dialect, takes_patches);
        match own {
            Err(error)
                if self.endpoint.part == EndpointKind::Operations
                    && self.endpoint.root == RESTCONF =>
            {
                media::of_body(self.headers(), Dialect::Draft02, false).map_err(|_| error)
            }
            own => own,
        }
    }

    pub(crate) fn error_responder<'a>(
        &'a self,
        settings: &'a RestconfSettings,
    ) -> ErrorResponder<'a> {
        ErrorResponder { endpoint: self.endpoint, headers: self.headers(), settings }
    }
}

/// Refuses tokens that are limited to some pools, because a model's data covers all pools.
pub(super) fn admit(identity: &Identity) -> Result<()> {
    match identity.scope() {
        None => Ok(()),
        Some(scope) => Err(RestconfError::protocol(
            ErrorTag::AccessDenied,
            format!("the token is limited to pools whose names begin with '{scope}'; RESTCONF requires access to all pools"),
        )
        .with_status(StatusCode::FORBIDDEN)),
    }
}

impl Restconf {
    /// Waits until the state is as new as the request's headers demand.
    pub(super) async fn wait_for_position(
        self: &Arc<Restconf>,
        request: &RestconfRequest,
    ) -> Result<()> {
        let Consistency { linearizable, min_position } =
            Consistency::of(&request.call).map_err(|problem| invalid_value(problem.detail))?;
        let waited = self.handle.wait_for_read(linearizable, min_position).await;
        waited.map_err(|why| errors::failure(&why))
    }
}
