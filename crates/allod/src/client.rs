//! The HTTP client of the command line: one server, whole answers and streams, and errors that say what to do next.
//!
//! - `server`: where the server is, and how it is reached: TCP, or TLS over it
//! - `problem`: what an answer that is no success means
//! - `events`: server-sent events out of a stream
//! - `kept`: the same over connections that are kept, for commands that make thousands of requests
//!
//! Otherwise each request has a connection of its own: most commands make one or a few, and a connection that lies idle
//! can be stale.

pub mod events;
pub mod kept;
mod problem;
mod server;

use std::time::{Duration, Instant};

use anyhow::anyhow;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub use server::Server;

use crate::failed::{Failed, advised};

/// One end of a connection.
type Sender = http1::SendRequest<Full<Bytes>>;

/// What stands for itself in a path.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

/// A part of a path, in which a slash is not a slash.
pub fn part(text: &str) -> String {
    match text {
        // As they stand they would mean this folder and the one above.
        "." => "%2E".into(),
        ".." => "%2E%2E".into(),
        _ => utf8_percent_encode(text, PLAIN).to_string(),
    }
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

/// A request as a command makes it.
#[derive(Debug, Clone)]
pub struct Ask {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    /// Sending it twice does no harm, so it may be sent again when the server was not ready for it.
    repeatable: bool,
    /// It has several operations, of which the server refuses one.
    several: bool,
}

impl Ask {
    pub fn new(method: Method, path: impl Into<String>) -> Ask {
        let repeatable = method != Method::POST;
        let path = path.into();
        Ask { method, path, headers: HeaderMap::new(), body: None, repeatable, several: false }
    }

    pub fn get(path: impl Into<String>) -> Ask {
        Ask::new(Method::GET, path)
    }

    pub fn json(self, body: &impl serde::Serialize) -> Result<Ask, Failed> {
        let body = serde_json::to_vec(body).map_err(|error| Failed::Running(error.into()))?;
        Ok(self.body(body))
    }

    pub fn body(self, body: Vec<u8>) -> Ask {
        Ask { body: Some(body), ..self }
    }

    pub fn repeatable(self) -> Ask {
        Ask { repeatable: true, ..self }
    }

    pub fn several(self, several: bool) -> Ask {
        Ask { several, ..self }
    }

    pub fn header(mut self, name: HeaderName, value: &str) -> Result<Ask, Failed> {
        let value = HeaderValue::try_from(value)
            .map_err(|_| Failed::Asked(anyhow!("'{value}' cannot stand in the header {name}")))?;
        self.headers.insert(name, value);
        Ok(self)
    }
}

/// A whole answer, which is a success.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub body: Bytes,
}

/// An answer whose body comes bit by bit.
#[derive(Debug)]
pub struct Stream {
    /// Such as Content-Length.
    pub headers: HeaderMap,
    body: Incoming,
}

impl Stream {
    /// The next bytes; `None` at the end. An error means that the connection broke in the middle.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

#[derive(Debug)]
pub struct Client {
    pub server: Server,
    pub token: Option<String>,
    /// How long an answer may take.
    pub timeout: Duration,
    /// For how long to go on asking a server that says that it is not ready.
    pub patience: Duration,
}

impl Client {
    /// Asks until there is an answer that is more than "not now". Only a success is `Ok`.
    pub async fn ask(&self, ask: &Ask) -> Result<Reply, Failed> {
        let response = self.begin(ask).await?;
        let (head, body) = response.into_parts();
        let body = tokio::time::timeout(self.timeout, body.collect());
        let body = match body.await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) => return Err(self.broken(&error)),
            Err(_) => return Err(self.too_slow()),
        };
        Ok(Reply { status: head.status, body })
    }

    pub async fn get(&self, path: impl Into<String>) -> Result<Reply, Failed> {
        self.ask(&Ask::get(path)).await
    }

    /// Asks for something that comes bit by bit.
    pub async fn get_stream(&self, ask: &Ask) -> Result<Stream, Failed> {
        let (head, body) = self.begin(ask).await?.into_parts();
        Ok(Stream { headers: head.headers, body })
    }

    /// Asks until the head of an answer is there. An answer that is no success is read and made an error.
    async fn begin(&self, ask: &Ask) -> Result<Response<Incoming>, Failed> {
        let began = Instant::now();
        loop {
            let response = tokio::time::timeout(self.timeout, self.send(ask))
                .await
                .unwrap_or_else(|_| Err(self.too_slow()))?;
            if response.status().is_success() {
                return Ok(response);
            }
            let (head, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| self.broken(&error))?.to_bytes();
            let wait = retry_after(&head.headers).filter(|wait| {
                head.status == StatusCode::SERVICE_UNAVAILABLE
                    && ask.repeatable
                    && began.elapsed() + *wait <= self.patience
            });
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(problem::failed(head.status, body, ask.several)),
            }
        }
    }

    async fn send(&self, ask: &Ask) -> Result<Response<Incoming>, Failed> {
        let mut sender = self.open().await?;
        let request = self.request(ask)?;
        sender.send_request(request).await.map_err(|error| self.broken(&error))
    }

    /// A new connection.
    async fn open(&self) -> Result<Sender, Failed> {
        let io = self.server.connect().await?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(io)).await.map_err(|error| self.broken(&error))?;
        // Drives the connection for as long as somebody sends or reads; ends with them.
        tokio::spawn(connection);
        Ok(sender)
    }

    fn request(&self, ask: &Ask) -> Result<Request<Full<Bytes>>, Failed> {
        let body = Bytes::from(ask.body.clone().unwrap_or_default());
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = self.server.target(&ask.path).map_err(Failed::Asked)?;
        *request.headers_mut() = ask.headers.clone();
        let headers = request.headers_mut();
        headers.insert(HOST, self.server.host_header().map_err(Failed::Asked)?);
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        if ask.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(token) = &self.token {
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
                Failed::Asked(anyhow!("the token has a character that no token has"))
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(request)
    }

    fn broken(&self, error: &hyper::Error) -> Failed {
        Failed::Running(advised(
            format!("the connection to {} broke: {error}", self.server),
            "whether the request was carried out is unknown; claims and releases may simply be repeated",
        ))
    }

    fn too_slow(&self) -> Failed {
        Failed::Later(advised(
            format!("{} did not answer within {} s", self.server, self.timeout.as_secs_f64()),
            "look how it is doing with `allod status`, or allow more time with --timeout",
        ))
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
    fn a_part_of_a_path_is_one_part_whatever_is_in_it() {
        for (text, wanted) in [
            ("blue", "blue"),
            ("a/b c", "a%2Fb%20c"),
            ("10.0.0.0/24", "10.0.0.0%2F24"),
            ("fd00::1", "fd00::1"),
            ("é?#%", "%C3%A9%3F%23%25"),
            ("..", "%2E%2E"),
        ] {
            assert_eq!(part(text), wanted);
        }
    }

    #[test]
    fn a_query_is_there_only_when_something_is_asked() {
        assert_eq!(with_query("/v1/pools", []), "/v1/pools");
        let pairs = [("prefix", "a&b".to_owned()), ("limit", "5".to_owned())];
        assert_eq!(with_query("/v1/pools", pairs), "/v1/pools?prefix=a%26b&limit=5");
    }
}
