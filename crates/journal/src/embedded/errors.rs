//! Translates SQLite's errors to journal errors.

use rusqlite::ErrorCode;

use crate::contract::{DAMAGE_ADVICE, JournalError};

pub fn damaged(seq: u64, what: impl std::fmt::Display) -> JournalError {
    JournalError::Damaged { seq, what: format!("{what}; {DAMAGE_ADVICE}") }
}

/// An error while the journal is open. `seq` is the record that was being read or written.
pub fn while_open(error: &rusqlite::Error, seq: u64) -> JournalError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::Full { what: error.to_string() },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(seq, error),
        // Not SQLite's error but the driver's: a column has the wrong type.
        None => damaged(seq, error),
        Some(_) => JournalError::Fatal { what: describe(error) },
    }
}

/// An error while the journal is being opened.
pub fn at_open(error: &rusqlite::Error, what: &str) -> JournalError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            JournalError::InUse { what: what.to_owned() }
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            JournalError::Unusable { what: format!("{what}: {error}") }
        }
        _ => while_open(error, 0),
    }
}

/// Adds the extended code: SQLite's text is "disk I/O error" both for a failed sync and for a failed read.
fn describe(error: &rusqlite::Error) -> String {
    match error.sqlite_error() {
        Some(details) => format!("{error} (SQLite code {})", details.extended_code),
        None => error.to_string(),
    }
}
