//! Transcripts of the command line.
//!
//! Each file in `transcripts/` is a shell session in an empty folder with its own server. `$ ` begins a command, `> `
//! continues it. Its stdout follows, its stderr after `! `, and its exit code if it is not 0. `ALLOD_UPDATE_GOLDEN=1` writes
//! the actual output into the files instead of comparing.

mod canned;
mod steady;

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use allod_testkit::golden;
use allod_testkit::server::Server;
use canned::Canned;

/// A folder to run commands in, with its servers.
struct Session {
    folder: tempfile::TempDir,
    server: Server,
    canned: Canned,
}

/// The time limit of a command.
const COMMAND_MAX: Duration = Duration::from_secs(30);

impl Session {
    fn start() -> Session {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut command = Command::new(env!("CARGO_BIN_EXE_allod"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
        command.env_clear().stdin(Stdio::null());
        let server = Server::of(command);
        certify(folder.path());
        Session { folder, server, canned: Canned::start() }
    }

    /// Runs a command and returns its transcript.
    fn run(&self, command: &str) -> String {
        let (out, err) = (self.folder.path().join(".out"), self.folder.path().join(".err"));
        let binary = Path::new(env!("CARGO_BIN_EXE_allod")).parent().unwrap();
        let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
        let mut child = Command::new("bash")
            .args(["-c", command])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", path)
            .env("ALLOD_SERVER", format!("http://{}", self.server.address))
            .env("CANNED", format!("http://{}", self.canned.address))
            // Its own process group, so that background processes can be ended with it.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&out).unwrap())
            .stderr(std::fs::File::create(&err).unwrap())
            .spawn()
            .unwrap();
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > COMMAND_MAX {
                let group = format!("-{}", child.id());
                drop(Command::new("kill").args(["-s", "KILL", "--", &group]).status());
                panic!("it does not end: {command}");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let read = |path: &Path| {
            let text = String::from_utf8(std::fs::read(path).unwrap()).unwrap();
            let text = text.replace(&self.server.address.to_string(), "ADDRESS");
            let text = text.replace(&self.canned.address, "CANNED");
            steady::steady(&text.replace(self.folder.path().to_str().unwrap(), "FOLDER"))
        };
        let mut shown = read(&out);
        for line in read(&err).lines() {
            writeln!(shown, "! {line}").unwrap();
        }
        match status.code() {
            Some(0) => {}
            code => writeln!(shown, "=> {}", code.unwrap_or(-1)).unwrap(),
        }
        shown
    }

    /// Runs the commands of a transcript, and returns it with the actual output.
    fn play(&self, transcript: &str) -> String {
        let mut played = String::new();
        for block in transcript.split("\n\n").map(str::trim_end).filter(|block| !block.is_empty()) {
            if !played.is_empty() {
                played.push('\n');
            }
            let Some(first) = block.strip_prefix("$ ") else {
                // A remark, or output after an empty line.
                if block.starts_with('#') {
                    writeln!(played, "{block}").unwrap();
                } else {
                    played.pop();
                }
                continue;
            };
            let mut lines = first.lines();
            let mut command = lines.next().unwrap().to_owned();
            for more in lines.map_while(|line| line.strip_prefix("> ")) {
                write!(command, "\n{more}").unwrap();
            }
            writeln!(played, "$ {}", command.replace('\n', "\n> ")).unwrap();
            played.push_str(&self.run(&command));
        }
        played
    }
}

/// Writes a self-signed certificate for this machine with its key, and an unrelated one.
fn certify(folder: &Path) {
    let make = || rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (made, key) = (make(), folder.join("key.pem"));
    std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("stranger.pem"), make().cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(key, PermissionsExt::from_mode(0o600)).unwrap();
}

fn check(name: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/transcripts").join(name);
    let wanted = std::fs::read_to_string(&file).unwrap();
    let session = Session::start();
    let played = session.play(&wanted);
    drop(session);
    if let Err(difference) = golden::compare(&file, &wanted, &played) {
        panic!("{difference}");
    }
}

macro_rules! transcripts {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"));
        })*

        #[test]
        fn every_transcript_is_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/transcripts");
            let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
            let mut files: Vec<String> = files.map(|name| name.into_string().unwrap()).collect();
            files.sort();
            let mut played = vec![$(concat!(stringify!($name), ".txt")),*];
            played.sort();
            assert_eq!(files, played);
        }
    };
}

transcripts![
    alarms,
    authorities,
    capacity,
    claims,
    completions,
    config,
    errors,
    help,
    history,
    journal,
    lookups,
    pools,
    secure,
    status,
    transactions,
    watch,
    who
];
