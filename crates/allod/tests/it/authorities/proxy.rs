//! A proxy between a server and its authority that stops a request at a chosen moment.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use allod_testkit::http::Client;

/// What happens to a request that the proxy catches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It has arrived, and is never carried out.
    Lost,
    /// It has arrived, and is carried out after the catch is released.
    Late,
    /// It is carried out, and there is no answer.
    Done,
    /// It is carried out and answered.
    Answered,
}

impl Moment {
    pub const ALL: [Moment; 4] = [Moment::Lost, Moment::Late, Moment::Done, Moment::Answered];
}

struct Trap {
    method: &'static str,
    moment: Moment,
    caught: Sender<()>,
    release: Receiver<()>,
}

/// A request that will be caught.
pub struct Catch {
    caught: Receiver<()>,
    release: Sender<()>,
}

impl Catch {
    /// Waits until the request is at its moment.
    pub fn wait(&self) {
        self.caught.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    /// Lets the request go on.
    pub fn release(self) {
        // Only a late request waits for it.
        let _ = self.release.send(());
    }
}

pub struct Proxy {
    pub address: SocketAddr,
    traps: Arc<Mutex<Vec<Trap>>>,
}

impl Proxy {
    pub fn start(upstream: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let traps: Arc<Mutex<Vec<Trap>>> = Arc::default();
        let serving = traps.clone();
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, traps) = (stream.unwrap(), serving.clone());
                std::thread::spawn(move || serve(stream, upstream, &traps));
            }
        });
        Proxy { address, traps }
    }

    /// Catches the next request with this method.
    pub fn catch(&self, method: &'static str, moment: Moment) -> Catch {
        let (caught, is_caught) = channel();
        let (release, is_released) = channel();
        let trap = Trap { method, moment, caught, release: is_released };
        self.traps.lock().unwrap().push(trap);
        Catch { caught: is_caught, release }
    }
}

fn serve(stream: TcpStream, upstream: SocketAddr, traps: &Mutex<Vec<Trap>>) {
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    let mut client = Client::new(upstream, Duration::from_secs(20));
    while let Some((method, path, body)) = receive(&mut stream) {
        let trap = {
            let mut traps = traps.lock().unwrap();
            let at = traps.iter().position(|trap| trap.method == method);
            at.map(|at| traps.remove(at))
        };
        let moment = trap.as_ref().map(|trap| trap.moment);
        if let Some(trap) = trap.as_ref().filter(|_| moment == Some(Moment::Lost)) {
            let _ = trap.caught.send(());
            return;
        }
        if let Some(trap) = trap.as_ref().filter(|_| moment == Some(Moment::Late)) {
            let _ = trap.caught.send(());
            let _ = trap.release.recv();
        }
        let body = (!body.is_empty()).then_some(body.as_str());
        let Ok(answer) = client.send(&method, &path, &[], body) else { return };
        if let Some(trap) = trap.as_ref().filter(|_| moment == Some(Moment::Done)) {
            let _ = trap.caught.send(());
            return;
        }
        let (status, length) = (answer.status, answer.body.len());
        let mut sent = format!("HTTP/1.1 {status} X\r\n").into_bytes();
        if status != 204 {
            sent.extend(format!("content-length: {length}\r\n").into_bytes());
        }
        sent.extend(b"\r\n");
        sent.extend(answer.body);
        let is_sent = stream.get_mut().write_all(&sent);
        if let Some(trap) = trap.filter(|_| moment == Some(Moment::Answered)) {
            let _ = trap.caught.send(());
        }
        if is_sent.is_err() {
            return;
        }
    }
}

fn receive(stream: &mut BufReader<TcpStream>) -> Option<(String, String, String)> {
    let mut first = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.parse().ok()?;
        }
        if first.is_empty() {
            line.clone_into(&mut first);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some((method, path, String::from_utf8(body).ok()?))
}
