//! A file system whose disk has a volatile cache: what it has for certain, and what it may have after the power failed.
//!
//! A sync of a file makes its contents and its own creation durable, a sync of a folder the names in it. Of everything else
//! each operation may be missing, complete, or (a write) torn at a sector, in any combination.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::recorder::DiskOperation;

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

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

/// A change of names that is not durable yet.
#[derive(Debug, Clone)]
enum NameChange {
    Added { path: String, node: Node },
    Renamed { from: String, to: String },
    Removed { path: String },
}

impl NameChange {
    fn names(&self) -> impl Iterator<Item = &str> {
        let (one, other) = match self {
            NameChange::Added { path, .. } | NameChange::Removed { path } => (path, None),
            NameChange::Renamed { from, to } => (from, Some(to)),
        };
        std::iter::once(one).chain(other).map(String::as_str)
    }
}

#[derive(Debug, Clone)]
enum ContentChange {
    Write { at: usize, bytes: Vec<u8> },
    Truncate { len: usize },
}

#[derive(Debug, Clone, Default)]
struct Contents {
    synced: Vec<u8>,
    pending: Vec<ContentChange>,
}

#[derive(Debug, Clone, Default)]
struct Names(BTreeMap<String, Node>);

impl Names {
    fn apply(&mut self, change: &NameChange) {
        match change {
            NameChange::Added { path, node } => {
                self.0.insert(path.clone(), *node);
            }
            NameChange::Removed { path } => {
                self.0.remove(path);
            }
            NameChange::Renamed { from, to } => {
                let Some(node) = self.0.remove(from) else { return };
                self.0.insert(to.clone(), node);
                let inside = format!("{from}/");
                let moved: Vec<String> =
                    self.0.keys().filter(|path| path.starts_with(&inside)).cloned().collect();
                for path in moved {
                    if let Some(node) = self.0.remove(&path) {
                        self.0.insert(format!("{to}/{}", &path[inside.len()..]), node);
                    }
                }
            }
        }
    }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

impl ContentChange {
    fn apply(&self, contents: &mut Vec<u8>, keeps: &mut dyn FnMut() -> bool) {
        match self {
            ContentChange::Truncate { len } => contents.resize(*len, 0),
            ContentChange::Write { at, bytes } => {
                let (mut at, mut rest) = (*at, bytes.as_slice());
                // Sectors of the disk, not of the write.
                while !rest.is_empty() {
                    let (now, after) =
                        rest.split_at(rest.len().min(SECTOR_BYTES - at % SECTOR_BYTES));
                    if keeps() {
                        contents.resize(contents.len().max(at + now.len()), 0);
                        contents[at..at + now.len()].copy_from_slice(now);
                    }
                    (at, rest) = (at + now.len(), after);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct Disk {
    /// As the running process sees them.
    live: Names,
    durable: Names,
    pending: Vec<NameChange>,
    files: Vec<Contents>,
}

impl Disk {
    pub fn apply(&mut self, operation: &DiskOperation) {
        match operation {
            DiskOperation::Create { path } => {
                let node = Node::File(self.files.len());
                self.files.push(Contents::default());
                self.rename(NameChange::Added { path: path.clone(), node });
            }
            DiskOperation::CreateFolder { path } => {
                self.rename(NameChange::Added { path: path.clone(), node: Node::Folder });
            }
            DiskOperation::Rename { from, to } => {
                self.rename(NameChange::Renamed { from: from.clone(), to: to.clone() });
            }
            DiskOperation::Remove { path } => {
                self.rename(NameChange::Removed { path: path.clone() })
            }
            DiskOperation::Write { path, at, bytes } => {
                let (at, bytes) = (*at as usize, bytes.clone());
                self.change(path, ContentChange::Write { at, bytes });
            }
            DiskOperation::Truncate { path, len } => {
                self.change(path, ContentChange::Truncate { len: *len as usize });
            }
            DiskOperation::Sync { path } => match self.live.0.get(path) {
                Some(Node::File(file)) => self.sync_file(*file),
                Some(Node::Folder) => self.sync_folder(path),
                // The folder of the recording itself.
                None => self.sync_folder(""),
            },
        }
    }

    fn rename(&mut self, change: NameChange) {
        self.live.apply(&change);
        self.pending.push(change);
    }

    fn change(&mut self, path: &str, change: ContentChange) {
        if let Some(Node::File(file)) = self.live.0.get(path) {
            self.files[*file].pending.push(change);
        }
    }

    fn sync_file(&mut self, file: usize) {
        let Contents { synced, pending } = &mut self.files[file];
        pending.drain(..).for_each(|change| change.apply(synced, &mut || true));
        self.make_durable(
            |change| matches!(change, NameChange::Added { node, .. } if *node == Node::File(file)),
        );
    }

    fn sync_folder(&mut self, folder: &str) {
        self.make_durable(|change| match change {
            NameChange::Added { path, .. } | NameChange::Removed { path } => {
                folder_of(path) == folder
            }
            NameChange::Renamed { to, .. } => folder_of(to) == folder,
        });
    }

    /// Makes these changes durable, and earlier ones of the same names with them: a name has one entry in its folder.
    fn make_durable(&mut self, is_synced: impl Fn(&NameChange) -> bool) {
        let mut names: BTreeSet<String> = BTreeSet::new();
        let (mut synced, mut pending) = (Vec::new(), Vec::new());
        for change in std::mem::take(&mut self.pending).into_iter().rev() {
            if is_synced(&change) || change.names().any(|name| names.contains(name)) {
                names.extend(change.names().map(str::to_owned));
                synced.push(change);
            } else {
                pending.push(change);
            }
        }
        synced.iter().rev().for_each(|change| self.durable.apply(change));
        pending.reverse();
        self.pending = pending;
    }

    /// What the disk shows after the power failed. `None` if nothing is pending and this shows nothing new.
    pub fn after_power_loss(&self, loss: Loss, dice: &mut Dice) -> Option<ShownDisk> {
        let mut unsynced = self.files.iter().filter(|file| !file.pending.is_empty());
        let is_pending = !self.pending.is_empty() || unsynced.next().is_some();
        if !is_pending && loss != Loss::Nothing {
            return None;
        }
        let keeps = |dice: &mut Dice| match loss {
            Loss::Nothing => true,
            Loss::Everything => false,
            Loss::Random | Loss::Torn => dice.is_lucky(),
        };
        let mut names = self.durable.clone();
        for change in &self.pending {
            if keeps(dice) {
                names.apply(change);
            }
        }
        let mut shown = ShownDisk::default();
        for (path, node) in &names.0 {
            let contents = match node {
                Node::Folder => None,
                Node::File(file) => Some(self.files[*file].after_power_loss(loss, dice)),
            };
            shown.0.insert(path.clone(), contents);
        }
        Some(shown)
    }
}

impl Contents {
    fn after_power_loss(&self, loss: Loss, dice: &mut Dice) -> Vec<u8> {
        let mut contents = self.synced.clone();
        for change in &self.pending {
            let is_torn = loss == Loss::Torn && matches!(change, ContentChange::Write { .. });
            let is_kept = match loss {
                Loss::Nothing => true,
                Loss::Everything => false,
                Loss::Random | Loss::Torn => is_torn || dice.is_lucky(),
            };
            if is_kept {
                change.apply(&mut contents, &mut || !is_torn || dice.is_lucky());
            }
        }
        contents
    }
}

/// Files with their contents, and folders.
#[derive(Debug, Default)]
pub struct ShownDisk(BTreeMap<String, Option<Vec<u8>>>);

impl ShownDisk {
    /// Writes what can be reached from the root: a file in a folder that is not there is lost.
    pub fn write_to(&self, root: &Path) {
        // A folder comes before what is in it.
        for (path, contents) in &self.0 {
            let at = root.join(path);
            if !at.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match contents {
                Some(bytes) => fs::write(at, bytes).expect("write"),
                None => fs::create_dir(at).expect("create"),
            }
        }
    }
}
