//! A test server with its own port and thread.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use allod_edge::{App, Auth, Exporter, HttpLimits, Listener, Route};
use tokio::sync::oneshot;

/// Stops when dropped; `stop` returns the number of connections that were aborted.
pub struct Server {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<usize>>,
}

impl Server {
    pub fn start(routes: Vec<Route>, limits: HttpLimits) -> Server {
        let (sender, address) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            runtime.unwrap().block_on(async move {
                let anywhere = "127.0.0.1:0".parse().unwrap();
                let listener =
                    Listener::bind(anywhere, Auth::None, limits.accept_queue_max).await.unwrap();
                sender.send(listener.address()).unwrap();
                let app = Arc::new(App::new(routes, limits).unwrap());
                let stop = async { drop(stopped.await) };
                listener.serve(app, Exporter::install(), stop).await
            })
        });
        Server { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends the bytes on a new connection and reads until the server closes it.
    pub fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        read_all(&mut stream)
    }

    pub fn is_alive(&self) -> bool {
        self.send(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n").ends_with("ok\n")
    }

    pub fn stop(mut self) -> usize {
        self.stop.take().unwrap().send(()).unwrap();
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Held by tests in which a client stalls: the count of these is one for the whole process.
pub static STALLS: Mutex<()> = Mutex::new(());

pub fn read_all(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    String::from_utf8(all).unwrap()
}

pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nconnection: close\r\n\r\n").into_bytes()
}
