//! Retention: trimmed records are archived, and the archive restores the whole history.

use std::path::Path;
use std::time::{Duration, Instant};

use allod_journal::Journal;
use allod_journal::embedded::Embedded;
use allod_testkit::{History, check, native, read_chain};

use crate::backup::{backup, done, fails, names, text};
use crate::crash::load::{self, SeededRandom};
use crate::crash::server::{self, Server};

fn start(data: &Path, archive: &Path, history: &str) -> Server {
    let mut arguments = server::arguments(data);
    for argument in
        ["--history", history, "--archive", text(archive), "--limit", "archive_segment_bytes=20000"]
    {
        arguments.push(argument.to_owned());
    }
    Server::of(server::allod(&arguments))
}

fn metric(server: &Server, name: &str) -> u64 {
    let metrics = server.get("/metrics").text();
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().parse().unwrap()
}

/// Claims and releases until more than `records` are trimmed, and records every answer.
fn until_trimmed(server: &Server, records: u64) -> History {
    let mut history = History::default();
    let (start, mut client, mut random) = (Instant::now(), server.client(), SeededRandom(3));
    for request in load::pools() {
        history.calls.push(native::call(&mut client, request, start, 0));
    }
    while metric(server, "allod_trimmed_records_total ") < records {
        for _ in 0..50 {
            let request = load::request(&mut random, &load::POOLS);
            history.calls.push(native::call(&mut client, request, start, 0));
        }
        assert!(start.elapsed() < Duration::from_secs(30), "too little is trimmed");
    }
    history
}

fn restores_the_whole_history(history: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (data, archive) = (folder.path().join("data"), folder.path().join("archive"));
    let server = start(&data, &archive, history);
    let calls = until_trimmed(&server, 300);
    assert_eq!(metric(&server, "allod_archive_failures_total "), 0);
    let file = folder.path().join("a.backup");
    backup(&server, &file);
    let trimmed = metric(&server, "allod_trimmed_records_total ");
    assert!(metric(&server, "allod_archived_records_total ") >= trimmed);
    assert_eq!(server.stop().0, Some(0));
    assert!(Embedded::open(&data).unwrap().journal.oldest().unwrap() > 300);
    let segments = names(&archive);
    assert!(segments.len() > 1 && segments[0].starts_with("00000000000000000001-"), "{segments:?}");
    for name in &segments {
        let verified = done(&["journal", "verify", text(&archive.join(name))]);
        assert!(verified.starts_with("kind       archive segment\n"), "{verified}");
    }
    let copy = folder.path().join("copy");
    let arguments = ["restore", text(&file), "--data", text(&copy), "--archive", text(&archive)];
    let summary = done(&[&arguments[..], &["--output", "json"]].concat());
    assert!(summary.contains("\"from\":1,"), "{summary}");
    // The history begins with the first record, and every answer agrees with it.
    let chain = read_chain(&Embedded::open(&copy).unwrap().journal).unwrap();
    let known = calls.calls.into_iter().filter(|call| chain.records.contains_key(&call.hash));
    let known = History { calls: known.collect() };
    let verdict = check(&chain, &known, true);
    verdict.expect_no_problems();
    assert!(verdict.right > 300, "only {} answers were checked", verdict.right);
    // An archive segment alone is not a backup.
    let segment = archive.join(&segments[0]);
    let said = fails(&["restore", text(&segment), "--data", text(&folder.path().join("no"))], 2);
    assert!(said.contains("this is an archive segment with records 1 to "), "{said}");
}

#[test]
fn history_beyond_the_size_is_archived_and_restored() {
    restores_the_whole_history("40kB");
}

#[test]
fn history_beyond_the_time_is_archived_and_restored() {
    restores_the_whole_history("1s,1TB");
}

#[test]
fn history_before_the_checkpoint_is_archived_and_restored() {
    restores_the_whole_history("since-checkpoint");
}
