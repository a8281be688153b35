//! The tables, made at the first start, and their format.
//!
//! Record 0 stands before the first one, with the hash and the position of an empty journal, so that the first append has
//! a predecessor to compare with like any other. Numbers are chosen by the writer; a sequence would leave gaps.

use super::errors::unavailable;
use super::session::{CALL_WAIT_MAX, Session, Trouble};
use crate::contract::JournalError;

/// Of the tables.
pub const FORMAT: u32 = 1;

/// Rows of up to a page stay in one piece, and nothing is compressed: bodies are small, and time is what is short.
const TABLES: &str = "
CREATE TABLE journal (
    seq      bigint PRIMARY KEY,
    epoch    bigint NOT NULL,
    batch    bytea NOT NULL,
    prev     bytea NOT NULL,
    hash     bytea NOT NULL,
    level    bigint NOT NULL,
    position bigint NOT NULL,
    at_ms    bigint NOT NULL,
    body     bytea NOT NULL
) WITH (toast_tuple_target = 8160);
ALTER TABLE journal ALTER COLUMN body SET STORAGE EXTERNAL;
INSERT INTO journal VALUES (
    0, 0, decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex'), 0, 0, 0, ''
);
CREATE TABLE checkpoint (
    seq      bigint PRIMARY KEY,
    hash     bytea NOT NULL,
    position bigint NOT NULL,
    epoch    bigint NOT NULL,
    level    bigint NOT NULL,
    at_ms    bigint NOT NULL,
    parts    bigint NOT NULL,
    sum      bytea NOT NULL
);
CREATE TABLE checkpoint_part (
    seq  bigint NOT NULL REFERENCES checkpoint ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    part bigint NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (seq, part)
);
ALTER TABLE checkpoint_part ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE about (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    format      integer NOT NULL,
    timeline    text NOT NULL,
    synchronous boolean NOT NULL,
    doubt       text
);
";

/// Makes the tables if there are none, and checks their format. `timeline` and `synchronous` are what holds now, and are
/// noted. Returns the timeline before which something may have been lost, if there is one.
///
/// A new timeline means that a standby took over, or that a backup was restored. Where nobody was waited for, what was
/// acknowledged last may be gone with the old one. Whoever has seen it notices by the chain of hashes; whoever starts anew
/// can only say so, and goes on saying it until somebody sets `doubt` to null.
pub fn ensure(
    session: &mut Session,
    schema: &str,
    timeline: &str,
    synchronous: bool,
) -> Result<Option<String>, JournalError> {
    let trouble = |trouble: Trouble| trouble.at(0);
    let about = format!("{schema}.about");
    let exists = |session: &Session, table: &str| -> Result<bool, JournalError> {
        let rows = session.ask(&format!("SELECT to_regclass('{table}') IS NOT NULL"));
        Ok(rows.map_err(trouble)?.first().is_some_and(|row| row.get(0)))
    };
    if !exists(session, &about)? {
        if exists(session, &format!("{schema}.journal"))? {
            let what = format!("schema {schema} has a table journal that is not allod's");
            return Err(JournalError::Unusable { what });
        }
        // Two servers may start at the same time: the second waits, and finds what the first made.
        let make = format!(
            "BEGIN;
            SELECT pg_advisory_xact_lock(hashtextextended('allod tables {schema}', 0));
            DO $make$ BEGIN
            -- Who may not make a schema may use one that was made for it.
            IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA {schema}; END IF;
            IF to_regclass('{about}') IS NULL THEN
            {TABLES}
            INSERT INTO about VALUES (true, {FORMAT}, '{timeline}', {synchronous}, NULL);
            END IF; END $make$;
            COMMIT"
        );
        if let Err(failed) = session.run(&make, CALL_WAIT_MAX) {
            session.give_up();
            return Err(match failed.at(0) {
                JournalError::Unusable { what } => JournalError::Unusable {
                    what: format!("the tables cannot be made in schema {schema}: {what}"),
                },
                other => other,
            });
        }
        tracing::info!(schema, "the tables of the journal have been made");
    }
    let rows =
        session.query("SELECT format, timeline, synchronous, doubt FROM about", &[], CALL_WAIT_MAX);
    let rows = rows.map_err(trouble)?;
    let row = rows.first().ok_or_else(|| unavailable("the table about has no row"))?;
    let found = row.get::<_, i32>(0).cast_unsigned();
    if found > FORMAT {
        return Err(JournalError::TooNew { found, known: FORMAT });
    }
    let (before, waited): (String, bool) = (row.get(1), row.get(2));
    let mut doubt: Option<String> = row.get(3);
    if before == timeline && waited == synchronous {
        return Ok(doubt);
    }
    if before != timeline && !waited {
        tracing::warn!(
            before,
            now = timeline,
            "there was a fail-over or a restore while replication was asynchronous; what was acknowledged last may be lost"
        );
        doubt = Some(before);
    }
    let update = "UPDATE about SET timeline = $1, synchronous = $2, doubt = $3";
    session.query(update, &[&timeline, &synchronous, &doubt], CALL_WAIT_MAX).map_err(trouble)?;
    Ok(doubt)
}
