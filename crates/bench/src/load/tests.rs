//! Tests of the load generator against the bare server, and against a misbehaving one.

use super::*;
use crate::bare;

/// Sends a number of claims under its own keys.
struct Claims {
    left: u32,
    answered: u32,
    pad: usize,
}

impl Script for Claims {
    fn request(&mut self, out: &mut Vec<u8>) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let body = format!("{{\"owner\":\"{}\"}}", "x".repeat(self.pad));
        write_request(out, "PUT", "/v1/pools/hot/claims/a", Some(body.as_bytes()));
        true
    }

    fn reply(&mut self, status: u16, body: &[u8]) -> Result<(), String> {
        self.answered += 1;
        if status == 201 && body.len() == 300 { Ok(()) } else { Err(format!("status {status}")) }
    }
}

fn bare_server() -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || bare::serve(listener, 300, None));
    address
}

#[test]
fn every_script_runs_to_its_end() {
    let scripts = (0..8).map(|left| Claims { left, answered: 0, pad: 4 }).collect();
    let measured = run(bare_server(), scripts, Length::UntilDone).unwrap();
    assert_eq!(measured.replies, 28);
    assert_eq!(measured.latencies.len(), 28);
}

#[test]
fn a_timed_run_counts_only_answers_in_its_time() {
    let scripts = (0..4).map(|_| Claims { left: u32::MAX, answered: 0, pad: 4 }).collect();
    let (warm_up, measure) = (Duration::from_millis(50), Duration::from_millis(100));
    let measured = run(bare_server(), scripts, Length::Timed { warm_up, measure }).unwrap();
    assert!(measured.replies > 0);
    assert_eq!(measured.elapsed, measure);
}

#[test]
fn a_request_larger_than_the_socket_buffer_is_sent_completely() {
    let scripts = vec![Claims { left: 3, answered: 0, pad: 1_500_000 }];
    assert_eq!(run(bare_server(), scripts, Length::UntilDone).unwrap().replies, 3);
}

#[test]
fn an_answer_that_the_script_rejects_ends_the_run() {
    struct Wrong;
    impl Script for Wrong {
        fn request(&mut self, out: &mut Vec<u8>) -> bool {
            write_request(out, "GET", "/nowhere", None);
            true
        }
        fn reply(&mut self, status: u16, _: &[u8]) -> Result<(), String> {
            Err(format!("answered {status}"))
        }
    }
    let error = run(bare_server(), vec![Wrong], Length::UntilDone).unwrap_err();
    assert_eq!(error.to_string(), "answered 404");
}

#[test]
fn a_closed_connection_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.accept().map(drop));
    let scripts = vec![Claims { left: 1, answered: 0, pad: 4 }];
    assert!(run(address, scripts, Length::UntilDone).is_err());
}
