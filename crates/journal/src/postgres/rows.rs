//! The statements on the table `journal`, and the conversion between rows and records.

use std::time::Duration;

use tokio_postgres::Row;

use super::errors::damaged;
use super::replication::BODY_BYTES_MAX;
use super::session::{CALL_WAIT_MAX, CallError, Parameters, Session};
use crate::contract::{FillSource, JournalError, RECORD_BYTES, ensure_empty, ensure_fills};
use crate::frame::{BrokenChain, Hash, RecordFrame, Tail};

/// Longer than for other calls, because a page may have megabytes.
const PAGE_WAIT_MAX: Duration = Duration::from_secs(60);
/// The most records that one statement deletes, so that it is short.
const TRIM_RECORDS: i64 = 1000;
/// The most records of a page: while their size is unknown, and in any case.
const PAGE_RECORDS_FIRST: usize = 64;
const PAGE_RECORDS_MAX: usize = 20_000;

/// Compares the tail and appends, in one statement, which is one transaction.
///
/// The expected predecessor must exist and is locked until the transaction ends (`FOR KEY SHARE`), so it cannot be trimmed
/// meanwhile. The primary key ensures that it has no successor: of two inserts of one number, the second waits and then
/// does nothing. `way` is only about the order of waiting servers; see `priority`.
const APPEND: &str = "
WITH way AS MATERIALIZED (
    SELECT $12::boolean OR pg_try_advisory_xact_lock_shared($13::bigint) AS free
), put AS (
    INSERT INTO journal (seq, epoch, batch, prev, hash, level, position, at_ms, body)
    SELECT $1::bigint, $2::bigint, $3::bytea, $4::bytea, $5::bytea, $6::bigint, $7::bigint, $8::bigint, $9::bytea
    FROM journal AS last
    WHERE last.seq = $1::bigint - 1 AND last.hash = $4 AND last.position = $10::bigint AND last.epoch = $11::bigint
        AND (SELECT free FROM way)
        AND ($14::boolean OR current_setting('synchronous_standby_names') <> '')
    FOR KEY SHARE OF last
    ON CONFLICT (seq) DO NOTHING
    RETURNING seq
)
SELECT put.seq IS NOT NULL, way.free, current_setting('synchronous_standby_names'),
    CASE WHEN put.seq IS NOT NULL THEN pg_notify($15::text, put.seq::text)::text END,
    CASE WHEN $16::boolean THEN pg_advisory_unlock($13::bigint) END
FROM way LEFT JOIN put ON true";

/// The queries below contain this number.
const _: () = assert!(RECORD_BYTES == 160);

const TAIL: &str = "SELECT seq, hash, position, epoch FROM journal ORDER BY seq DESC LIMIT 1";

/// The server sums up the sizes, so that it sends no more than `bytes_max`.
const PAGE: &str = "
SELECT seq, epoch, batch, prev, hash, level, position, at_ms, body FROM (
    SELECT *, sum(160 + octet_length(body)) OVER (ORDER BY seq) AS bytes
    FROM (SELECT * FROM journal WHERE seq >= $1 ORDER BY seq LIMIT $2) AS page
) AS sized
WHERE bytes <= $3 OR bytes = 160 + octet_length(body)
ORDER BY seq";

/// Single records in the order given, within the size limit.
const EACH: &str = "
SELECT seq, epoch, batch, prev, hash, level, position, at_ms, body FROM (
    SELECT journal.*, n, sum(160 + octet_length(body)) OVER (ORDER BY n) AS bytes
    FROM unnest($1::bigint[]) WITH ORDINALITY AS asked (seq, n) JOIN journal USING (seq)
) AS sized
WHERE bytes <= $2 OR n = 1
ORDER BY n";

const FILL: &str = "
INSERT INTO journal (seq, epoch, batch, prev, hash, level, position, at_ms, body)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bigint[], $7::bigint[],
    $8::bigint[], $9::bytea[])";

/// The result of the append statement.
#[derive(Debug)]
pub struct AppendReply {
    pub done: bool,
    /// No other server has priority.
    pub not_blocked: bool,
    pub standbys: String,
}

/// The parameters of an append other than the record.
#[derive(Debug, Clone, Copy)]
pub struct AppendOptions<'a> {
    /// Appends without checking whether another server has priority.
    pub goes_first: bool,
    /// Releases our priority with this append.
    pub gives_back: bool,
    pub way: i64,
    pub may_be_asynchronous: bool,
    pub channel: &'a str,
}

pub fn append(
    session: &mut Session,
    expected: &Tail,
    frame: &RecordFrame,
    hash: &Hash,
    how: AppendOptions<'_>,
) -> Result<AppendReply, CallError> {
    let batch = frame.batch.to_be_bytes();
    let parameters: Parameters<'_> = &[
        &number(frame.seq),
        &number(frame.epoch),
        &batch.as_slice(),
        &frame.prev.0.as_slice(),
        &hash.0.as_slice(),
        &i64::from(frame.level),
        &number(frame.position),
        &number(frame.at_ms),
        &frame.body,
        &number(expected.position),
        &number(expected.epoch),
        &how.goes_first,
        &how.way,
        &how.may_be_asynchronous,
        &how.channel,
        &how.gives_back,
    ];
    let rows = session.query(APPEND, parameters, CALL_WAIT_MAX)?;
    // There is always one row, from `way`.
    Ok(rows
        .first()
        .map_or(AppendReply { done: false, not_blocked: true, standbys: String::new() }, |row| {
            AppendReply { done: row.get(0), not_blocked: row.get(1), standbys: row.get(2) }
        }))
}

pub fn tail(session: &mut Session) -> Result<Tail, JournalError> {
    let rows = session.query(TAIL, &[], CALL_WAIT_MAX).map_err(|error| error.at(0))?;
    let Some(row) = rows.first() else { return Err(damaged(0, "the table journal is empty")) };
    let seq = unsigned(row, 0)?;
    Ok(Tail {
        seq,
        hash: Hash(bytes(row, 1, seq)?),
        position: unsigned(row, 2)?,
        epoch: unsigned(row, 3)?,
    })
}

/// See `Journal::read`.
pub fn read(
    session: &mut Session,
    from: u64,
    bytes_max: usize,
) -> Result<Vec<RecordFrame>, JournalError> {
    let mut frames: Vec<RecordFrame> = Vec::new();
    let (mut left, mut limit) = (bytes_max, PAGE_RECORDS_FIRST);
    let mut before: Option<Tail> = None;
    loop {
        let next = from.saturating_add(frames.len() as u64);
        let parameters: Parameters<'_> = &[
            &number(next),
            &i64::try_from(limit).unwrap_or(i64::MAX),
            &i64::try_from(left).unwrap_or(i64::MAX),
        ];
        let rows = session.query(PAGE, parameters, PAGE_WAIT_MAX);
        let rows = rows.map_err(|error| error.at(next))?;
        let mut size = 0;
        for row in &rows {
            let (frame, hash) = frame(row)?;
            let expected = from.saturating_add(frames.len() as u64);
            if frame.seq != expected {
                return Err(missing(session, expected, frame.seq));
            }
            let weight = RECORD_BYTES + frame.body.len();
            if weight > left && !frames.is_empty() {
                return Ok(frames);
            }
            if frame.hash() != hash {
                return Err(BrokenChain::Altered { seq: expected }.into());
            }
            if let Some(before) = before {
                frame.follows(&before)?;
            }
            before = Some(frame.tail(hash));
            left = left.saturating_sub(weight);
            size += weight;
            frames.push(frame);
        }
        if rows.len() < limit || left == 0 {
            return Ok(frames);
        }
        // About as many as fit if the next records have the same average size.
        limit = (left / (size / rows.len()).max(1) + 1).min(PAGE_RECORDS_MAX);
    }
}

/// See `Journal::read_each`.
pub fn read_each(
    session: &mut Session,
    seqs: &[u64],
    bytes_max: usize,
) -> Result<Vec<RecordFrame>, JournalError> {
    let asked: Vec<i64> = seqs.iter().map(|seq| number((*seq).max(1))).collect();
    let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
    let rows = session.query(EACH, &[&asked, &bytes_max], PAGE_WAIT_MAX);
    let rows = rows.map_err(|error| error.at(0))?;
    let mut frames = Vec::new();
    let mut rows = rows.iter().map(frame).peekable();
    for seq in asked.iter().map(|seq| seq.cast_unsigned()) {
        let found = rows.next_if(|row| row.as_ref().map_or(true, |(frame, _)| frame.seq == seq));
        let Some((frame, hash)) = found.transpose()? else {
            // It did not fit, is past the end, or was trimmed.
            let (oldest, last) = (oldest(session)?, tail(session)?.seq);
            return match seq {
                seq if seq < oldest => Err(JournalError::Trimmed { asked: seq, oldest }),
                seq if seq <= last && frames.is_empty() => {
                    Err(BrokenChain::Gap { expected: seq, found: last }.into())
                }
                _ => Ok(frames),
            };
        };
        if frame.hash() != hash {
            return Err(BrokenChain::Altered { seq }.into());
        }
        frames.push(frame);
    }
    Ok(frames)
}

/// Fills an empty journal, in one transaction.
pub fn fill(session: &mut Session, next: &mut FillSource<'_>) -> Result<Tail, JournalError> {
    let failed = |error: CallError| error.at(0);
    // This lock blocks appends but not reads.
    session.run("BEGIN; LOCK TABLE journal IN EXCLUSIVE MODE", CALL_WAIT_MAX).map_err(failed)?;
    let mut tail = tail(session)?;
    ensure_empty(&tail)?;
    loop {
        let frames = next()?;
        let Some(first) = frames.first() else { break };
        if tail == Tail::default() && first.seq > 1 {
            // Removes record 0, as trimming up to the first record would.
            session.run("DELETE FROM journal", CALL_WAIT_MAX).map_err(failed)?;
        }
        let mut hashes = Vec::with_capacity(frames.len());
        for frame in &frames {
            ensure_fills(frame, &tail)?;
            if frame.body.len() > BODY_BYTES_MAX {
                let (bytes, bytes_max) = (frame.body.len(), BODY_BYTES_MAX);
                return Err(JournalError::TooLarge { bytes, bytes_max });
            }
            let hash = frame.hash();
            tail = frame.tail(hash);
            hashes.push(hash);
        }
        let numbers = |of: fn(&RecordFrame) -> u64| -> Vec<i64> {
            frames.iter().map(|frame| number(of(frame))).collect()
        };
        let parameters: Parameters<'_> = &[
            &numbers(|frame| frame.seq),
            &numbers(|frame| frame.epoch),
            &frames.iter().map(|frame| frame.batch.to_be_bytes().to_vec()).collect::<Vec<_>>(),
            &frames.iter().map(|frame| frame.prev.0.as_slice()).collect::<Vec<_>>(),
            &hashes.iter().map(|hash| hash.0.as_slice()).collect::<Vec<_>>(),
            &numbers(|frame| frame.level.into()),
            &numbers(|frame| frame.position),
            &numbers(|frame| frame.at_ms),
            &frames.iter().map(|frame| frame.body.as_slice()).collect::<Vec<_>>(),
        ];
        session.query(FILL, parameters, PAGE_WAIT_MAX).map_err(failed)?;
    }
    session.run("COMMIT", PAGE_WAIT_MAX).map_err(failed)?;
    Ok(tail)
}

/// The error for a missing record: it was trimmed, or the journal is damaged.
fn missing(session: &mut Session, expected: u64, found: u64) -> JournalError {
    match oldest(session) {
        Ok(oldest) if oldest > expected => JournalError::Trimmed { asked: expected, oldest },
        Ok(_) => BrokenChain::Gap { expected, found }.into(),
        Err(error) => error,
    }
}

pub fn oldest(session: &mut Session) -> Result<u64, JournalError> {
    let rows = session.query("SELECT min(seq) FROM journal WHERE seq > 0", &[], CALL_WAIT_MAX);
    let rows = rows.map_err(|error| error.at(0))?;
    let oldest = rows.first().and_then(|row| row.get::<_, Option<i64>>(0));
    Ok(oldest.map_or(1, i64::cast_unsigned))
}

/// Deletes one slice of the records to trim. False if there is nothing left to delete.
pub fn trim_slice(session: &mut Session, upto: u64) -> Result<bool, JournalError> {
    let delete = "DELETE FROM journal WHERE seq <= $1
        AND seq < (SELECT max(seq) FROM journal)
        AND seq < (SELECT min(seq) FROM journal) + $2
        RETURNING 1";
    let rows = session.query(delete, &[&number(upto), &TRIM_RECORDS], PAGE_WAIT_MAX);
    Ok(!rows.map_err(|error| error.at(upto))?.is_empty())
}

/// The position at the end of record `seq`. `None` if there is no such record.
pub fn position(session: &mut Session, seq: u64) -> Result<Option<u64>, JournalError> {
    let rows = session.query(
        "SELECT position FROM journal WHERE seq = $1",
        &[&number(seq)],
        CALL_WAIT_MAX,
    );
    rows.map_err(|error| error.at(seq))?.first().map(|row| unsigned(row, 0)).transpose()
}

/// Saturates: a number beyond the range of the column is past the end of any journal.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row, column: usize) -> Result<u64, JournalError> {
    let number = row.try_get::<_, i64>(column).map_err(|error| damaged(0, error))?;
    u64::try_from(number).map_err(|_| damaged(0, format!("a number is negative: {number}")))
}

fn bytes<const N: usize>(row: &Row, column: usize, seq: u64) -> Result<[u8; N], JournalError> {
    let bytes = row.try_get::<_, &[u8]>(column).map_err(|error| damaged(seq, error))?;
    bytes.try_into().map_err(|_| damaged(seq, format!("{} bytes instead of {N}", bytes.len())))
}

fn frame(row: &Row) -> Result<(RecordFrame, Hash), JournalError> {
    let seq = unsigned(row, 0)?;
    let frame = RecordFrame {
        seq,
        epoch: unsigned(row, 1)?,
        batch: u128::from_be_bytes(bytes(row, 2, seq)?),
        prev: Hash(bytes(row, 3, seq)?),
        level: u32::try_from(unsigned(row, 5)?).map_err(|error| damaged(seq, error))?,
        position: unsigned(row, 6)?,
        at_ms: unsigned(row, 7)?,
        body: row.try_get(8).map_err(|error| damaged(seq, error))?,
    };
    Ok((frame, Hash(bytes(row, 4, seq)?)))
}
