//! A layer between SQLite and the file system that logs what is done to the files of one folder. SQLite's other files, of tests
//! that run at the same time, pass through it unlogged.

#![expect(unsafe_code, reason = "SQLite's file system layer is a table of C functions")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, OnceLock};

use rusqlite::ffi;

/// What was done to a file, which is named without its folder.
#[derive(Clone)]
pub enum DiskOperation {
    Write {
        file: String,
        at: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        len: u64,
    },
    Sync {
        file: String,
    },
    /// Makes the deletion of files durable.
    SyncFolder,
    /// Durable when it returns, if `synced`.
    Delete {
        file: String,
        synced: bool,
    },
}

impl fmt::Debug for DiskOperation {
    /// For the message of a failed test, so without the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskOperation::Write { file, at, bytes } => {
                write!(f, "write {file} {at}+{}", bytes.len())
            }
            DiskOperation::Truncate { file, len } => write!(f, "truncate {file} {len}"),
            DiskOperation::Sync { file } => write!(f, "sync {file}"),
            DiskOperation::SyncFolder => write!(f, "sync the folder"),
            DiskOperation::Delete { file, synced } => write!(f, "delete {file}, synced {synced}"),
        }
    }
}

#[derive(Default)]
struct Log {
    folder: Option<PathBuf>,
    operations: Vec<DiskOperation>,
    /// The open files of the folder, by their address.
    files: HashMap<usize, RecordedFile>,
}

#[derive(Clone)]
struct RecordedFile {
    name: String,
    /// Those of SQLite's own layer. They differ between kinds of files.
    methods: ffi::sqlite3_io_methods,
    /// Its first sync also syncs the folder: SQLite does so for the logs that it creates.
    syncs_folder: bool,
}

fn log() -> MutexGuard<'static, Log> {
    static LOG: OnceLock<Mutex<Log>> = OnceLock::new();
    LOG.get_or_init(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The recording of one folder; there is one at a time.
pub struct Recording;

impl Recording {
    pub fn start(folder: &Path) -> Recording {
        install();
        let folder = std::fs::canonicalize(folder).expect("the folder");
        *log() = Log { folder: Some(folder), ..Log::default() };
        Recording
    }

    /// How many operations there were so far.
    pub fn count(&self) -> usize {
        log().operations.len()
    }

    pub fn end(self) -> Vec<DiskOperation> {
        std::mem::take(&mut *log()).operations
    }
}

/// SQLite's own layer.
struct Layers {
    original: *mut ffi::sqlite3_vfs,
}

// SAFETY: SQLite's own layer is never removed, and is used by all threads.
unsafe impl Send for Layers {}
// SAFETY: as above.
unsafe impl Sync for Layers {}

static LAYERS: OnceLock<Layers> = OnceLock::new();

/// Makes this layer SQLite's default one.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the default layer exists always. The copy differs only in its name and two functions, which have the same
        // types, and is never freed, because SQLite keeps it.
        unsafe {
            ffi::sqlite3_initialize();
            let original = ffi::sqlite3_vfs_find(std::ptr::null());
            let mut ours = *original;
            ours.zName = c"allod-recording".as_ptr();
            ours.pNext = std::ptr::null_mut();
            ours.xOpen = Some(open);
            ours.xDelete = Some(delete);
            LAYERS.get_or_init(|| Layers { original });
            assert_eq!(ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 1), ffi::SQLITE_OK);
        }
    });
}

fn original() -> *mut ffi::sqlite3_vfs {
    LAYERS.get().expect("the layer is installed").original
}

/// The name of a file in the recorded folder.
///
/// # Safety
/// `path` is null or a valid C string.
unsafe fn recorded(path: *const c_char) -> Option<String> {
    if path.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let path = Path::new(unsafe { CStr::from_ptr(path) }.to_str().ok()?);
    let is_ours = path.parent().is_some_and(|parent| log().folder.as_deref() == Some(parent));
    is_ours.then(|| path.file_name()?.to_str().map(str::to_owned)).flatten()
}

/// Opens a file with SQLite's own layer, and replaces its methods if it is recorded.
unsafe extern "C" fn open(
    layer: *mut ffi::sqlite3_vfs,
    path: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls this with valid arguments, which are passed on. A file that was opened has methods.
    unsafe {
        let Some(original_open) = (*original()).xOpen else { return ffi::SQLITE_ERROR };
        let result = original_open(layer, path, file, flags, out);
        if result == ffi::SQLITE_OK
            && let Some(name) = recorded(path)
            && !(*file).pMethods.is_null()
        {
            let methods = *(*file).pMethods;
            let is_log = flags & (ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL) != 0;
            let syncs_folder = is_log && flags & ffi::SQLITE_OPEN_CREATE != 0;
            let ours = ffi::sqlite3_io_methods {
                xWrite: Some(write),
                xTruncate: Some(truncate),
                xSync: Some(sync),
                xClose: Some(close),
                ..methods
            };
            // Never freed, because SQLite may use it at any time.
            (*file).pMethods = Box::leak(Box::new(ours));
            log().files.insert(file as usize, RecordedFile { name, methods, syncs_folder });
        }
        result
    }
}

unsafe extern "C" fn delete(
    layer: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    dir: c_int,
) -> c_int {
    // SAFETY: SQLite calls this with valid arguments, which are passed on.
    unsafe {
        let Some(original_delete) = (*original()).xDelete else { return ffi::SQLITE_ERROR };
        let result = original_delete(layer, path, dir);
        if result == ffi::SQLITE_OK
            && let Some(file) = recorded(path)
        {
            log().operations.push(DiskOperation::Delete { file, synced: dir != 0 });
        }
        result
    }
}

/// The methods of SQLite's own layer for an open file.
fn methods(file: *mut ffi::sqlite3_file) -> ffi::sqlite3_io_methods {
    log().files.get(&(file as usize)).expect("the file is open").methods
}

/// Logs an operation on an open file, if it succeeded.
fn note(
    file: *mut ffi::sqlite3_file,
    result: c_int,
    operation: impl FnOnce(String) -> DiskOperation,
) -> c_int {
    let mut log = log();
    if result == ffi::SQLITE_OK
        && let Some(open) = log.files.get(&(file as usize)).cloned()
    {
        log.operations.push(operation(open.name));
    }
    result
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    count: c_int,
    at: ffi::sqlite3_int64,
) -> c_int {
    let Some(original_write) = methods(file).xWrite else { return ffi::SQLITE_ERROR };
    // SAFETY: SQLite calls this with a buffer of `count` bytes, and the file was opened by its own layer.
    let (result, bytes) = unsafe {
        let result = original_write(file, bytes, count, at);
        (result, std::slice::from_raw_parts(bytes.cast::<u8>(), count as usize).to_vec())
    };
    note(file, result, |file| DiskOperation::Write { file, at: at as u64, bytes })
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, len: ffi::sqlite3_int64) -> c_int {
    let Some(original_truncate) = methods(file).xTruncate else { return ffi::SQLITE_ERROR };
    // SAFETY: the file was opened by SQLite's own layer.
    let result = unsafe { original_truncate(file, len) };
    note(file, result, |file| DiskOperation::Truncate { file, len: len as u64 })
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    let Some(original_sync) = methods(file).xSync else { return ffi::SQLITE_ERROR };
    // SAFETY: the file was opened by SQLite's own layer.
    let result = unsafe { original_sync(file, flags) };
    note(file, result, |file| DiskOperation::Sync { file });
    let mut log = log();
    let open = log.files.get_mut(&(file as usize));
    if open.is_some_and(|open| std::mem::take(&mut open.syncs_folder)) {
        log.operations.push(DiskOperation::SyncFolder);
    }
    result
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let closed = log().files.remove(&(file as usize));
    let Some(original_close) = closed.and_then(|file| file.methods.xClose) else {
        return ffi::SQLITE_ERROR;
    };
    // SAFETY: the file was opened by SQLite's own layer.
    unsafe { original_close(file) }
}
