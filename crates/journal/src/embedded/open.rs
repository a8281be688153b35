//! Opens a data folder: takes the lock, inspects the write-ahead log, configures SQLite, and verifies the last record.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::errors::{at_open, damaged, while_open};
use super::lock::{FolderLock, LOCK_FILE};
use super::rows::{self, Extent};
use super::wal::{self, TornTail, WalCondition};
use super::{Embedded, IncompleteJournal, OpenedJournal, high_water, losses, restoring};
use crate::checkpoint::CHECKPOINT_FOLDER;
use crate::contract::{JournalError, LostRecords};
use crate::frame::Tail;
use crate::private;

pub const JOURNAL_FILE: &str = "journal.sqlite";

/// "alod", in SQLite's field for the application that owns a file.
const APPLICATION_ID: i32 = 0x616c_6f64;
/// Raised when the tables change in a way that older programs cannot read.
const FORMAT: i32 = 1;
/// Compared with 8 and 16 KiB, records of a few kilobytes are appended faster and large ones not slower.
const PAGE_BYTES: u32 = 4096;
/// The size to which SQLite truncates the write-ahead log once all of it is in the database.
const WAL_BYTES_KEPT: u32 = 16 << 20;

/// The database file before SQLite opens it.
enum MainFile {
    /// Missing or empty.
    Empty,
    /// A crash interrupted its creation or a change of format; SQLite rolls that back.
    Unfinished,
    Database {
        page_bytes: usize,
    },
}

/// Opens the journal, if nothing is missing.
pub fn open(folder: &Path) -> Result<OpenedJournal, JournalError> {
    private::create_folder(folder).map_err(|error| unusable(folder, &error))?;
    let found = read(folder)?;
    if let Some(lost) = found.lost {
        return Err(JournalError::Shortened(lost));
    }
    let Found { mut journal, wal, known, .. } = found;
    {
        let inner = &mut *journal.inner.lock();
        // Otherwise what a crash left in the log could reappear behind the records written next.
        if wal.bytes > 0 {
            inner.noted = empty_wal(&inner.db, inner.noted, &inner.tail)?;
        }
        keep_files(&inner.db, false).map_err(|error| while_open(&error, inner.tail.seq))?;
        inner.left_alone = false;
    }
    journal.keep_mark(known);
    Ok(OpenedJournal { journal, torn: wal.torn })
}

/// Opens an existing journal and leaves its files as they are.
pub fn open_incomplete(folder: &Path) -> Result<IncompleteJournal, JournalError> {
    let path = folder.join(JOURNAL_FILE);
    if !path.is_file() {
        return Err(JournalError::Unusable { what: format!("there is no {}", path.display()) });
    }
    let Found { journal, lost, .. } = read(folder)?;
    Ok(IncompleteJournal { journal, lost })
}

/// A journal whose files have not been changed yet.
struct Found {
    journal: Embedded,
    wal: WalFile,
    /// The high-water mark.
    known: Option<Tail>,
    lost: Option<LostRecords>,
}

fn unusable(path: &Path, error: &io::Error) -> JournalError {
    JournalError::Unusable { what: format!("{}: {error}", path.display()) }
}

fn read(folder: &Path) -> Result<Found, JournalError> {
    let lock = FolderLock::take(folder)?;
    if restoring::is_unfinished(folder) {
        let what = format!(
            "a restore into {} did not finish; restore again, or remove the folder {} in it",
            folder.display(),
            restoring::RESTORING_FOLDER
        );
        return Err(JournalError::Unusable { what });
    }
    private::tighten(folder, is_ours);
    let path = folder.join(JOURNAL_FILE);
    let main = inspect(&path).map_err(|error| unusable(&path, &error))??;
    let wal = inspect_wal(&path, &main)?;

    // SQLite gives its other files the permissions of this one.
    private::open_file(&path).map_err(|error| unusable(&path, &error))?;
    let name = path.display().to_string();
    let db = connect(&path).map_err(|error| at_open(&error, &name))?;
    if create(&db).map_err(|error| at_open(&error, &name))? {
        sync_folder(folder).map_err(|error| unusable(folder, &error))?;
    }
    check_format(&db, &name)?;
    start_wal(&db, &name)?;
    let (noted, tail) = verified_end(&db)?;
    let known = high_water::read(folder);
    let lost = match &known {
        Some(known) => lost(&db, noted.oldest, &tail, known)?,
        None => None,
    };
    Ok(Found { journal: Embedded::new(db, lock, noted, tail, folder), wal, known, lost })
}

/// What the high-water mark proves to be missing. It was written after its record was durable.
fn lost(
    db: &Connection,
    oldest: u64,
    end: &Tail,
    known: &Tail,
) -> Result<Option<LostRecords>, JournalError> {
    if known.seq < oldest {
        // Trimmed, or none yet.
        return Ok(None);
    }
    let is_same = known.seq <= end.seq && rows::hash(db, known.seq)? == Some(known.hash);
    let witness = || "the high-water mark".to_owned();
    Ok((!is_same).then(|| LostRecords::new(end, (known.seq, Some(known.position)), witness())))
}

/// The files of the journal in its folder.
fn is_ours(name: &str) -> bool {
    let others = [LOCK_FILE, high_water::HIGH_WATER_FILE, losses::LOSSES_FILE, CHECKPOINT_FOLDER];
    name.starts_with(JOURNAL_FILE) || others.contains(&name)
}

/// Whether SQLite leaves the files alone when it closes them, instead of copying the log into the database.
fn keep_files(db: &Connection, keep: bool) -> rusqlite::Result<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map(|_| ())
}

/// Reads the header of the database before anything is written.
fn inspect(path: &Path) -> io::Result<Result<MainFile, JournalError>> {
    if beside(path, "-journal").exists() {
        return Ok(Ok(MainFile::Unfinished));
    }
    let mut header = Vec::with_capacity(100);
    match File::open(path) {
        Ok(file) => file.take(100).read_to_end(&mut header)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    if header.is_empty() {
        return Ok(Ok(MainFile::Empty));
    }
    let number = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&header[at..at + 4]);
        i32::from_be_bytes(bytes)
    };
    let name = path.display().to_string();
    if header.len() < 100 || !header.starts_with(b"SQLite format 3\0") {
        return Ok(Err(foreign(&name)));
    }
    let page_bytes = match usize::from(u16::from_be_bytes([header[16], header[17]])) {
        1 => 65_536,
        bytes if bytes >= 512 && bytes.is_power_of_two() => bytes,
        _ => return Ok(Err(foreign(&name))),
    };
    let checked = check_numbers(number(68), number(60), &name);
    Ok(checked.map(|()| MainFile::Database { page_bytes }))
}

fn foreign(name: &str) -> JournalError {
    let what = format!(
        "{name} is not an allod journal, or its first bytes are damaged; move it away, or restore it from a backup"
    );
    JournalError::Unusable { what }
}

fn check_numbers(application_id: i32, format: i32, name: &str) -> Result<(), JournalError> {
    if application_id != APPLICATION_ID || format < 1 {
        return Err(foreign(name));
    }
    if format > FORMAT {
        let (found, known) = (format.unsigned_abs(), FORMAT.unsigned_abs());
        return Err(JournalError::TooNew { found, known });
    }
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The write-ahead log before SQLite opens it.
struct WalFile {
    bytes: u64,
    torn: Option<TornTail>,
}

fn inspect_wal(path: &Path, main: &MainFile) -> Result<WalFile, JournalError> {
    let wal_path = beside(path, "-wal");
    let file = match File::open(&wal_path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(WalFile { bytes: 0, torn: None });
        }
        Err(error) => {
            let what = format!("{}: {error}", wal_path.display());
            return Err(JournalError::Unusable { what });
        }
    };
    let unreadable =
        |error| JournalError::Fatal { what: format!("{}: {error}", wal_path.display()) };
    let bytes = file.metadata().map_err(unreadable)?.len();
    let main_bytes = fs::metadata(path).map_or(0, |main| main.len());
    // SQLite would take an empty database for a new one and delete its log.
    if main_bytes == 0 && bytes > 0 {
        let what = format!("{} is empty, but its write-ahead log is not", path.display());
        return Err(damaged(1, what));
    }
    let page_bytes = match main {
        MainFile::Empty | MainFile::Unfinished => PAGE_BYTES as usize,
        MainFile::Database { page_bytes } => *page_bytes,
    };
    let pages = u32::try_from(main_bytes / page_bytes as u64).unwrap_or(u32::MAX);
    match wal::scan(&mut BufReader::new(file), page_bytes, pages).map_err(unreadable)? {
        WalCondition::Clean => Ok(WalFile { bytes, torn: None }),
        WalCondition::Torn(torn) => {
            tracing::warn!(
                frames = torn.frames,
                bytes = torn.bytes,
                path = %wal_path.display(),
                "discarding an interrupted write at the end of the journal; it was never acknowledged"
            );
            Ok(WalFile { bytes, torn: Some(torn) })
        }
        WalCondition::Damaged { frame, offset } => {
            let first = first_in_wal(path);
            let what = format!(
                "frame {frame} of {} (at byte {offset}) is damaged, and acknowledged records are in it or after it; \
                 records before {first} are in the database itself",
                wal_path.display()
            );
            Err(damaged(first, what))
        }
    }
}

/// The first record that is not in the database itself and so may be in its write-ahead log. Only for messages.
fn first_in_wal(path: &Path) -> u64 {
    // With "immutable", SQLite ignores the log and writes nothing.
    let escaped =
        path.display().to_string().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
        .and_then(|db| rows::bounds(&db))
        .map_or(1, |bounds| bounds.map_or(1, |(_, last)| last.saturating_add(1)))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    keep_files(&db, true)?;
    db.busy_timeout(Duration::ZERO)?;
    db.pragma_update(None, "page_size", PAGE_BYTES)?;
    // Before the first read: with a permanent lock, SQLite keeps the index of the log in memory instead of a file.
    db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "cell_size_check", true)?;
    db.pragma_update(None, "trusted_schema", false)?;
    Ok(db)
}

/// Creates the tables, application ID and format in an empty database, in one transaction. This happens before the
/// write-ahead log is enabled, so that the numbers are in the file itself, where `inspect` reads them.
fn create(db: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application_id: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if tables > 0 || application_id != 0 {
        return Ok(false);
    }
    db.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = {FORMAT};
         {};
         COMMIT",
        rows::SCHEMA
    ))?;
    Ok(true)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()?;
    match fs::canonicalize(folder)?.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

/// Checks the numbers again through SQLite, which also sees a change of format that is still in the log.
fn check_format(db: &Connection, name: &str) -> Result<(), JournalError> {
    let number = |pragma| {
        db.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0))
            .map_err(|error| at_open(&error, name))
    };
    check_numbers(number("application_id")?, number("user_version")?, name)
}

fn start_wal(db: &Connection, name: &str) -> Result<(), JournalError> {
    let failed = |error| at_open(&error, name);
    let mode: String = db
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(failed)?;
    if mode != "wal" {
        let what = format!("{name}: SQLite stays in journal mode {mode} instead of wal");
        return Err(JournalError::Unusable { what });
    }
    // SQLite does not report errors of automatic checkpoints, so `Embedded` runs them itself.
    db.pragma_update(None, "wal_autocheckpoint", 0).map_err(failed)?;
    db.pragma_update_and_check(None, "journal_size_limit", WAL_BYTES_KEPT, |_| Ok(()))
        .map_err(failed)
}

/// The stored extent, and the tail after verifying the last record and its link to its predecessor.
fn verified_end(db: &Connection) -> Result<(Extent, Tail), JournalError> {
    let bounds = rows::bounds(db).map_err(|error| while_open(&error, 0))?;
    let (oldest, last) = bounds.unwrap_or((1, 0));
    let noted = rows::checked_extent(db, oldest, last)?;
    let mut tail = Tail::default();
    if last > 0 {
        rows::each(db, last.saturating_sub(1).max(oldest), last, |frame, hash| {
            tail = frame.tail(hash);
            true
        })?;
    }
    Ok((noted, tail))
}

/// Copies the log into the database and truncates it. Returns the extent that is stored afterwards.
fn empty_wal(db: &Connection, noted: Extent, tail: &Tail) -> Result<Extent, JournalError> {
    let extent = Extent { oldest: noted.oldest, last: tail.seq, hash: tail.hash };
    let emptied = rows::write_extent(db, &extent)
        .and_then(|()| db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
    match emptied.map_err(|error| while_open(&error, tail.seq)) {
        Ok(()) => Ok(extent),
        // Not an error: the log stays as it is, and the journal can be read.
        Err(JournalError::Full { what }) => {
            tracing::warn!(what, "no room to empty the write-ahead log");
            Ok(noted)
        }
        Err(error) => Err(error),
    }
}
