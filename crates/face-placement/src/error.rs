//! Errors of this API: JSON with a code, HTML or plain text.
//!
//! An error has a status and a message, which follows a standard explanation of the status. Its headers depend on how
//! far the request got. The mapping from refusals is in [`crate::refusals`].

use std::borrow::Cow;

use allod_edge::Reply;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::json;

use crate::accept::{Accept, ErrorMediaType};
use crate::to_wire::POSITION;
use crate::versions::{self, Feature, Microversion};

/// The machine-readable code of an error, from 1.23 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    Undefined,
    InventoryInUse,
    ConcurrentUpdate,
    DuplicateName,
    ProviderInUse,
    CannotDeleteParent,
    ProviderNotFound,
    DuplicateKey,
    BadValue,
    MissingValue,
}

impl ErrorCode {
    pub(crate) fn text(self) -> &'static str {
        match self {
            ErrorCode::Undefined => "placement.undefined_code",
            ErrorCode::InventoryInUse => "placement.inventory.inuse",
            ErrorCode::ConcurrentUpdate => "placement.concurrent_update",
            ErrorCode::DuplicateName => "placement.duplicate_name",
            ErrorCode::ProviderInUse => "placement.resource_provider.inuse",
            ErrorCode::CannotDeleteParent => "placement.resource_provider.cannot_delete_parent",
            ErrorCode::ProviderNotFound => "placement.resource_provider.not_found",
            ErrorCode::DuplicateKey => "placement.query.duplicate_key",
            ErrorCode::BadValue => "placement.query.bad_value",
            ErrorCode::MissingValue => "placement.query.missing_value",
        }
    }
}

/// How far the request got, which decides the headers of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ErrorStage {
    /// A handler: version header and `Vary`.
    Handler,
    /// The middleware around handlers: version header only.
    Middleware,
    /// Version negotiation failed: neither.
    Negotiation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacementError {
    pub status: StatusCode,
    pub message: Cow<'static, str>,
    pub code: ErrorCode,
    stage: ErrorStage,
    allow: Option<HeaderValue>,
    retry_after_s: Option<u32>,
    /// The journal position of the snapshot that it refers to.
    position: Option<u64>,
}

/// The parts of a request that an error reply depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplyContext<'a> {
    pub method: &'a Method,
    pub headers: &'a HeaderMap,
    pub request_id: &'a str,
    /// `None` if version negotiation failed.
    pub version: Option<Microversion>,
}

pub(crate) type PlacementResult<T> = Result<T, PlacementError>;

impl PlacementError {
    pub(crate) fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> PlacementError {
        PlacementError {
            status,
            message: message.into(),
            code: ErrorCode::Undefined,
            stage: ErrorStage::Handler,
            allow: None,
            retry_after_s: None,
            position: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<Cow<'static, str>>) -> PlacementError {
        PlacementError::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn conflict(message: impl Into<Cow<'static, str>>) -> PlacementError {
        PlacementError::new(StatusCode::CONFLICT, message)
    }

    pub(crate) fn not_found(message: impl Into<Cow<'static, str>>) -> PlacementError {
        PlacementError::new(StatusCode::NOT_FOUND, message)
    }

    /// A resource of the path does not exist. Placement raises this outside its handlers, so there is no `Vary`.
    pub(crate) fn missing(message: impl Into<Cow<'static, str>>) -> PlacementError {
        PlacementError::not_found(message).into_middleware_error()
    }

    pub(crate) fn forbidden(rule: &str) -> PlacementError {
        let message = format!("Policy does not allow {rule} to be performed.");
        PlacementError::new(StatusCode::FORBIDDEN, message).into_middleware_error()
    }

    pub(crate) fn version_unknown(message: String) -> PlacementError {
        let error = PlacementError::new(StatusCode::NOT_ACCEPTABLE, message);
        PlacementError { stage: ErrorStage::Negotiation, ..error }
    }

    pub(crate) fn version_malformed(message: String) -> PlacementError {
        PlacementError { stage: ErrorStage::Negotiation, ..PlacementError::bad_request(message) }
    }

    pub(crate) fn coded(self, code: ErrorCode) -> PlacementError {
        PlacementError { code, ..self }
    }

    pub(crate) fn into_middleware_error(self) -> PlacementError {
        PlacementError { stage: ErrorStage::Middleware, ..self }
    }

    pub(crate) fn allowing(self, methods: &HeaderValue) -> PlacementError {
        PlacementError { allow: Some(methods.clone()), ..self }
    }

    pub(crate) fn retry_after(self, seconds: u32) -> PlacementError {
        PlacementError { retry_after_s: Some(seconds), ..self }
    }

    /// Adds the journal position of the snapshot that it refers to.
    pub(crate) fn at(self, position: u64) -> PlacementError {
        PlacementError { position: Some(position), ..self }
    }

    pub(crate) fn reply(&self, context: &ReplyContext<'_>) -> Reply {
        let accept = Accept::of(context.headers);
        let body = ErrorText::of(self, context, &accept);
        let mut reply = write(self.status, &accept, &body, || self.json(&body, context));
        let headers = reply.headers_mut();
        if let Some(allow) = &self.allow {
            headers.insert(ALLOW, allow.clone());
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(position) = self.position {
            headers.insert(POSITION, position.into());
        }
        if let (Some(version), true) = (context.version, self.stage != ErrorStage::Negotiation) {
            headers.insert(versions::HEADER, version.header());
            if self.stage == ErrorStage::Handler {
                headers.insert(VARY, HeaderValue::from_static("openstack-api-version"));
            }
        }
        reply
    }

    fn json(&self, text_parts: &ErrorText, context: &ReplyContext<'_>) -> String {
        let mut error = json!({
            "status": self.status.as_u16(),
            "title": title(self.status),
            "detail": text_parts.stripped(),
            "request_id": context.request_id,
        });
        if context.version.is_some_and(|version| version.has(Feature::ErrorCodes)) {
            error["code"] = self.code.text().into();
        }
        if self.status == StatusCode::NOT_ACCEPTABLE && self.stage == ErrorStage::Negotiation {
            error["max_version"] = Microversion::MAX.to_string().into();
            error["min_version"] = Microversion::MIN.to_string().into();
        }
        json!({ "errors": [error] }).to_string()
    }
}

/// The 401 reply. Its JSON form differs because Placement's authentication middleware writes it.
pub(crate) fn unauthorized(headers: &HeaderMap) -> Reply {
    let status = StatusCode::UNAUTHORIZED;
    let text_parts =
        ErrorText { explanation: UNAUTHORIZED.into(), message: String::new(), tail: "\n\n" };
    write(status, &Accept::of(headers), &text_parts, || {
        let message = format!("{UNAUTHORIZED}<br /><br />\n\n\n");
        json!({ "message": message, "code": line(status), "title": title(status) }).to_string()
    })
}

/// The error in the media type that the client prefers. `json` is its JSON form.
fn write(
    status: StatusCode,
    accept: &Accept,
    text_parts: &ErrorText,
    json: impl FnOnce() -> String,
) -> Reply {
    let (kind, text) = match accept.error_media_type() {
        ErrorMediaType::Json => ("application/json", json()),
        ErrorMediaType::Html => ("text/html; charset=UTF-8", html(text_parts, status)),
        ErrorMediaType::Plain => ("text/plain; charset=UTF-8", plain(text_parts, status)),
    };
    let mut reply = Reply::new(bytes::Bytes::from(text).into());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

const UNAUTHORIZED: &str = "This server could not verify that you are authorized to access the document you requested. Either you supplied the wrong credentials (e.g., bad password), or your browser does not understand how to supply the credentials required.";

/// The text of an error: a standard explanation of the status, and the message.
struct ErrorText {
    explanation: String,
    message: String,
    tail: &'static str,
}

impl ErrorText {
    fn of(error: &PlacementError, context: &ReplyContext<'_>, accept: &Accept) -> ErrorText {
        let kind = context.headers.get(CONTENT_TYPE);
        let kind = kind.map_or("None".into(), |kind| String::from_utf8_lossy(kind.as_bytes()));
        let plain = |text: &str| (text.to_owned(), "\n\n");
        let (explanation, tail) = match error.status {
            StatusCode::BAD_REQUEST => plain(
                "The server could not comply with the request since it is either malformed or otherwise incorrect.",
            ),
            StatusCode::FORBIDDEN => plain("Access was denied to this resource."),
            StatusCode::NOT_FOUND => plain("The resource could not be found."),
            StatusCode::CONFLICT => {
                plain("There was a conflict when trying to complete your request.")
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                let method = context.method;
                (format!("The method {method} is not allowed for this resource. "), "")
            }
            StatusCode::NOT_ACCEPTABLE => (
                format!(
                    "The resource could not be generated that was acceptable to your browser\n(content of type {}. ",
                    accept.text
                ),
                "",
            ),
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                (format!("The request media type {kind} is not supported by this server.\n"), "")
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                plain("The server is currently unavailable. Please try again at a later time.")
            }
            StatusCode::PAYLOAD_TOO_LARGE => {
                plain("The body of your request was too large for this server.")
            }
            StatusCode::URI_TOO_LONG => plain("The request URI was too long for this server."),
            _ => plain(
                "The server has either erred or is incapable of performing the requested operation.",
            ),
        };
        ErrorText { explanation, message: error.message.clone().into_owned(), tail }
    }

    /// Without line breaks and tags, as WebOb strips them.
    fn stripped(&self) -> String {
        let flat = |text: &str| text.replace('\n', " ").replace('\r', "");
        let mut text = strip_tags(&flat(&self.explanation));
        text.push_str("\n\n ");
        text.push_str(&strip_tags(&flat(&self.message)));
        text.push_str(&flat(self.tail));
        text
    }
}

fn strip_tags(text: &str) -> String {
    let text = text.replace("<!--", "").replace("-->", "");
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(open) = rest.find('<') {
        let Some(close) = rest[open..].find('>') else { break };
        kept.push_str(&rest[..open]);
        rest = &rest[open + close + 1..];
    }
    kept.push_str(rest);
    kept
}

fn html(text_parts: &ErrorText, status: StatusCode) -> String {
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        text.replace('"', "&quot;")
    };
    let (line, explanation, message) =
        (line(status), escape(&text_parts.explanation), escape(&text_parts.message));
    format!(
        "<html>\n <head>\n  <title>{line}</title>\n </head>\n <body>\n  <h1>{line}</h1>\n  {explanation}<br /><br />\n{message}{}\n </body>\n</html>",
        text_parts.tail
    )
}

fn plain(text_parts: &ErrorText, status: StatusCode) -> String {
    format!("{}\n\n{}", line(status), text_parts.stripped())
}

fn line(status: StatusCode) -> String {
    format!("{} {}", status.as_u16(), title(status))
}

fn title(status: StatusCode) -> &'static str {
    status.canonical_reason().unwrap_or("Error")
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;
    use http_body_util::BodyExt;

    use super::*;

    fn reply_to(
        error: &PlacementError,
        accept: &'static str,
        minor: Option<u8>,
    ) -> (HeaderMap, String) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let version = minor.map(Microversion::tested);
        let context =
            ReplyContext { method: &Method::PUT, headers: &headers, request_id: "req-1", version };
        read(error.reply(&context))
    }

    fn read(reply: Reply) -> (HeaderMap, String) {
        let (head, body) = reply.into_parts();
        let mut body = std::pin::pin!(body.collect());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(Ok(body)) = body.as_mut().poll(&mut context) else {
            panic!("a complete body is ready at once");
        };
        (head.headers, String::from_utf8(body.to_bytes().to_vec()).unwrap())
    }

    #[test]
    fn json_has_the_explanation_the_message_and_from_1_23_on_the_code() {
        let error = PlacementError::conflict("is <b>held</b>\nelsewhere")
            .coded(ErrorCode::ConcurrentUpdate);
        let (headers, body) = reply_to(&error, "", Some(22));
        assert_eq!(
            body,
            r#"{"errors":[{"detail":"There was a conflict when trying to complete your request.\n\n is held elsewhere  ","request_id":"req-1","status":409,"title":"Conflict"}]}"#
        );
        assert_eq!(headers[CONTENT_TYPE], "application/json");
        assert_eq!(headers[versions::HEADER], "placement 1.22");
        assert_eq!(headers[VARY], "openstack-api-version");
        let (_, body) = reply_to(&error, "", Some(23));
        assert!(body.contains(r#""code":"placement.concurrent_update""#), "{body}");
    }

    #[test]
    fn the_headers_depend_on_how_far_a_request_got() {
        for (error, version, vary) in [
            (PlacementError::not_found("x"), true, true),
            (PlacementError::missing("x"), true, false),
            (PlacementError::forbidden("placement:usages"), true, false),
            (PlacementError::version_malformed("x".into()), false, false),
            (PlacementError::version_unknown("x".into()), false, false),
        ] {
            let (headers, _) = reply_to(&error, "", Some(5));
            assert_eq!(headers.contains_key(versions::HEADER), version, "{error:?}");
            assert_eq!(headers.contains_key(VARY), vary, "{error:?}");
        }
        let (_, body) = reply_to(&PlacementError::version_unknown("x".into()), "", None);
        assert!(body.contains(r#""max_version":"1.39","min_version":"1.0""#), "{body}");
    }

    #[test]
    fn errors_are_html_or_plain_text_if_the_client_asks_for_it() {
        let error = PlacementError::not_found("no <such> thing");
        let (headers, body) = reply_to(&error, "text/html", Some(0));
        assert_eq!(headers[CONTENT_TYPE], "text/html; charset=UTF-8");
        assert!(body.contains("<h1>404 Not Found</h1>") && body.contains("no &lt;such&gt; thing"));
        let (headers, body) = reply_to(&error, "text/plain", Some(0));
        assert_eq!(headers[CONTENT_TYPE], "text/plain; charset=UTF-8");
        assert_eq!(body, "404 Not Found\n\nThe resource could not be found.\n\n no  thing  ");
    }

    #[test]
    fn the_401_reply_has_its_own_json_form() {
        let (headers, body) = read(unauthorized(&HeaderMap::new()));
        assert_eq!(headers[CONTENT_TYPE], "application/json");
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["code"], "401 Unauthorized");
        assert_eq!(body["title"], "Unauthorized");
        assert!(body["message"].as_str().unwrap().starts_with("This server could not verify"));
    }
}
