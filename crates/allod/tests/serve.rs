//! The binary as an operator meets it: starts, serves, stops, says what is wrong.

#![expect(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

struct Server {
    child: Child,
    address: String,
    /// Keeps reading what the server says, so that it never waits for us.
    talk: std::thread::JoinHandle<String>,
}

fn allod(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    allod(arguments).output().unwrap()
}

impl Server {
    fn start(data: &Path, more: &[&str]) -> Server {
        let data = data.to_str().unwrap();
        let mut child = allod(&["serve", "--listen", "127.0.0.1:0", "--data", data])
            .args(more)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it did not start: {said}");
            said.push_str(&line);
            if let Some(address) = line.trim().strip_prefix("listening on http://") {
                break address.to_owned();
            }
        };
        let talk = std::thread::spawn(move || {
            lines.read_to_string(&mut said).unwrap();
            said
        });
        let server = Server { child, address, talk };
        let began = Instant::now();
        while !server.ask("GET", "/readyz", "").starts_with("HTTP/1.1 200 ") {
            assert!(began.elapsed() < Duration::from_secs(20), "it does not get ready");
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let len = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {len}");
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Asks it to stop; its exit code and what it said.
    fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal);
        let status = self.child.wait().unwrap();
        (status.code(), self.talk.join().unwrap())
    }
}

#[test]
fn what_was_claimed_is_there_after_a_stop_and_after_a_kill() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let reply = server.ask("PUT", "/v1/pools/p", r#"{"kind":"id32","ranges":["5-9"]}"#);
    assert!(reply.starts_with("HTTP/1.1 201 "), "{reply}");
    let reply = server.ask("PUT", "/v1/pools/p/claims/a", "{}");
    assert!(reply.contains("\"value\":5,"), "{reply}");
    assert!(
        reply.contains("\r\nallod-position: ") && reply.contains("\r\nallod-hash: "),
        "{reply}"
    );
    let (code, said) = server.stop("TERM");
    assert_eq!(code, Some(0), "{said}");

    let server = Server::start(data.path(), &["--log-format", "json"]);
    assert!(server.ask("GET", "/v1/pools/p/claims/a", "").contains("\"value\":5,"));
    assert!(server.ask("PUT", "/v1/pools/p/claims/b", "{}").contains("\"value\":6,"));
    let (code, _) = server.stop("KILL");
    assert_eq!(code, None);

    let server = Server::start(data.path(), &[]);
    assert!(server.ask("GET", "/v1/pools/p/claims/b", "").contains("\"value\":6,"));
    let (code, _) = server.stop("INT");
    assert_eq!(code, Some(0));

    let folder = data.path().to_str().unwrap();
    let verified = run(&["journal", "verify", "--data", folder, "--output", "json"]);
    assert!(verified.status.success(), "{verified:?}");
    let text = String::from_utf8(verified.stdout).unwrap();
    assert!(text.contains("\"pools\":1,") && text.contains("\"violations\":[]"), "{text}");
}

#[test]
fn a_second_server_on_the_same_folder_refuses() {
    let data = tempfile::tempdir().unwrap();
    let first = Server::start(data.path(), &[]);
    let folder = data.path().to_str().unwrap();
    let second = run(&["serve", "--listen", "127.0.0.1:0", "--data", folder]);
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains("in use by another process"), "{said}");
    assert_eq!(run(&["journal", "verify", "--data", folder]).status.code(), Some(1));
    assert!(first.ask("GET", "/healthz", "").ends_with("ok\n"));
    assert_eq!(first.stop("TERM").0, Some(0));
}

#[test]
fn what_cannot_be_meant_is_refused_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("allod.toml");
    std::fs::write(&config, "lisen = 1\n").unwrap();
    let data = folder.path().join("data");
    let (config, data) = (config.to_str().unwrap(), data.to_str().unwrap());
    for (arguments, words) in [
        (&["serve", "--data", data, "--listen", "0.0.0.0:0"][..], "listen on 127.0.0.1"),
        (&["serve", "--data", data, "--config", config], "unknown keys lisen"),
        (&["serve", "--data", data, "--config", "/nowhere.toml"], "cannot be read"),
        (&["serve", "--data", data, "--log", "=="], "--log '==' is not understood"),
        (&["serve", "--data", data, "--limit", "keys=1"], "unknown limits keys"),
        (
            &["serve", "--data", data, "--listen", "0.0.0.0:1", "--auth", "none"],
            "or use --auth tokens",
        ),
        (&["serve", "--data", data, "--auth", "magic"], "possible values: none, tokens"),
        (&["serve", "--date", data], "unexpected argument"),
        (&["journal", "verify", "--data", data], "there is no folder"),
    ] {
        let output = run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert!(!Path::new(data).exists());
}

#[test]
fn limits_and_the_log_come_from_anywhere() {
    let data = tempfile::tempdir().unwrap();
    let config = data.path().join("allod.toml");
    std::fs::write(&config, "log = \"info,allod::access=debug\"\n[limits]\nkey_bytes_max = 3\n")
        .unwrap();
    let more = ["--config", config.to_str().unwrap(), "--limit", "body_bytes_max=100"];
    let server = Server::start(&data.path().join("data"), &more);
    server.ask("PUT", "/v1/pools/p", r#"{"kind":"id32","ranges":["5-9"]}"#);
    let reply = server.ask("PUT", "/v1/pools/p/claims/long", "{}");
    assert!(reply.starts_with("HTTP/1.1 422 ") && reply.contains("key_bytes_max is 3"), "{reply}");
    let reply = server.ask("PUT", "/v1/pools/p/claims/a", &" ".repeat(200));
    assert!(reply.starts_with("HTTP/1.1 413 "), "{reply}");
    let limits = server.ask("GET", "/v1/limits", "");
    assert!(limits.contains("\"key_bytes_max\":3,") && limits.contains("\"body_bytes_max\":100,"));
    let (code, said) = server.stop("TERM");
    assert_eq!(code, Some(0));
    assert!(said.contains("allod::access") && said.contains("status=422"), "{said}");
}

#[test]
fn the_guide_has_the_metrics_that_are_exported() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let exported = server.ask("GET", "/metrics", "");
    let exported: BTreeSet<&str> = exported
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    let guide = include_str!("../../../docs/guides/operating.md");
    let metrics = guide.split("\n## ").find(|part| part.starts_with("Metrics\n")).unwrap();
    let rows = metrics.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<BTreeSet<&str>>(), exported);
    assert_eq!(server.stop("TERM").0, Some(0));
}
