//! Checkpoints in memory, for tests and for the simulation. A clone shares the storage, so it outlives its user.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{CheckpointError, CheckpointMeta, CheckpointStore, Contents, Survey};

#[derive(Debug, Clone, Default)]
pub struct MemoryCheckpoints {
    shared: Arc<Mutex<BTreeMap<u64, Stored>>>,
}

#[derive(Debug)]
struct Stored {
    meta: CheckpointMeta,
    contents: Vec<u8>,
    hash: blake3::Hash,
}

impl MemoryCheckpoints {
    pub fn new() -> Self {
        Self::default()
    }

    /// Changes a checkpoint behind the store's back, as a failing disk would. False when there is none.
    pub fn alter(&self, seq: u64, change: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.shared.lock().get_mut(&seq).map(|stored| change(&mut stored.contents)).is_some()
    }
}

impl CheckpointStore for MemoryCheckpoints {
    fn put(
        &self,
        meta: &CheckpointMeta,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointError> {
        let mut contents = Vec::new();
        write(&mut contents)
            .map_err(|source| CheckpointError::Io { name: "in memory".to_owned(), source })?;
        let hash = blake3::hash(&contents);
        self.shared.lock().insert(meta.seq, Stored { meta: *meta, contents, hash });
        Ok(())
    }

    fn survey(&self) -> Result<Survey, CheckpointError> {
        let metas = self.shared.lock().values().rev().map(|stored| stored.meta).collect();
        Ok(Survey { metas, skipped: Vec::new() })
    }

    fn open(&self, meta: &CheckpointMeta) -> Result<Contents, CheckpointError> {
        let shared = self.shared.lock();
        let stored = shared.get(&meta.seq).ok_or(CheckpointError::Missing { seq: meta.seq })?;
        let unsound = |what: &str| CheckpointError::Unsound {
            name: format!("of record {} in memory", meta.seq),
            what: what.to_owned(),
        };
        if stored.meta != *meta {
            return Err(unsound("it is of another record than was asked for"));
        }
        if blake3::hash(&stored.contents) != stored.hash {
            return Err(unsound("its contents were changed, or cut off"));
        }
        Ok(Box::new(Cursor::new(stored.contents.clone())))
    }

    fn keep_newest(&self, count: usize) -> Result<(), CheckpointError> {
        let mut shared = self.shared.lock();
        while shared.len() > count.max(1) {
            shared.pop_first();
        }
        Ok(())
    }
}
