//! A server with fixed answers for each path, for answers that a real one rarely gives: `/503/…` is answered with 503.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// A claim that waits for an authority.
const WANTED: &str = r#"{"pool":"vlans","key":"blue","owner":"blue","value":null,"version":7,"state":"wanted","created":"2026-01-01T08:00:00.000Z","expires":null,"expired":false,"labels":{},"authority":"inventory","reference":"5d3c1f0a-7be2-8a41-9c6d-000000001c00","reason":"connection refused","attempts":3,"next_attempt":"2026-01-01T08:05:00.000Z","since":"2026-01-01T08:00:00.000Z"}"#;

/// An authority that cannot be reached, without the end of the object.
const FAILING: &str = r#"{"name":"inventory","generation":2,"kind":"http","url":"http://10.0.0.1","parallel":1,"timeout":10,"queue_max":10000,"alarm_after":300,"poll":300,"reconcile":0,"state":"failing","pools":1,"wanted":1,"held":12,"refused":0,"stuck":0,"conflicts":1,"releasing":2,"lookups":0,"drifted":0,"oldest_seconds":7510.5,"last_error":"connection refused""#;

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

/// A look-up in this state.
fn look_up(state: &str) -> String {
    let (value, resolved) = match state {
        "resolved" | "drifted" => (r#"{"gateway":"10.0.0.1"}"#, r#""2026-01-01T08:00:00.000Z""#),
        _ => ("null", "null"),
    };
    let seen = match state {
        "drifted" => r#","seen":{"value":"10.0.0.2","at":"2026-01-01T09:00:00.000Z"}"#,
        "unresolved" => r#","reason":"connection refused""#,
        _ => "",
    };
    let state = if state == "unresolved" { "wanted" } else { state };
    format!(
        r#"{{"authority":"inventory","key":"site-fra","state":"{state}","policy":"ask","value":{value},"version":7,"resolved":{resolved}{seen},"attempts":0,"next_attempt":null}}"#
    )
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
        "wanted" => ("202", "application/json", WANTED.to_owned()),
        "stuck" => ("202", "application/json", WANTED.replace("wanted", "stuck")),
        "releasing" => {
            let claim = WANTED.replace("wanted", "releasing");
            let body = format!(
                r#"{{"results":[{{"release":{{"existed":true,"claim":{claim}}}}}],"dry_run":false}}"#
            );
            ("202", "application/json", body)
        }
        "resolved" | "drifted" | "unknown" | "unresolved" => {
            ("200", "application/json", look_up(about))
        }
        "lookups" => {
            let all = ["resolved", "drifted", "unknown", "unresolved"].map(look_up).join(",");
            ("200", "application/json", format!(r#"{{"lookups":[{all}],"next":null}}"#))
        }
        "failing" => {
            let list = if first.contains("/claims") {
                format!(r#"{{"claims":[{WANTED}],"next":null}}"#)
            } else {
                format!(r#"{{"authorities":[{FAILING},"oldest":{WANTED}}}],"next":null}}"#)
            };
            ("200", "application/json", list)
        }
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
