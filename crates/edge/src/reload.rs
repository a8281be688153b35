//! What was read from files, read again when they change or when SIGHUP comes: tokens, certificates.
//!
//! The files are small, so it is their contents that are compared, about once a second. Times and inodes would say the
//! same more cheaply and be wrong now and then: two changes within one tick of the file system's clock, a link that was
//! turned to another file, a file system that keeps no such times.
//!
//! A change that makes no sense leaves in force what was there before, and is told once.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, describe_counter};
use tokio::signal::unix::{Signal, SignalKind, signal};

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Nobody has that many tokens; somebody may have named the wrong file.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

const RELOADS: &str = "allod_reloads_total";

pub(crate) fn describe() {
    describe_counter!(
        RELOADS,
        "Changes of files, by what was read and whether it could be put in force"
    );
    // There from the start, so that a first failure is a step that an alert can see.
    for what in ["tokens", "certificate"] {
        for outcome in ["done", "failed"] {
            counter!(RELOADS, "what" => what, "outcome" => outcome).increment(0);
        }
    }
}

/// A file that something is read from.
#[derive(Debug)]
pub struct SourceFile<'a> {
    pub path: &'a Path,
    /// Not everybody on the machine should be able to read it.
    pub private: bool,
}

/// Something that was read from files and can be read again.
pub trait Reload: Send + Sync {
    /// What it is, in one word for log and metrics.
    fn what(&self) -> &'static str;

    fn files(&self) -> Vec<SourceFile<'_>>;

    /// Puts in force what the files contain, in their order. An `Err` leaves everything as it was.
    fn take(&self, contents: Vec<Vec<u8>>) -> Result<(), String>;
}

/// Reads for the first time.
pub(crate) fn load(source: &dyn Reload) -> Result<(), String> {
    let contents = read(source)?;
    source.take(contents)?;
    warn_of_readers(source);
    Ok(())
}

fn read(source: &dyn Reload) -> Result<Vec<Vec<u8>>, String> {
    let one = |file: &SourceFile<'_>| {
        let shown = file.path.display();
        read_file(file.path).map_err(|error| format!("{shown} cannot be read: {error}"))
    };
    source.files().iter().map(one).collect()
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    if about.mode() & 0o002 != 0 {
        return Err(io::Error::other("everybody on this machine may change it; chmod o-w"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it is longer than {FILE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

fn warn_of_readers(source: &dyn Reload) {
    for file in source.files().iter().filter(|file| file.private) {
        if file.path.metadata().is_ok_and(|about| about.mode() & 0o004 != 0) {
            let path = file.path.display();
            tracing::warn!(file = %path, "everybody on this machine may read the file; chmod 600");
        }
    }
}

/// Keeps what was read from files as the files are.
pub struct Reloader {
    watched: Vec<Watched>,
    hang_up: Signal,
}

/// One thing that is kept fresh, and the hash of what was read last, good or bad.
struct Watched {
    source: Arc<dyn Reload>,
    seen: Option<blake3::Hash>,
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what: Vec<_> = self.watched.iter().map(|watched| watched.source.what()).collect();
        f.debug_tuple("Reloader").field(&what).finish()
    }
}

impl Reloader {
    /// From now on every change is noticed, and SIGHUP does not end the process.
    pub fn new(sources: Vec<Arc<dyn Reload>>) -> io::Result<Reloader> {
        let hang_up = signal(SignalKind::hangup())?;
        let mut watched: Vec<Watched> =
            sources.into_iter().map(|source| Watched { source, seen: None }).collect();
        watched.iter_mut().for_each(|watched| watched.look(false));
        Ok(Reloader { watched, hang_up })
    }

    /// Goes on for ever.
    pub async fn run(mut self) {
        let mut forced = false;
        loop {
            let looked = tokio::task::spawn_blocking(move || {
                self.watched.iter_mut().for_each(|watched| watched.look(forced));
                self
            });
            let Ok(back) = looked.await else { return };
            self = back;
            forced = tokio::select! {
                came = self.hang_up.recv() => came.is_some(),
                () = tokio::time::sleep(LOOK_EVERY) => false,
            };
        }
    }
}

impl Watched {
    /// Reads the files, and takes what is in them if that is new, or if somebody insists.
    fn look(&mut self, forced: bool) {
        let contents = read(&*self.source);
        let hash = fingerprint(&contents);
        let first = self.seen.is_none();
        if self.seen.replace(hash) == Some(hash) && !forced {
            return;
        }
        let what = self.source.what();
        let outcome = match contents.and_then(|contents| self.source.take(contents)) {
            // They were read a moment ago, when the server started.
            Ok(()) if first && !forced => return,
            Ok(()) => {
                tracing::info!(what, "read again and in force");
                warn_of_readers(&*self.source);
                "done"
            }
            Err(error) => {
                tracing::error!(
                    what,
                    error,
                    "cannot be read again; what was read before stays in force"
                );
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

    /// Takes any file but one that says `bad`, and remembers.
    struct Words {
        path: PathBuf,
        taken: Mutex<Vec<String>>,
    }

    impl Reload for Words {
        fn what(&self) -> &'static str {
            "words"
        }

        fn files(&self) -> Vec<SourceFile<'_>> {
            vec![SourceFile { path: &self.path, private: false }]
        }

        fn take(&self, contents: Vec<Vec<u8>>) -> Result<(), String> {
            let text = String::from_utf8(contents[0].clone()).unwrap();
            let outcome = if text == "bad" { Err(text.clone()) } else { Ok(()) };
            self.taken.lock().unwrap().push(text);
            outcome
        }
    }

    #[test]
    fn what_changed_is_taken_once_and_what_did_not_only_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("words");
        let words = Arc::new(Words { path: path.clone(), taken: Mutex::default() });
        let mut watched = Watched { source: words.clone(), seen: None };
        let mut step = |change: &dyn Fn(), forced, wanted: &[&str]| {
            change();
            watched.look(forced);
            watched.look(false);
            assert_eq!(std::mem::take(&mut *words.taken.lock().unwrap()), wanted);
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
    fn a_file_that_cannot_be_trusted_is_not_read() {
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
