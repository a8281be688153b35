//! Requests over connections that are kept: for commands that make thousands of them, several at a time.
//!
//! An answer is an answer here, whatever its status: servers that are not allod say no in their own words. Not here: trying
//! again later.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;

use super::{Ask, Client, Sender};
use crate::failed::Failed;

/// A server, the connections to it that nobody uses at the moment, and what every request to it says.
#[derive(Debug)]
pub struct Kept {
    client: Client,
    headers: HeaderMap,
    idle: Mutex<Vec<Sender>>,
}

/// A whole answer of any status.
#[derive(Debug)]
pub struct Whole {
    pub status: StatusCode,
    pub body: Bytes,
}

/// An answer of any status whose body comes bit by bit.
#[derive(Debug)]
pub struct Coming<'a> {
    pub status: StatusCode,
    body: Incoming,
    kept: &'a Kept,
    sender: Option<Sender>,
}

impl Kept {
    /// `headers` are those of every request.
    pub fn new(client: Client, headers: HeaderMap) -> Kept {
        Kept { client, headers, idle: Mutex::default() }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub async fn exchange(&self, ask: &Ask) -> Result<Whole, Failed> {
        let mut coming = self.begin(ask).await?;
        let mut body = Vec::new();
        while let Some(bytes) = coming.chunk().await? {
            body.extend_from_slice(&bytes);
        }
        Ok(Whole { status: coming.status, body: body.into() })
    }

    /// Asks until the head of an answer is there.
    pub async fn begin(&self, ask: &Ask) -> Result<Coming<'_>, Failed> {
        let sending = tokio::time::timeout(self.client.timeout, self.send(ask));
        let (sender, response) = sending.await.unwrap_or_else(|_| Err(self.client.too_slow()))?;
        let (head, body) = response.into_parts();
        Ok(Coming { status: head.status, body, kept: self, sender: Some(sender) })
    }

    async fn send(&self, ask: &Ask) -> Result<(Sender, Response<Incoming>), Failed> {
        while let Some(mut sender) = self.take() {
            if sender.ready().await.is_err() {
                continue;
            }
            match sender.try_send_request(self.request(ask)?).await {
                Ok(response) => return Ok((sender, response)),
                // The server may have closed it while it lay idle. What was not sent, or may be sent twice, is sent again.
                Err(error) if error.message().is_some() || ask.repeatable => {}
                Err(error) => return Err(self.client.broken(&error.into_error())),
            }
        }
        let mut sender = self.client.open().await?;
        let sent = sender.send_request(self.request(ask)?).await;
        sent.map(|response| (sender, response)).map_err(|error| self.client.broken(&error))
    }

    fn request(&self, ask: &Ask) -> Result<Request<Full<Bytes>>, Failed> {
        let mut request = self.client.request(ask)?;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        Ok(request)
    }

    fn take(&self) -> Option<Sender> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(sender) = idle.pop() {
            if !sender.is_closed() {
                return Some(sender);
            }
        }
        None
    }
}

impl Coming<'_> {
    /// The next bytes; `None` at the end, where the connection is free for others.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Failed> {
        let client = &self.kept.client;
        loop {
            let next = tokio::time::timeout(client.timeout, self.body.frame());
            match next.await.map_err(|_| client.too_slow())? {
                Some(frame) => {
                    if let Ok(data) = frame.map_err(|error| client.broken(&error))?.into_data() {
                        return Ok(Some(data));
                    }
                }
                None => {
                    let mut idle = self.kept.idle.lock().unwrap_or_else(PoisonError::into_inner);
                    idle.extend(self.sender.take());
                    return Ok(None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    /// Answers so many requests on each connection and closes it; how many came on each, at the end.
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

    #[test]
    fn a_connection_is_kept_and_one_that_was_closed_is_opened_anew() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap().to_string().parse().unwrap();
        let serving = std::thread::spawn(move || serve(&listener, &[3, 2]));
        let long = Duration::from_secs(20);
        let client = Client { server, token: None, timeout: long, patience: long };
        let kept = Kept::new(client, HeaderMap::new());
        let work = async {
            let mut bodies = Vec::new();
            for _ in 0..5 {
                let answer = kept.exchange(&Ask::get("/x")).await.unwrap();
                assert_eq!(answer.status, StatusCode::NOT_FOUND);
                bodies.push(answer.body);
            }
            bodies
        };
        let bodies = crate::cli::block_on(work).unwrap();
        assert_eq!(bodies, ["1", "2", "3", "1", "2"]);
        assert_eq!(serving.join().unwrap(), [3, 2]);
    }
}
