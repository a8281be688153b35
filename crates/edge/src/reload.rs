//! Reloads the tokens and certificate files when they change or when SIGHUP arrives.
//!
//! The files are small, so their contents are compared about once a second. Modification times and inodes can miss a
//! change: two changes within the file system's clock resolution, a symbolic link to another file, a file system without
//! such times.
//!
//! If the new contents are invalid, the old ones stay in force and the error is logged once.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, describe_counter};
use tokio::signal::unix::{Signal, SignalKind, signal};

const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A larger file is not a tokens or certificate file.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const RELOADS: &str = "allod_reloads_total";

pub(crate) fn describe() {
    describe_counter!(RELOADS, "Reloads of changed files, by file and outcome");
    // Registered at 0, so that alerts see the first failure as an increase.
    for what in ["tokens", "certificate"] {
        for outcome in ["done", "failed"] {
            counter!(RELOADS, "what" => what, "outcome" => outcome).increment(0);
        }
    }
}

/// A file that is watched.
#[derive(Debug)]
pub struct SourceFile<'a> {
    pub path: &'a Path,
    /// Warn if other users can read it.
    pub private: bool,
}

/// Something that is loaded from files and can be reloaded.
pub trait Reload: Send + Sync {
    /// One word for log and metrics.
    fn name(&self) -> &'static str;

    fn files(&self) -> Vec<SourceFile<'_>>;

    /// Puts the contents of the files, in their order, into force. `Err` changes nothing.
    fn apply(&self, contents: Vec<Vec<u8>>) -> Result<(), String>;
}

/// Loads for the first time.
pub(crate) fn load(source: &dyn Reload) -> Result<(), String> {
    let contents = read(source)?;
    source.apply(contents)?;
    warn_if_world_readable(source);
    Ok(())
}

fn read(source: &dyn Reload) -> Result<Vec<Vec<u8>>, String> {
    let one = |file: &SourceFile<'_>| {
        let shown = file.path.display();
        read_file(file.path).map_err(|error| format!("cannot read {shown}: {error}"))
    };
    source.files().iter().map(one).collect()
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if about.mode() & 0o002 != 0 {
        return Err(io::Error::other("all users of this machine can write to it; run chmod o-w"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("longer than {FILE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

fn warn_if_world_readable(source: &dyn Reload) {
    for file in source.files().iter().filter(|file| file.private) {
        if file.path.metadata().is_ok_and(|about| about.mode() & 0o004 != 0) {
            let path = file.path.display();
            tracing::warn!(file = %path, "all users of this machine can read the file; run chmod 600");
        }
    }
}

/// Reloads files when they change.
pub struct Reloader {
    watched: Vec<Watched>,
    hang_up: Signal,
}

/// A source with the hash of the contents that were read last, valid or not.
struct Watched {
    source: Arc<dyn Reload>,
    seen: Option<blake3::Hash>,
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what: Vec<_> = self.watched.iter().map(|watched| watched.source.name()).collect();
        f.debug_tuple("Reloader").field(&what).finish()
    }
}

impl Reloader {
    /// Starts to track changes, and catches SIGHUP.
    pub fn new(sources: Vec<Arc<dyn Reload>>) -> io::Result<Reloader> {
        let hang_up = signal(SignalKind::hangup())?;
        let mut watched: Vec<Watched> =
            sources.into_iter().map(|source| Watched { source, seen: None }).collect();
        watched.iter_mut().for_each(|watched| watched.check(false));
        Ok(Reloader { watched, hang_up })
    }

    /// Runs until the process ends.
    pub async fn run(mut self) {
        let mut forced = false;
        loop {
            let checked = tokio::task::spawn_blocking(move || {
                self.watched.iter_mut().for_each(|watched| watched.check(forced));
                self
            });
            let Ok(back) = checked.await else { return };
            self = back;
            forced = tokio::select! {
                signal = self.hang_up.recv() => signal.is_some(),
                () = tokio::time::sleep(CHECK_INTERVAL) => false,
            };
        }
    }
}

impl Watched {
    /// Reads the files, and applies their contents if they changed or if `forced`.
    fn check(&mut self, forced: bool) {
        let contents = read(&*self.source);
        let hash = fingerprint(&contents);
        let first = self.seen.is_none();
        if self.seen.replace(hash) == Some(hash) && !forced {
            return;
        }
        let what = self.source.name();
        let outcome = match contents.and_then(|contents| self.source.apply(contents)) {
            // Loaded at start-up.
            Ok(()) if first && !forced => return,
            Ok(()) => {
                tracing::info!(what, "reloaded");
                warn_if_world_readable(&*self.source);
                "done"
            }
            Err(error) => {
                tracing::error!(what, error, "reload failed; the previous contents stay in force");
                "failed"
            }
        };
        counter!(RELOADS, "what" => what, "outcome" => outcome).increment(1);
    }
}

fn fingerprint(contents: &Result<Vec<Vec<u8>>, String>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    match contents {
        Ok(contents) => {
            for bytes in contents {
                hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
            }
        }
        Err(why) => drop(hasher.update(why.as_bytes())),
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::Mutex;

    use super::*;

    /// Accepts any contents but `bad`, and records them.
    struct TestFile {
        path: PathBuf,
        applied: Mutex<Vec<String>>,
    }

    impl Reload for TestFile {
        fn name(&self) -> &'static str {
            "words"
        }

        fn files(&self) -> Vec<SourceFile<'_>> {
            vec![SourceFile { path: &self.path, private: false }]
        }

        fn apply(&self, contents: Vec<Vec<u8>>) -> Result<(), String> {
            let text = String::from_utf8(contents[0].clone()).unwrap();
            let outcome = if text == "bad" { Err(text.clone()) } else { Ok(()) };
            self.applied.lock().unwrap().push(text);
            outcome
        }
    }

    #[test]
    fn changed_file_is_applied_once_and_unchanged_file_only_when_forced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        let words = Arc::new(TestFile { path: path.clone(), applied: Mutex::default() });
        let mut watched = Watched { source: words.clone(), seen: None };
        let mut step = |change: &dyn Fn(), forced, wanted: &[&str]| {
            change();
            watched.check(forced);
            watched.check(false);
            assert_eq!(std::mem::take(&mut *words.applied.lock().unwrap()), wanted);
        };
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        step(&|| write("one"), false, &["one"]);
        step(&|| {}, false, &[]);
        step(&|| {}, true, &["one"]);
        step(&|| write("two"), false, &["two"]);
        step(&|| write("bad"), false, &["bad"]);
        step(&|| std::fs::remove_file(&path).unwrap(), false, &[]);
        step(&|| write("six"), false, &["six"]);
        step(
            &|| {
                let other = folder.path().join("other");
                std::fs::write(&other, "by").unwrap();
                std::fs::rename(&other, &path).unwrap();
            },
            false,
            &["by"],
        );
    }

    #[test]
    fn world_writable_or_missing_file_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        assert!(read_file(&path).is_err());
        assert!(read_file(folder.path()).is_err());
        std::fs::write(&path, "text").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        assert!(read_file(&path).unwrap_err().to_string().contains("chmod o-w"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(read_file(&path).unwrap(), b"text");
    }
}
