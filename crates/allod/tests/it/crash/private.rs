//! Files and folders of the server are readable by its account only, whatever the umask.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use allod_testkit::server::Server;

fn all(folder: &Path) -> Vec<PathBuf> {
    let mut paths = vec![folder.to_owned()];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { paths.extend(all(&path)) } else { paths.push(path) }
    }
    paths
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[track_caller]
fn assert_private(folder: &Path) {
    for path in all(folder) {
        let wanted = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), wanted, "{}", path.display());
    }
}

/// The binary with an umask that removes nothing.
fn allod(arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_allod")]);
    command.args(arguments).env_clear();
    command
}

fn start(data: &str, archive: &str) -> Server {
    let usual = ["serve", "--listen", "127.0.0.1:0", "--data", data, "--archive", archive];
    // Everything is written early: checkpoints, files of the index, and segments of the archive.
    let limits = "checkpoint_bytes=4000,index_postings_max=16,archive_segment_bytes=4000";
    let more = ["--history", "since-checkpoint", "--limit", limits];
    let arguments: Vec<&str> = usual.into_iter().chain(more).collect();
    Server::of(allod(&arguments))
}

#[test]
fn no_other_user_can_read_the_files_of_a_server() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (data, archive, backup, copy) =
        (folder("data"), folder("archive"), folder("backup"), folder("copy"));
    let (data, archive) = (data.as_str(), archive.as_str());
    let has = |folder: &str, suffix: &str| {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        files.into_iter().any(|file| file.path().to_str().unwrap().ends_with(suffix))
    };
    let server = start(data, archive);
    server.put("/v1/pools/p", r#"{"kind":"id32","ranges":["0-99999"]}"#);
    let mut n = 0;
    while !(has(archive, ".segment") && has(&format!("{data}/index"), ".index")) {
        assert_eq!(server.put(&format!("/v1/pools/p/claims/{n}"), "{}").status, 201);
        n += 1;
        assert!(n < 10_000, "no archive, or no index, is written");
    }
    let url = format!("http://{}", server.address);
    let made = allod(&["backup", "--to", &backup, "--server", &url]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    assert_eq!(mode(Path::new(&backup)), 0o600);
    server.kill();
    assert!(has(&format!("{data}/checkpoints"), ".checkpoint"));
    assert_private(Path::new(data));
    assert_private(Path::new(archive));
    let restored = allod(&["restore", &backup, "--data", &copy]).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
    assert_private(Path::new(&copy));

    // As an older version left them, killed while it wrote to the archive.
    let unfinished = "00000000000000000900-00000000000000000901.segment.tmp";
    fs::write(Path::new(archive).join(unfinished), "unfinished").unwrap();
    for path in [all(Path::new(data)), all(Path::new(archive))].concat() {
        let open = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
    }
    let server = start(data, archive);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("removed the access of other users"), "{said}");
    assert_private(Path::new(data));
    assert_private(Path::new(archive));
}
