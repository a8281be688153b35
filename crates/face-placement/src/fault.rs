//! What cannot be done, in Placement's words, and how it is told: in JSON with a code, as HTML or as plain text.
//!
//! A fault carries the status and the message. Around the message stands a stock explanation of the status, and which
//! headers come with it depends on how far the request got. Not here: which refusal of the core is which fault.

use std::borrow::Cow;

use allod_edge::Reply;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::json;

use crate::accept::{Accept, Form};
use crate::to_wire::POSITION;
use crate::versions::{self, Feature, Version};

/// What programs look at, from version 1.23 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
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

impl Code {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Code::Undefined => "placement.undefined_code",
            Code::InventoryInUse => "placement.inventory.inuse",
            Code::ConcurrentUpdate => "placement.concurrent_update",
            Code::DuplicateName => "placement.duplicate_name",
            Code::ProviderInUse => "placement.resource_provider.inuse",
            Code::CannotDeleteParent => "placement.resource_provider.cannot_delete_parent",
            Code::ProviderNotFound => "placement.resource_provider.not_found",
            Code::DuplicateKey => "placement.query.duplicate_key",
            Code::BadValue => "placement.query.bad_value",
            Code::MissingValue => "placement.query.missing_value",
        }
    }
}

/// How far the request got, which says what headers the answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    /// A handler: the version, and that the answer depends on it.
    Handler,
    /// No handler, or one that left the answer to the frame around it: the version only.
    Frame,
    /// No version was agreed on: neither.
    Nothing,
}

/// One error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub status: StatusCode,
    pub message: Cow<'static, str>,
    pub code: Code,
    reached: Reached,
    allow: Option<HeaderValue>,
    retry_after_s: Option<u32>,
    /// Where in the journal it is so.
    position: Option<u64>,
}

/// What the telling of a fault depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener<'a> {
    pub method: &'a Method,
    pub headers: &'a HeaderMap,
    pub request_id: &'a str,
    /// `None` when none was agreed on.
    pub version: Option<Version>,
}

impl Fault {
    pub(crate) fn new(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            status,
            message: message.into(),
            code: Code::Undefined,
            reached: Reached::Handler,
            allow: None,
            retry_after_s: None,
            position: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn conflict(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::new(StatusCode::CONFLICT, message)
    }

    pub(crate) fn not_found(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::new(StatusCode::NOT_FOUND, message)
    }

    /// Something that the path names does not exist, and the handler did not say so itself.
    pub(crate) fn missing(message: impl Into<Cow<'static, str>>) -> Fault {
        Fault::not_found(message).in_frame()
    }

    pub(crate) fn forbidden(rule: &str) -> Fault {
        let message = format!("Policy does not allow {rule} to be performed.");
        Fault::new(StatusCode::FORBIDDEN, message).in_frame()
    }

    pub(crate) fn version_unknown(message: String) -> Fault {
        let fault = Fault::new(StatusCode::NOT_ACCEPTABLE, message);
        Fault { reached: Reached::Nothing, ..fault }
    }

    pub(crate) fn version_malformed(message: String) -> Fault {
        Fault { reached: Reached::Nothing, ..Fault::bad_request(message) }
    }

    pub(crate) fn coded(self, code: Code) -> Fault {
        Fault { code, ..self }
    }

    pub(crate) fn in_frame(self) -> Fault {
        Fault { reached: Reached::Frame, ..self }
    }

    pub(crate) fn allowing(self, methods: &HeaderValue) -> Fault {
        Fault { allow: Some(methods.clone()), ..self }
    }

    pub(crate) fn retry_after(self, seconds: u32) -> Fault {
        Fault { retry_after_s: Some(seconds), ..self }
    }

    /// With the position in the journal at which it was found.
    pub(crate) fn at(self, position: u64) -> Fault {
        Fault { position: Some(position), ..self }
    }

    pub(crate) fn reply(&self, listener: &Listener<'_>) -> Reply {
        let accept = Accept::of(listener.headers);
        let body = Words::of(self, listener, &accept);
        let (kind, text) = match accept.form() {
            Form::Json => ("application/json", self.json(&body, listener)),
            Form::Html => ("text/html; charset=UTF-8", html(&body, self.status)),
            Form::Plain => ("text/plain; charset=UTF-8", plain(&body, self.status)),
        };
        let mut reply = Reply::new(bytes::Bytes::from(text).into());
        *reply.status_mut() = self.status;
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(allow) = &self.allow {
            headers.insert(ALLOW, allow.clone());
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(position) = self.position {
            headers.insert(POSITION, position.into());
        }
        if let (Some(version), true) = (listener.version, self.reached != Reached::Nothing) {
            headers.insert(versions::HEADER, version.header());
            if self.reached == Reached::Handler {
                headers.insert(VARY, HeaderValue::from_static("openstack-api-version"));
            }
        }
        reply
    }

    fn json(&self, words: &Words, listener: &Listener<'_>) -> String {
        let mut error = json!({
            "status": self.status.as_u16(),
            "title": title(self.status),
            "detail": words.stripped(),
            "request_id": listener.request_id,
        });
        if listener.version.is_some_and(|version| version.has(Feature::ErrorCodes)) {
            error["code"] = self.code.text().into();
        }
        if self.status == StatusCode::NOT_ACCEPTABLE && self.reached == Reached::Nothing {
            error["max_version"] = Version::MAX.to_string().into();
            error["min_version"] = Version::MIN.to_string().into();
        }
        json!({ "errors": [error] }).to_string()
    }
}

/// Who asks is not known. The one error that has another form, because it is told before Placement's own code is reached.
pub(crate) fn unauthorized(headers: &HeaderMap) -> Reply {
    let status = StatusCode::UNAUTHORIZED;
    let words = Words { explanation: UNAUTHORIZED.into(), message: String::new(), tail: "\n\n" };
    let (kind, text) = match Accept::of(headers).form() {
        Form::Json => {
            let message = format!("{}<br /><br />\n\n\n", words.explanation);
            let body = json!({
                "message": message,
                "code": line(status),
                "title": title(status),
            });
            ("application/json", body.to_string())
        }
        Form::Html => ("text/html; charset=UTF-8", html(&words, status)),
        Form::Plain => ("text/plain; charset=UTF-8", plain(&words, status)),
    };
    let mut reply = Reply::new(bytes::Bytes::from(text).into());
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

const UNAUTHORIZED: &str = "This server could not verify that you are authorized to access the document you requested. Either you supplied the wrong credentials (e.g., bad password), or your browser does not understand how to supply the credentials required.";

/// What is said: the stock explanation of the status, and the message.
struct Words {
    explanation: String,
    message: String,
    tail: &'static str,
}

impl Words {
    fn of(fault: &Fault, listener: &Listener<'_>, accept: &Accept) -> Words {
        let kind = listener.headers.get(CONTENT_TYPE);
        let kind = kind.map_or("None".into(), |kind| String::from_utf8_lossy(kind.as_bytes()));
        let plain = |text: &str| (text.to_owned(), "\n\n");
        let (explanation, tail) = match fault.status {
            StatusCode::BAD_REQUEST => plain(
                "The server could not comply with the request since it is either malformed or otherwise incorrect.",
            ),
            StatusCode::FORBIDDEN => plain("Access was denied to this resource."),
            StatusCode::NOT_FOUND => plain("The resource could not be found."),
            StatusCode::CONFLICT => {
                plain("There was a conflict when trying to complete your request.")
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                let method = listener.method;
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
        Words { explanation, message: fault.message.clone().into_owned(), tail }
    }

    /// On one line but for the space after the explanation, and without what looks like a tag.
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

fn html(words: &Words, status: StatusCode) -> String {
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        text.replace('"', "&quot;")
    };
    let (line, explanation, message) =
        (line(status), escape(&words.explanation), escape(&words.message));
    format!(
        "<html>\n <head>\n  <title>{line}</title>\n </head>\n <body>\n  <h1>{line}</h1>\n  {explanation}<br /><br />\n{message}{}\n </body>\n</html>",
        words.tail
    )
}

fn plain(words: &Words, status: StatusCode) -> String {
    format!("{}\n\n{}", line(status), words.stripped())
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

    fn told(fault: &Fault, accept: &'static str, minor: Option<u8>) -> (HeaderMap, String) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let version = minor.map(Version::tested);
        let listener =
            Listener { method: &Method::PUT, headers: &headers, request_id: "req-1", version };
        read(fault.reply(&listener))
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
        let fault = Fault::conflict("is <b>held</b>\nelsewhere").coded(Code::ConcurrentUpdate);
        let (headers, body) = told(&fault, "", Some(22));
        assert_eq!(
            body,
            r#"{"errors":[{"detail":"There was a conflict when trying to complete your request.\n\n is held elsewhere  ","request_id":"req-1","status":409,"title":"Conflict"}]}"#
        );
        assert_eq!(headers[CONTENT_TYPE], "application/json");
        assert_eq!(headers[versions::HEADER], "placement 1.22");
        assert_eq!(headers[VARY], "openstack-api-version");
        let (_, body) = told(&fault, "", Some(23));
        assert!(body.contains(r#""code":"placement.concurrent_update""#), "{body}");
    }

    #[test]
    fn the_headers_tell_how_far_a_request_got() {
        for (fault, version, vary) in [
            (Fault::not_found("x"), true, true),
            (Fault::missing("x"), true, false),
            (Fault::forbidden("placement:usages"), true, false),
            (Fault::version_malformed("x".into()), false, false),
            (Fault::version_unknown("x".into()), false, false),
        ] {
            let (headers, _) = told(&fault, "", Some(5));
            assert_eq!(headers.contains_key(versions::HEADER), version, "{fault:?}");
            assert_eq!(headers.contains_key(VARY), vary, "{fault:?}");
        }
        let (_, body) = told(&Fault::version_unknown("x".into()), "", None);
        assert!(body.contains(r#""max_version":"1.39","min_version":"1.0""#), "{body}");
    }

    #[test]
    fn other_forms_are_told_to_who_wants_them() {
        let fault = Fault::not_found("no <such> thing");
        let (headers, body) = told(&fault, "text/html", Some(0));
        assert_eq!(headers[CONTENT_TYPE], "text/html; charset=UTF-8");
        assert!(body.contains("<h1>404 Not Found</h1>") && body.contains("no &lt;such&gt; thing"));
        let (headers, body) = told(&fault, "text/plain", Some(0));
        assert_eq!(headers[CONTENT_TYPE], "text/plain; charset=UTF-8");
        assert_eq!(body, "404 Not Found\n\nThe resource could not be found.\n\n no  thing  ");
    }

    #[test]
    fn who_is_not_known_is_told_so_in_another_form() {
        let (headers, body) = read(unauthorized(&HeaderMap::new()));
        assert_eq!(headers[CONTENT_TYPE], "application/json");
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["code"], "401 Unauthorized");
        assert_eq!(body["title"], "Unauthorized");
        assert!(body["message"].as_str().unwrap().starts_with("This server could not verify"));
    }
}
