//! How the edge answers on paths of this face when no handler does: as an error of `ietf-restconf`, whatever it is about.

use std::sync::Arc;

use allod_edge::{Access, Denied, ErrorCause, ErrorContext, ErrorFormat, Problem, Reply};
use http::header::{ALLOW, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use super::errors::Listener;
use super::space::Space;
use crate::fault::{Fault, Layer, Tag};
use crate::settings::Settings;

#[derive(Debug)]
pub(super) struct RestconfErrors(pub Arc<Settings>);

impl ErrorFormat for RestconfErrors {
    fn answer(&self, context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> Reply {
        let fault = fault(context, cause);
        let space = Space::of(context.path, context.headers).0;
        let mut reply =
            Listener { space, headers: context.headers, settings: &self.0 }.tell(&fault);
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

fn fault(context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> Fault {
    match cause {
        ErrorCause::NoRoute => {
            let message = format!("there is nothing at {}", context.path);
            Fault::protocol(Tag::InvalidValue, message).with_status(StatusCode::NOT_FOUND)
        }
        ErrorCause::MethodNotAllowed(allow) => {
            let allow = allow.to_str().unwrap_or_default();
            let message = format!("{} is not answered here, only {allow}", context.method);
            Fault::protocol(Tag::OperationNotSupported, message)
                .with_status(StatusCode::METHOD_NOT_ALLOWED)
        }
        ErrorCause::Denied(denied) => {
            let problem = denied.problem();
            Fault::protocol(Tag::AccessDenied, problem.detail).with_status(problem.status)
        }
        ErrorCause::Other(problem) => of_problem(problem),
    }
}

/// What the edge says of a limit or of a handler that failed.
pub(super) fn of_problem(problem: &Problem) -> Fault {
    let tag = match problem.status {
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::URI_TOO_LONG => Tag::TooBig,
        StatusCode::SERVICE_UNAVAILABLE => Tag::ResourceDenied,
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => Tag::AccessDenied,
        status if status.is_client_error() => Tag::MalformedMessage,
        _ => Tag::OperationFailed,
    };
    let fault =
        Fault::new(Layer::Transport, tag, problem.detail.clone()).with_status(problem.status);
    Fault { retry_after_s: problem.retry_after_s, ..fault }
}
