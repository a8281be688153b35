//! Starts on damaged data folders.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::crash::server::{self, Server, run};

fn database(data: &Path) -> PathBuf {
    data.join("journal.sqlite")
}

fn log(data: &Path) -> PathBuf {
    data.join("journal.sqlite-wal")
}

/// A folder in which `count` claims were acknowledged before the server was killed.
fn with_claims(count: u32) -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    let server = server::start(data.path());
    assert_eq!(server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["0-999"]}"#).status, 201);
    for n in 0..count {
        assert_eq!(server.put(&format!("/v1/pools/p/claims/{n}"), "{}").status, 201);
    }
    server.kill();
    data
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

#[test]
fn an_incomplete_last_write_is_dropped_and_reported() {
    let data = with_claims(20);
    // The first half of the last frame again, as a crash during a write leaves it.
    let bytes = fs::read(log(data.path())).unwrap();
    let frame = bytes[bytes.len() - (24 + 4096)..][..2000].to_vec();
    OpenOptions::new().append(true).open(log(data.path())).unwrap().write_all(&frame).unwrap();
    let server = server::start(data.path());
    assert_continues(&server, 20);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0));
    assert!(said.contains("dropped an incomplete write of a crash"), "{said}");
    let server = server::start(data.path());
    let (_, said) = server.stop();
    assert!(!said.contains("incomplete write"), "{said}");
}

#[test]
fn damage_in_the_middle_prevents_the_start_and_is_located() {
    let data = with_claims(40);
    let mut bytes = fs::read(log(data.path())).unwrap();
    let middle = 32 + (bytes.len() / 2 / (24 + 4096)) * (24 + 4096) + 1000;
    bytes[middle] ^= 0x40;
    fs::write(log(data.path()), &bytes).unwrap();
    let (code, said) = run(data.path());
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("damaged at record"), "{said}");
    assert!(said.contains("backup"), "{said}");
    // The attempt did not change the files.
    assert_eq!(fs::read(log(data.path())).unwrap(), bytes);
}

#[test]
fn a_newer_format_prevents_the_start() {
    let data = with_claims(3);
    let (code, said) = server::start(data.path()).stop();
    assert_eq!(code, Some(0), "{said}");
    // SQLite stores the user version at byte 60 of the file.
    let mut bytes = fs::read(database(data.path())).unwrap();
    assert_eq!(bytes[60..64], [0, 0, 0, 1]);
    bytes[63] = 9;
    fs::write(database(data.path()), &bytes).unwrap();
    let (code, said) = run(data.path());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("format 9") && said.contains("start a newer one"), "{said}");
}

#[test]
fn a_second_server_on_a_folder_is_refused() {
    let data = with_claims(2);
    let first = server::start(data.path());
    let (code, said) = run(data.path());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("in use by another process"), "{said}");
    assert_continues(&first, 2);
    first.kill();
    // The lock ends with the process.
    let (code, _) = server::start(data.path()).stop();
    assert_eq!(code, Some(0));
}

#[test]
fn a_damaged_checkpoint_is_ignored_at_the_start() {
    let data = with_claims(900);
    let mut checkpoints: Vec<PathBuf> = fs::read_dir(data.path().join("checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        // The server may have been killed while it wrote another one.
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "checkpoint"))
        .collect();
    assert!(!checkpoints.is_empty(), "there is no checkpoint to damage");
    checkpoints.sort();
    let newest = checkpoints.last().unwrap();
    let mut bytes = fs::read(newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(newest, bytes).unwrap();
    let server = server::start(data.path());
    assert_continues(&server, 900);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0));
    assert!(said.contains("checkpoint"), "{said}");
}
