//! Faults on the wire: the list of errors of `ietf-restconf`, in JSON or XML, with the status that goes with it.
//!
//! Not here: which fault there is.

use allod_edge::Reply;
use allod_engine::{EngineError, JournalReadError};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::media;
use super::space::Space;
use crate::codec::{Format, RESTCONF_NAMESPACE, json_text, xml_text};
use crate::fault::{Fault, Tag};
use crate::settings::Settings;

pub(crate) const POSITION: HeaderName = HeaderName::from_static("allod-position");

/// Whom a fault is told, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listener<'a> {
    pub space: Space,
    pub headers: &'a HeaderMap,
    pub settings: &'a Settings,
}

impl Listener<'_> {
    pub(crate) fn tell(&self, fault: &Fault) -> Reply {
        let media = media::of_error(self.headers, self.space.dialect);
        let prefixed = self.space.prefixes_errors(self.settings);
        let body = match media.format {
            Format::Json => json(fault, prefixed),
            Format::Xml => xml(fault, prefixed),
        };
        let mut reply = Reply::new(Bytes::from(body).into());
        *reply.status_mut() = self.space.status(fault, self.settings);
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(media.name));
        mark(headers, fault);
        reply
    }
}

/// The headers that go with a fault in whatever form it is told.
pub(crate) fn mark(headers: &mut HeaderMap, fault: &Fault) {
    if let Some(position) = fault.position {
        headers.insert(POSITION, position.into());
    }
    if let Some(seconds) = fault.retry_after_s {
        headers.insert(RETRY_AFTER, seconds.into());
    }
}

/// Name and text of each member, in the order of the schema. To RFC 8040 the last one is a tree of nodes, which a text is
/// not, so it is only told in OpenDaylight's form.
pub(crate) fn members(fault: &Fault, rfc: bool) -> Vec<(&'static str, &str)> {
    let mut all = vec![("error-type", fault.layer.name()), ("error-tag", fault.tag.name())];
    if let Some(path) = &fault.path {
        all.push(("error-path", path));
    }
    all.push(("error-message", &fault.message));
    if !rfc {
        all.push(("error-info", fault.info.as_ref().unwrap_or(&fault.message)));
    }
    all
}

fn json(fault: &Fault, prefixed: bool) -> Vec<u8> {
    let top = if prefixed { "ietf-restconf:errors" } else { "errors" };
    let mut out = format!("{{\"{top}\":{{\"error\":[").into_bytes();
    json_error(&mut out, fault, prefixed);
    out.extend_from_slice(b"]}}");
    out
}

/// One error as an object.
pub(crate) fn json_error(out: &mut Vec<u8>, fault: &Fault, rfc: bool) {
    out.push(b'{');
    for (n, (name, text)) in members(fault, rfc).into_iter().enumerate() {
        out.extend_from_slice(if n > 0 { b",\"" } else { b"\"" });
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        json_text(out, text);
    }
    out.push(b'}');
}

fn xml(fault: &Fault, prefixed: bool) -> Vec<u8> {
    let mut out = format!("<errors xmlns=\"{RESTCONF_NAMESPACE}\">").into_bytes();
    xml_error(&mut out, fault, prefixed);
    out.extend_from_slice(b"</errors>");
    out
}

/// One error as an element.
pub(crate) fn xml_error(out: &mut Vec<u8>, fault: &Fault, rfc: bool) {
    out.extend_from_slice(b"<error>");
    for (name, text) in members(fault, rfc) {
        // XML has no way to write most control characters.
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        out.extend_from_slice(format!("<{name}>").as_bytes());
        xml_text(out, &text);
        out.extend_from_slice(format!("</{name}>").as_bytes());
    }
    out.extend_from_slice(b"</error>");
}

/// Why there is no answer.
pub(crate) fn failure(failure: &EngineError) -> Fault {
    let fault = |tag, status| Fault::application(tag, failure.to_string()).with_status(status);
    match failure {
        EngineError::QueueFull { .. } | EngineError::Unavailable { .. } | EngineError::Stopping => {
            fault(Tag::ResourceDenied, StatusCode::SERVICE_UNAVAILABLE).retry_after(1)
        }
        EngineError::TooLarge { .. } => fault(Tag::TooBig, StatusCode::PAYLOAD_TOO_LARGE),
        EngineError::Internal => fault(Tag::OperationFailed, StatusCode::INTERNAL_SERVER_ERROR),
    }
}

/// Why old events cannot be had.
pub(crate) fn unread(unread: &JournalReadError) -> Fault {
    match unread {
        JournalReadError::Trimmed { oldest_position } => Fault::application(
            Tag::InvalidValue,
            format!(
                "what happened then is no longer kept; everything after position {oldest_position} is"
            ),
        ),
        JournalReadError::Failed(why) => failure(why),
    }
}

#[cfg(test)]
mod tests {
    use http::header::ACCEPT;
    use http_body_util::BodyExt;

    use super::*;

    async fn told(fault: &Fault, path: &str, accept: &'static str) -> (u16, String, String) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let space = Space::of(path, &headers).0;
        let settings = &Settings::default();
        let reply = Listener { space, headers: &headers, settings }.tell(fault);
        let kind = reply.headers()[CONTENT_TYPE].to_str().map(str::to_owned);
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.map(|body| body.to_bytes().to_vec());
        let body = body.ok().and_then(|body| String::from_utf8(body).ok()).unwrap_or_default();
        (status, kind.unwrap_or_default(), body)
    }

    #[tokio::test]
    async fn a_fault_has_a_form_for_each_place() {
        let fault = Fault::application(Tag::OperationFailed, "no \"more\" <ids>\u{1}")
            .at_path("/m:a/b[k='1']");
        for (path, accept, status, kind, body) in [
            (
                "/restconf/operations/m:a",
                "",
                500,
                "application/json",
                r#"{"errors":{"error":[{"error-type":"application","error-tag":"operation-failed","error-path":"/m:a/b[k='1']","error-message":"no \"more\" <ids>\u0001","error-info":"no \"more\" <ids>\u0001"}]}}"#,
            ),
            (
                "/restconf/data/m:a",
                "",
                500,
                "application/yang-data+json",
                r#"{"ietf-restconf:errors":{"error":[{"error-type":"application","error-tag":"operation-failed","error-path":"/m:a/b[k='1']","error-message":"no \"more\" <ids>\u0001"}]}}"#,
            ),
            (
                "/rests/data/m:a",
                "application/xml",
                500,
                "application/xml",
                "<errors xmlns=\"urn:ietf:params:xml:ns:yang:ietf-restconf\"><error><error-type>application</error-type><error-tag>operation-failed</error-tag><error-path>/m:a/b[k='1']</error-path><error-message>no &quot;more&quot; &lt;ids&gt;</error-message><error-info>no &quot;more&quot; &lt;ids&gt;</error-info></error></errors>",
            ),
        ] {
            let wanted = (status, kind.to_owned(), body.to_owned());
            assert_eq!(told(&fault, path, accept).await, wanted, "{path}");
        }
    }

    #[test]
    fn a_server_that_cannot_answer_now_says_when_to_ask_again() {
        let full = failure(&EngineError::QueueFull { queue_commands_max: 7 });
        assert_eq!(full.status, Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(full.retry_after_s, Some(1));
        assert!(full.message.contains("queue_commands_max"), "{}", full.message);
    }
}
