//! An inventory behind the HTTP contract, in the test process, with faults.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What goes wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends before anything is done.
    CutBefore,
    /// It is done, and the connection ends without an answer.
    CutAfter,
    /// It is done, and the answer is an error.
    DoneButError,
    /// Nothing goes wrong.
    None,
    /// The connection ends at once, and the request is carried out after this time.
    Late(Duration),
    /// Nothing is done, and there is no answer.
    Hang,
    /// Nothing is done, and this is the answer: status and header lines.
    Status(u16, &'static str),
}

/// What the inventory says that it can do.
#[derive(Debug, Clone, Copy)]
pub struct Promises {
    pub find: &'static str,
    pub idempotent: bool,
    pub parallel: Option<u16>,
}

pub const IDEMPOTENT: Promises = Promises { find: "ref", idempotent: true, parallel: None };

#[derive(Debug)]
struct Contents {
    promises: Promises,
    /// Every grant: reference and value. Without idempotency a reference may have several.
    grants: Vec<(String, u64)>,
    /// Granted values in order, also those released since.
    granted: Vec<u64>,
    max: u64,
    /// The faults of the next requests with this method.
    next: BTreeMap<&'static str, VecDeque<Fault>>,
    /// The fault of all other requests.
    always: Option<Fault>,
    /// Method and path of every request.
    log: Vec<String>,
    in_progress: usize,
    most_in_progress: usize,
    connections: usize,
    shares_values: bool,
    /// Values and versions by name, for look-ups.
    facts: BTreeMap<String, (Value, String)>,
}

#[derive(Clone)]
pub struct Inventory {
    pub url: String,
    contents: Arc<Mutex<Contents>>,
    _tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Inventory {
    /// An inventory with the values 1 to `max`.
    pub async fn start(promises: Promises, max: u64) -> Inventory {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let contents = Contents {
            promises,
            grants: Vec::new(),
            granted: Vec::new(),
            max,
            next: BTreeMap::new(),
            always: None,
            log: Vec::new(),
            in_progress: 0,
            most_in_progress: 0,
            connections: 0,
            shares_values: false,
            facts: BTreeMap::new(),
        };
        let contents = Arc::new(Mutex::new(contents));
        let inventory = Inventory { url, contents, _tasks: Arc::default() };
        let serving = inventory.contents.clone();
        inventory._tasks.lock().unwrap().spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                serving.lock().unwrap().connections += 1;
                connections.spawn(serve(stream, serving.clone()));
            }
        });
        inventory
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap()
    }

    /// The next request with this method fails like this.
    pub fn fault(&self, method: &'static str, fault: Fault) {
        self.contents().next.entry(method).or_default().push_back(fault);
    }

    /// All requests fail like this, or none.
    pub fn always(&self, fault: Option<Fault>) {
        self.contents().always = fault;
    }

    /// References and values.
    pub fn grants(&self) -> Vec<(String, u64)> {
        let mut grants = self.contents().grants.clone();
        grants.sort();
        grants
    }

    /// How often a value was granted, also for those released since.
    pub fn granted(&self) -> usize {
        self.contents().granted.len()
    }

    /// Replaces what the inventory knows about a reference.
    pub fn change(&self, reference: &str, value: Option<u64>) {
        let mut contents = self.contents();
        contents.grants.retain(|(known, _)| known != reference);
        contents.grants.extend(value.map(|value| (reference.to_owned(), value)));
    }

    /// Takes a value for another user of the inventory.
    pub fn take(&self, reference: &str, value: u64) {
        self.contents().grants.push((reference.to_owned(), value));
    }

    pub fn know(&self, name: &str, value: Value, version: &str) {
        self.contents().facts.insert(name.to_owned(), (value, version.to_owned()));
    }

    /// From now on, a value may have several holders.
    pub fn share_values(&self) {
        self.contents().shares_values = true;
    }

    /// The methods of the requests for grants so far.
    pub fn log(&self) -> Vec<String> {
        let log = self.contents().log.clone();
        log.into_iter().filter(|line| line.contains("/grants")).collect()
    }

    pub fn methods(&self) -> String {
        let log = self.log();
        let methods = log.iter().map(|line| line.split(' ').next().unwrap());
        methods.collect::<Vec<_>>().join(" ")
    }

    pub fn most_in_progress(&self) -> usize {
        self.contents().most_in_progress
    }

    pub fn connections(&self) -> usize {
        self.contents().connections
    }
}

async fn serve(stream: TcpStream, contents: Arc<Mutex<Contents>>) {
    let mut stream = BufReader::new(stream);
    loop {
        let Some((method, path, body)) = receive(&mut stream).await else { return };
        let fault = {
            let mut contents = contents.lock().unwrap();
            contents.log.push(format!("{method} {path}"));
            contents.in_progress += 1;
            contents.most_in_progress = contents.most_in_progress.max(contents.in_progress);
            let next = contents.next.get_mut(&*method).and_then(VecDeque::pop_front);
            next.or_else(|| contents.always.clone())
        };
        let answer = match fault {
            None | Some(Fault::None) => {
                Some(contents.lock().unwrap().answer(&method, &path, &body))
            }
            Some(Fault::CutBefore) => None,
            Some(Fault::CutAfter) => {
                contents.lock().unwrap().answer(&method, &path, &body);
                None
            }
            Some(Fault::DoneButError) => {
                contents.lock().unwrap().answer(&method, &path, &body);
                Some((500, "", String::new()))
            }
            Some(Fault::Late(after)) => {
                let late = contents.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    late.lock().unwrap().answer(&method, &path, &body);
                });
                None
            }
            Some(Fault::Hang) => {
                let mut nothing = [0];
                drop(stream.read(&mut nothing).await);
                None
            }
            Some(Fault::Status(status, headers)) => Some((status, headers, String::new())),
        };
        contents.lock().unwrap().in_progress -= 1;
        let Some((status, headers, body)) = answer else { return };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n");
        if stream.get_mut().write_all(format!("{head}{body}").as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn receive(stream: &mut BufReader<TcpStream>) -> Option<(String, String, String)> {
    let mut first = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
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
    stream.read_exact(&mut body).await.ok()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some((method, path, String::from_utf8(body).ok()?))
}

impl Contents {
    fn answer(&mut self, method: &str, path: &str, body: &str) -> (u16, &'static str, String) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if path == "/grants" {
            // Pages of two.
            let after = query.strip_prefix("after=").unwrap_or_default();
            let mut grants: Vec<_> = self.grants.iter().filter(|(it, _)| **it > *after).collect();
            grants.sort();
            grants.truncate(2);
            let next = grants.get(1).map(|(reference, _)| reference);
            let listed = |(reference, value): &&(String, u64)| json!({"ref": reference, "value": value, "handle": null, "version": null});
            let listed: Vec<Value> = grants.iter().map(listed).collect();
            return (200, "", json!({"grants": listed, "next": next}).to_string());
        }
        if let Some(name) = path.strip_prefix("/lookup/") {
            return match self.facts.get(name) {
                Some((value, version)) => {
                    (200, "", json!({"value": value, "version": version}).to_string())
                }
                None => (404, "", String::new()),
            };
        }
        let Some(reference) = path.strip_prefix("/grants/") else {
            let Promises { find, idempotent, parallel } = self.promises;
            let abilities = json!({"find": find, "list": false, "idempotent": idempotent, "parallel": parallel});
            return (200, "", abilities.to_string());
        };
        let asked = query.split('&').find_map(|part| part.strip_prefix("value="));
        let is_match = |(known, value): &(String, u64)| match self.promises.find {
            "ref" => known == reference,
            "value" => Some(value.to_string().as_str()) == asked,
            _ => false,
        };
        let known = self.grants.iter().find(|grant| is_match(grant)).cloned();
        let shown = |value: u64| json!({"value": value, "handle": null, "version": null});
        match (method, known) {
            ("PUT", Some((_, value))) if self.promises.idempotent => {
                (200, "", shown(value).to_string())
            }
            ("PUT", _) => {
                let body: Value = serde_json::from_str(body).unwrap();
                let wished = body["want"]["value"].as_u64();
                let is_held = |value: &u64| self.grants.iter().any(|(_, held)| held == value);
                let is_free = |value: &u64| self.shares_values || !is_held(value);
                let free = match wished {
                    Some(wished) => Some(wished).filter(is_free),
                    None => (1..=self.max).find(is_free),
                };
                match (free, wished) {
                    (Some(value), _) => {
                        self.grants.push((reference.to_owned(), value));
                        self.granted.push(value);
                        (201, "", shown(value).to_string())
                    }
                    (None, Some(_)) => (409, "", json!({"code": "taken"}).to_string()),
                    (None, None) => (409, "", json!({"code": "exhausted"}).to_string()),
                }
            }
            ("GET", Some((_, value))) => (200, "", shown(value).to_string()),
            ("GET", None) => (404, "", String::new()),
            ("DELETE", known) => {
                let gone = known.is_some();
                self.grants.retain(|grant| Some(grant) != known.as_ref());
                (if gone { 204 } else { 404 }, "", String::new())
            }
            _ => (405, "", String::new()),
        }
    }
}
