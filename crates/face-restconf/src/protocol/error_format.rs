//! How the edge writes its own errors on paths of this face: as `ietf-restconf` errors.

use std::sync::Arc;

use allod_edge::{Access, Denied, ErrorCause, ErrorContext, ErrorFormat, Problem, Reply};
use http::header::{ALLOW, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use super::endpoint::ApiEndpoint;
use super::errors::ErrorResponder;
use crate::error::{ErrorTag, ErrorType, RestconfError, invalid_value};
use crate::settings::RestconfSettings;

#[derive(Debug)]
pub(super) struct RestconfErrors(pub Arc<RestconfSettings>);

impl ErrorFormat for RestconfErrors {
    fn answer(&self, context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> Reply {
        let error = error(context, cause);
        let endpoint = ApiEndpoint::of(context.path, context.headers).0;
        let mut reply =
            ErrorResponder { endpoint, headers: context.headers, settings: &self.0 }.reply(&error);
        let headers = reply.headers_mut();
        match cause {
            ErrorCause::MethodNotAllowed(allow) => {
                headers.insert(ALLOW, (*allow).clone());
            }
            ErrorCause::Denied(Denied::Role { .. }) => {}
            ErrorCause::Denied(_) => {
                let challenge = HeaderValue::from_static("Basic realm=\"allod\"");
                headers.insert(WWW_AUTHENTICATE, challenge);
            }
            ErrorCause::NoRoute | ErrorCause::Other(_) => {}
        }
        reply
    }

    fn unrouted_access(&self) -> Access {
        Access::Authenticated
    }
}

fn error(context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> RestconfError {
    match cause {
        ErrorCause::NoRoute => {
            let message = format!("no resource at {}", context.path);
            invalid_value(message).with_status(StatusCode::NOT_FOUND)
        }
        ErrorCause::MethodNotAllowed(allow) => {
            let allow = allow.to_str().unwrap_or_default();
            let message = format!("the method {} is not allowed, only {allow}", context.method);
            RestconfError::not_supported(message).with_status(StatusCode::METHOD_NOT_ALLOWED)
        }
        ErrorCause::Denied(denied) => {
            let problem = denied.problem();
            RestconfError::protocol(ErrorTag::AccessDenied, problem.detail)
                .with_status(problem.status)
        }
        ErrorCause::Other(problem) => from_problem(problem),
    }
}

/// Converts a problem of the edge: an exceeded limit, or a failed handler.
pub(super) fn from_problem(problem: &Problem) -> RestconfError {
    let tag = match problem.status {
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::URI_TOO_LONG => ErrorTag::TooBig,
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => ErrorTag::ResourceDenied,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ErrorTag::InvalidValue,
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => ErrorTag::AccessDenied,
        status if status.is_client_error() => ErrorTag::MalformedMessage,
        _ => ErrorTag::OperationFailed,
    };
    let error = RestconfError::new(ErrorType::Transport, tag, problem.detail.clone())
        .with_status(problem.status);
    RestconfError { retry_after_s: problem.retry_after_s, ..error }
}
