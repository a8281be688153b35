//! A webhook server in the test's own process, which answers as it is told and remembers what it was told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub enum Manner {
    Answer(u16),
    /// Reads the request and does not answer.
    Silent,
}

#[derive(Debug, Clone)]
pub struct Told {
    pub notice: String,
    /// The body, which is the target where the settings below say so.
    pub target: String,
    /// Method and path.
    pub line: String,
}

pub struct Hook {
    pub address: SocketAddr,
    told: Arc<Mutex<Vec<Told>>>,
    manner: Arc<Mutex<Manner>>,
    stopping: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Hook {
    pub fn start(manner: Manner) -> Hook {
        Hook::at(SocketAddr::from(([127, 0, 0, 1], 0)), manner)
    }

    pub fn at(address: SocketAddr, manner: Manner) -> Hook {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let told: Arc<Mutex<Vec<Told>>> = Arc::default();
        let manner = Arc::new(Mutex::new(manner));
        let stopping = Arc::new(AtomicBool::new(false));
        let accepting = {
            let (told, manner, stopping) = (told.clone(), manner.clone(), stopping.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if stopping.load(Ordering::Relaxed) {
                        return;
                    }
                    let (told, manner) = (told.clone(), manner.clone());
                    std::thread::spawn(move || serve(stream.unwrap(), &told, &manner));
                }
            })
        };
        Hook { address, told, manner, stopping, accepting: Some(accepting) }
    }

    /// Nobody listens there any more.
    pub fn stop(mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        self.accepting.take().unwrap().join().unwrap();
    }

    pub fn now(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }

    pub fn wait_for(&self, what: &str, holds: impl Fn(&[Told]) -> bool) {
        super::eventually(what, || holds(&self.told()));
    }

    /// The settings of a server that tells everything here.
    pub fn settings(&self) -> String {
        format!("[[webhook]]\nurl = \"http://{}/hook\"\nbody = \"{{target}}\"\n", self.address)
    }
}

fn serve(stream: TcpStream, told: &Mutex<Vec<Told>>, manner: &Mutex<Manner>) {
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
    let manner = *manner.lock().unwrap();
    let line = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    told.lock().unwrap().push(Told { notice, target, line });
    match manner {
        Manner::Answer(status) => {
            let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
            drop(reader.get_mut().write_all(reply.as_bytes()));
        }
        Manner::Silent => std::thread::sleep(Duration::from_secs(30)),
    }
}
