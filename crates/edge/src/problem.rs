//! Problem details (RFC 9457): the body of an error reply.
//!
//! The edge uses it for protocol errors; a face adds its own codes and members.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

use crate::Reply;

const MEDIA_TYPE: &str = "application/problem+json";

/// One problem. `code` is for programs and never changes; `detail` is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub status: StatusCode,
    pub code: &'static str,
    pub title: &'static str,
    pub detail: Cow<'static, str>,
    /// Seconds after which a retry may succeed.
    pub retry_after_s: Option<u32>,
}

/// The body as sent. `members` are the members that this problem adds.
#[derive(Serialize)]
struct ProblemBody<'a, M> {
    r#type: ProblemType<'a>,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    #[serde(flatten)]
    members: M,
}

struct ProblemType<'a>(&'a str);

impl Serialize for ProblemType<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("urn:allod:problem:{}", self.0))
    }
}

/// Only the standard members.
#[derive(Serialize)]
struct NoMembers {}

impl Problem {
    /// The code for a body without a content type.
    pub const UNTYPED_BODY: &'static str = "media_type_missing";

    pub fn new(
        status: StatusCode,
        code: &'static str,
        title: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Problem {
        Problem { status, code, title, detail: detail.into(), retry_after_s: None }
    }

    /// The request is malformed; `detail` says where, and what is expected there.
    pub fn malformed(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "malformed", "malformed request", detail)
    }

    pub fn retry_after(self, seconds: u32) -> Problem {
        Problem { retry_after_s: Some(seconds), ..self }
    }

    pub fn reply(&self) -> Reply {
        self.reply_with(NoMembers {})
    }

    /// A reply with additional members. `members` must serialise as a map.
    pub fn reply_with(&self, members: impl Serialize) -> Reply {
        let mut reply = Reply::new(Bytes::from(self.body(members)).into());
        *reply.status_mut() = self.status;
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        reply
    }

    /// The whole reply as HTTP/1.1 bytes, for a connection that hyper no longer serves.
    pub(crate) fn to_http1_bytes(&self) -> Vec<u8> {
        let body = self.body(NoMembers {});
        let retry = match self.retry_after_s {
            Some(seconds) => format!("retry-after: {seconds}\r\n"),
            None => String::new(),
        };
        let head = format!(
            "HTTP/1.1 {}\r\ncontent-type: {MEDIA_TYPE}\r\n{retry}connection: close\r\ncontent-length: {}\r\n\r\n",
            self.status,
            body.len(),
        );
        [head.into_bytes(), body].concat()
    }

    fn body(&self, members: impl Serialize) -> Vec<u8> {
        let body = ProblemBody {
            r#type: ProblemType(self.code),
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.code,
            members,
        };
        let mut bytes = Vec::with_capacity(384);
        if serde_json::to_writer(&mut bytes, &body).is_err() {
            // `members` does not serialise as a map: a bug.
            bytes.clear();
            bytes.extend_from_slice(b"{\"code\":\"internal\"}");
        }
        bytes
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Reply {
        problem.reply()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[test]
    fn problem_has_standard_and_additional_members() {
        let problem = Problem::new(StatusCode::CONFLICT, "taken", "the value is held", "7 is held")
            .retry_after(3);
        let reply = problem.reply_with(serde_json::json!({ "by": "k" }));
        assert_eq!(reply.status(), 409);
        assert_eq!(reply.headers()["content-type"], "application/problem+json");
        assert_eq!(reply.headers()["retry-after"], "3");
        let mut body = std::pin::pin!(reply.into_body().collect());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(Ok(body)) = body.as_mut().poll(&mut context) else {
            panic!("a complete body is ready immediately");
        };
        assert_eq!(
            body.to_bytes(),
            r#"{"type":"urn:allod:problem:taken","title":"the value is held","status":409,"detail":"7 is held","code":"taken","by":"k"}"#
        );
    }
}
