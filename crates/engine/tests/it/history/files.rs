//! Damage to the files of the index while the server is stopped.

use std::fs;
use std::path::{Path, PathBuf};

use crate::history::story::Dice;

pub fn segments(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|suffix| suffix == "index"));
    files.sort();
    files
}

/// Moves the folder away and blocks its path until `Blocked` is dropped.
pub fn block(folder: &Path) -> Blocked {
    let [away, wall] = ["away", "wall"].map(|name| folder.with_file_name(name));
    fs::write(&wall, b"").unwrap();
    // The indexer may create the folder again in between.
    while fs::rename(&wall, folder).is_err() {
        drop(fs::remove_dir_all(&away));
        fs::rename(folder, &away).unwrap();
    }
    Blocked(folder.to_owned())
}

pub struct Blocked(PathBuf);

impl Drop for Blocked {
    fn drop(&mut self) {
        fs::remove_file(&self.0).unwrap();
    }
}

/// Deletes, damages, truncates or keeps files at random.
pub fn meddle(folder: &Path, dice: &mut Dice) {
    // A server that stops at once may not have created its index.
    fs::create_dir_all(folder).unwrap();
    if dice.one_in(6) {
        return fs::remove_dir_all(folder).unwrap();
    }
    for path in segments(folder) {
        match dice.below(12) {
            0 => fs::remove_file(&path).unwrap(),
            1 => {
                let mut bytes = fs::read(&path).unwrap();
                let at = dice.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << dice.below(8);
                fs::write(&path, bytes).unwrap();
            }
            2 => {
                let bytes = fs::read(&path).unwrap();
                let cut = dice.below(bytes.len() as u64) as usize;
                fs::write(&path, &bytes[..cut]).unwrap();
            }
            3 => fs::write(folder.join("left.unfinished"), b"x").unwrap(),
            _ => {}
        }
    }
}
