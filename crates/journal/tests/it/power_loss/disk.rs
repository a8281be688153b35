//! A disk with a volatile cache: what it has for certain, and what it may have.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::layer::DiskOperation;

const SECTOR_BYTES: usize = 512;

/// What a power failure does to the operations that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// All of them reached the disk.
    Nothing,
    /// None of them did.
    Everything,
    /// Each of them did, or did not.
    Random,
    /// Each sector of each of them did, or did not.
    Torn,
}

/// Pseudo-random numbers.
pub struct Dice(pub u64);

impl Dice {
    fn is_lucky(&mut self) -> bool {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 63 == 1
    }
}

#[derive(Debug, Clone, Default)]
struct DiskFile {
    /// What is there for certain. `None`: the file does not exist.
    synced: Option<Vec<u8>>,
    /// What was done since.
    pending: Vec<DiskOperation>,
}

#[derive(Debug, Clone, Default)]
pub struct Disk {
    files: BTreeMap<String, DiskFile>,
}

fn apply(
    contents: &mut Option<Vec<u8>>,
    operation: &DiskOperation,
    keeps: &mut dyn FnMut() -> bool,
) {
    match operation {
        DiskOperation::Write { at, bytes, .. } => {
            let contents = contents.get_or_insert_default();
            let mut at = *at as usize;
            let mut rest = bytes.as_slice();
            // Sectors of the disk, not of the write.
            while !rest.is_empty() {
                let (now, after) = rest.split_at(rest.len().min(SECTOR_BYTES - at % SECTOR_BYTES));
                if keeps() {
                    contents.resize(contents.len().max(at + now.len()), 0);
                    contents[at..at + now.len()].copy_from_slice(now);
                }
                (at, rest) = (at + now.len(), after);
            }
        }
        DiskOperation::Truncate { len, .. } => {
            contents.get_or_insert_default().resize(*len as usize, 0);
        }
        DiskOperation::Delete { .. } => *contents = None,
        DiskOperation::Sync { .. } | DiskOperation::SyncFolder => {}
    }
}

impl DiskFile {
    fn sync(&mut self) {
        // A file that exists without contents exists.
        self.synced.get_or_insert_default();
        for operation in std::mem::take(&mut self.pending) {
            apply(&mut self.synced, &operation, &mut || true);
        }
    }
}

impl DiskFile {
    /// Its last deletion is durable. What was done since is not.
    fn sync_deletion(&mut self) {
        let is_deletion = |one: &DiskOperation| matches!(one, DiskOperation::Delete { .. });
        if let Some(last) = self.pending.iter().rposition(is_deletion) {
            self.pending.drain(..=last);
            self.synced = None;
        }
    }
}

impl Disk {
    pub fn apply(&mut self, operation: &DiskOperation) {
        let file = match operation {
            DiskOperation::Write { file, .. }
            | DiskOperation::Truncate { file, .. }
            | DiskOperation::Sync { file }
            | DiskOperation::Delete { file, .. } => file,
            DiskOperation::SyncFolder => {
                return self.files.values_mut().for_each(DiskFile::sync_deletion);
            }
        };
        let file = self.files.entry(file.clone()).or_default();
        match operation {
            DiskOperation::Sync { .. } => file.sync(),
            DiskOperation::Delete { synced: true, .. } => *file = DiskFile::default(),
            _ => file.pending.push(operation.clone()),
        }
    }

    /// What the disk shows after the power failed. `None` if nothing is pending and this shows nothing new.
    pub fn after_power_loss(&self, loss: Loss, dice: &mut Dice) -> Option<Disk> {
        let is_pending = self.files.values().any(|file| !file.pending.is_empty());
        if !is_pending && loss != Loss::Nothing {
            return None;
        }
        let mut shown = self.clone();
        for file in shown.files.values_mut() {
            for operation in std::mem::take(&mut file.pending) {
                let is_kept = match loss {
                    Loss::Nothing => true,
                    Loss::Everything => false,
                    Loss::Random => dice.is_lucky(),
                    // Decided for each sector.
                    Loss::Torn if matches!(operation, DiskOperation::Write { .. }) => true,
                    Loss::Torn => dice.is_lucky(),
                };
                if is_kept {
                    let mut keeps = || loss != Loss::Torn || dice.is_lucky();
                    apply(&mut file.synced, &operation, &mut keeps);
                } else if matches!(operation, DiskOperation::Delete { .. }) {
                    // The name still means the old file, and what follows was done to a new one.
                    break;
                }
            }
        }
        Some(shown)
    }

    pub fn write_to(&self, folder: &Path) {
        for (name, file) in &self.files {
            if let Some(bytes) = &file.synced {
                fs::write(folder.join(name), bytes).expect("write");
            }
        }
    }
}
