//! Files and folders that only the server's account can read, whatever its umask: they have everything that clients claimed,
//! and who they are.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// The access of the group and of other users.
const FOREIGN_ACCESS: u32 = 0o077;
/// Set on folders that many users share, such as /tmp.
const STICKY: u32 = 0o1000;

/// Creates a folder and its parents if missing, durably: what is synced in it must not disappear with it. Parents get the
/// usual permissions.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    create_parents(path)?;
    match DirBuilder::new().mode(FOLDER_MODE).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            return Ok(());
        }
        Err(error) => return Err(error),
        // The umask may have removed some of our own access.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(FOLDER_MODE))?,
    }
    sync_parent(path)
}

fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn create_parents(path: &Path) -> io::Result<()> {
    let parent = parent_of(path);
    if parent.is_dir() {
        return Ok(());
    }
    create_parents(parent)?;
    match fs::create_dir(parent) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_parent(parent),
    }
}

/// Makes the name of a file or folder durable.
fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = parent_of(path);
    match File::open(parent) {
        Ok(folder) => folder.sync_all(),
        // A folder in which we may create, but which we may not list.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            tracing::warn!(folder = %parent.display(), %error, "cannot sync a folder after creating another one in it");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Creates a file, or empties it.
pub fn create_file(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true).write(true).create(true).truncate(true))
}

/// Opens a file for reading and writing, and creates it if missing.
pub fn open_file(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))
}

/// Opens a file to add to its end, and creates it if missing.
pub fn append_file(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().create(true).append(true))
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.mode(FILE_MODE).open(path)?;
    if file.metadata()?.permissions().mode() & 0o777 != FILE_MODE {
        file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    }
    Ok(file)
}

/// Removes the access of other users to a folder and to the files in it for which `is_ours` holds. Older versions left it to
/// the umask. An error is only logged: the server works without it.
pub fn tighten(folder: &Path, is_ours: impl Fn(&str) -> bool) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = files.filter(|file| file.file_name().to_str().is_some_and(&is_ours));
    let paths: Vec<PathBuf> = ours.map(|file| file.path()).collect();
    let mut changed = 0;
    for path in std::iter::once(folder).chain(paths.iter().map(PathBuf::as_path)) {
        match tighten_one(path) {
            Ok(one) => changed += u32::from(one),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot remove the access of other users");
            }
        }
    }
    if changed > 0 {
        tracing::info!(folder = %folder.display(), changed, "removed the access of other users to files and folders");
    }
}

fn tighten_one(path: &Path) -> io::Result<bool> {
    let mode = match fs::metadata(path) {
        Ok(found) => found.permissions().mode() & 0o7777,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if mode & FOREIGN_ACCESS == 0 {
        return Ok(false);
    }
    if mode & STICKY != 0 {
        return Err(io::Error::other("it is a folder that users share; use one of its own"));
    }
    fs::set_permissions(path, Permissions::from_mode(mode & !FOREIGN_ACCESS))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn new_files_and_folders_are_private_and_existing_ones_become_so() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("parent").join("data");
        create_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        for (name, create) in [
            ("created", create_file as fn(&Path) -> io::Result<File>),
            ("opened", open_file),
            ("appended", append_file),
        ] {
            let path = folder.join(name);
            create(&path).unwrap();
            assert_eq!(mode(&path), 0o600, "{name}");
            fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
            create(&path).unwrap();
            assert_eq!(mode(&path), 0o600, "{name} again");
            fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        tighten(&folder, |name| name != "appended");
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(
            ["created", "opened", "appended"].map(|name| mode(&folder.join(name))),
            [0o600, 0o600, 0o644]
        );
    }

    #[test]
    fn a_shared_folder_keeps_its_permissions() {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), Permissions::from_mode(0o1777)).unwrap();
        tighten(scratch.path(), |_| true);
        assert_eq!(mode(scratch.path()), 0o1777);
    }
}
