//! An HTTP/1.1 client for one server. Requests have time limits, and answers have size limits.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use crate::endpoint::Endpoint;

/// The smallest buffer that hyper accepts.
const BUFFER_BYTES_MIN: usize = 8192;

/// Why a request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    #[error("cannot connect: {0}")]
    Unreachable(io::Error),
    #[error("TLS handshake failed: {0}")]
    Untrusted(io::Error),
    #[error("the connection broke: {0}")]
    Broken(hyper::Error),
    #[error("no answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

/// Whether sending a request twice is harmless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeatable {
    Yes,
    No,
}

#[derive(Debug)]
pub struct HttpClient {
    endpoint: Endpoint,
    connect_max: Duration,
    buffer_bytes_max: Option<usize>,
    idle: Arc<IdleConnections>,
}

/// Open connections that no request uses, at most `max`.
#[derive(Debug)]
struct IdleConnections {
    max: usize,
    connections: Mutex<Vec<Connection>>,
}

#[derive(Debug)]
struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    _task: ConnectionTask,
}

/// The task that reads and writes the connection. Dropping it closes the connection.
#[derive(Debug)]
struct ConnectionTask(JoinHandle<Result<(), hyper::Error>>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl HttpClient {
    /// Opens a connection for each request. `connect_max` limits the time to establish the TCP connection.
    pub fn new(endpoint: Endpoint, connect_max: Duration) -> HttpClient {
        let idle = IdleConnections { max: 0, connections: Mutex::default() };
        HttpClient { endpoint, connect_max, buffer_bytes_max: None, idle: Arc::new(idle) }
    }

    /// Reuses connections, and keeps at most `idle_max` of them open between requests.
    pub fn with_connection_reuse(self, idle_max: usize) -> HttpClient {
        let idle = IdleConnections { max: idle_max, connections: Mutex::default() };
        HttpClient { idle: Arc::new(idle), ..self }
    }

    /// Limits the memory for the head of an answer and for what was received but not read yet.
    pub fn with_buffer_max(self, bytes_max: usize) -> HttpClient {
        HttpClient { buffer_bytes_max: Some(bytes_max.max(BUFFER_BYTES_MIN)), ..self }
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and waits at most `wait_max` for the head of the answer.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
        repeatable: Repeatable,
        wait_max: Duration,
    ) -> Result<HttpAnswer, OutboundError> {
        let exchange = tokio::time::timeout(wait_max, self.exchange(request, repeatable));
        let (connection, response) =
            exchange.await.unwrap_or(Err(OutboundError::TimedOut(wait_max)))?;
        let (head, body) = response.into_parts();
        Ok(HttpAnswer {
            status: head.status,
            headers: head.headers,
            body,
            connection: Some(connection),
            idle: self.idle.clone(),
        })
    }

    async fn exchange(
        &self,
        mut request: Request<Full<Bytes>>,
        repeatable: Repeatable,
    ) -> Result<(Connection, Response<Incoming>), OutboundError> {
        let mut broken = None;
        while let Some(mut connection) = self.idle.take() {
            if connection.sender.ready().await.is_err() {
                continue;
            }
            match connection.sender.try_send_request(request.clone()).await {
                Ok(response) => return Ok((connection, response)),
                Err(mut error) => match error.take_message() {
                    // The server closed the idle connection before the request was sent.
                    Some(unsent) => request = unsent,
                    None if repeatable == Repeatable::Yes => broken = Some(error.into_error()),
                    None => return Err(OutboundError::Broken(error.into_error())),
                },
            }
        }
        // The server may have got the request before the connection broke, even if it cannot be reached now.
        let opened = self.open().await;
        let mut connection = opened.map_err(|error| broken.map_or(error, OutboundError::Broken))?;
        let response = connection.sender.send_request(request).await;
        Ok((connection, response.map_err(OutboundError::Broken)?))
    }

    async fn open(&self) -> Result<Connection, OutboundError> {
        let stream = TokioIo::new(self.endpoint.connect(self.connect_max).await?);
        let mut builder = http1::Builder::new();
        if let Some(bytes_max) = self.buffer_bytes_max {
            builder.max_buf_size(bytes_max);
        }
        let (sender, task) = builder.handshake(stream).await.map_err(OutboundError::Broken)?;
        Ok(Connection { sender, _task: ConnectionTask(tokio::spawn(task)) })
    }
}

impl IdleConnections {
    fn take(&self) -> Option<Connection> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(connection) = connections.pop() {
            if !connection.sender.is_closed() {
                return Some(connection);
            }
        }
        None
    }

    fn put(&self, connection: Connection) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() < self.max {
            connections.push(connection);
        }
    }
}

/// An answer of any status, with its body still to be read.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Incoming,
    connection: Option<Connection>,
    idle: Arc<IdleConnections>,
}

impl HttpAnswer {
    /// The next bytes of the body, or `None` at its end.
    pub async fn chunk(&mut self, wait_max: Duration) -> Result<Option<Bytes>, OutboundError> {
        let next = tokio::time::timeout(wait_max, self.next_data());
        next.await.unwrap_or(Err(OutboundError::TimedOut(wait_max)))
    }

    /// The whole body, received within `wait_max` and at most `bytes_max` long.
    pub async fn whole_body(
        mut self,
        wait_max: Duration,
        bytes_max: usize,
    ) -> Result<Bytes, OutboundError> {
        let read = async {
            let mut body = Vec::new();
            while let Some(bytes) = self.next_data().await? {
                if bytes.len() > bytes_max - body.len() {
                    return Err(OutboundError::TooLarge(bytes_max));
                }
                body.extend_from_slice(&bytes);
            }
            Ok(body.into())
        };
        let read = tokio::time::timeout(wait_max, read);
        read.await.unwrap_or(Err(OutboundError::TimedOut(wait_max)))
    }

    async fn next_data(&mut self) -> Result<Option<Bytes>, OutboundError> {
        while let Some(frame) = self.body.frame().await {
            if let Ok(data) = frame.map_err(OutboundError::Broken)?.into_data() {
                return Ok(Some(data));
            }
        }
        if let Some(connection) = self.connection.take() {
            self.idle.put(connection);
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::{BaseUrl, TrustedRoots};

    const LONG: Duration = Duration::from_secs(20);

    fn client(listener: &TcpListener) -> HttpClient {
        let url: BaseUrl = listener.local_addr().unwrap().to_string().parse().unwrap();
        HttpClient::new(Endpoint::new(url.origin, TrustedRoots::Nothing).unwrap(), LONG)
    }

    fn get(path: &str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = path.parse().unwrap();
        request
    }

    /// Serves as many requests on each connection as `requests` says and closes it. The body counts the requests of a
    /// connection. Returns how many were served.
    fn serve(listener: &TcpListener, requests: &[usize]) -> Vec<usize> {
        let serve_one = |most: usize| {
            let mut lines = BufReader::new(listener.accept().unwrap().0);
            let mut served = 0;
            while served < most {
                let mut line = String::new();
                if lines.read_line(&mut line).unwrap() == 0 {
                    break;
                }
                if line.trim().is_empty() {
                    served += 1;
                    let answer = format!("HTTP/1.1 404 x\r\ncontent-length: 1\r\n\r\n{served}");
                    lines.get_mut().write_all(answer.as_bytes()).unwrap();
                }
            }
            served
        };
        requests.iter().map(|most| serve_one(*most)).collect()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn connections_are_reused_and_reopened_after_the_server_closed_them() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = client(&listener).with_connection_reuse(1);
        let server = std::thread::spawn(move || serve(&listener, &[3, 2]));
        let mut bodies = Vec::new();
        for _ in 0..5 {
            let answer = client.send(get("/x"), Repeatable::Yes, LONG).await.unwrap();
            assert_eq!(answer.status, StatusCode::NOT_FOUND);
            bodies.push(answer.whole_body(LONG, 1).await.unwrap());
        }
        assert_eq!(bodies, ["1", "2", "3", "1", "2"]);
        drop(client);
        assert_eq!(server.join().unwrap(), [3, 2]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn without_reuse_each_request_has_its_own_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = client(&listener);
        let server = std::thread::spawn(move || serve(&listener, &[9, 9]));
        for _ in 0..2 {
            let answer = client.send(get("/x"), Repeatable::No, LONG).await.unwrap();
            assert_eq!(answer.whole_body(LONG, 1).await.unwrap(), "1");
        }
        assert_eq!(server.join().unwrap(), [1, 1]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_request_that_was_sent_before_the_server_went_away_is_not_called_unsent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = client(&listener).with_connection_reuse(1);
        let server = std::thread::spawn(move || {
            let mut lines = BufReader::new(listener.accept().unwrap().0);
            for answered in [true, false] {
                let mut line = String::new();
                while line != "\r\n" {
                    line.clear();
                    lines.read_line(&mut line).unwrap();
                }
                let answer = "HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n";
                answered.then(|| lines.get_mut().write_all(answer.as_bytes()).unwrap());
                if !answered {
                    // First the listener, so that the client cannot connect again.
                    drop(listener);
                    break;
                }
            }
        });
        let answer = client.send(get("/x"), Repeatable::Yes, LONG).await.unwrap();
        answer.whole_body(LONG, 1).await.unwrap();
        let second = client.send(get("/x"), Repeatable::Yes, LONG).await;
        assert!(matches!(second, Err(OutboundError::Broken(_))), "{second:?}");
        server.join().unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_slow_or_large_answer_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = client(&listener);
        let short = Duration::from_millis(50);
        // The operating system accepts the connection, but no one answers.
        let slow = client.send(get("/x"), Repeatable::Yes, short).await;
        assert!(matches!(slow, Err(OutboundError::TimedOut(_))), "{slow:?}");
        let server = std::thread::spawn(move || serve(&listener, &[1, 1]));
        let answer = client.send(get("/x"), Repeatable::Yes, LONG).await.unwrap();
        let large = answer.whole_body(LONG, 0).await;
        assert!(matches!(large, Err(OutboundError::TooLarge(0))), "{large:?}");
        server.join().unwrap();
    }
}
