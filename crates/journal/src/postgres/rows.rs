//! The statements on the table `journal`, and its rows as records.

use std::time::Duration;

use tokio_postgres::Row;

use super::errors::damaged;
use super::replication::BODY_BYTES_MAX;
use super::session::{CALL_WAIT_MAX, Parameters, Session, Trouble};
use crate::contract::{JournalError, RECORD_BYTES, Source, fills, must_be_empty};
use crate::frame::{BrokenChain, Frame, Hash, Tail};

/// A page may take longer than other calls: it is megabytes.
const PAGE_WAIT_MAX: Duration = Duration::from_secs(60);
/// What one deletion takes away, so that it is short.
const TRIM_RECORDS: i64 = 1000;
/// Of one page, before the size of records is known, and ever.
const PAGE_RECORDS_FIRST: usize = 64;
const PAGE_RECORDS_MAX: usize = 20_000;

/// Compares and appends, in one statement, which is one transaction.
///
/// The predecessor must be there, be the one that is expected, and stay until we are done (`FOR KEY SHARE`), so a record is
/// never put where one was that has been trimmed since. That there is no record after it the primary key sees to: of two
/// that want the same place one waits, and then finds it taken. `way` is only about who waits for whom; see `turn`.
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

/// As `PAGE` has it.
const _: () = assert!(RECORD_BYTES == 160);

const TAIL: &str = "SELECT seq, hash, position, epoch FROM journal ORDER BY seq DESC LIMIT 1";

/// Sizes are summed up by the server, so that no more is sent than was asked for.
const PAGE: &str = "
SELECT seq, epoch, batch, prev, hash, level, position, at_ms, body FROM (
    SELECT *, sum(160 + octet_length(body)) OVER (ORDER BY seq) AS bytes
    FROM (SELECT * FROM journal WHERE seq >= $1 ORDER BY seq LIMIT $2) AS page
) AS sized
WHERE bytes <= $3 OR bytes = 160 + octet_length(body)
ORDER BY seq";

/// Single records in the order asked for, no more than fit.
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

/// How an append went, as the server saw it.
#[derive(Debug)]
pub struct Put {
    pub done: bool,
    /// Nobody else had asked to go first.
    pub way_was_free: bool,
    pub standbys: String,
}

/// How the append is to be made, besides what it is.
#[derive(Debug, Clone, Copy)]
pub struct How<'a> {
    pub goes_first: bool,
    /// Going first ends with this append.
    pub gives_back: bool,
    pub way: i64,
    pub may_be_asynchronous: bool,
    pub channel: &'a str,
}

pub fn append(
    session: &mut Session,
    expected: &Tail,
    frame: &Frame,
    hash: &Hash,
    how: How<'_>,
) -> Result<Put, Trouble> {
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
    // One row, always: that of `way`.
    Ok(rows.first().map_or(
        Put { done: false, way_was_free: true, standbys: String::new() },
        |row| Put { done: row.get(0), way_was_free: row.get(1), standbys: row.get(2) },
    ))
}

pub fn tail(session: &mut Session) -> Result<Tail, JournalError> {
    let rows = session.query(TAIL, &[], CALL_WAIT_MAX).map_err(|trouble| trouble.at(0))?;
    let Some(row) = rows.first() else { return Err(damaged(0, "the table journal is empty")) };
    let seq = unsigned(row, 0)?;
    Ok(Tail {
        seq,
        hash: Hash(bytes(row, 1, seq)?),
        position: unsigned(row, 2)?,
        epoch: unsigned(row, 3)?,
    })
}

/// Records from `from` on that fit, and the first in any case; none when `from` is past the end.
pub fn read(
    session: &mut Session,
    from: u64,
    bytes_max: usize,
) -> Result<Vec<Frame>, JournalError> {
    let mut frames: Vec<Frame> = Vec::new();
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
        let rows = rows.map_err(|trouble| trouble.at(next))?;
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
        // About as many as will fit, if they go on as they were.
        limit = (left / (size / rows.len()).max(1) + 1).min(PAGE_RECORDS_MAX);
    }
}

/// Single records, as many as fit, up to one that is past the end.
pub fn read_each(
    session: &mut Session,
    seqs: &[u64],
    bytes_max: usize,
) -> Result<Vec<Frame>, JournalError> {
    let asked: Vec<i64> = seqs.iter().map(|seq| number((*seq).max(1))).collect();
    let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
    let rows = session.query(EACH, &[&asked, &bytes_max], PAGE_WAIT_MAX);
    let rows = rows.map_err(|trouble| trouble.at(0))?;
    let mut frames = Vec::new();
    let mut rows = rows.iter().map(frame).peekable();
    for seq in asked.iter().map(|seq| seq.cast_unsigned()) {
        let found = rows.next_if(|row| row.as_ref().map_or(true, |(frame, _)| frame.seq == seq));
        let Some((frame, hash)) = found.transpose()? else {
            // It did not fit, it is past the end, or it is gone.
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
pub fn fill(session: &mut Session, next: &mut Source<'_>) -> Result<Tail, JournalError> {
    let failed = |trouble: Trouble| trouble.at(0);
    // Nobody appends meanwhile; reading goes on.
    session.run("BEGIN; LOCK TABLE journal IN EXCLUSIVE MODE", CALL_WAIT_MAX).map_err(failed)?;
    let mut tail = tail(session)?;
    must_be_empty(&tail)?;
    loop {
        let frames = next()?;
        let Some(first) = frames.first() else { break };
        if tail == Tail::default() && first.seq > 1 {
            // As if everything before it had been trimmed.
            session.run("DELETE FROM journal", CALL_WAIT_MAX).map_err(failed)?;
        }
        let mut hashes = Vec::with_capacity(frames.len());
        for frame in &frames {
            fills(frame, &tail)?;
            if frame.body.len() > BODY_BYTES_MAX {
                let (bytes, bytes_max) = (frame.body.len(), BODY_BYTES_MAX);
                return Err(JournalError::TooLarge { bytes, bytes_max });
            }
            let hash = frame.hash();
            tail = frame.tail(hash);
            hashes.push(hash);
        }
        let numbers = |of: fn(&Frame) -> u64| -> Vec<i64> {
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

/// A record is not there although a later one is: it was trimmed, or it is lost.
fn missing(session: &mut Session, expected: u64, found: u64) -> JournalError {
    match oldest(session) {
        Ok(oldest) if oldest > expected => JournalError::Trimmed { asked: expected, oldest },
        Ok(_) => BrokenChain::Gap { expected, found }.into(),
        Err(error) => error,
    }
}

pub fn oldest(session: &mut Session) -> Result<u64, JournalError> {
    let rows = session.query("SELECT min(seq) FROM journal WHERE seq > 0", &[], CALL_WAIT_MAX);
    let rows = rows.map_err(|trouble| trouble.at(0))?;
    let oldest = rows.first().and_then(|row| row.get::<_, Option<i64>>(0));
    Ok(oldest.map_or(1, i64::cast_unsigned))
}

/// Deletes some of what is to be trimmed. False when nothing is left to do.
pub fn trim_slice(session: &mut Session, upto: u64) -> Result<bool, JournalError> {
    let delete = "DELETE FROM journal WHERE seq <= $1
        AND seq < (SELECT max(seq) FROM journal)
        AND seq < (SELECT min(seq) FROM journal) + $2
        RETURNING 1";
    let rows = session.query(delete, &[&number(upto), &TRIM_RECORDS], PAGE_WAIT_MAX);
    Ok(!rows.map_err(|trouble| trouble.at(upto))?.is_empty())
}

/// The position at the end of record `seq`; None when that is not kept.
pub fn position(session: &mut Session, seq: u64) -> Result<Option<u64>, JournalError> {
    let rows = session.query(
        "SELECT position FROM journal WHERE seq = $1",
        &[&number(seq)],
        CALL_WAIT_MAX,
    );
    rows.map_err(|trouble| trouble.at(seq))?.first().map(|row| unsigned(row, 0)).transpose()
}

/// What is beyond the columns' range is beyond the end of any journal.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row, column: usize) -> Result<u64, JournalError> {
    let number = row.try_get::<_, i64>(column).map_err(|error| damaged(0, error))?;
    u64::try_from(number).map_err(|_| damaged(0, format!("a number is negative: {number}")))
}

fn bytes<const N: usize>(row: &Row, column: usize, seq: u64) -> Result<[u8; N], JournalError> {
    let bytes = row.try_get::<_, &[u8]>(column).map_err(|error| damaged(seq, error))?;
    bytes.try_into().map_err(|_| damaged(seq, format!("{} bytes where {N} belong", bytes.len())))
}

fn frame(row: &Row) -> Result<(Frame, Hash), JournalError> {
    let seq = unsigned(row, 0)?;
    let frame = Frame {
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
