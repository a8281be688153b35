//! A relay that passes a number of requests to a server and then blocks, to interrupt an import at a certain point.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

#[derive(Debug)]
pub struct Relay {
    pub address: SocketAddr,
    held: Receiver<()>,
}

impl Relay {
    /// Works for a client that sends one request at a time.
    pub fn start(to: SocketAddr, requests: usize) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (blocked, held) = channel();
        thread::spawn(move || {
            let mut left = requests;
            for client in listener.incoming() {
                carry(client.unwrap(), TcpStream::connect(to).unwrap(), &mut left, &blocked);
            }
        });
        Relay { address, held }
    }

    /// Waits until a request is blocked.
    pub fn wait(&self) {
        self.held.recv_timeout(Duration::from_secs(30)).expect("it does not come that far");
    }
}

/// Relays a connection until it ends, or blocks.
fn carry(mut client: TcpStream, mut server: TcpStream, left: &mut usize, blocked: &Sender<()>) {
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    // Ends when the server closes the connection.
    thread::spawn(move || std::io::copy(&mut from, &mut to));
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        if bytes.starts_with(b"GET ") {
            if *left == 0 {
                blocked.send(()).unwrap();
                // Until the client is gone.
                drop(client.read(&mut bytes));
                return;
            }
            *left -= 1;
        }
        server.write_all(&bytes[..count]).unwrap();
    }
}
