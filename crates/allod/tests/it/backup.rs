//! Backups and restores with the real binary: under load, through pipes, interrupted, damaged. An independent checker
//! verifies the answers.

mod broken;
mod carry;
mod retention;

use std::path::Path;
use std::process::Output;

use crate::crash::server::{self, Server};

fn allod(arguments: &[&str]) -> Output {
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    server::allod(&arguments).output().unwrap()
}

/// Runs a command that must succeed, and returns its stdout.
fn done(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = allod(arguments);
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Runs a command that must fail with this code, and returns its stderr.
fn fails(arguments: &[&str], code: i32) -> String {
    let Output { status, stderr, .. } = allod(arguments);
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{arguments:?}: {said}");
    said
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A server on `data` with a pool and this many claims.
fn with_claims(data: &Path, count: u32) -> Server {
    let server = server::start(data);
    assert_eq!(server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["0-99999"]}"#).status, 201);
    claims(&server, 0, count);
    server
}

fn claims(server: &Server, from: u32, count: u32) {
    for n in from..from + count {
        assert_eq!(server.put(&format!("/v1/pools/p/claims/{n}"), "{}").status, 201);
    }
}

/// Asserts that all claims exist and that the next one gets the next value.
fn assert_continues(server: &Server, count: u32) {
    for n in 0..count {
        let claim = server.get(&format!("/v1/pools/p/claims/{n}")).text();
        assert!(claim.contains(&format!("\"value\":{n},")), "{claim}");
    }
    let next = server.put("/v1/pools/p/claims/next", "{}").text();
    assert!(next.contains(&format!("\"value\":{count},")), "{next}");
}

fn backup(server: &Server, to: &Path) -> String {
    let url = format!("http://{}", server.address);
    done(&["backup", "--to", text(to), "--server", &url, "--output", "json"])
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
