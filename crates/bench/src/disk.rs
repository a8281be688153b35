//! The cost of the disk alone: appending 4 KiB to a file and syncing it.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::load::latency::Latencies;

/// A pause between two appends. Without it, on a machine that has other work, the system makes this process wait for its
/// next turn after each sync, and what is measured is that turn (4 ms) instead of the disk (0.2 ms).
const BETWEEN: Duration = Duration::from_millis(2);

/// Each of `count` appends of 4 KiB with `fdatasync`, in a new file in `folder`.
pub fn fdatasync(folder: &Path, count: u32) -> Result<Latencies> {
    let path = folder.join("fdatasync");
    let mut file = File::create(&path)?;
    let block = [7; 4096];
    let mut latencies = Latencies::default();
    for _ in 0..count {
        let begun = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        latencies.add(begun.elapsed());
        std::thread::sleep(BETWEEN);
    }
    drop(file);
    std::fs::remove_file(path)?;
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_are_timed_and_the_file_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let latencies = fdatasync(folder.path(), 5).unwrap();
        assert_eq!(latencies.len(), 5);
        assert!(latencies.percentile(0.0) > Duration::ZERO);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
