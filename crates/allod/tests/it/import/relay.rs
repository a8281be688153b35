//! A relay in front of a server that lets so many requests through and then holds everything back, so that an import can be
//! cut off at a certain point.

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
    /// For a client that makes one request after the other.
    pub fn start(to: SocketAddr, requests: usize) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, held) = channel();
        thread::spawn(move || {
            let mut left = requests;
            for client in listener.incoming() {
                carry(client.unwrap(), TcpStream::connect(to).unwrap(), &mut left, &tell);
            }
        });
        Relay { address, held }
    }

    /// Waits until a request is held back.
    pub fn wait(&self) {
        self.held.recv_timeout(Duration::from_secs(30)).expect("it does not come that far");
    }
}

/// Carries a connection until it ends, or for ever once something is held back.
fn carry(mut client: TcpStream, mut server: TcpStream, left: &mut usize, tell: &Sender<()>) {
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    // Ends with the server's end of it.
    thread::spawn(move || std::io::copy(&mut from, &mut to));
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        if bytes.starts_with(b"GET ") {
            if *left == 0 {
                tell.send(()).unwrap();
                // Until whoever waits for the answer is gone.
                drop(client.read(&mut bytes));
                return;
            }
            *left -= 1;
        }
        server.write_all(&bytes[..count]).unwrap();
    }
}
