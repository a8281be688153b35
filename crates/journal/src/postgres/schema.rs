//! The tables, which the first start creates, and their format.
//!
//! Record 0 has the hash and the position of an empty journal, so that the first append has a predecessor to compare with.
//! The writer chooses the numbers of records; a database sequence would leave gaps.

use super::errors::unavailable;
use super::session::{CALL_WAIT_MAX, CallError, Session};
use crate::contract::JournalError;

/// The version of the tables.
pub const FORMAT: u32 = 1;

/// Rows of up to a page are stored inline and nothing is compressed: bodies are small, and appends should be fast.
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

/// Creates missing tables, checks their format, and stores the current `timeline` and whether replication is synchronous.
/// Returns the timeline at whose end acknowledged records may have been lost, if there is one.
///
/// A new timeline means that a standby took over or that a backup was restored. If replication was asynchronous, the last
/// acknowledged records may be lost. A running server detects that by the hash chain. A server that starts later cannot, so
/// it reports the doubt until an operator sets `doubt` to null.
pub fn ensure(
    session: &mut Session,
    schema: &str,
    timeline: &str,
    synchronous: bool,
) -> Result<Option<String>, JournalError> {
    let failed = |error: CallError| error.at(0);
    let about = format!("{schema}.about");
    let exists = |session: &Session, table: &str| -> Result<bool, JournalError> {
        let rows = session.ask(&format!("SELECT to_regclass('{table}') IS NOT NULL"));
        Ok(rows.map_err(failed)?.first().is_some_and(|row| row.get(0)))
    };
    if !exists(session, &about)? {
        // All tables are created in one transaction, so another server may have created them since the first question.
        if exists(session, &format!("{schema}.journal"))? && !exists(session, &about)? {
            let what = format!("schema {schema} has a table journal that is not from allod");
            return Err(JournalError::Unusable { what });
        }
        // Two servers may start at the same time: the second waits and finds the tables of the first.
        let make = format!(
            "BEGIN;
            SELECT pg_advisory_xact_lock(hashtextextended('allod tables {schema}', 0));
            DO $make$ BEGIN
            -- A role without the right to create a schema can use an existing one.
            IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA {schema}; END IF;
            IF to_regclass('{about}') IS NULL THEN
            {TABLES}
            INSERT INTO about VALUES (true, {FORMAT}, '{timeline}', {synchronous}, NULL);
            END IF; END $make$;
            COMMIT"
        );
        if let Err(error) = session.run(&make, CALL_WAIT_MAX) {
            session.give_up();
            return Err(match error.at(0) {
                JournalError::Unusable { what } => JournalError::Unusable {
                    what: format!("the tables cannot be created in schema {schema}: {what}"),
                },
                other => other,
            });
        }
        tracing::info!(schema, "created the tables of the journal");
    }
    let rows =
        session.query("SELECT format, timeline, synchronous, doubt FROM about", &[], CALL_WAIT_MAX);
    let rows = rows.map_err(failed)?;
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
            "there was a fail-over or a restore while replication was asynchronous; the last acknowledged records may be lost"
        );
        doubt = Some(before);
    }
    let update = "UPDATE about SET timeline = $1, synchronous = $2, doubt = $3";
    session.query(update, &[&timeline, &synchronous, &doubt], CALL_WAIT_MAX).map_err(failed)?;
    Ok(doubt)
}
