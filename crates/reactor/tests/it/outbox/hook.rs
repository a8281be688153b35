//! A webhook server in the test process, with configurable answers, that records its requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How the server answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manner {
    Answer(u16),
    /// Reads the request and never answers.
    Silent,
    /// Answers with an endless head.
    Endless,
    /// Answers 200 with the beginning of a body of a known length, and then stays silent.
    Unfinished,
    /// The same, and closes the connection.
    Cut,
    /// Answers 200 with a chunked body, and closes the connection before the last chunk.
    CutChunks,
    /// Answers 200 with a body that does not end.
    EndlessBody,
    /// Answers 200 without a length: the end of the connection is the end of the body.
    UntilClosed,
    /// Closes the connection instead of answering.
    HangUp,
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Asked {
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The target in the body of a plain webhook.
    pub fn target(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        body["target"].as_str().unwrap().to_owned()
    }
}

type Decide = Box<dyn FnMut(&Asked) -> Manner + Send>;

struct Inner {
    asked: Vec<Asked>,
    decide: Decide,
}

#[derive(Clone)]
pub struct Hook {
    pub address: SocketAddr,
    inner: Arc<Mutex<Inner>>,
}

impl Hook {
    pub async fn start(decide: impl FnMut(&Asked) -> Manner + Send + 'static) -> Hook {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let inner = Inner { asked: Vec::new(), decide: Box::new(decide) };
        let hook = Hook { address, inner: Arc::new(Mutex::new(inner)) };
        let serving = hook.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        hook
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    /// Changes how it answers.
    pub fn now(&self, decide: impl FnMut(&Asked) -> Manner + Send + 'static) {
        self.inner().decide = Box::new(decide);
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.inner().asked.clone()
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// Waits until this many requests have arrived.
    pub async fn wait_for(&self, count: usize) -> Vec<Asked> {
        for _ in 0..2000 {
            if self.inner().asked.len() >= count {
                return self.asked();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("only {:?}", self.asked());
    }

    async fn serve(self, mut stream: TcpStream) {
        let Some(asked) = read(&mut stream).await else { return };
        let manner = {
            let mut inner = self.inner();
            let manner = (inner.decide)(&asked);
            inner.asked.push(asked);
            manner
        };
        match manner {
            Manner::Answer(status) => {
                let said = "what I\n think\u{7} of it";
                let reply =
                    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{said}", said.len());
                drop(stream.write_all(reply.as_bytes()).await);
            }
            Manner::Silent => tokio::time::sleep(Duration::from_secs(60)).await,
            Manner::Endless => {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await);
                while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
            }
            Manner::Unfinished => {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun").await);
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            Manner::Cut => {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun").await);
            }
            Manner::CutChunks => {
                let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegun\r\n";
                drop(stream.write_all(head).await);
            }
            Manner::EndlessBody => {
                let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                drop(stream.write_all(head).await);
                while stream.write_all(b"4\r\nmore\r\n").await.is_ok() {}
            }
            Manner::UntilClosed => {
                drop(stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nall of it").await);
            }
            Manner::HangUp => {}
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let (head, rest) = loop {
        let mut some = [0; 1024];
        let count = stream.read(&mut some).await.ok().filter(|count| *count > 0)?;
        bytes.extend(&some[..count]);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            break (String::from_utf8(bytes).ok()?, rest);
        }
    };
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let mut asked = Asked { line, headers, body: String::new() };
    let length: usize = asked.header("content-length").parse().unwrap_or(0);
    let mut body = rest;
    let have = body.len();
    body.resize(length.max(have), 0);
    stream.read_exact(&mut body[have..]).await.ok()?;
    asked.body = String::from_utf8(body).ok()?;
    Some(asked)
}
