//! A server with fixed answers for each path, for answers that a real one rarely gives: `/503/…` is answered with 503.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

pub struct Canned {
    pub address: String,
}

impl Canned {
    /// Serves until the test ends.
    pub fn start() -> Canned {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || drop(answer(stream)));
            }
        });
        Canned { address }
    }
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let headers: Vec<String> =
        lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let token = headers.iter().find_map(|line| line.strip_prefix("authorization: "));
    let about = first.split(['/', ' ']).nth(2).unwrap_or_default();
    let (status, kind, body) = match about {
        "401" | "403" | "503" | "500" => {
            let code = match about {
                "401" => "token_missing",
                "403" => "not_allowed",
                "503" => "queue_full",
                _ => "internal",
            };
            let detail = format!("canned, for {}", token.unwrap_or("no token"));
            let body =
                format!(r#"{{"title":"t","status":{about},"detail":"{detail}","code":"{code}"}}"#);
            (about, "application/problem+json", body)
        }
        "html" => ("502", "text/html", "<html>Bad Gateway</html>".to_owned()),
        "old" => ("200", "application/json", r#"{"surprise":true}"#.to_owned()),
        // Closes in the middle of the answer.
        _ => return stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"),
    };
    let len = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: {len}\r\n\r\n{body}"
    )
}
