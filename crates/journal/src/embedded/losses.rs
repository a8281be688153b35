//! Losses that an operator has accepted: one line each, in a file that the server repeats in its log at each start.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::private;

pub const LOSSES_FILE: &str = "accepted-losses.txt";

/// Adds a line.
pub fn add(folder: &Path, line: &str) -> io::Result<()> {
    let mut file = private::append_file(&folder.join(LOSSES_FILE))?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()?;
    fs::File::open(folder)?.sync_all()
}

/// All lines, oldest first.
pub fn list(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string(folder.join(LOSSES_FILE)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
