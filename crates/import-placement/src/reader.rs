//! Reads from one of the two servers, through Placement's public interface.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use allod_core::capacity::Uuid;
use allod_outbound::{
    BaseUrl, Endpoint, HttpAnswer, HttpClient, OutboundError, Repeatable, TrustedRoots,
    path_segment,
};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::PlacementServer;
use crate::consumer_id::ConsumerId;
use crate::error::{ImportError, ImportErrorKind, ImportResult};
use crate::error_text::error_text;
use crate::json_members::JsonMembers;
use crate::retry::{RetrySchedule, is_temporary, is_unavailable};
use crate::version::{self, PlacementVersion};
use crate::wire::{
    ConsumerBody, ProviderBody, ProviderEntry, ProviderPart, ProviderPartBody, ProviderPartKind,
    UsagesBody,
};

const API_VERSION: HeaderName = HeaderName::from_static("openstack-api-version");
const X_AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

const CONNECT_MAX: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportSide {
    Source,
    Target,
}

impl ImportSide {
    pub fn name(self) -> &'static str {
        match self {
            ImportSide::Source => "source",
            ImportSide::Target => "target",
        }
    }

    fn address_advice(self) -> &'static str {
        match self {
            ImportSide::Source => {
                "--from must be the URL of its version document, such as http://host:8778 or http://host/placement"
            }
            ImportSide::Target => {
                "set its URL with --to or --server; start a server with `allod serve`"
            }
        }
    }

    fn token_advice(self) -> &'static str {
        match self {
            ImportSide::Source => {
                "give a token with --from-token or ALLOD_FROM_TOKEN: a Keystone token with the role admin or service, or 'admin' for a noauth2 server"
            }
            ImportSide::Target => "give a token with --token or ALLOD_TOKEN",
        }
    }
}

#[derive(Debug)]
pub struct PlacementReader {
    side: ImportSide,
    url: BaseUrl,
    http: HttpClient,
    /// Headers of every request.
    headers: HeaderMap,
    timeout: Duration,
    patience: Duration,
    pub version: PlacementVersion,
}

/// The answer of a server, of any status.
#[derive(Debug)]
pub struct WholeAnswer {
    pub status: StatusCode,
    pub body: Bytes,
}

#[derive(Deserialize)]
struct VersionDocument {
    versions: Vec<VersionEntry>,
}

#[derive(Deserialize)]
struct VersionEntry {
    max_version: String,
}

impl PlacementReader {
    /// Negotiates the version, and checks that the server is a Placement and accepts the token.
    pub async fn open(
        side: ImportSide,
        server: PlacementServer,
        jobs: usize,
        version_max: Option<PlacementVersion>,
        oldest: PlacementVersion,
    ) -> ImportResult<PlacementReader> {
        let usage = |what: String| ImportError::new(ImportErrorKind::Usage, what);
        let PlacementServer { url, token, ca, timeout, patience } = server;
        let trusted = TrustedRoots::file_or_system(ca.as_deref());
        let endpoint = Endpoint::new(url.origin.clone(), trusted)
            .map_err(|error| usage(format!("the {} at {url}: {error}", side.name())))?;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, endpoint.host_header().clone());
        headers.insert(ACCEPT, JSON);
        if let Some(token) = token {
            let mut value = HeaderValue::try_from(token)
                .map_err(|_| usage("the token has an invalid character".to_owned()))?;
            value.set_sensitive(true);
            headers.insert(X_AUTH_TOKEN, value);
        }
        let http = HttpClient::new(endpoint, CONNECT_MAX).with_connection_reuse(jobs);
        let mut reader =
            PlacementReader { side, url, http, headers, timeout, patience, version: oldest };
        let theirs = reader.newest_version().await?;
        let theirs = version_max.map_or(theirs, |max| theirs.min(max));
        reader.version = version::negotiate(theirs, oldest)
            .map_err(|why| usage(format!("the {} at {reader} {why}", side.name())))?;
        // A request that needs a token, so that a wrong token is reported before anything is written.
        reader.get::<IgnoredAny>("/traits?name=in:COMPUTE_NODE").await?;
        Ok(reader)
    }

    async fn newest_version(&self) -> ImportResult<PlacementVersion> {
        let request = self.request(Method::GET, "/", None, None)?;
        let answer = self.http.send(request, Repeatable::Yes, self.timeout).await;
        let answer = self.whole(answer).await.map_err(|error| self.unreachable(error))?;
        let document = serde_json::from_slice::<VersionDocument>(&answer.body).ok();
        let document = document.filter(|_| answer.status == StatusCode::OK);
        let newest = document.and_then(|found| found.versions.first()?.max_version.parse().ok());
        newest.ok_or_else(|| {
            let what = format!("there is no Placement at {self}: it has no version document");
            ImportError::new(ImportErrorKind::Usage, what).with_advice(self.side.address_advice())
        })
    }

    pub async fn custom_classes(&self) -> ImportResult<BTreeSet<String>> {
        #[derive(Deserialize)]
        struct ClassesBody {
            resource_classes: Vec<ClassEntry>,
        }
        #[derive(Deserialize)]
        struct ClassEntry {
            name: String,
        }
        let found: ClassesBody = self.get("/resource_classes").await?;
        let names = found.resource_classes.into_iter().map(|class| class.name);
        Ok(names.filter(|name| name.starts_with("CUSTOM_")).collect())
    }

    pub async fn custom_traits(&self) -> ImportResult<BTreeSet<String>> {
        #[derive(Deserialize)]
        struct TraitsBody {
            traits: BTreeSet<String>,
        }
        Ok(self.get::<TraitsBody>("/traits?name=startswith:CUSTOM_").await?.traits)
    }

    /// Calls `each` for every provider, while the answer is received.
    pub async fn providers(&self, mut each: impl FnMut(ProviderEntry)) -> ImportResult<()> {
        self.members("/resource_providers", "resource_providers", |member| {
            let body: ProviderBody = serde_json::from_slice(member).map_err(|e| e.to_string())?;
            each(body.parse()?);
            Ok(())
        })
        .await
    }

    /// One part of a provider, with the provider's generation. `None` if there is no such provider.
    pub async fn part(
        &self,
        kind: ProviderPartKind,
        of: Uuid,
    ) -> ImportResult<Option<(ProviderPart, u64)>> {
        let path = format!("/resource_providers/{of}/{}", kind.name());
        let Some(body): Option<ProviderPartBody> = self.find(&path).await? else { return Ok(None) };
        let generation = body.resource_provider_generation;
        let part = body.parse(kind).map_err(|why| self.invalid_answer(&path, &why))?;
        Ok(Some((part, generation)))
    }

    pub async fn usages(&self, of: Uuid) -> ImportResult<Option<UsagesBody>> {
        self.find(&format!("/resource_providers/{of}/usages")).await
    }

    /// Calls `each` for every consumer of a provider. A provider that does not exist has none.
    pub async fn consumers(&self, of: Uuid, mut each: impl FnMut(ConsumerId)) -> ImportResult<()> {
        let path = format!("/resource_providers/{of}/allocations");
        self.members(&path, "allocations", |member| {
            let member = [b"{", member, b"}"].concat();
            let member: BTreeMap<String, IgnoredAny> =
                serde_json::from_slice(&member).map_err(|error| error.to_string())?;
            for name in member.into_keys() {
                each(name.parse()?);
            }
            Ok(())
        })
        .await
    }

    pub async fn consumer(&self, id: &ConsumerId) -> ImportResult<ConsumerBody> {
        self.get(&format!("/allocations/{}", path_segment(&id.to_string()))).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> ImportResult<T> {
        let found = self.find(path).await?;
        found.ok_or_else(|| self.invalid_answer(path, "404 Not Found"))
    }

    async fn find<T: DeserializeOwned>(&self, path: &str) -> ImportResult<Option<T>> {
        let answer = self.send(Method::GET, path, self.version, None).await?;
        match answer.status {
            StatusCode::OK => serde_json::from_slice(&answer.body)
                .map(Some)
                .map_err(|error| self.invalid_answer(path, &error.to_string())),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(self.error_answer(&format!("GET {path}"), status, &answer.body)),
        }
    }

    /// Calls `each` for every member of the list or object `wanted`, while the answer is received. 404 means no members.
    async fn members(
        &self,
        path: &str,
        wanted: &'static str,
        mut each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> ImportResult<()> {
        let mut retries = RetrySchedule::new(self.patience);
        let mut answer = loop {
            let request = self.request(Method::GET, path, Some(self.version), None)?;
            match self.http.send(request, Repeatable::Yes, self.timeout).await {
                Ok(answer) if is_unavailable(answer.status) && retries.pause().await => {}
                Ok(answer) => break answer,
                Err(error) if is_temporary(&error) && retries.pause().await => {}
                Err(error) => return Err(self.unreachable(error)),
            }
        };
        let mut members = JsonMembers::new(wanted);
        let (mut error_body, ok) = (Vec::new(), answer.status == StatusCode::OK);
        let chunk = |error| self.unreachable(error);
        while let Some(bytes) = answer.chunk(self.timeout).await.map_err(chunk)? {
            if ok {
                let parsed = members.feed(&bytes, &mut each);
                parsed.map_err(|why| self.invalid_answer(path, &why))?;
            } else if error_body.len() < ANSWER_BYTES_MAX {
                error_body.extend_from_slice(&bytes);
            }
        }
        match answer.status {
            StatusCode::OK if members.is_complete() => Ok(()),
            StatusCode::OK => Err(self.invalid_answer(path, "the answer is incomplete")),
            StatusCode::NOT_FOUND => Ok(()),
            status => Err(self.error_answer(&format!("GET {path}"), status, &error_body)),
        }
    }

    /// Sends a request, and retries it while the server is unavailable. A POST without an answer is not retried, because
    /// the server may have carried it out.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        version: PlacementVersion,
        body: Option<Vec<u8>>,
    ) -> ImportResult<WholeAnswer> {
        let repeatable = if method == Method::POST { Repeatable::No } else { Repeatable::Yes };
        let request = self.request(method, path, Some(version), body)?;
        let mut retries = RetrySchedule::new(self.patience);
        loop {
            let answer = self.http.send(request.clone(), repeatable, self.timeout).await;
            match self.whole(answer).await {
                Ok(answer) if is_unavailable(answer.status) && retries.pause().await => {}
                Ok(answer) => return Ok(answer),
                Err(error)
                    if repeatable == Repeatable::Yes
                        && is_temporary(&error)
                        && retries.pause().await => {}
                Err(error) => return Err(self.unreachable(error)),
            }
        }
    }

    async fn whole(
        &self,
        answer: Result<HttpAnswer, OutboundError>,
    ) -> Result<WholeAnswer, OutboundError> {
        let answer = answer?;
        let status = answer.status;
        Ok(WholeAnswer { status, body: answer.whole_body(self.timeout, ANSWER_BYTES_MAX).await? })
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        version: Option<PlacementVersion>,
        body: Option<Vec<u8>>,
    ) -> ImportResult<Request<Full<Bytes>>> {
        let usage = |what: String| ImportError::new(ImportErrorKind::Usage, what);
        let mut headers = self.headers.clone();
        if let Some(version) = version {
            let value = HeaderValue::try_from(format!("placement {version}"));
            headers.insert(API_VERSION, value.map_err(|error| usage(error.to_string()))?);
        }
        if body.is_some() {
            headers.insert(CONTENT_TYPE, JSON);
        }
        let mut request = Request::new(Full::new(body.unwrap_or_default().into()));
        *request.method_mut() = method;
        *request.uri_mut() =
            self.url.target(path).map_err(|error| usage(format!("the path {path}: {error}")))?;
        *request.headers_mut() = headers;
        Ok(request)
    }

    /// The error of a request without an answer.
    fn unreachable(&self, error: OutboundError) -> ImportError {
        let kind = match error {
            OutboundError::TimedOut(_) => ImportErrorKind::Unavailable,
            _ => ImportErrorKind::Failed,
        };
        let what = format!("the {} at {self}: {error}", self.side.name());
        ImportError::new(kind, what).with_advice(self.side.address_advice())
    }

    /// The error of an answer that is not a success.
    pub fn error_answer(&self, request: &str, status: StatusCode, body: &[u8]) -> ImportError {
        let (name, text) = (self.side.name(), error_text(body).1);
        let what = format!("the {name} at {self} answered {status} to {request}: {text}");
        let error = |kind| ImportError::new(kind, what);
        match status.as_u16() {
            401 | 403 => error(ImportErrorKind::Denied).with_advice(self.side.token_advice()),
            404..=406 => error(ImportErrorKind::Usage).with_advice(self.side.address_advice()),
            408 | 429 | 502..=504 => error(ImportErrorKind::Unavailable),
            _ => error(ImportErrorKind::Failed),
        }
    }

    /// The error of an answer that Placement does not give.
    fn invalid_answer(&self, path: &str, why: &str) -> ImportError {
        let name = self.side.name();
        let what = format!("the {name} at {self} gave an invalid answer to GET {path}: {why}");
        ImportError::new(ImportErrorKind::Failed, what)
    }
}

impl std::fmt::Display for PlacementReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.url.fmt(f)
    }
}
