//! One HTTP exchange with an authority, within limits of time and size. Redirects are not followed.
//!
//! Connections are reused if requests can be repeated. Otherwise every request has its own connection: on a connection that
//! the server closes between two requests, the outcome of the second one would be unknown.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use allod_outbound::{
    BaseUrl, Endpoint, HttpClient, OutboundError, Repeatable, TlsSetupError, TrustedRoots,
};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::connector::{AuthorityAnswer, Settings};
use super::message::Messages;

/// The longest time that an authority can ask to wait.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(super) struct HttpExchange {
    /// A connection for each request.
    single: HttpClient,
    /// Sends a request again if the connection broke that it was sent on.
    reusing: HttpClient,
    is_repeatable: AtomicBool,
    url: BaseUrl,
    authorization: Option<HeaderValue>,
    timeout: Duration,
    bytes_max: usize,
    pub messages: Messages,
}

/// A complete answer of any status.
#[derive(Debug)]
pub(super) struct Received {
    pub status: StatusCode,
    retry_after: Option<Duration>,
    body: Bytes,
}

/// Why there is no complete answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The request was not sent.
    NotSent(String),
    /// The request may have been carried out.
    Unknown(String),
}

impl HttpExchange {
    pub fn new(settings: &Settings) -> Result<HttpExchange, String> {
        let url: BaseUrl = settings.url.parse()?;
        let trusted = TrustedRoots::file_or_system(settings.ca.as_deref());
        let endpoint = Endpoint::new(url.origin.clone(), trusted).map_err(|error| match error {
            TlsSetupError::NoSystemCertificates => format!("{error}; name a file with them"),
            error => error.to_string(),
        })?;
        let authorization = settings.secret.as_ref().map(|secret| {
            let mut header = HeaderValue::try_from(format!("Bearer {}", secret.0))
                .map_err(|_| "the secret has characters that an HTTP header cannot have")?;
            header.set_sensitive(true);
            Ok::<_, &str>(header)
        });
        // A server that accepts no connection is recognised before the time limit of the whole exchange.
        let client = |endpoint| {
            HttpClient::new(endpoint, settings.timeout / 2)
                .with_buffer_max(settings.answer_bytes_max)
        };
        let reusing = client(endpoint.clone());
        Ok(HttpExchange {
            single: client(endpoint),
            reusing: reusing.with_connection_reuse(settings.parallel.into()),
            is_repeatable: AtomicBool::new(false),
            url,
            authorization: authorization.transpose()?,
            timeout: settings.timeout,
            bytes_max: settings.answer_bytes_max,
            messages: Messages::new(settings.secret.as_ref()),
        })
    }

    /// Whether the server does nothing more when it gets the same request again.
    pub fn set_repeatable(&self, is_repeatable: bool) {
        self.is_repeatable.store(is_repeatable, Ordering::Relaxed);
    }

    /// Sends a request and receives the whole answer.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Received, NoAnswer> {
        let began = Instant::now();
        let request = self.request(method, path, body).map_err(|why| self.not_sent(&why))?;
        let (client, repeatable) = match self.is_repeatable.load(Ordering::Relaxed) {
            true => (&self.reusing, Repeatable::Yes),
            false => (&self.single, Repeatable::No),
        };
        let answer = client.send(request, repeatable, self.timeout).await;
        let answer = answer.map_err(|error| self.no_answer(&error))?;
        let status = answer.status;
        let retry_after = answer.headers.get(RETRY_AFTER).and_then(retry_after);
        let remaining = self.timeout.saturating_sub(began.elapsed());
        let body = answer.whole_body(remaining, self.bytes_max).await.map_err(|error| {
            let text =
                format!("answered {}, but the answer is incomplete: {error}", status.as_u16());
            NoAnswer::Unknown(self.messages.clean(&text))
        })?;
        Ok(Received { status, retry_after, body })
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>, String> {
        let bytes = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let mut request = Request::new(Full::new(bytes));
        *request.method_mut() = method;
        *request.uri_mut() =
            self.url.target(path).map_err(|error| format!("the URL is invalid: {error}"))?;
        let headers = request.headers_mut();
        headers.insert(HOST, self.single.endpoint().host_header().clone());
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        Ok(request)
    }

    fn not_sent(&self, text: &str) -> NoAnswer {
        NoAnswer::NotSent(self.messages.clean(text))
    }

    fn no_answer(&self, error: &OutboundError) -> NoAnswer {
        let endpoint = self.single.endpoint();
        let text = format!("{endpoint:?}: {error}");
        match error {
            // The request follows the handshake.
            OutboundError::Unreachable(_) | OutboundError::Untrusted(_) => self.not_sent(&text),
            OutboundError::Broken(_) | OutboundError::TimedOut(_) | OutboundError::TooLarge(_) => {
                NoAnswer::Unknown(self.messages.clean(&text))
            }
        }
    }

    /// The answer to a status that the operation does not know: 429 and 503 mean later, all others mean unknown.
    pub fn otherwise<T>(&self, received: &Received) -> AuthorityAnswer<T> {
        match received.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                self.not_now(received)
            }
            _ => AuthorityAnswer::Unknown { message: self.said(received) },
        }
    }

    pub fn not_now<T>(&self, received: &Received) -> AuthorityAnswer<T> {
        AuthorityAnswer::NotNow { after: received.retry_after, message: self.said(received) }
    }

    /// Reads the body. A malformed body means that the outcome is unknown.
    pub fn parse<T: DeserializeOwned>(&self, received: &Received) -> Result<T, String> {
        let status = received.status.as_u16();
        received.json().map_err(|error| {
            self.messages.clean(&format!("answered {status} with an invalid body: {error}"))
        })
    }

    /// The status and the message of an answer.
    pub fn said(&self, received: &Received) -> String {
        let status = received.status.as_u16();
        let text = match received.message() {
            text if text.is_empty() => format!("answered {status}"),
            text => format!("answered {status}: {text}"),
        };
        self.messages.clean(&text)
    }
}

impl Received {
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// A member of the body, if it is a text.
    pub fn text(&self, member: &str) -> Option<String> {
        let body: Value = self.json().ok()?;
        Some(body.get(member)?.as_str()?.to_owned())
    }

    /// What the body says about an error: its message, or its beginning.
    fn message(&self) -> String {
        let own = ["message", "detail", "title"].into_iter().find_map(|member| self.text(member));
        own.unwrap_or_else(|| {
            let start = &self.body[..self.body.len().min(1200)];
            let text = String::from_utf8_lossy(start);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        })
    }
}

impl NoAnswer {
    pub fn answer<T>(self) -> AuthorityAnswer<T> {
        match self {
            NoAnswer::NotSent(message) => AuthorityAnswer::NotNow { after: None, message },
            NoAnswer::Unknown(message) => AuthorityAnswer::Unknown { message },
        }
    }
}

/// Seconds only. A date is ignored, because the clocks may differ.
fn retry_after(header: &HeaderValue) -> Option<Duration> {
    let seconds: u64 = header.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}
