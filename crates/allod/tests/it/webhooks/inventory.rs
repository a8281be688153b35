//! An authority in the test process: it grants ids in order, until they are used up.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

#[derive(Default)]
struct Stored {
    /// Values by reference.
    grants: BTreeMap<String, u32>,
    /// The bodies of all requests for a grant.
    asked: Vec<Value>,
    /// Whether requests for a grant or its release are answered.
    available: bool,
}

pub struct Inventory {
    pub address: SocketAddr,
    stored: Arc<Mutex<Stored>>,
}

impl Inventory {
    /// It has these values.
    pub fn start(values: std::ops::RangeInclusive<u32>) -> Inventory {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stored = Arc::new(Mutex::new(Stored { available: true, ..Stored::default() }));
        let all = stored.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, values) = (all.clone(), values.clone());
                std::thread::spawn(move || serve(stream, &all, &values));
            }
        });
        Inventory { address, stored }
    }

    pub fn set_available(&self, available: bool) {
        self.stored.lock().unwrap().available = available;
    }

    pub fn values(&self) -> Vec<u32> {
        self.stored.lock().unwrap().grants.values().copied().collect()
    }

    pub fn asked(&self) -> Vec<Value> {
        self.stored.lock().unwrap().asked.clone()
    }
}

fn serve(stream: TcpStream, stored: &Mutex<Stored>, values: &std::ops::RangeInclusive<u32>) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut first, mut length) = (String::new(), 0);
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            match line.trim_end().split_once(": ") {
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
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let path = path.split('?').next().unwrap();
        let (status, answer) = answer(&mut stored.lock().unwrap(), values, method, path, &body);
        let answer = answer.map_or(String::new(), |answer| answer.to_string());
        let reply = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if reader.get_mut().write_all(reply.as_bytes()).is_err() {
            return;
        }
    }
}

fn answer(
    stored: &mut Stored,
    values: &std::ops::RangeInclusive<u32>,
    method: &str,
    path: &str,
    body: &[u8],
) -> (u16, Option<Value>) {
    if path == "/" {
        let able = json!({"find": "ref", "list": true, "lookup": false, "idempotent": true});
        return (200, Some(able));
    }
    if !stored.available {
        return (503, None);
    }
    let reference = path.strip_prefix("/grants/").unwrap_or_default().to_owned();
    let granted = |value: u32| Some(json!({"value": value}));
    match (method, stored.grants.get(&reference).copied()) {
        ("PUT", Some(value)) => (200, granted(value)),
        ("PUT", None) => {
            stored.asked.push(serde_json::from_slice(body).unwrap());
            let used: Vec<u32> = stored.grants.values().copied().collect();
            let free = values.clone().find(|value| !used.contains(value));
            let Some(value) = free else {
                let refusal = json!({"code": "exhausted", "message": "secret details"});
                return (409, Some(refusal));
            };
            stored.grants.insert(reference, value);
            (201, granted(value))
        }
        ("GET", Some(value)) => (200, granted(value)),
        ("DELETE", known) => {
            known.map(|_| stored.grants.remove(&reference));
            (if known.is_some() { 204 } else { 404 }, None)
        }
        _ => (404, None),
    }
}
