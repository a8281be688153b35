//! Small honest clients beside a large load: half of them read a claim, half claim a value, each at a fixed pace. They measure
//! what others notice: errors, and the time until each answer.
//!
//! All clients share one thread without a runtime, so that they disturb the server as little as possible. A client sends its
//! next request at its next turn, or when the last request is answered if that is later. So the clients leave most of
//! the machine to the server, and a pause of the server is one slow answer for each client.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use serde_json::Value;

use crate::http::Client;
use crate::reply;

/// The pool that the clients use.
pub const POOL: &str = "small-clients";

/// Claims that the readers read.
const HELD: u64 = 100;

/// Without an answer for this long, the client gives up and connects again.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// How many errors are described; all are counted.
const DESCRIBED_MAX: usize = 5;

/// The clients of one run.
#[derive(Debug, Clone)]
pub struct SmallClients {
    pub address: SocketAddr,
    /// Half of them read.
    pub clients: usize,
    /// The time between two requests of a client.
    pub pace: Duration,
    /// Sent with each request.
    pub token: Option<String>,
    /// Part of the keys, unique among the runs on a server.
    pub run: String,
}

/// What the clients noticed.
#[derive(Debug, Default)]
pub struct Noticed {
    pub reads: Vec<Duration>,
    pub writes: Vec<Duration>,
    /// Requests without a good answer.
    pub errors: usize,
    /// The first of them.
    pub described: Vec<String>,
    /// The values that were granted, each to one new key.
    pub values: Vec<u64>,
}

impl Noticed {
    /// The longest time until an answer; zero without answers.
    pub fn longest(times: &[Duration]) -> Duration {
        times.iter().copied().max().unwrap_or_default()
    }

    /// Whether a value was granted twice.
    pub fn has_duplicates(&self) -> bool {
        let mut values = self.values.clone();
        values.sort_unstable();
        values.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn error(&mut self, what: String) {
        self.errors += 1;
        if self.described.len() < DESCRIBED_MAX {
            self.described.push(what);
        }
    }
}

/// Clients that are running.
#[derive(Debug)]
pub struct RunningClients {
    thread: JoinHandle<Result<Noticed>>,
    counting: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
}

impl SmallClients {
    /// Creates the pool and the claims that are read.
    pub fn prepare(&self) -> Result<()> {
        let mut client = Client::new(self.address, ANSWER_MAX);
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let headers: Vec<(&str, &str)> =
            bearer.iter().map(|bearer| ("authorization", bearer.as_str())).collect();
        let mut put = |path: String, body: &str| -> Result<()> {
            let reply = client.send("PUT", &path, &headers, Some(body))?;
            ensure!(reply.status < 300, "PUT {path} answered {}: {}", reply.status, reply.text());
            Ok(())
        };
        put(format!("/v1/pools/{POOL}"), r#"{"kind":"id32","ranges":["0-4294967295"]}"#)?;
        (0..HELD)
            .try_for_each(|number| put(format!("/v1/pools/{POOL}/claims/{}", held(number)), "{}"))
    }

    /// Starts the clients. What they notice counts from [`RunningClients::count`] on.
    pub fn start(self) -> Result<RunningClients> {
        let mut poll = Poll::new()?;
        let now = Instant::now();
        let mut connections = Vec::with_capacity(self.clients);
        for number in 0..self.clients {
            let stream = connect(self.address, number, &mut poll)?;
            // Spread over the first turn.
            let turn = now + self.pace * number as u32 / self.clients.max(1) as u32;
            connections.push(SmallConnection::new(stream, number, turn));
        }
        let (counting, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let thread = std::thread::spawn({
            let (counting, over) = (counting.clone(), over.clone());
            move || {
                let noticed = Noticed::default();
                Generator { clients: self, poll, connections, noticed }.run(&counting, &over)
            }
        });
        Ok(RunningClients { thread, counting, over })
    }
}

impl RunningClients {
    /// What is sent from now on counts.
    pub fn count(&self) {
        self.counting.store(true, Ordering::Relaxed);
    }

    /// Waits for the pending answers, at least one that counts for each client, and returns what the clients noticed.
    pub fn finish(self) -> Result<Noticed> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the small clients panicked"))?
    }
}

fn held(number: u64) -> String {
    format!("held-{number:03}")
}

fn connect(address: SocketAddr, number: usize, poll: &mut Poll) -> Result<TcpStream> {
    let stream = std::net::TcpStream::connect_timeout(&address, ANSWER_MAX)
        .with_context(|| format!("connecting to {address}"))?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let mut stream = TcpStream::from_std(stream);
    let interest = Interest::READABLE | Interest::WRITABLE;
    poll.registry().register(&mut stream, Token(number), interest)?;
    Ok(stream)
}

struct SmallConnection {
    stream: TcpStream,
    number: usize,
    /// How many requests it has sent.
    sent_requests: u64,
    out: Vec<u8>,
    /// How much of `out` is sent.
    sent: usize,
    input: Vec<u8>,
    /// When the pending request was sent, and whether it counts.
    pending: Option<(Instant, bool)>,
    /// When the next request is due.
    turn: Instant,
    /// A request that counts has ended.
    has_counted: bool,
}

impl SmallConnection {
    fn new(stream: TcpStream, number: usize, turn: Instant) -> SmallConnection {
        SmallConnection {
            stream,
            number,
            sent_requests: 0,
            out: Vec::new(),
            sent: 0,
            input: Vec::new(),
            pending: None,
            turn,
            has_counted: false,
        }
    }

    fn is_reader(&self) -> bool {
        self.number.is_multiple_of(2)
    }

    fn write_request(&mut self, run: &str, token: Option<&str>) {
        self.sent_requests += 1;
        self.out.clear();
        self.sent = 0;
        let authorization =
            token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = match self.is_reader() {
            true => {
                let key = held((self.sent_requests * 7 + self.number as u64) % HELD);
                format!(
                    "GET /v1/pools/{POOL}/claims/{key} HTTP/1.1\r\nhost: localhost\r\n{authorization}\r\n"
                )
            }
            false => format!(
                "PUT /v1/pools/{POOL}/claims/{run}-{}-{} HTTP/1.1\r\nhost: localhost\r\n{authorization}content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}",
                self.number, self.sent_requests
            ),
        };
        self.out.extend_from_slice(head.as_bytes());
    }

    fn send(&mut self) -> io::Result<()> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what has arrived. `Ok(None)`: the answer is not complete.
    fn receive(&mut self) -> Result<Option<(u16, Vec<u8>)>, String> {
        let mut chunk = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err("the server closed the connection".to_owned()),
                Ok(count) => self.input.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        let Some(parsed) = reply::parse(&self.input)? else { return Ok(None) };
        let body = self.input[parsed.body].to_vec();
        self.input.clear();
        Ok(Some((parsed.status, body)))
    }
}

struct Generator {
    clients: SmallClients,
    poll: Poll,
    connections: Vec<SmallConnection>,
    noticed: Noticed,
}

impl Generator {
    fn run(mut self, counting: &AtomicBool, over: &AtomicBool) -> Result<Noticed> {
        let mut events = Events::with_capacity(256);
        loop {
            let now = Instant::now();
            let (is_over, counts) =
                (over.load(Ordering::Relaxed), counting.load(Ordering::Relaxed));
            let is_done = |connection: &SmallConnection| {
                is_over && connection.pending.is_none() && (connection.has_counted || !counts)
            };
            if self.connections.iter().all(is_done) {
                return Ok(self.noticed);
            }
            let mut wait = Duration::from_millis(20);
            for number in 0..self.connections.len() {
                let connection = &self.connections[number];
                match connection.pending {
                    Some((since, _)) if now - since > ANSWER_MAX => {
                        self.fail(number, format!("no answer for {} s", ANSWER_MAX.as_secs()))?;
                    }
                    Some(_) => {}
                    None if is_done(connection) => {}
                    None if connection.turn <= now => self.send(number, now, counts)?,
                    None => wait = wait.min(connection.turn - now),
                }
            }
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error.into()),
                _ => {}
            }
            for event in &events {
                let number = event.token().0;
                if event.is_writable()
                    && let Err(error) = self.connections[number].send()
                {
                    self.fail(number, error.to_string())?;
                }
                if event.is_readable() || event.is_read_closed() {
                    self.receive(number)?;
                }
            }
        }
    }

    fn send(&mut self, number: usize, now: Instant, counts: bool) -> Result<()> {
        let connection = &mut self.connections[number];
        connection.write_request(&self.clients.run, self.clients.token.as_deref());
        connection.pending = Some((now, counts));
        connection.turn = now + self.clients.pace;
        match connection.send() {
            Ok(()) => Ok(()),
            Err(error) => self.fail(number, error.to_string()),
        }
    }

    fn receive(&mut self, number: usize) -> Result<()> {
        let connection = &mut self.connections[number];
        let (status, body) = match connection.receive() {
            Ok(Some(answer)) => answer,
            Ok(None) => return Ok(()),
            Err(error) => return self.fail(number, error),
        };
        let Some((since, counts)) = connection.pending.take() else { return Ok(()) };
        let (took, is_reader) = (since.elapsed(), connection.is_reader());
        connection.has_counted |= counts;
        if status != if is_reader { 200 } else { 201 } {
            let what = format!("answered {status}: {}", String::from_utf8_lossy(&body));
            self.noticed.error(what);
            return Ok(());
        }
        if !is_reader {
            // The bare server of the benchmarks grants no values.
            let value =
                serde_json::from_slice::<Value>(&body).ok().and_then(|body| body["value"].as_u64());
            self.noticed.values.extend(value);
        }
        if counts {
            let times = if is_reader { &mut self.noticed.reads } else { &mut self.noticed.writes };
            times.push(took);
        }
        Ok(())
    }

    /// Counts an error and connects again. A request that had no answer counts with the time it waited.
    fn fail(&mut self, number: usize, what: String) -> Result<()> {
        let connection = &mut self.connections[number];
        if let Some((since, true)) = connection.pending.take() {
            connection.has_counted = true;
            let is_reader = connection.is_reader();
            let times = if is_reader { &mut self.noticed.reads } else { &mut self.noticed.writes };
            times.push(since.elapsed());
        }
        self.noticed.error(what);
        let stream = connect(self.clients.address, number, &mut self.poll)
            .context("a small client cannot connect again")?;
        connection.stream = stream;
        connection.input.clear();
        connection.out.clear();
        connection.sent = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn clients(address: SocketAddr) -> SmallClients {
        let pace = Duration::from_millis(1);
        SmallClients { address, clients: 2, pace, token: None, run: "r".into() }
    }

    /// Answers each request with the answer for its method, `count` times for each connection, then closes it.
    fn server(get: &'static str, put: &'static str, count: usize) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut chunk = [0; 4096];
                    for _ in 0..count {
                        let Ok(read @ 1..) = stream.read(&mut chunk) else { return };
                        let answer = if chunk[..read].starts_with(b"GET") { get } else { put };
                        let _ = stream.write_all(answer.as_bytes());
                    }
                });
            }
        });
        address
    }

    const FOUND: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    const CREATED: &str = "HTTP/1.1 201 Created\r\ncontent-length: 11\r\n\r\n{\"value\":7}";

    fn notice(address: SocketAddr) -> Noticed {
        let running = clients(address).start().unwrap();
        running.count();
        std::thread::sleep(Duration::from_millis(60));
        running.finish().unwrap()
    }

    #[test]
    fn answers_are_timed_and_a_value_that_is_granted_twice_is_noticed() {
        let noticed = notice(server(FOUND, CREATED, usize::MAX));
        assert_eq!((noticed.errors, &noticed.described), (0, &Vec::new()));
        assert!(!noticed.reads.is_empty() && Noticed::longest(&noticed.reads) > Duration::ZERO);
        assert!(noticed.values.len() > 1 && noticed.has_duplicates());
    }

    #[test]
    fn each_client_has_an_answer_that_counts() {
        let running = clients(server(FOUND, CREATED, usize::MAX)).start().unwrap();
        running.count();
        let noticed = running.finish().unwrap();
        assert!(!noticed.reads.is_empty() && !noticed.writes.is_empty(), "{noticed:?}");
    }

    #[test]
    fn refusals_and_closed_connections_are_errors() {
        let refused = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy";
        let noticed = notice(server(refused, CREATED, usize::MAX));
        assert!(noticed.errors > 0 && noticed.described[0].contains("503: busy"), "{noticed:?}");
        let noticed = notice(server(FOUND, CREATED, 2));
        assert!(noticed.errors > 0 && noticed.described[0].contains("closed"), "{noticed:?}");
    }
}
