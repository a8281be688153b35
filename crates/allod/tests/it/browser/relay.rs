//! A server for the hostile page. It answers `/page` itself and forwards everything else to allod, so that page and server
//! have the same origin, as after DNS rebinding.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

const PAGE: &str = include_str!("page.html");

pub struct Relay {
    address: SocketAddr,
}

impl Relay {
    /// Runs until the test process ends.
    pub fn start(target: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || drop(serve(client, target)));
            }
        });
        Relay { address }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

fn serve(mut client: TcpStream, target: SocketAddr) -> io::Result<()> {
    let mut first = vec![0; 64 * 1024];
    let len = client.read(&mut first)?;
    let first = &first[..len];
    if first.starts_with(b"GET /page") {
        let len = PAGE.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nconnection: close\r\ncontent-length: {len}\r\n\r\n"
        );
        return client.write_all([head.as_bytes(), PAGE.as_bytes()].concat().as_slice());
    }
    let mut server = TcpStream::connect(target)?;
    server.write_all(first)?;
    let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    io::copy(&mut server, &mut client)?;
    client.shutdown(Shutdown::Both)
}
