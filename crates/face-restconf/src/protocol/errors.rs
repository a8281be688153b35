//! Writes errors: the `errors` of `ietf-restconf` in JSON or XML, and the HTTP status.

use allod_edge::Reply;
use allod_engine::{EngineError, JournalReadError};
use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, StatusCode};

use super::endpoint::ApiEndpoint;
use super::{media, send};
use crate::codec::RESTCONF_NAMESPACE;
use crate::error::{ErrorTag, RestconfError};
use crate::settings::RestconfSettings;

pub(crate) const POSITION: HeaderName = HeaderName::from_static("allod-position");

/// Writes error replies for one request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorResponder<'a> {
    pub endpoint: ApiEndpoint,
    pub headers: &'a HeaderMap,
    pub settings: &'a RestconfSettings,
}

impl ErrorResponder<'_> {
    pub(crate) fn reply(&self, error: &RestconfError) -> Reply {
        let media = media::of_error(self.headers, self.endpoint.dialect);
        let prefixed = self.endpoint.prefixes_errors(self.settings);
        let top = if prefixed { "ietf-restconf:errors" } else { "errors" };
        let body = error.errors(prefixed).document(media.encoding, top, RESTCONF_NAMESPACE);
        let mut reply = send::typed(Bytes::from(body), media.name);
        *reply.status_mut() = self.endpoint.status(error, self.settings);
        set_headers(reply.headers_mut(), error);
        reply
    }
}

/// Sets the headers of an error reply.
pub(crate) fn set_headers(headers: &mut HeaderMap, error: &RestconfError) {
    if let Some(position) = error.position {
        headers.insert(POSITION, position.into());
    }
    if let Some(seconds) = error.retry_after_s {
        headers.insert(RETRY_AFTER, seconds.into());
    }
}

/// The error for an engine failure.
pub(crate) fn failure(failure: &EngineError) -> RestconfError {
    let error =
        |tag, status| RestconfError::application(tag, failure.to_string()).with_status(status);
    match failure {
        EngineError::QueueFull { .. }
        | EngineError::ReadQueueFull { .. }
        | EngineError::Unavailable { .. }
        | EngineError::Stopping => {
            error(ErrorTag::ResourceDenied, StatusCode::SERVICE_UNAVAILABLE).retry_after(1)
        }
        EngineError::TooLarge { .. } => error(ErrorTag::TooBig, StatusCode::PAYLOAD_TOO_LARGE),
        EngineError::Internal => {
            error(ErrorTag::OperationFailed, StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

/// The error for events that cannot be read.
pub(crate) fn unread(unread: &JournalReadError) -> RestconfError {
    match unread {
        JournalReadError::Trimmed { oldest_position } => RestconfError::wrong_value(format!(
            "events of that time have been trimmed; the oldest retained events follow position {oldest_position}"
        )),
        JournalReadError::Failed(why) => failure(why),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http::header::{ACCEPT, CONTENT_TYPE};
    use http_body_util::BodyExt;

    use super::*;

    async fn reply_to(
        error: &RestconfError,
        path: &str,
        accept: &'static str,
    ) -> (u16, String, String) {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        let endpoint = ApiEndpoint::of(path, &headers).0;
        let settings = &RestconfSettings::default();
        let reply = ErrorResponder { endpoint, headers: &headers, settings }.reply(error);
        let kind = reply.headers()[CONTENT_TYPE].to_str().map(str::to_owned);
        let status = reply.status().as_u16();
        let body = reply.into_body().collect().await.map(|body| body.to_bytes().to_vec());
        let body = body.ok().and_then(|body| String::from_utf8(body).ok()).unwrap_or_default();
        (status, kind.unwrap_or_default(), body)
    }

    #[tokio::test]
    async fn an_error_has_the_form_of_its_endpoint() {
        let error = RestconfError::application(ErrorTag::OperationFailed, "no \"more\" <ids>\u{1}")
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
            assert_eq!(reply_to(&error, path, accept).await, wanted, "{path}");
        }
    }

    #[test]
    fn a_full_queue_is_503_with_retry_after() {
        let full = failure(&EngineError::QueueFull { queue_commands_max: 7 });
        assert_eq!(full.status, Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(full.retry_after_s, Some(1));
        assert!(full.message.contains("queue_commands_max"), "{}", full.message);
    }
}
