//! The client for the server's native interface, with errors that say what to do next.
//!
//! - `answers`: the answers as the tables show them, and lists that come in pages
//! - `problem`: what an answer that is not a success means
//! - `events`: server-sent events

pub mod answers;
pub mod events;
mod problem;

use std::path::Path;
use std::time::{Duration, Instant};

use allod_outbound::{
    BaseUrl, Endpoint, HttpAnswer, HttpClient, OutboundError, Repeatable, TlsSetupError,
    TrustedRoots,
};
use anyhow::anyhow;
use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, IF_MATCH, IF_NONE_MATCH, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use serde::Deserialize;

pub use allod_outbound::path_segment;

use crate::error::{CommandError, Result, with_advice};
use crate::output::{OutputFormat, json};

const PREFER: HeaderName = HeaderName::from_static("prefer");

const CONNECT_MAX: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 1 << 30;

/// The path of a claim.
pub fn claim_path(pool: &str, key: &str) -> String {
    format!("/v1/pools/{}/claims/{}", path_segment(pool), path_segment(key))
}

/// A path with the given pairs as its query.
pub fn with_query<'a>(path: &str, pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    match query.finish() {
        query if query.is_empty() => path.to_owned(),
        query => format!("{path}?{query}"),
    }
}

#[derive(Debug, Clone)]
pub struct ApiRequest {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    repeatable: Repeatable,
    /// It has several operations, so an error names the one that was refused.
    several: bool,
    /// How long the server is asked to wait before it answers.
    wait: Duration,
}

impl ApiRequest {
    /// Every method but POST is repeatable.
    pub fn new(method: Method, path: impl Into<String>) -> ApiRequest {
        let repeatable = if method == Method::POST { Repeatable::No } else { Repeatable::Yes };
        let (path, headers) = (path.into(), HeaderMap::new());
        let (body, several, wait) = (None, false, Duration::ZERO);
        ApiRequest { method, path, headers, body, repeatable, several, wait }
    }

    pub fn get(path: impl Into<String>) -> ApiRequest {
        ApiRequest::new(Method::GET, path)
    }

    pub fn json(self, body: &impl serde::Serialize) -> Result<ApiRequest> {
        let body = serde_json::to_vec(body).map_err(CommandError::failed)?;
        Ok(self.body(body))
    }

    pub fn body(self, body: Vec<u8>) -> ApiRequest {
        ApiRequest { body: Some(body), ..self }
    }

    pub fn repeatable(self) -> ApiRequest {
        ApiRequest { repeatable: Repeatable::Yes, ..self }
    }

    pub fn several(self, several: bool) -> ApiRequest {
        ApiRequest { several, ..self }
    }

    /// Asks the server to wait for an authority before it answers.
    pub fn waiting(self, wait: Option<Duration>) -> Result<ApiRequest> {
        let Some(wait) = wait else { return Ok(self) };
        let seconds = wait.as_millis().div_ceil(1000).min(u128::from(u32::MAX));
        ApiRequest { wait, ..self }.header(PREFER, &format!("wait={seconds}"))
    }

    /// The item must have this version, or must not exist yet if it is to be `new`.
    pub fn expecting(self, version: Option<u64>, new: bool) -> Result<ApiRequest> {
        match version {
            Some(version) => self.header(IF_MATCH, &format!("\"{version}\"")),
            None if new => self.header(IF_NONE_MATCH, "*"),
            None => Ok(self),
        }
    }

    pub fn header(mut self, name: HeaderName, value: &str) -> Result<ApiRequest> {
        let value = HeaderValue::try_from(value).map_err(|_| {
            CommandError::Usage(anyhow!("'{value}' is not a valid value of the header {name}"))
        })?;
        self.headers.insert(name, value);
        Ok(self)
    }
}

/// A successful answer with its whole body.
#[derive(Debug)]
pub struct ApiReply {
    pub status: StatusCode,
    pub body: Bytes,
}

impl ApiReply {
    /// Prints the JSON of the answer, or shows the parsed answer.
    pub fn show<'a, T: Deserialize<'a>>(
        &'a self,
        output: OutputFormat,
        show: impl FnOnce(T) -> Result<()>,
    ) -> Result<()> {
        match output {
            OutputFormat::Json => json::print(&self.body),
            OutputFormat::Table => show(answers::parse(&self.body)?),
        }
    }
}

#[derive(Debug)]
pub struct Client {
    pub server: BaseUrl,
    http: HttpClient,
    token: Option<HeaderValue>,
    /// Maximum time to wait for an answer.
    pub timeout: Duration,
    /// How long to retry while the server answers 503.
    patience: Duration,
}

impl Client {
    /// Reads the CA certificates for an `https` server. Each request gets its own connection: most commands send only a
    /// few, and an idle connection can be stale.
    pub fn new(
        server: BaseUrl,
        ca: Option<&Path>,
        token: Option<String>,
        timeout: Duration,
        patience: Duration,
    ) -> Result<Client> {
        let endpoint = Endpoint::new(server.origin.clone(), TrustedRoots::file_or_system(ca));
        let endpoint = endpoint.map_err(|error| match error {
            TlsSetupError::NoSystemCertificates => CommandError::Usage(with_advice(
                error.to_string(),
                "give the CA certificate of the server with --ca",
            )),
            error => CommandError::Usage(error.into()),
        })?;
        let token = token.map(|token| {
            let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| CommandError::Usage(anyhow!("the token has an invalid character")))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let http = HttpClient::new(endpoint, CONNECT_MAX);
        Ok(Client { server, http, token: token.transpose()?, timeout, patience })
    }

    /// Sends a request and reads the whole answer. Retries for a while if the server answers 503. An answer that is not
    /// a success is an error.
    pub async fn send(&self, request: &ApiRequest) -> Result<ApiReply> {
        let answer = self.begin(request).await?;
        let status = answer.status;
        let body = answer.whole_body(self.timeout, ANSWER_BYTES_MAX).await;
        Ok(ApiReply { status, body: body.map_err(|error| self.error(error))? })
    }

    pub async fn get(&self, path: impl Into<String>) -> Result<ApiReply> {
        self.send(&ApiRequest::get(path)).await
    }

    /// As `send`, without reading the body of a success.
    pub async fn begin(&self, request: &ApiRequest) -> Result<HttpAnswer> {
        let began = Instant::now();
        loop {
            let timeout = self.timeout.saturating_add(request.wait);
            let sent = self.http.send(self.request(request)?, request.repeatable, timeout);
            let answer = sent.await.map_err(|error| self.error(error))?;
            let status = answer.status;
            if status.is_success() {
                return Ok(answer);
            }
            let wait = retry_after(&answer.headers).filter(|wait| {
                status == StatusCode::SERVICE_UNAVAILABLE
                    && request.repeatable == Repeatable::Yes
                    && began.elapsed() + *wait <= self.patience
            });
            let body = answer.whole_body(self.timeout, ANSWER_BYTES_MAX).await;
            let body = body.map_err(|error| self.error(error))?;
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(problem::to_error(status, body, request.several)),
            }
        }
    }

    fn request(&self, request: &ApiRequest) -> Result<Request<Full<Bytes>>> {
        let body = Bytes::from(request.body.clone().unwrap_or_default());
        let mut sent = Request::new(Full::new(body));
        *sent.method_mut() = request.method.clone();
        *sent.uri_mut() = self
            .server
            .target(&request.path)
            .map_err(|error| CommandError::Usage(anyhow!("the path {}: {error}", request.path)))?;
        *sent.headers_mut() = request.headers.clone();
        let headers = sent.headers_mut();
        headers.insert(HOST, self.http.endpoint().host_header().clone());
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        if request.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        headers.extend(self.token.clone().map(|token| (AUTHORIZATION, token)));
        Ok(sent)
    }

    /// The error of a request that got no whole answer.
    pub fn error(&self, error: OutboundError) -> CommandError {
        let server = &self.server;
        match error {
            OutboundError::Unreachable(error) => CommandError::Failed(with_advice(
                format!("cannot connect to {server}: {error}"),
                "start a server with `allod serve`, or name another with --server or ALLOD_SERVER",
            )),
            OutboundError::Untrusted(error) => CommandError::Failed(with_advice(
                format!("the TLS handshake with {server} failed: {error}"),
                "give the CA certificate of the server with --ca, or use http:// if the server has no TLS",
            )),
            OutboundError::TimedOut(limit) => CommandError::Unavailable(with_advice(
                format!("{server} did not answer within {} s", limit.as_secs_f64()),
                "check the server with `allod status`, or allow more time with --timeout",
            )),
            error @ (OutboundError::Broken(_) | OutboundError::TooLarge(_)) => {
                CommandError::Failed(with_advice(
                    format!("the request to {server} failed: {error}"),
                    "the server may have carried it out; claims and releases are safe to repeat",
                ))
            }
        }
    }
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_pairs_has_no_query() {
        assert_eq!(with_query("/v1/pools", []), "/v1/pools");
        let pairs = [("prefix", "a&b".to_owned()), ("limit", "5".to_owned())];
        assert_eq!(with_query("/v1/pools", pairs), "/v1/pools?prefix=a%26b&limit=5");
    }
}
