//! A full disk: writes are refused, reads continue, nothing is lost, and writes resume when there is space again.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use allod_journal::embedded::Embedded;
use allod_testkit::{Call, CallAnswer, History, check, native, read_chain};

use crate::crash::load;
use crate::crash::server::{Server, arguments};

/// A small tmpfs in a mount namespace. It disappears with the process that holds the namespace.
struct Disk {
    holder: Child,
    _talk: BufReader<ChildStdout>,
    folder: PathBuf,
    own_user: bool,
}

impl Disk {
    fn mount(folder: &Path, size: &str) -> Disk {
        let script = format!(
            "mount -t tmpfs -o size={size} none {} && echo mounted && exec sleep 600",
            folder.display()
        );
        // Without root, mounting works in a user namespace.
        for own_user in [false, true] {
            let mut command = Command::new("unshare");
            command.arg("--mount").args(own_user.then_some("--map-root-user"));
            command.args(["sh", "-c", &script]).stdin(Stdio::null()).stdout(Stdio::piped());
            let mut holder = command.stderr(Stdio::null()).spawn().unwrap();
            let mut talk = BufReader::new(holder.stdout.take().unwrap());
            let mut line = String::new();
            talk.read_line(&mut line).unwrap();
            if line.trim() == "mounted" {
                return Disk { holder, _talk: talk, folder: folder.to_owned(), own_user };
            }
            holder.wait().unwrap();
        }
        panic!("this system does not allow to mount a tmpfs, not even in a user namespace");
    }

    /// A command that runs in the namespace.
    fn enter(&self, program: &str, arguments: &[String]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--mount"]);
        command.args(self.own_user.then_some("--user"));
        command.args(self.own_user.then_some("--preserve-credentials"));
        command.arg(program).args(arguments).stdin(Stdio::null());
        command
    }

    /// The path of the disk from outside the namespace.
    fn path(&self) -> PathBuf {
        let root = format!("/proc/{}/root{}", self.holder.id(), self.folder.display());
        PathBuf::from(root)
    }

    /// Fills the disk.
    fn fill(&self) {
        let mut file = fs::File::create(self.path().join("filler")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.path().join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.holder.kill());
        drop(self.holder.wait());
    }
}

#[test]
fn a_full_disk_refuses_only_writes() {
    let scratch = tempfile::tempdir().unwrap();
    let disk = Disk::mount(scratch.path(), "6m");
    let data = scratch.path().join("data");
    let server = Server::of(disk.enter(env!("CARGO_BIN_EXE_allod"), &arguments(&data)));
    let start = Instant::now();
    let mut history = History::default();
    let mut client = server.client();
    for request in load::pools() {
        history.calls.push(native::call(&mut client, request, start, 0));
    }
    let mut claim = |key: String| -> Call {
        let call = native::call(&mut client, native::claim_request("ids", &key), start, 0);
        history.calls.push(call.clone());
        call
    };
    assert!(matches!(claim("before".into()).answer, CallAnswer::Done(_)));
    disk.fill();

    // The journal has reserved space for a few more.
    let mut taken = 0;
    while matches!(claim(format!("early-{taken}")).answer, CallAnswer::Done(_)) {
        taken += 1;
        assert!(taken < 30, "the disk does not fill");
    }
    let refused = server.put("/v1/pools/ids/claims/refused", "{}");
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    assert!(refused.header("content-type").unwrap().starts_with("application/problem+json"));
    let problem = refused.text();
    assert!(
        problem.contains("\"code\":\"unavailable\"") && problem.contains("no room left"),
        "{problem}"
    );
    let not_ready = server.get("/readyz");
    assert_eq!(not_ready.status, 503, "{}", not_ready.text());
    assert!(not_ready.text().contains("no room left"), "{}", not_ready.text());
    assert_eq!(server.get("/healthz").status, 200);
    // Reads and dry runs continue.
    assert_eq!(server.get("/v1/pools/ids/claims/before").status, 200);
    assert_eq!(server.get("/v1/pools/ids/claims/refused").status, 404);
    assert_eq!(server.get("/v1/pools/ids").status, 200);
    assert!(matches!(claim("before".into()).answer, CallAnswer::Done(_)));
    assert_eq!(claim("still".into()).answer, CallAnswer::Failed);

    disk.make_room();
    let began = Instant::now();
    while claim("after".into()).answer == CallAnswer::Failed {
        assert!(began.elapsed() < Duration::from_secs(10), "writes do not resume");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.get("/readyz").status, 200, "it is ready again");
    assert_eq!(server.get("/v1/pools/ids/claims/refused").status, 404);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0), "{said}");

    // Copied out of the namespace, to open it here.
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(disk.path().join("data")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    let chain = read_chain(&Embedded::open(copy.path()).unwrap().journal).unwrap();
    check(&chain, &history, true).expect_no_problems();
    // Failed claims are not in the journal: every claim there was acknowledged.
    let done = history.calls.iter().filter(|call| matches!(call.answer, CallAnswer::Done(_)));
    let mut positions: Vec<u64> = done.map(|call| call.position).collect();
    positions.sort_unstable();
    positions.dedup();
    let entries = chain.entries.iter().filter(|entry| entry.is_some()).count();
    assert_eq!(entries, positions.len());
}
