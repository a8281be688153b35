//! How the edge answers on paths of this face when no handler does: as an error of `ietf-restconf`, whatever it is about.

use std::sync::Arc;

use allod_edge::{Access, Asked, Denied, Manner, Problem, Reply, Trouble};
use http::header::{ALLOW, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use super::errors::Listener;
use super::space::Space;
use crate::fault::{Fault, Layer, Tag};
use crate::settings::Settings;

#[derive(Debug)]
pub(super) struct Restconfs(pub Arc<Settings>);

impl Manner for Restconfs {
    fn answer(&self, asked: &Asked<'_>, trouble: &Trouble<'_>) -> Reply {
        let fault = fault(asked, trouble);
        let space = Space::of(asked.path, asked.headers).0;
        let mut reply = Listener { space, headers: asked.headers, settings: &self.0 }.tell(&fault);
        let headers = reply.headers_mut();
        match trouble {
            Trouble::OtherMethods(allow) => {
                headers.insert(ALLOW, (*allow).clone());
            }
            Trouble::Denied(Denied::Role { .. }) => {}
            Trouble::Denied(_) => {
                let challenge = HeaderValue::from_static("Basic realm=\"allod\"");
                headers.insert(WWW_AUTHENTICATE, challenge);
            }
            Trouble::NoRoute | Trouble::Other(_) => {}
        }
        reply
    }

    fn access_to_nothing(&self) -> Access {
        Access::Known
    }
}

fn fault(asked: &Asked<'_>, trouble: &Trouble<'_>) -> Fault {
    match trouble {
        Trouble::NoRoute => {
            let message = format!("there is nothing at {}", asked.path);
            Fault::protocol(Tag::InvalidValue, message).with_status(StatusCode::NOT_FOUND)
        }
        Trouble::OtherMethods(allow) => {
            let allow = allow.to_str().unwrap_or_default();
            let message = format!("{} is not answered here, only {allow}", asked.method);
            Fault::protocol(Tag::OperationNotSupported, message)
                .with_status(StatusCode::METHOD_NOT_ALLOWED)
        }
        Trouble::Denied(denied) => {
            let problem = denied.problem();
            Fault::protocol(Tag::AccessDenied, problem.detail).with_status(problem.status)
        }
        Trouble::Other(problem) => of_problem(problem),
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
