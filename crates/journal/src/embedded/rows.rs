//! The tables and statements, and the conversion between rows and records.
//!
//! The table `extent` repeats where the journal began and ended when the write-ahead log was last copied into the
//! database. The log has checksums, but the database has none: without `extent`, a flipped bit could hide the last records,
//! and the shorter chain would still be valid.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::errors::{damaged, while_open};
use crate::contract::JournalError;
use crate::frame::{BrokenChain, Hash, RecordFrame, Tail};

/// The body is the last column, so that SQLite reads the others without following a long body through its pages.
pub const SCHEMA: &str = "CREATE TABLE journal (
    seq      INTEGER PRIMARY KEY,
    epoch    INTEGER NOT NULL,
    batch    BLOB NOT NULL,
    prev     BLOB NOT NULL,
    hash     BLOB NOT NULL,
    level    INTEGER NOT NULL,
    position INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL,
    body     BLOB NOT NULL
) STRICT;
CREATE TABLE extent (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    oldest INTEGER NOT NULL,
    last   INTEGER NOT NULL,
    hash   BLOB NOT NULL
) STRICT;
INSERT INTO extent (id, oldest, last, hash) VALUES (1, 1, 0, zeroblob(32))";

const INSERT: &str =
    "INSERT INTO journal (seq, epoch, batch, prev, hash, level, position, at_ms, body)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const SELECT: &str =
    "SELECT seq, epoch, batch, prev, hash, level, position, at_ms, body FROM journal
    WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq";

/// Outside a transaction this is one of its own: durable when it returns, or not done.
pub fn insert(db: &Connection, frame: &RecordFrame, hash: &Hash) -> rusqlite::Result<()> {
    db.prepare_cached(INSERT)?.execute(params![
        frame.seq.cast_signed(),
        frame.epoch.cast_signed(),
        frame.batch.to_be_bytes(),
        frame.prev.0,
        hash.0,
        frame.level,
        frame.position.cast_signed(),
        frame.at_ms.cast_signed(),
        frame.body,
    ])?;
    Ok(())
}

/// Adds records and stores the new extent, in one transaction.
pub fn insert_many<'a>(
    db: &Connection,
    frames: impl Iterator<Item = (&'a RecordFrame, &'a Hash)>,
    extent: &Extent,
) -> rusqlite::Result<()> {
    let transaction = db.unchecked_transaction()?;
    for (frame, hash) in frames {
        insert(&transaction, frame, hash)?;
    }
    write_extent(&transaction, extent)?;
    transaction.commit()
}

fn frame(row: &Row<'_>) -> rusqlite::Result<(RecordFrame, Hash)> {
    let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    let frame = RecordFrame {
        seq: number(0)?,
        epoch: number(1)?,
        batch: u128::from_be_bytes(row.get(2)?),
        prev: Hash(row.get(3)?),
        level: row.get(5)?,
        position: number(6)?,
        at_ms: number(7)?,
        body: row.get(8)?,
    };
    Ok((frame, Hash(row.get(4)?)))
}

/// Passes the records `from..=upto` to `take`, each verified against its stored hash and its predecessor, until `take`
/// returns false. A missing record is an error.
pub fn each(
    db: &Connection,
    from: u64,
    upto: u64,
    mut take: impl FnMut(RecordFrame, Hash) -> bool,
) -> Result<(), JournalError> {
    let mut before =
        from.checked_sub(1).and_then(|seq| tail_at(db, seq).transpose()).transpose()?;
    let mut expected = from;
    let failed = |expected| move |error| while_open(&error, expected);
    let mut statement = db.prepare_cached(SELECT).map_err(failed(from))?;
    let mut rows =
        statement.query([from.cast_signed(), upto.cast_signed()]).map_err(failed(from))?;
    while let Some(row) = rows.next().map_err(failed(expected))? {
        let (frame, hash) = frame(row).map_err(failed(expected))?;
        if frame.seq != expected {
            return Err(BrokenChain::Gap { expected, found: frame.seq }.into());
        }
        if frame.hash() != hash {
            return Err(BrokenChain::Altered { seq: expected }.into());
        }
        if let Some(before) = before {
            frame.follows(&before)?;
        }
        before = Some(frame.tail(hash));
        expected += 1;
        if !take(frame, hash) {
            return Ok(());
        }
    }
    if expected <= upto {
        return Err(damaged(expected, "the record is missing"));
    }
    Ok(())
}

/// The tail after record `seq`, as stored. `None` if there is no such record.
fn tail_at(db: &Connection, seq: u64) -> Result<Option<Tail>, JournalError> {
    let number = |row: &Row<'_>, column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    db.prepare_cached("SELECT hash, position, epoch FROM journal WHERE seq = ?1")
        .and_then(|mut statement| {
            statement
                .query_row([seq.cast_signed()], |row| {
                    let hash = Hash(row.get(0)?);
                    Ok(Tail { seq, hash, position: number(row, 1)?, epoch: number(row, 2)? })
                })
                .optional()
        })
        .map_err(|error| while_open(&error, seq))
}

/// The position at the end of record `seq`. `None` if there is no such record.
pub fn position(db: &Connection, seq: u64) -> Result<Option<u64>, JournalError> {
    Ok(tail_at(db, seq)?.map(|tail| tail.position))
}

/// The hash of record `seq`. `None` if there is no such record.
pub fn hash(db: &Connection, seq: u64) -> Result<Option<Hash>, JournalError> {
    Ok(tail_at(db, seq)?.map(|tail| tail.hash))
}

/// The numbers of the first and the last record.
pub fn bounds(db: &Connection) -> rusqlite::Result<Option<(u64, u64)>> {
    // Two queries: SQLite answers min and max from the ends of the tree only if there is one of them.
    let end = |sql| db.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
    let oldest = end("SELECT min(seq) FROM journal")?;
    let last = end("SELECT max(seq) FROM journal")?;
    Ok(oldest.zip(last).map(|(oldest, last)| (oldest.cast_unsigned(), last.cast_unsigned())))
}

/// The first and the last record of the journal when this was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub oldest: u64,
    pub last: u64,
    pub hash: Hash,
}

pub fn write_extent(db: &Connection, extent: &Extent) -> rusqlite::Result<()> {
    let Extent { oldest, last, hash } = extent;
    db.prepare_cached("UPDATE extent SET oldest = ?1, last = ?2, hash = ?3 WHERE id = 1")?
        .execute(params![oldest.cast_signed(), last.cast_signed(), hash.0])?;
    Ok(())
}

/// The stored extent, after checking the records against it.
pub fn checked_extent(db: &Connection, oldest: u64, last: u64) -> Result<Extent, JournalError> {
    let sql = "SELECT oldest, last, hash FROM extent WHERE id = 1";
    let extent = db
        .query_row(sql, [], |row| {
            let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
            Ok(Extent { oldest: number(0)?, last: number(1)?, hash: Hash(row.get(2)?) })
        })
        .map_err(|error| while_open(&error, last))?;
    if oldest != extent.oldest {
        let what = format!("the oldest record is {oldest}, but it should be {}", extent.oldest);
        return Err(damaged(extent.oldest, what));
    }
    if last < extent.last {
        let what = format!("the last record is {last}, but {} had been written", extent.last);
        return Err(damaged(last.saturating_add(1), what));
    }
    let hash = tail_at(db, extent.last)?.map_or(Hash::default(), |tail| tail.hash);
    if hash != extent.hash {
        return Err(damaged(extent.last, "the record is not the one that was written"));
    }
    Ok(extent)
}

/// The last of the records `oldest..=upto` that one short transaction can delete.
pub fn slice_end(db: &Connection, oldest: u64, upto: u64) -> rusqlite::Result<u64> {
    const RECORDS_MAX: u64 = 1000;
    const BYTES_MAX: u64 = 4 << 20;
    let upto = upto.min(oldest.saturating_add(RECORDS_MAX - 1));
    let mut last = oldest;
    let mut bytes = 0_u64;
    let mut sizes = db.prepare_cached(
        "SELECT seq, length(body) FROM journal WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
    )?;
    let mut rows = sizes.query([oldest.cast_signed(), upto.cast_signed()])?;
    while let Some(row) = rows.next()? {
        bytes += row.get::<_, i64>(1)?.unsigned_abs();
        if bytes > BYTES_MAX {
            break;
        }
        last = row.get::<_, i64>(0)?.cast_unsigned();
    }
    Ok(last)
}

/// Deletes the records before `extent.oldest`, in one transaction.
pub fn delete_before(db: &Connection, extent: &Extent) -> rusqlite::Result<()> {
    let transaction = db.unchecked_transaction()?;
    transaction
        .prepare_cached("DELETE FROM journal WHERE seq < ?1")?
        .execute([extent.oldest.cast_signed()])?;
    write_extent(&transaction, extent)?;
    transaction.commit()
}
