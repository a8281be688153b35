//! A restored server has the data of the backup.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use allod_journal::embedded::Embedded;
use allod_testkit::{Call, History, Request, check, native, read_chain};

use crate::backup::{allod, assert_continues, backup, done, text, with_claims};
use crate::crash::load::{self, POOLS, SeededRandom};
use crate::crash::server::{self, Server};

/// The calls that are in the journal.
fn up_to(chain: &allod_testkit::Chain, calls: &[Call]) -> History {
    let known = |call: &&Call| chain.records.contains_key(&call.hash);
    History { calls: calls.iter().filter(known).cloned().collect() }
}

/// Waits until the server has reached a position, and returns its position then.
fn wait_for_writes(server: &Server, position: u64) -> u64 {
    let began = Instant::now();
    loop {
        let status = server.get("/v1/status").text();
        let digits = status.split("\"position\":").nth(1).unwrap();
        let at: u64 = digits.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
        if at >= position {
            return at;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "no writes: {status}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_restored_server_has_the_history_up_to_the_backup() {
    let folder = tempfile::tempdir().unwrap();
    let server = server::start(&folder.path().join("data"));
    let start = Instant::now();
    let mut calls = Vec::new();
    let mut first = server.client();
    for request in load::pools() {
        calls.push(native::call(&mut first, request, start, 0));
    }
    let enough = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> =
        (1..5).map(|n| load::client(server.client(), &POOLS, n, start, enough.clone())).collect();
    let files: Vec<_> = (0..3).map(|n| folder.path().join(format!("{n}.backup"))).collect();
    let mut written = 0;
    for file in &files {
        written = wait_for_writes(&server, written + 50);
        backup(&server, file);
    }
    wait_for_writes(&server, written + 50);
    enough.store(true, Ordering::Relaxed);
    clients.into_iter().for_each(|client| calls.extend(client.join().unwrap()));
    assert_eq!(server.stop().0, Some(0));

    let mut sizes = Vec::new();
    for file in &files {
        let data = file.with_extension("data");
        let summary = done(&["restore", text(file), "--data", text(&data), "--output", "json"]);
        assert!(summary.contains("\"violations\":[]"), "{summary}");
        let restored = read_chain(&Embedded::open(&data).unwrap().journal).unwrap();
        let mut history = up_to(&restored, &calls);
        sizes.push(history.calls.len());
        let verified = done(&["journal", "verify", "--data", text(&data), "--output", "json"]);
        assert!(verified.contains(&restored.tail.hash.to_string()), "{verified}");
        // The restored server answers and accepts new claims; one chain verifies both.
        let server = server::start(&data);
        let (mut client, mut random) = (server.client(), SeededRandom(7));
        for pool in POOLS {
            let request = Request::GetPool { pool: pool.into() };
            history.calls.push(native::call(&mut client, request, start, 99));
        }
        for _ in 0..200 {
            let request = load::request(&mut random, &POOLS);
            history.calls.push(native::call(&mut client, request, start, 99));
        }
        assert_eq!(server.stop().0, Some(0));
        let chain = read_chain(&Embedded::open(&data).unwrap().journal).unwrap();
        let verdict = check(&chain, &history, true);
        verdict.expect_no_problems();
        assert!(verdict.right >= 200, "only {} answers were checked", verdict.right);
    }
    assert!(sizes[0] > 20 && sizes.is_sorted(), "{sizes:?}");
}

#[test]
fn a_backup_is_piped_into_a_restore() {
    let folder = tempfile::tempdir().unwrap();
    let server = with_claims(&folder.path().join("data"), 30);
    let script = format!(
        "set -o pipefail; {0} backup --to - --server http://{1} | {0} restore - --data copy",
        env!("CARGO_BIN_EXE_allod"),
        server.address
    );
    let piped = Command::new("bash")
        .args(["-c", &script])
        .env_clear()
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(piped.status.success(), "{piped:?}");
    let summary = String::from_utf8(piped.stdout).unwrap();
    assert!(summary.contains("kind       backup") && summary.contains("violations 0"), "{summary}");
    assert_continues(&server::start(&folder.path().join("copy")), 30);
    assert_continues(&server, 30);
}

#[test]
fn a_stopped_server_is_backed_up_from_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("a.backup"));
    let server = with_claims(&data, 5);
    let said = crate::backup::fails(&["backup", "--to", text(&file), "--data", text(&data)], 1);
    assert!(said.contains("in use by another process"), "{said}");
    assert!(!file.exists() && !file.with_extension("backup.partial").exists());
    server.kill();
    done(&["backup", "--to", text(&file), "--data", text(&data)]);
    done(&["restore", text(&file), "--data", text(&folder.path().join("copy"))]);
    assert_continues(&server::start(&folder.path().join("copy")), 5);
}

#[test]
fn a_trimmed_journal_is_backed_up_with_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut arguments = server::arguments(&data);
    arguments.extend(["--history".to_owned(), "since-checkpoint".to_owned()]);
    let server = Server::of(server::allod(&arguments));
    assert_eq!(server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["0-99999"]}"#).status, 201);
    let mut count = 0;
    while server.get("/metrics").text().contains("allod_trimmed_records_total 0\n") {
        crate::backup::claims(&server, count, 50);
        count += 50;
        assert!(count < 5000, "nothing is trimmed");
    }
    let file = folder.path().join("a.backup");
    let summary = backup(&server, &file);
    assert!(!summary.contains("\"from\":1,"), "{summary}");
    let copy = folder.path().join("copy");
    let summary = done(&["restore", text(&file), "--data", text(&copy), "--output", "json"]);
    assert!(!summary.contains("\"from\":1,") && summary.contains("\"violations\":[]"), "{summary}");
    assert_continues(&server::start(&copy), count);
    let shown = done(&["journal", "show", text(&file)]);
    assert!(shown.starts_with("checkpoint of record "), "{shown}");
}

#[test]
fn a_backup_can_be_verified_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = with_claims(&data, 3);
    let file = folder.path().join("a.backup");
    backup(&server, &file);
    server.kill();
    let verified = done(&["journal", "verify", text(&file)]);
    assert!(verified.contains("kind       backup\n") && verified.contains("violations 0\n"));
    let shown = done(&["journal", "show", text(&file)]);
    assert_eq!(shown, done(&["journal", "show", "--data", text(&data)]));
    assert!(shown.contains("epoch of pid-"), "{shown}");
    assert!(shown.contains("claim_granted") && shown.contains("pool_defined"), "{shown}");
    let json =
        done(&["journal", "show", text(&file), "--output", "json", "--from", "3", "--to", "4"]);
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!(lines.len(), 2, "{json}");
    assert!(
        lines[0].starts_with("{\"position\":3,\"at\":\"") && lines[0].contains("\"key\":\"0\"")
    );
    assert!(lines[1].starts_with("{\"position\":4,") && lines[1].contains("\"value\":1"), "{json}");
    assert_eq!(allod(&["journal", "show", text(&data), "--from", "9999"]).stdout, b"");
}
