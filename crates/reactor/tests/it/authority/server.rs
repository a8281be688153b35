//! An HTTP server in the test process that sends fixed bytes and records its requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// What the server sends, and whether it closes the connection then.
#[derive(Debug, Clone)]
pub struct Reply {
    pub bytes: String,
    pub wait: Duration,
}

/// An answer with this status, these header lines and this body.
pub fn reply(status: u16, headers: &str, body: &str) -> Reply {
    let length = body.len();
    let bytes = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}");
    Reply { bytes, wait: Duration::ZERO }
}

#[derive(Clone)]
pub struct FakeServer {
    pub url: String,
    reply: Arc<Mutex<Reply>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl FakeServer {
    pub async fn start() -> FakeServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let reply = Arc::new(Mutex::new(reply(500, "", "")));
        let server = FakeServer { url, reply, requests: Arc::default() };
        let serving = server.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let serving = serving.clone();
                tokio::spawn(async move {
                    let mut text = String::new();
                    let mut some = [0; 4096];
                    while !is_whole(&text) {
                        match stream.read(&mut some).await {
                            Ok(count) if count > 0 => {
                                text.push_str(&String::from_utf8_lossy(&some[..count]));
                            }
                            _ => return,
                        }
                    }
                    serving.requests.lock().unwrap().push(text);
                    let reply = serving.reply.lock().unwrap().clone();
                    tokio::time::sleep(reply.wait).await;
                    drop(stream.write_all(reply.bytes.as_bytes()).await);
                });
            }
        });
        server
    }

    pub fn now(&self, reply: Reply) {
        *self.reply.lock().unwrap() = reply;
    }

    /// The last request: method and path, and body.
    pub fn last(&self) -> (String, String) {
        let requests = self.requests.lock().unwrap();
        let text = requests.last().unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1");
        (line.to_owned(), body.to_owned())
    }

    pub fn last_has(&self, header: &str) -> bool {
        self.requests.lock().unwrap().last().unwrap().to_lowercase().contains(header)
    }

    pub fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let mut lengths = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    body.len() >= lengths.next().map_or(0, |(_, length)| length.parse().unwrap())
}
