//! Failures of backup and restore are reported, and leave no file that looks like a backup or a journal.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::backup::{assert_continues, backup, done, fails, names, text, with_claims};
use crate::crash::server;

/// A backup of a server with this many claims.
fn backed_up(folder: &Path, count: u32) -> Vec<u8> {
    let server = with_claims(&folder.join("data"), count);
    let file = folder.join("good.backup");
    backup(&server, &file);
    server.kill();
    fs::read(file).unwrap()
}

#[test]
fn a_changed_or_shortened_backup_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let good = backed_up(folder.path(), 20);
    let (file, data) = (folder.path().join("bad.backup"), folder.path().join("copy"));
    for (bytes, words) in [
        (good[..good.len() / 2].to_vec(), "the backup ends early after record 0"),
        (good[..good.len() - 1].to_vec(), "the backup ends early after record 22"),
        ([&good[..], b"x"].concat(), "something follows its end"),
        (b"something else".to_vec(), "neither a backup nor an archive segment"),
        (Vec::new(), "neither a backup nor an archive segment"),
    ] {
        fs::write(&file, bytes).unwrap();
        for command in [
            &["restore", text(&file), "--data", text(&data)][..],
            &["journal", "verify", text(&file)],
        ] {
            let said = fails(command, 3);
            assert!(said.contains(words), "{said}");
        }
    }
    for at in [9, good.len() / 3, good.len() - 3] {
        let mut bytes = good.clone();
        bytes[at] ^= 0x20;
        fs::write(&file, bytes).unwrap();
        fails(&["restore", text(&file), "--data", text(&data)], 3);
    }
    // The failed attempts do not prevent a good restore.
    assert_eq!(names(&data), ["allod.lock"]);
    fs::write(&file, &good).unwrap();
    done(&["restore", text(&file), "--data", text(&data)]);
    assert_continues(&server::start(&data), 20);
}

#[test]
fn a_restore_into_a_folder_that_is_not_empty_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    backed_up(folder.path(), 2);
    let (file, data) = (folder.path().join("good.backup"), folder.path().join("data"));
    let before = names(&data);
    let said = fails(&["restore", text(&file), "--data", text(&data)], 4);
    assert!(said.contains("is not empty") && said.contains("restore into a new folder"), "{said}");
    assert_eq!(names(&data), before);
    assert_continues(&server::start(&data), 2);
    let said = fails(&["restore", "/nowhere", "--data", text(&data)], 2);
    assert!(said.contains("cannot read /nowhere"), "{said}");
}

#[test]
fn a_killed_restore_cannot_be_started_and_can_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let good = backed_up(folder.path(), 50);
    let data = folder.path().join("copy");
    let mut restoring =
        server::allod(&["restore".into(), "-".into(), "--data".into(), text(&data).into()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    let mut stdin = restoring.stdin.take().unwrap();
    stdin.write_all(&good[..good.len() * 2 / 3]).unwrap();
    stdin.flush().unwrap();
    let (began, mark) = (Instant::now(), data.join("restoring/journal.sqlite"));
    while !mark.exists() {
        assert!(began.elapsed() < Duration::from_secs(20), "the restore does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    restoring.kill().unwrap();
    restoring.wait().unwrap();
    let (code, said) = server::run(&data);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("did not finish; restore again"), "{said}");
    done(&["restore", text(&folder.path().join("good.backup")), "--data", text(&data)]);
    assert_continues(&server::start(&data), 50);
}

/// A limit on the size of files simulates a full disk.
#[test]
fn a_restore_on_a_full_disk_fails_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    backed_up(folder.path(), 50);
    let data = folder.path().join("copy");
    let script = format!(
        "trap '' XFSZ; ulimit -f 4; exec {} restore good.backup --data copy",
        env!("CARGO_BIN_EXE_allod")
    );
    let mut command = Command::new("bash");
    command.args(["-c", &script]).env_clear().current_dir(folder.path()).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(names(&data), ["allod.lock"]);
    done(&["restore", text(&folder.path().join("good.backup")), "--data", text(&data)]);
}

/// Answers one request with a chunked body, complete or truncated.
fn answer_once(pieces: Vec<u8>, ends: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 2000];
        assert!(stream.read(&mut request).unwrap() > 0);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for piece in pieces.chunks(100) {
            stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).unwrap();
            stream.write_all(piece).unwrap();
            stream.write_all(b"\r\n").unwrap();
        }
        if ends {
            stream.write_all(b"0\r\n\r\n").unwrap();
        }
    });
    address
}

/// A server that is killed, stops or fails during a backup looks like this to the client.
#[test]
fn a_truncated_backup_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let good = backed_up(folder.path(), 20);
    let file = folder.path().join("new.backup");
    let half = good[..good.len() / 2].to_vec();
    let mut changed = good.clone();
    changed[good.len() / 2] ^= 1;
    for (bytes, ends) in
        [(half.clone(), false), (half, true), (good.clone(), false), (changed, true)]
    {
        let server = answer_once(bytes, ends);
        let said = fails(&["backup", "--to", text(&file), "--server", &server], 1);
        assert!(said.contains("is incomplete") && said.contains("try again"), "{said}");
        assert_eq!(names(folder.path()), ["data", "good.backup"]);
    }
    let server = answer_once(good.clone(), true);
    done(&["backup", "--to", text(&file), "--server", &server]);
    assert_eq!(fs::read(&file).unwrap(), good);
    // An existing backup is not replaced by a failed one.
    let said = fails(&["backup", "--to", text(&file), "--server", "127.0.0.1:1"], 1);
    assert!(said.contains("cannot connect to"), "{said}");
    assert_eq!(fs::read(&file).unwrap(), good);
    assert_eq!(names(folder.path()), ["data", "good.backup", "new.backup"]);
}

/// The server is killed while the backup waits for its reader.
#[test]
fn a_server_killed_during_a_backup_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = server::start(&data);
    // Labels that do not compress, so that the backup exceeds the socket buffers.
    let mut seed = 1_u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{seed:016x}")
    };
    assert_eq!(server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["0-99999"]}"#).status, 201);
    for n in 0..600 {
        let labels: Vec<String> = (0..30)
            .map(|n| format!("\"{n}\":\"{}\"", (0..15).map(|_| noise()).collect::<String>()))
            .collect();
        let body = format!("{{\"labels\":{{{}}}}}", labels.join(","));
        assert_eq!(server.put(&format!("/v1/pools/p/claims/{n}"), &body).status, 201);
    }
    let file = folder.path().join("a.backup");
    let url = format!("http://{}", server.address);
    let mut making =
        server::allod(&["backup".into(), "--to".into(), "-".into(), "--server".into(), url])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    let mut some = [0; 4096];
    making.stdout.as_mut().unwrap().read_exact(&mut some).unwrap();
    assert_eq!(&some[..8], b"allodsg1");
    server.kill();
    let output = making.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("is incomplete"), "{said}");
    let server = server::start(&data);
    backup(&server, &file);
    assert_continues(&server, 600);
    done(&["journal", "verify", text(&file)]);
}
