//! Logs everything that this process does to the files below one folder: by SQLite, by the standard library, by any thread.
//!
//! The functions here have the names of those of the C library, so that the linker uses them in its place for the whole test
//! binary. They make the same system calls, and log those that concern the folder while a recording runs.

#![expect(unsafe_code, reason = "system calls, and functions in place of the C library's")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use libc::{c_long, iovec, mode_t, off_t, size_t, ssize_t};

/// What was done. Paths are relative to the recorded folder.
#[derive(Clone)]
pub enum DiskOperation {
    Create {
        path: String,
    },
    Write {
        path: String,
        at: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        path: String,
        len: u64,
    },
    /// Of a file or a folder.
    Sync {
        path: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Remove {
        path: String,
    },
    CreateFolder {
        path: String,
    },
}

impl fmt::Debug for DiskOperation {
    /// For the message of a failed test, so without the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DiskOperation::Create { path } => write!(f, "create {path}"),
            DiskOperation::Write { path, at, bytes } => {
                write!(f, "write {path} {at}+{}", bytes.len())
            }
            DiskOperation::Truncate { path, len } => write!(f, "truncate {path} {len}"),
            DiskOperation::Sync { path } => write!(f, "sync {path}"),
            DiskOperation::Rename { from, to } => write!(f, "rename {from} {to}"),
            DiskOperation::Remove { path } => write!(f, "remove {path}"),
            DiskOperation::CreateFolder { path } => write!(f, "create folder {path}"),
        }
    }
}

static IS_ON: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Log {
    folder: PathBuf,
    operations: Vec<DiskOperation>,
}

fn log() -> MutexGuard<'static, Log> {
    static LOG: OnceLock<Mutex<Log>> = OnceLock::new();
    LOG.get_or_init(Mutex::default).lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The recording of one folder; there is one at a time.
pub struct Recording;

impl Recording {
    pub fn start(folder: &Path) -> Recording {
        let folder = std::fs::canonicalize(folder).expect("the folder");
        *log() = Log { folder, operations: Vec::new() };
        IS_ON.store(true, Ordering::SeqCst);
        Recording
    }

    /// How many operations there were so far.
    pub fn count(&self) -> usize {
        log().operations.len()
    }

    pub fn end(self) -> Vec<DiskOperation> {
        IS_ON.store(false, Ordering::SeqCst);
        std::mem::take(&mut *log()).operations
    }
}

/// The path below the recorded folder.
fn relative(path: &Path) -> Option<String> {
    let below = path.strip_prefix(&log().folder).ok()?.to_str()?.to_owned();
    (!below.ends_with(" (deleted)")).then_some(below)
}

/// The recorded path of an open file or folder.
fn of_descriptor(descriptor: c_int) -> Option<String> {
    if !IS_ON.load(Ordering::SeqCst) {
        return None;
    }
    relative(&std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?)
}

/// The recorded path that a C string names.
///
/// # Safety
/// `path` is a valid C string.
unsafe fn of_path(path: *const c_char) -> Option<String> {
    if !IS_ON.load(Ordering::SeqCst) {
        return None;
    }
    // SAFETY: as the caller promises.
    relative(Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes())))
}

/// Makes a system call, and logs it if it succeeds. Both are one step for other threads.
fn logged(
    call: impl FnOnce() -> c_long,
    operation: impl FnOnce(c_long) -> Option<DiskOperation>,
) -> c_long {
    let mut log = log();
    let result = call();
    if result >= 0 {
        log.operations.extend(operation(result));
    }
    result
}

unsafe fn open_file(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the arguments are those of `open`.
    unsafe {
        let call = || libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path, flags, mode);
        let is_changed = flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
        let Some(name) = of_path(path).filter(|_| is_changed) else { return call() as c_int };
        let exists = libc::syscall(libc::SYS_faccessat, libc::AT_FDCWD, path, libc::F_OK) == 0;
        let opened = logged(call, |_| match exists {
            false => Some(DiskOperation::Create { path: name }),
            true if flags & libc::O_TRUNC != 0 => {
                Some(DiskOperation::Truncate { path: name, len: 0 })
            }
            true => None,
        });
        opened as c_int
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: passed on.
    unsafe { open_file(path, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: passed on.
    unsafe { open_file(path, flags | libc::O_LARGEFILE, mode) }
}

/// Where the next write without a position goes.
fn position(descriptor: c_int) -> u64 {
    // SAFETY: these calls take numbers only.
    unsafe {
        let flags = libc::syscall(libc::SYS_fcntl, descriptor, libc::F_GETFL);
        let whence =
            if flags & c_long::from(libc::O_APPEND) != 0 { libc::SEEK_END } else { libc::SEEK_CUR };
        libc::syscall(libc::SYS_lseek, descriptor, 0, whence).max(0) as u64
    }
}

unsafe fn write_at(
    descriptor: c_int,
    (bytes, count): (*const c_void, size_t),
    at: Option<off_t>,
) -> ssize_t {
    // SAFETY: the arguments are those of `write` or `pwrite`: a buffer of `count` bytes.
    unsafe {
        let call = || match at {
            None => libc::syscall(libc::SYS_write, descriptor, bytes, count),
            Some(at) => libc::syscall(libc::SYS_pwrite64, descriptor, bytes, count, at),
        };
        let Some(path) = of_descriptor(descriptor) else { return call() as ssize_t };
        let at = at.map_or_else(|| position(descriptor), |at| at as u64);
        let written = logged(call, |count| {
            let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), count as usize).to_vec();
            Some(DiskOperation::Write { path, at, bytes })
        });
        written as ssize_t
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    // SAFETY: passed on.
    unsafe { write_at(descriptor, (bytes, count), None) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(descriptor: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    // SAFETY: passed on; the first part that is not empty is written alone, which the caller must expect.
    unsafe {
        if of_descriptor(descriptor).is_none() {
            return libc::syscall(libc::SYS_writev, descriptor, parts, count) as ssize_t;
        }
        let parts = std::slice::from_raw_parts(parts, count as usize);
        match parts.iter().find(|part| part.iov_len > 0) {
            Some(part) => write_at(descriptor, (part.iov_base, part.iov_len), None),
            None => 0,
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(
    descriptor: c_int,
    bytes: *const c_void,
    count: size_t,
    at: off_t,
) -> ssize_t {
    // SAFETY: passed on.
    unsafe { write_at(descriptor, (bytes, count), Some(at)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(
    descriptor: c_int,
    bytes: *const c_void,
    count: size_t,
    at: off_t,
) -> ssize_t {
    // SAFETY: passed on.
    unsafe { write_at(descriptor, (bytes, count), Some(at)) }
}

fn truncate_to(descriptor: c_int, len: off_t) -> c_int {
    // SAFETY: the call takes numbers only.
    let call = || unsafe { libc::syscall(libc::SYS_ftruncate, descriptor, len) };
    let Some(path) = of_descriptor(descriptor) else { return call() as c_int };
    logged(call, |_| Some(DiskOperation::Truncate { path, len: len as u64 })) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate(descriptor: c_int, len: off_t) -> c_int {
    truncate_to(descriptor, len)
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(descriptor: c_int, len: off_t) -> c_int {
    truncate_to(descriptor, len)
}

fn sync_with(number: c_long, descriptor: c_int) -> c_int {
    // SAFETY: the call takes numbers only.
    let call = || unsafe { libc::syscall(number, descriptor) };
    let Some(path) = of_descriptor(descriptor) else { return call() as c_int };
    logged(call, |_| Some(DiskOperation::Sync { path })) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn fsync(descriptor: c_int) -> c_int {
    sync_with(libc::SYS_fsync, descriptor)
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    sync_with(libc::SYS_fdatasync, descriptor)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the arguments are those of `rename`.
    unsafe {
        let at = libc::AT_FDCWD;
        let call = || libc::syscall(libc::SYS_renameat2, at, from, at, to, 0);
        let Some((from, to)) = of_path(from).zip(of_path(to)) else { return call() as c_int };
        logged(call, |_| Some(DiskOperation::Rename { from, to })) as c_int
    }
}

unsafe fn remove(folder: c_int, name: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the arguments are those of `unlinkat`.
    unsafe {
        let call = || libc::syscall(libc::SYS_unlinkat, folder, name, flags);
        let path = if folder == libc::AT_FDCWD {
            of_path(name)
        } else {
            let name = CStr::from_ptr(name).to_str().ok();
            of_descriptor(folder).zip(name).map(|(folder, name)| format!("{folder}/{name}"))
        };
        let Some(path) = path else { return call() as c_int };
        logged(call, |_| Some(DiskOperation::Remove { path })) as c_int
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: passed on.
    unsafe { remove(libc::AT_FDCWD, path, 0) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlinkat(folder: c_int, name: *const c_char, flags: c_int) -> c_int {
    // SAFETY: passed on.
    unsafe { remove(folder, name, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: passed on.
    unsafe { remove(libc::AT_FDCWD, path, libc::AT_REMOVEDIR) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the arguments are those of `mkdir`.
    unsafe {
        let call = || libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, path, mode);
        let Some(path) = of_path(path) else { return call() as c_int };
        logged(call, |_| Some(DiskOperation::CreateFolder { path })) as c_int
    }
}
