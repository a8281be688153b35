//! How the edge answers on paths of this face when no handler does: in Placement's form, and in its order. Who is not known
//! hears only that; then the version has to be agreed on; only then is there something or nothing at a path.

use allod_edge::{Access, Denied, ErrorCause, ErrorContext, ErrorFormat, Reply};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::fault::{self, Fault, Listener};
use crate::versions::Version;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-openstack-request-id");

#[derive(Debug)]
pub(crate) struct PlacementErrors;

impl ErrorFormat for PlacementErrors {
    fn answer(&self, context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> Reply {
        let request_id = request_id(context.request_id);
        let version = Version::of(context.headers);
        let fault = match (cause, &version) {
            (ErrorCause::Denied(Denied::Role { .. }), _) => Fault::forbidden("this"),
            (ErrorCause::Denied(_), _) => {
                return named(fault::unauthorized(context.headers), &request_id);
            }
            (ErrorCause::Other(problem), _) => {
                let fault = Fault::new(problem.status, problem.detail.clone()).in_frame();
                match problem.retry_after_s {
                    Some(seconds) => fault.retry_after(seconds),
                    None => fault,
                }
            }
            (_, Err(fault)) => fault.clone(),
            (_, Ok(_)) if lacks_type(context.headers) => untyped(),
            (ErrorCause::NoRoute, Ok(_)) => Fault::missing(""),
            (ErrorCause::MethodNotAllowed(allow), Ok(_)) => Fault::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "The method specified is not allowed for this resource.",
            )
            .allowing(allow),
        };
        let listener = Listener {
            method: context.method,
            headers: context.headers,
            request_id: &request_id,
            version: version.ok(),
        };
        named(fault.reply(&listener), &request_id)
    }

    fn head_is_get(&self) -> bool {
        false
    }

    fn unrouted_access(&self) -> Access {
        Access::Authenticated
    }
}

/// Whether a body is announced and its type is not.
pub(crate) fn lacks_type(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let has_body = length.and_then(|length| length.parse().ok()).is_some_and(|len: u64| len > 0);
    has_body && headers.get(CONTENT_TYPE).is_none_or(HeaderValue::is_empty)
}

pub(crate) fn untyped() -> Fault {
    Fault::bad_request("content-type header required when content-length > 0").in_frame()
}

/// The request's name as OpenStack writes it.
pub(crate) fn request_id(id: &HeaderValue) -> String {
    let text = id.to_str().unwrap_or_default();
    if text.starts_with("req-") { text.to_owned() } else { format!("req-{text}") }
}

/// With the request's name on it.
pub(crate) fn named(mut reply: Reply, request_id: &str) -> Reply {
    if let Ok(value) = HeaderValue::from_str(request_id) {
        reply.headers_mut().insert(REQUEST_ID, value);
    }
    reply
}
