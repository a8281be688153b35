//! Checkpoints in the same database as the journal, so that servers need no storage of their own.
//!
//! A checkpoint is stored in parts of a megabyte, in one transaction.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use super::errors::unavailable;
use super::server::PostgresServer;
use super::session::{CALL_WAIT_MAX, Session};
use super::slot::SessionSlot;
use crate::checkpoint::{
    CheckpointContents, CheckpointList, CheckpointMeta, CheckpointStore, CheckpointStoreError,
};
use crate::contract::JournalError;
use crate::frame::Hash;

const PART_BYTES: usize = 1 << 20;
const PART_WAIT_MAX: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct PostgresCheckpoints {
    server: Arc<PostgresServer>,
    slot: Arc<SessionSlot>,
}

fn failed(error: JournalError) -> CheckpointStoreError {
    match error {
        JournalError::Unavailable { what } => CheckpointStoreError::Unavailable { what },
        other => CheckpointStoreError::Io {
            name: "in PostgreSQL".into(),
            source: io::Error::other(other),
        },
    }
}

fn unsound(meta: &CheckpointMeta, what: &str) -> CheckpointStoreError {
    CheckpointStoreError::Unsound { name: format!("of record {}", meta.seq), what: what.to_owned() }
}

/// Splits what is written into parts, and stores each one once it is full.
struct PartWriter<'a> {
    session: &'a mut Session,
    seq: i64,
    part: i64,
    buffer: Vec<u8>,
    hasher: blake3::Hasher,
}

impl PartWriter<'_> {
    fn store(&mut self) -> io::Result<()> {
        self.hasher.update(&self.buffer);
        let insert = "INSERT INTO checkpoint_part (seq, part, data) VALUES ($1, $2, $3)";
        let stored =
            self.session.query(insert, &[&self.seq, &self.part, &self.buffer], PART_WAIT_MAX);
        stored.map_err(|error| io::Error::other(error.at(0)))?;
        self.part += 1;
        self.buffer.clear();
        Ok(())
    }
}

impl Write for PartWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PART_BYTES - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == PART_BYTES {
            self.store()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PostgresCheckpoints {
    pub(super) fn new(server: Arc<PostgresServer>) -> PostgresCheckpoints {
        PostgresCheckpoints { server, slot: Arc::default() }
    }

    /// Removes all checkpoints; used after a failed restore.
    pub fn remove_all(&self) -> Result<(), CheckpointStoreError> {
        self.with(|session| {
            let removed = session.run("DELETE FROM checkpoint", PART_WAIT_MAX);
            removed.map_err(|error| error.at(0))
        })
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut Session) -> Result<T, JournalError>,
    ) -> Result<T, CheckpointStoreError> {
        self.slot.with(&self.server, work).map_err(failed)
    }
}

/// Writes a checkpoint in one transaction.
fn write_whole(
    session: &mut Session,
    meta: &CheckpointMeta,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let said = |error: super::session::CallError| io::Error::other(error.at(meta.seq));
    session.run("BEGIN", CALL_WAIT_MAX).map_err(said)?;
    let seq = meta.seq.cast_signed();
    session.query("DELETE FROM checkpoint WHERE seq = $1", &[&seq], PART_WAIT_MAX).map_err(said)?;
    let mut parts = PartWriter {
        session: &mut *session,
        seq,
        part: 0,
        buffer: Vec::with_capacity(PART_BYTES),
        hasher: blake3::Hasher::new(),
    };
    write(&mut parts)?;
    parts.store()?;
    let (count, sum) = (parts.part, parts.hasher.finalize());
    let insert = "INSERT INTO checkpoint (seq, hash, position, epoch, level, at_ms, parts, sum)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let parameters: super::session::Parameters<'_> = &[
        &seq,
        &meta.hash.0.as_slice(),
        &meta.position.cast_signed(),
        &meta.epoch.cast_signed(),
        &i64::from(meta.level),
        &meta.at_ms.cast_signed(),
        &count,
        &sum.as_bytes().as_slice(),
    ];
    session.query(insert, parameters, PART_WAIT_MAX).map_err(said)?;
    session.run("COMMIT", PART_WAIT_MAX).map_err(said)
}

impl CheckpointStore for PostgresCheckpoints {
    fn put(
        &self,
        meta: &CheckpointMeta,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointStoreError> {
        let written = self.with(|session| {
            let written = write_whole(session, meta, write);
            if written.is_err() {
                // Closing the session rolls the transaction back.
                session.give_up();
            }
            Ok(written)
        })?;
        written.map_err(|source| CheckpointStoreError::Io { name: "in PostgreSQL".into(), source })
    }

    fn survey(&self) -> Result<CheckpointList, CheckpointStoreError> {
        let select =
            "SELECT seq, hash, position, epoch, level, at_ms FROM checkpoint ORDER BY seq DESC";
        let rows = self.with(|session| {
            session.query(select, &[], CALL_WAIT_MAX).map_err(|error| error.at(0))
        })?;
        let metas = rows.iter().map(|row| {
            let number = |column| row.get::<_, i64>(column).cast_unsigned();
            Some(CheckpointMeta {
                seq: number(0),
                hash: Hash(row.get::<_, &[u8]>(1).try_into().ok()?),
                position: number(2),
                epoch: number(3),
                level: u32::try_from(number(4)).ok()?,
                at_ms: number(5),
            })
        });
        Ok(CheckpointList { metas: metas.flatten().collect(), skipped: Vec::new() })
    }

    fn open(&self, meta: &CheckpointMeta) -> Result<CheckpointContents, CheckpointStoreError> {
        let seq = meta.seq.cast_signed();
        let select = "SELECT hash, parts, sum FROM checkpoint WHERE seq = $1";
        let rows = self.with(|session| {
            session.query(select, &[&seq], CALL_WAIT_MAX).map_err(|error| error.at(meta.seq))
        })?;
        let Some(row) = rows.first() else {
            return Err(CheckpointStoreError::Missing { seq: meta.seq });
        };
        if row.get::<_, &[u8]>(0) != meta.hash.0 {
            return Err(unsound(meta, "it belongs to another record than requested"));
        }
        let mut reader = PartReader {
            server: self.server.clone(),
            slot: self.slot.clone(),
            seq,
            sums: Vec::new(),
            next: 0,
            part: Vec::new(),
            at: 0,
        };
        let mut hasher = blake3::Hasher::new();
        for part in 0..row.get::<_, i64>(1) {
            let data = reader.fetch(part).map_err(failed)?;
            let Some(data) = data else { return Err(unsound(meta, "a part of it is missing")) };
            hasher.update(&data);
            reader.sums.push(blake3::hash(&data));
        }
        if hasher.finalize().as_bytes() != row.get::<_, &[u8]>(2) {
            return Err(unsound(meta, "its contents were changed or truncated"));
        }
        Ok(Box::new(reader))
    }

    fn remove(&self, seq: u64) -> Result<(), CheckpointStoreError> {
        let delete = "DELETE FROM checkpoint WHERE seq = $1";
        self.with(|session| {
            let removed = session.query(delete, &[&seq.cast_signed()], PART_WAIT_MAX);
            removed.map_err(|error| error.at(seq))
        })?;
        Ok(())
    }

    fn keep_newest(&self, count: usize) -> Result<(), CheckpointStoreError> {
        let delete = "DELETE FROM checkpoint WHERE seq < (
            SELECT min(seq) FROM (SELECT seq FROM checkpoint ORDER BY seq DESC LIMIT $1) AS newest)";
        let count = i64::try_from(count.max(1)).unwrap_or(i64::MAX);
        self.with(|session| {
            session.query(delete, &[&count], PART_WAIT_MAX).map_err(|error| error.at(0))
        })?;
        Ok(())
    }
}

/// Reads the parts in order. Each is compared with its hash at verification, because another server may have replaced the
/// checkpoint since.
struct PartReader {
    server: Arc<PostgresServer>,
    slot: Arc<SessionSlot>,
    seq: i64,
    sums: Vec<blake3::Hash>,
    next: usize,
    part: Vec<u8>,
    at: usize,
}

impl PartReader {
    fn fetch(&self, part: i64) -> Result<Option<Vec<u8>>, JournalError> {
        let select = "SELECT data FROM checkpoint_part WHERE seq = $1 AND part = $2";
        let rows = self.slot.with(&self.server, |session| {
            session.query(select, &[&self.seq, &part], PART_WAIT_MAX).map_err(|error| error.at(0))
        })?;
        Ok(rows.first().map(|row| row.get(0)))
    }
}

impl Read for PartReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.part.len() {
            let Some(sum) = self.sums.get(self.next) else { return Ok(0) };
            let part = i64::try_from(self.next).unwrap_or(i64::MAX);
            let data = self.fetch(part).map_err(io::Error::other)?;
            let data = data.filter(|data| blake3::hash(data) == *sum);
            let gone = || io::Error::other(unavailable("the checkpoint was replaced or removed"));
            self.part = data.ok_or_else(gone)?;
            (self.next, self.at) = (self.next + 1, 0);
        }
        let taken = out.len().min(self.part.len() - self.at);
        out[..taken].copy_from_slice(&self.part[self.at..self.at + taken]);
        self.at += taken;
        Ok(taken)
    }
}
