//! Translates PostgreSQL's errors to journal errors.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::contract::JournalError;

pub fn unavailable(what: impl Into<String>) -> JournalError {
    JournalError::Unavailable { what: what.into() }
}

pub fn untried(what: impl Into<String>) -> JournalError {
    JournalError::Untried { what: what.into() }
}

pub fn damaged(seq: u64, what: impl std::fmt::Display) -> JournalError {
    let advice = "stop, restore the database from a backup, and look at this one with `allod journal verify`";
    JournalError::Damaged { seq, what: format!("{what}; {advice}") }
}

/// Whether the connection can still be used: the server only refused one statement.
pub fn connection_survives(error: &Error) -> bool {
    error.as_db_error().and_then(DbError::parsed_severity) == Some(Severity::Error)
}

/// The server's message, or the state of the connection. Neither contains a password.
pub fn describe(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", said.message(), said.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// An error while the journal is open. `seq` is the record that was being read or written. If the outcome is not certain,
/// the error is `Unavailable`: an append that ends with it may have happened.
pub fn while_open(error: &Error, seq: u64) -> JournalError {
    let what = describe(error);
    let Some(code) = error.code() else { return unavailable(what) };
    if *code == SqlState::DISK_FULL {
        return JournalError::Full { what };
    }
    if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED {
        return damaged(seq, what);
    }
    if *code == SqlState::UNIQUE_VIOLATION || *code == SqlState::CHECK_VIOLATION {
        return damaged(seq, what);
    }
    if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        return unavailable(format!("the server is read-only, as a standby is: {what}"));
    }
    if is_permanent(code) { JournalError::Unusable { what } } else { unavailable(what) }
}

/// The same for an append. Statements that the server refused with one of these errors have changed nothing.
pub fn while_appending(error: &Error, seq: u64) -> JournalError {
    let turned_away = [
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::QUERY_CANCELED,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::OUT_OF_MEMORY,
    ];
    match while_open(error, seq) {
        JournalError::Unavailable { what }
            if connection_survives(error)
                && error.code().is_some_and(|code| turned_away.contains(code)) =>
        {
            untried(what)
        }
        other => other,
    }
}

/// Whether retrying is useless: an operator has to change something.
pub fn is_permanent(code: &SqlState) -> bool {
    [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::UNDEFINED_TABLE,
        SqlState::UNDEFINED_COLUMN,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::DATATYPE_MISMATCH,
        SqlState::SYNTAX_ERROR,
    ]
    .contains(code)
}
