//! Checkpoints as files in a folder beside the embedded journal.
//!
//! A file is a header, the contents, and the BLAKE3 hash of both. The header has a hash of its own, because it names a
//! record that the journal must have, even if the contents can no longer be read. A file is written under a temporary
//! name, synced, and then renamed, so that a file with the final name is complete. Opening the folder removes temporary
//! files of earlier processes, so the caller must hold the lock of the data folder.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::{
    CheckpointContents, CheckpointList, CheckpointMeta, CheckpointStore, CheckpointStoreError,
    UnreadableCheckpoint,
};
use crate::frame::Hash;
use crate::private;

pub const CHECKPOINT_FOLDER: &str = "checkpoints";

const SUFFIX: &str = ".checkpoint";
const SUFFIX_UNFINISHED: &str = ".tmp";
/// The last byte is the format's version.
const MAGIC: &[u8; 8] = b"allodcp1";
/// The fields of the header, and their hash.
const HEADER_BYTES: usize = 76 + HASH_BYTES;
const HASH_BYTES: usize = 32;

/// The folder of checkpoints in a data folder.
#[derive(Debug)]
pub struct FileCheckpoints {
    folder: PathBuf,
    /// Held while a checkpoint is written or removed.
    changing: Mutex<()>,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> CheckpointStoreError {
    let name = path.display().to_string();
    move |source| CheckpointStoreError::Io { name, source }
}

impl FileCheckpoints {
    /// Opens the checkpoints in the data folder `data`; their folder is created if missing.
    pub fn open(data: &Path) -> Result<Self, CheckpointStoreError> {
        let folder = data.join(CHECKPOINT_FOLDER);
        private::create_folder(&folder).map_err(failed(&folder))?;
        private::tighten(&folder, |name| name.ends_with(SUFFIX));
        let store = Self { folder, changing: Mutex::new(()) };
        for name in store.names(SUFFIX_UNFINISHED)? {
            let path = store.folder.join(&name);
            fs::remove_file(&path).map_err(failed(&path))?;
            tracing::info!(name, "removed an unfinished checkpoint");
        }
        Ok(store)
    }

    fn path(&self, seq: u64, suffix: &str) -> PathBuf {
        // Of equal length, so that names sort by number.
        self.folder.join(format!("{seq:020}{suffix}"))
    }

    fn names(&self, suffix: &str) -> Result<Vec<String>, CheckpointStoreError> {
        let entries = fs::read_dir(&self.folder).map_err(failed(&self.folder))?;
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed(&self.folder))?.file_name();
            names.extend(name.to_str().filter(|name| name.ends_with(suffix)).map(str::to_owned));
        }
        names.sort_unstable_by(|one, other| other.cmp(one));
        Ok(names)
    }

    fn sync_folder(&self) -> Result<(), CheckpointStoreError> {
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed(&self.folder))
    }

    /// Reads the header of the file `name` and checks it against the file's name and size.
    fn inspect(&self, name: &str) -> io::Result<Result<CheckpointMeta, &'static str>> {
        let mut file = File::open(self.folder.join(name))?;
        if file.metadata()?.len() < (HEADER_BYTES + HASH_BYTES) as u64 {
            return Ok(Err("it is too short"));
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header)?;
        Ok(decode(&header).and_then(|meta| {
            let same = name.strip_suffix(SUFFIX).is_some_and(|seq| seq.parse() == Ok(meta.seq));
            if same { Ok(meta) } else { Err("its name and its header are of different records") }
        }))
    }
}

fn encode(meta: &CheckpointMeta) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&meta.seq.to_le_bytes());
    header.extend_from_slice(&meta.hash.0);
    header.extend_from_slice(&meta.position.to_le_bytes());
    header.extend_from_slice(&meta.epoch.to_le_bytes());
    header.extend_from_slice(&meta.level.to_le_bytes());
    header.extend_from_slice(&meta.at_ms.to_le_bytes());
    let hash = blake3::hash(&header);
    header.extend_from_slice(hash.as_bytes());
    header
}

fn decode(header: &[u8; HEADER_BYTES]) -> Result<CheckpointMeta, &'static str> {
    fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], &'static str> {
        let (bytes, after) = rest.split_first_chunk::<N>().ok_or("it is too short")?;
        *rest = after;
        Ok(*bytes)
    }
    let mut rest = &header[..];
    if take(&mut rest)? != *MAGIC {
        return Err("it is not a checkpoint, or has a format that this program does not know");
    }
    let (said, hash) = header.split_at(HEADER_BYTES - HASH_BYTES);
    if *blake3::hash(said).as_bytes() != *hash {
        return Err("its header was changed");
    }
    Ok(CheckpointMeta {
        seq: u64::from_le_bytes(take(&mut rest)?),
        hash: Hash(take(&mut rest)?),
        position: u64::from_le_bytes(take(&mut rest)?),
        epoch: u64::from_le_bytes(take(&mut rest)?),
        level: u32::from_le_bytes(take(&mut rest)?),
        at_ms: u64::from_le_bytes(take(&mut rest)?),
    })
}

/// Hashes what is written through it.
struct HashingWriter<W> {
    to: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn write_whole(
    path: &Path,
    meta: &CheckpointMeta,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let hashing = HashingWriter { to: private::create_file(path)?, hasher: blake3::Hasher::new() };
    let mut out = BufWriter::with_capacity(1 << 18, hashing);
    out.write_all(&encode(meta))?;
    write(&mut out)?;
    let HashingWriter { to: mut file, hasher } =
        out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.write_all(hasher.finalize().as_bytes())?;
    file.sync_all()
}

/// Reads the whole file and checks its hash, then seeks to the contents and returns their length. `None` if the hash does
/// not match.
fn verify(file: &mut File) -> io::Result<Option<u64>> {
    let hashed = file.metadata()?.len().saturating_sub(HASH_BYTES as u64);
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(Read::by_ref(file).take(hashed))?;
    let mut stored = [0; HASH_BYTES];
    if hashed < HEADER_BYTES as u64 || file.read_exact(&mut stored).is_err() {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
    Ok((*hasher.finalize().as_bytes() == stored).then_some(hashed - HEADER_BYTES as u64))
}

impl CheckpointStore for FileCheckpoints {
    fn put(
        &self,
        meta: &CheckpointMeta,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointStoreError> {
        let _changing = self.changing.lock();
        let unfinished = self.path(meta.seq, SUFFIX_UNFINISHED);
        let path = self.path(meta.seq, SUFFIX);
        let written = write_whole(&unfinished, meta, write)
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(failed(&unfinished));
        if written.is_err() {
            // Ignored: the next start removes it, and the write error is the one to report.
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        self.sync_folder()
    }

    fn survey(&self) -> Result<CheckpointList, CheckpointStoreError> {
        let mut survey = CheckpointList::default();
        for name in self.names(SUFFIX)? {
            match self.inspect(&name) {
                Ok(Ok(meta)) => survey.metas.push(meta),
                Ok(Err(what)) => {
                    survey.skipped.push(UnreadableCheckpoint { name, what: what.to_owned() })
                }
                Err(error) => {
                    survey.skipped.push(UnreadableCheckpoint { name, what: error.to_string() })
                }
            }
        }
        Ok(survey)
    }

    fn open(&self, meta: &CheckpointMeta) -> Result<CheckpointContents, CheckpointStoreError> {
        let path = self.path(meta.seq, SUFFIX);
        let name = path.display().to_string();
        let unsound = |what: &str| CheckpointStoreError::Unsound {
            name: name.clone(),
            what: what.to_owned(),
        };
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CheckpointStoreError::Missing { seq: meta.seq });
            }
            Err(error) => return Err(unsound(&error.to_string())),
        };
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).map_err(|_| unsound("it is too short"))?;
        if decode(&header).map_err(unsound)? != *meta {
            return Err(unsound("it belongs to another record than requested"));
        }
        file.rewind().map_err(failed(&path))?;
        match verify(&mut file) {
            Ok(Some(bytes)) => Ok(Box::new(BufReader::with_capacity(1 << 18, file).take(bytes))),
            Ok(None) => Err(unsound("its contents were changed or truncated")),
            Err(error) => Err(unsound(&error.to_string())),
        }
    }

    fn remove(&self, seq: u64) -> Result<(), CheckpointStoreError> {
        let _changing = self.changing.lock();
        let path = self.path(seq, SUFFIX);
        fs::remove_file(&path).map_err(failed(&path))?;
        self.sync_folder()
    }

    fn keep_newest(&self, count: usize) -> Result<(), CheckpointStoreError> {
        let _changing = self.changing.lock();
        let metas = self.survey()?.metas;
        let Some(oldest_kept) = metas.get(count.max(1) - 1) else { return Ok(()) };
        let oldest_kept = self.path(oldest_kept.seq, SUFFIX);
        // By name, so that older files that cannot be read are removed as well.
        for name in self.names(SUFFIX)? {
            let path = self.folder.join(name);
            if path < oldest_kept {
                fs::remove_file(&path).map_err(failed(&path))?;
            }
        }
        self.sync_folder()
    }
}
