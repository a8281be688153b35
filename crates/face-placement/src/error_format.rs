//! How the edge writes errors on paths of this face when no handler runs. As in Placement, authentication is checked
//! first, then the version, then whether the path exists.

use allod_edge::{Access, Denied, ErrorCause, ErrorContext, ErrorFormat, Problem, Reply};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::error::{self, PlacementError, ReplyContext};
use crate::versions::Microversion;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-openstack-request-id");

#[derive(Debug)]
pub(crate) struct PlacementErrors;

impl ErrorFormat for PlacementErrors {
    fn answer(&self, context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> Reply {
        let request_id = request_id(context.request_id);
        let version = Microversion::of(context.headers);
        let error = match (cause, &version) {
            (ErrorCause::Denied(Denied::Role { .. }), _) => PlacementError::forbidden("this"),
            (ErrorCause::Denied(_), _) => {
                return named(error::unauthorized(context.headers), &request_id);
            }
            (ErrorCause::Other(problem), version) if problem.code == Problem::UNTYPED_BODY => {
                version.as_ref().err().cloned().unwrap_or_else(untyped)
            }
            (ErrorCause::Other(problem), _) => {
                let error = PlacementError::new(problem.status, problem.detail.clone())
                    .into_middleware_error();
                match problem.retry_after_s {
                    Some(seconds) => error.retry_after(seconds),
                    None => error,
                }
            }
            (_, Err(error)) => error.clone(),
            (_, Ok(_)) if lacks_type(context.headers) => untyped(),
            (ErrorCause::NoRoute, Ok(_)) => PlacementError::missing(""),
            (ErrorCause::MethodNotAllowed(allow), Ok(_)) => PlacementError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "The method specified is not allowed for this resource.",
            )
            .allowing(allow),
        };
        let context = ReplyContext {
            method: context.method,
            headers: context.headers,
            request_id: &request_id,
            version: version.ok(),
        };
        named(error.reply(&context), &request_id)
    }

    fn head_is_get(&self) -> bool {
        false
    }

    fn unrouted_access(&self) -> Access {
        Access::Authenticated
    }

    fn allows_foreign_reads(&self) -> bool {
        true
    }
}

/// Whether the request has a body without a content type.
pub(crate) fn lacks_type(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let has_body = length.and_then(|length| length.parse().ok()).is_some_and(|len: u64| len > 0);
    has_body && headers.get(CONTENT_TYPE).is_none_or(HeaderValue::is_empty)
}

pub(crate) fn untyped() -> PlacementError {
    PlacementError::bad_request("content-type header required when content-length > 0")
        .into_middleware_error()
}

/// The request ID in OpenStack's form.
pub(crate) fn request_id(id: &HeaderValue) -> String {
    let text = id.to_str().unwrap_or_default();
    if text.starts_with("req-") { text.to_owned() } else { format!("req-{text}") }
}

/// Adds the request ID header.
pub(crate) fn named(mut reply: Reply, request_id: &str) -> Reply {
    if let Ok(value) = HeaderValue::from_str(request_id) {
        reply.headers_mut().insert(REQUEST_ID, value);
    }
    reply
}
