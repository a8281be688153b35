//! A journal that has lost acknowledged writes at its end: the server refuses to start, says what is missing, and starts
//! again only after an operator has accepted the loss.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::crash::server::{self, allod, run};

const FILES: [&str; 2] = ["journal.sqlite", "journal.sqlite-wal"];

fn command(arguments: &[&str]) -> (Option<i32>, String, String) {
    let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
    let Output { status, stdout, stderr } = allod(&arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn claims(data: &Path, keys: std::ops::Range<u32>) -> server::Server {
    let server = server::start(data);
    server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["0-9999"]}"#);
    for n in keys {
        assert_eq!(server.put(&format!("/v1/pools/p/claims/{n}"), "{}").status, 201);
    }
    server
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A folder whose journal is a copy from before the last ten claims. Returns its last position.
fn with_an_older_copy(data: &Path) -> u64 {
    let server = claims(data, 0..10);
    let answer = server.get("/v1/pools/p/claims/9");
    let position: u64 = answer.header("allod-position").unwrap().parse().unwrap();
    server.kill();
    let copies = FILES.map(|name| fs::read(data.join(name)).unwrap());
    let (code, said) = claims(data, 10..20).stop();
    assert_eq!(code, Some(0), "{said}");
    for (name, bytes) in FILES.iter().zip(copies) {
        fs::write(data.join(name), bytes).unwrap();
    }
    position
}

#[test]
fn a_loss_at_the_end_prevents_the_start_until_it_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let end = with_an_older_copy(&data);
    let text = data.to_str().unwrap();
    let before = FILES.map(|name| fs::read(data.join(name)).unwrap());
    let (code, said) = run(&data);
    assert_eq!(code, Some(3), "{said}");
    let ends = format!("ends at position {end} ");
    let words = [ends.as_str(), "high-water mark proves", "acknowledged writes are lost"];
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
    let (code, _, said) = command(&["journal", "verify", "--data", text]);
    assert_eq!(code, Some(3), "{said}");
    assert!(words.iter().all(|word| said.contains(word)), "{said}");

    // Another position, or no folder, changes nothing.
    let (code, _, said) =
        command(&["journal", "accept-loss", "--data", text, "--at", &(end + 1).to_string()]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains(&format!("ends at position {end}, not {}", end + 1)), "{said}");
    let (code, _, said) = command(&["journal", "accept-loss", "--at", &end.to_string()]);
    assert_eq!(code, Some(2), "{said}");
    assert_eq!(run(&data).0, Some(3));
    assert!(before == FILES.map(|name| fs::read(data.join(name)).unwrap()), "files were changed");

    let accept = ["journal", "accept-loss", "--data", text, "--at", &end.to_string()];
    let (code, printed, said) = command(&accept);
    assert_eq!(code, Some(0), "{said}");
    assert!(printed.contains(&format!("continues after position {end} ")), "{printed}");
    let (code, _, said) = command(&accept);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("nothing is missing"), "{said}");
    assert_eq!(command(&["journal", "verify", "--data", text]).0, Some(0));

    let server = server::start(&data);
    assert_eq!(server.get("/v1/pools/p/claims/9").status, 200);
    assert_eq!(server.get("/v1/pools/p/claims/10").status, 404);
    assert_eq!(server.put("/v1/pools/p/claims/new", "{}").status, 201);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("an operator has accepted it"), "{said}");
    assert!(said.contains(printed.lines().next().unwrap()), "{said}");
}

#[test]
fn a_checkpoint_beyond_the_end_fails_the_verification() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let end = with_an_older_copy(&data);
    // Enough for a checkpoint after the end of the copy.
    let copies = FILES.map(|name| fs::read(data.join(name)).unwrap());
    let text = data.to_str().unwrap();
    let accept = ["journal", "accept-loss", "--data", text, "--at", &end.to_string()];
    assert_eq!(command(&accept).0, Some(0));
    let server = claims(&data, 100..101);
    let is_checkpoint = |name: String| name.ends_with(".checkpoint");
    let mut n = 0;
    while !names(&data.join("checkpoints")).into_iter().any(is_checkpoint) {
        assert_eq!(server.put(&format!("/v1/pools/p/claims/more-{n}"), "{}").status, 201);
        n += 1;
        assert!(n < 9000, "no checkpoint is written");
    }
    assert_eq!(server.stop().0, Some(0));
    for (name, bytes) in FILES.iter().zip(copies) {
        fs::write(data.join(name), bytes).unwrap();
    }
    fs::remove_file(data.join("high-water")).unwrap();
    let (code, _, said) = command(&["journal", "verify", "--data", text]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("the checkpoint of record"), "{said}");
    assert!(said.contains(&format!("accept-loss --at {end}")), "{said}");
    let (code, said) = run(&data);
    assert_eq!(code, Some(1), "{said}");
    let (code, printed, said) = command(&accept);
    assert_eq!(code, Some(0), "{said}");
    assert!(printed.contains("discarded the checkpoint of record"), "{printed}");
    assert_eq!(command(&["journal", "verify", "--data", text]).0, Some(0));
    assert_eq!(server::start(&data).stop().0, Some(0));
}
