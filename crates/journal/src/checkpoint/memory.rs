//! Checkpoints in memory, for tests and the simulation. Clones share the storage.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    CheckpointContents, CheckpointList, CheckpointMeta, CheckpointStore, CheckpointStoreError,
};

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

    /// Changes a stored checkpoint as a failing disk would. False if there is no such checkpoint.
    pub fn alter(&self, seq: u64, change: impl FnOnce(&mut Vec<u8>)) -> bool {
        self.shared.lock().get_mut(&seq).map(|stored| change(&mut stored.contents)).is_some()
    }
}

impl CheckpointStore for MemoryCheckpoints {
    fn put(
        &self,
        meta: &CheckpointMeta,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointStoreError> {
        let mut contents = Vec::new();
        write(&mut contents)
            .map_err(|source| CheckpointStoreError::Io { name: "in memory".to_owned(), source })?;
        let hash = blake3::hash(&contents);
        self.shared.lock().insert(meta.seq, Stored { meta: *meta, contents, hash });
        Ok(())
    }

    fn survey(&self) -> Result<CheckpointList, CheckpointStoreError> {
        let metas = self.shared.lock().values().rev().map(|stored| stored.meta).collect();
        Ok(CheckpointList { metas, skipped: Vec::new() })
    }

    fn open(&self, meta: &CheckpointMeta) -> Result<CheckpointContents, CheckpointStoreError> {
        let shared = self.shared.lock();
        let stored =
            shared.get(&meta.seq).ok_or(CheckpointStoreError::Missing { seq: meta.seq })?;
        let unsound = |what: &str| CheckpointStoreError::Unsound {
            name: format!("of record {} in memory", meta.seq),
            what: what.to_owned(),
        };
        if stored.meta != *meta {
            return Err(unsound("it belongs to another record than requested"));
        }
        if blake3::hash(&stored.contents) != stored.hash {
            return Err(unsound("its contents were changed or truncated"));
        }
        Ok(Box::new(Cursor::new(stored.contents.clone())))
    }

    fn remove(&self, seq: u64) -> Result<(), CheckpointStoreError> {
        let removed = self.shared.lock().remove(&seq);
        removed.map(drop).ok_or(CheckpointStoreError::Missing { seq })
    }

    fn keep_newest(&self, count: usize) -> Result<(), CheckpointStoreError> {
        let mut shared = self.shared.lock();
        while shared.len() > count.max(1) {
            shared.pop_first();
        }
        Ok(())
    }
}
