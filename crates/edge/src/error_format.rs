//! The format of the errors that the edge sends itself, without a handler: unknown path, wrong method, failed
//! authentication, exceeded limit.
//!
//! The default is problem details. A face that imitates another service registers its own format for the paths below its
//! prefix. Not here: the format of any face.

use std::sync::Arc;

use http::header::ALLOW;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::auth::Denied;
use crate::{Access, Problem, Reply};

/// The request that an error answers.
#[derive(Debug, Clone, Copy)]
pub struct ErrorContext<'a> {
    pub method: &'a Method,
    pub path: &'a str,
    /// Empty if the request was already passed to a handler.
    pub headers: &'a HeaderMap,
    pub request_id: &'a HeaderValue,
}

/// Why the edge answers with an error.
#[derive(Debug)]
pub enum ErrorCause<'a> {
    /// No route has this path.
    NoRoute,
    /// The path has routes for other methods; the value is the Allow header.
    MethodNotAllowed(&'a HeaderValue),
    /// Authentication or authorisation failed.
    Denied(&'a Denied),
    /// A limit was exceeded, or the handler failed.
    Other(&'a Problem),
}

/// Writes errors in the format of one face.
pub trait ErrorFormat: Send + Sync {
    fn answer(&self, context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> Reply;

    /// Whether HEAD is accepted wherever GET is.
    fn head_is_get(&self) -> bool {
        true
    }

    /// The access that a client needs to learn that a path has no route.
    fn unrouted_access(&self) -> Access {
        Access::Open
    }

    /// Whether a server without authentication answers reads that have the `Origin` of another site, as the imitated
    /// service does. A browser keeps such a reply from the page, and marks the request with `Sec-Fetch-Site`: then it is
    /// refused all the same.
    fn allows_foreign_reads(&self) -> bool {
        false
    }
}

/// The default format: problem details (RFC 9457).
#[derive(Debug, Clone, Copy, Default)]
pub struct ProblemDetails;

impl ErrorFormat for ProblemDetails {
    fn answer(&self, context: &ErrorContext<'_>, cause: &ErrorCause<'_>) -> Reply {
        match cause {
            ErrorCause::NoRoute => no_route(context.path).reply(),
            ErrorCause::MethodNotAllowed(allow) => wrong_method(context.method, allow),
            ErrorCause::Denied(denied) => denied.reply(),
            ErrorCause::Other(problem) => problem.reply(),
        }
    }
}

/// The error format of each path prefix.
pub(crate) struct ErrorFormats(Vec<(&'static str, Arc<dyn ErrorFormat>)>);

impl ErrorFormats {
    pub(crate) fn new() -> ErrorFormats {
        ErrorFormats(vec![("/", Arc::new(ProblemDetails))])
    }

    pub(crate) fn set(&mut self, prefix: &'static str, format: Arc<dyn ErrorFormat>) {
        self.0.retain(|(known, _)| *known != prefix);
        self.0.push((prefix, format));
        // Longest prefix first: `of` takes the first match.
        self.0.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
    }

    pub(crate) fn of(&self, path: &str) -> &dyn ErrorFormat {
        let below = |prefix: &str| match path.strip_prefix(prefix) {
            Some(rest) => rest.is_empty() || rest.starts_with('/') || prefix.ends_with('/'),
            None => false,
        };
        let found = self.0.iter().find(|(prefix, _)| below(prefix));
        found.map_or(&ProblemDetails as &dyn ErrorFormat, |(_, format)| &**format)
    }
}

fn no_route(path: &str) -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "route_unknown",
        "no route has this path",
        format!("no route {path}; write a slash inside a name as %2F"),
    )
}

fn wrong_method(method: &Method, allow: &HeaderValue) -> Reply {
    let allowed = allow.to_str().unwrap_or_default();
    let mut reply = Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_unknown",
        "method not allowed",
        format!("{method} is not allowed at this path; allowed: {allowed}"),
    )
    .reply();
    reply.headers_mut().insert(ALLOW, allow.clone());
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    struct StatusOnly(u16);

    impl ErrorFormat for StatusOnly {
        fn answer(&self, _: &ErrorContext<'_>, _: &ErrorCause<'_>) -> Reply {
            let mut reply = Reply::new(bytes::Bytes::new().into());
            *reply.status_mut() = StatusCode::from_u16(self.0).unwrap();
            reply
        }
    }

    #[test]
    fn longest_prefix_of_whole_segments_selects_the_format() {
        let mut error_formats = ErrorFormats::new();
        error_formats.set("/", Arc::new(StatusOnly(201)));
        error_formats.set("/v1", Arc::new(StatusOnly(202)));
        error_formats.set("/v1/deep", Arc::new(StatusOnly(203)));
        let (headers, id) = (HeaderMap::new(), HeaderValue::from_static("r"));
        for (path, status) in [
            ("/", 201),
            ("/x", 201),
            ("/v1", 202),
            ("/v1/x", 202),
            ("/v1x", 201),
            ("/v1/deep/x", 203),
            ("*", 404),
        ] {
            let context =
                ErrorContext { method: &Method::GET, path, headers: &headers, request_id: &id };
            let reply = error_formats.of(path).answer(&context, &ErrorCause::NoRoute);
            assert_eq!(reply.status(), status, "{path}");
        }
    }
}
