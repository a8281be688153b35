//! A webhook server in the test process, with a configurable behaviour, that records its requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub enum HookBehaviour {
    Answer(u16),
    /// Reads the request and does not answer.
    Silent,
}

#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub notice: String,
    /// The body, which is the target with the settings below.
    pub target: String,
    /// Method and path.
    pub line: String,
}

pub struct Hook {
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    behaviour: Arc<Mutex<HookBehaviour>>,
    stopping: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Hook {
    pub fn start(behaviour: HookBehaviour) -> Hook {
        Hook::at(SocketAddr::from(([127, 0, 0, 1], 0)), behaviour)
    }

    pub fn at(address: SocketAddr, behaviour: HookBehaviour) -> Hook {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let received: Arc<Mutex<Vec<ReceivedRequest>>> = Arc::default();
        let behaviour = Arc::new(Mutex::new(behaviour));
        let stopping = Arc::new(AtomicBool::new(false));
        let accepting = {
            let (received, behaviour, stopping) =
                (received.clone(), behaviour.clone(), stopping.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if stopping.load(Ordering::Relaxed) {
                        return;
                    }
                    let (received, behaviour) = (received.clone(), behaviour.clone());
                    std::thread::spawn(move || serve(stream.unwrap(), &received, &behaviour));
                }
            })
        };
        Hook { address, received, behaviour, stopping, accepting: Some(accepting) }
    }

    /// Stops listening.
    pub fn stop(mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        self.accepting.take().unwrap().join().unwrap();
    }

    pub fn now(&self, behaviour: HookBehaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }

    pub fn wait_for(&self, what: &str, holds: impl Fn(&[ReceivedRequest]) -> bool) {
        super::eventually(what, || holds(&self.received()));
    }

    /// The settings of a server that delivers everything here.
    pub fn settings(&self) -> String {
        format!("[[webhook]]\nurl = \"http://{}/hook\"\nbody = \"{{target}}\"\n", self.address)
    }
}

fn serve(
    stream: TcpStream,
    received: &Mutex<Vec<ReceivedRequest>>,
    behaviour: &Mutex<HookBehaviour>,
) {
    let mut reader = BufReader::new(stream);
    let (mut notice, mut length, mut first) = (String::new(), 0, String::new());
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("allod-notice") => {
                notice = value.to_owned();
            }
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap();
            }
            _ if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let target = String::from_utf8(body).unwrap();
    let behaviour = *behaviour.lock().unwrap();
    let line = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    received.lock().unwrap().push(ReceivedRequest { notice, target, line });
    match behaviour {
        HookBehaviour::Answer(status) => {
            let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
            drop(reader.get_mut().write_all(reply.as_bytes()));
        }
        HookBehaviour::Silent => std::thread::sleep(Duration::from_secs(30)),
    }
}
