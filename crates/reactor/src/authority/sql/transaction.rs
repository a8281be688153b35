//! Runs the statements of one operation in one SERIALIZABLE transaction.

use std::collections::HashMap;
use std::error::Error as _;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Error, IsolationLevel, Row, Statement, Transaction};

use super::cell::{Cell, TextParameter};
use super::script::Script;
use super::session::Session;
use crate::authority::connector::Grant;
use crate::authority::value::check_value;

/// The most rows of a listing without pages, and of a page.
pub(super) const ROWS_MAX: i32 = 20_000;

/// The parameters of an operation.
#[derive(Debug, Default)]
pub(super) struct SqlParameters<'a> {
    /// Those that allod sets. `None` is NULL.
    pub own: HashMap<&'static str, Option<String>>,
    /// Those of the claim.
    pub params: Option<&'a Map<String, Value>>,
}

/// One row of a result.
#[derive(Debug, Default)]
pub(super) struct ResultRow {
    pub columns: Vec<(String, Option<Cell>)>,
}

/// Why an operation did not succeed.
#[derive(Debug)]
pub(super) struct SqlFailure {
    pub code: Option<SqlState>,
    pub message: String,
    /// COMMIT was sent.
    pub in_commit: bool,
}

/// Runs `first`, and `then` if `first` has no value. Rolls back if a grant has no value. `committing` is set when COMMIT is
/// sent.
pub(super) async fn run(
    session: &mut Session,
    first: Option<&Script>,
    then: &Script,
    parameters: &SqlParameters<'_>,
    committing: &AtomicBool,
) -> Result<Vec<ResultRow>, SqlFailure> {
    let mut prepared = Vec::new();
    for script in first.into_iter().chain([then]) {
        let mut statements = Vec::new();
        for statement in &script.statements {
            let done = session.prepare(statement).await;
            statements.push(done.map_err(|error| failure(script.name, &error, false))?);
        }
        prepared.push((script, statements));
    }
    let begin = session.client.build_transaction().isolation_level(IsolationLevel::Serializable);
    let transaction = begin.start().await.map_err(|error| failure(then.name, &error, false))?;
    let mut rows = Vec::new();
    for (script, statements) in &prepared {
        rows = script_rows(&transaction, script, statements, parameters).await?;
        if matches!(grant_in(&rows), Ok(Some(_))) {
            break;
        }
    }
    if then.name == "take" {
        let refused = match grant_in(&rows) {
            Ok(Some(_)) => None,
            Ok(None) => Some(Ok(Vec::new())),
            Err(why) => {
                let message = format!("take: {why}");
                Some(Err(SqlFailure { code: None, message, in_commit: false }))
            }
        };
        if let Some(refused) = refused {
            // Earlier statements may have changed something.
            transaction.rollback().await.map_err(|error| failure(then.name, &error, false))?;
            return refused;
        }
    }
    committing.store(true, Ordering::SeqCst);
    transaction.commit().await.map_err(|error| failure(then.name, &error, true))?;
    committing.store(false, Ordering::SeqCst);
    Ok(rows)
}

/// The rows of the last statement that has columns. Statements can use the columns of earlier ones as parameters.
async fn script_rows(
    transaction: &Transaction<'_>,
    script: &Script,
    statements: &[Statement],
    parameters: &SqlParameters<'_>,
) -> Result<Vec<ResultRow>, SqlFailure> {
    let failed = |error: &Error| failure(script.name, error, false);
    let mut earlier: HashMap<String, Option<String>> = HashMap::new();
    let mut rows = Vec::new();
    for (parsed, statement) in script.statements.iter().zip(statements) {
        let mut bound = Vec::with_capacity(parsed.names.len());
        for name in &parsed.names {
            bound.push(parameters.get(name, &earlier).ok_or_else(|| SqlFailure {
                code: None,
                message: format!("{}: there is no parameter :{name}", script.name),
                in_commit: false,
            })?);
        }
        let bound: Vec<_> =
            bound.iter().map(|one| one as &(dyn tokio_postgres::types::ToSql + Sync)).collect();
        let portal = transaction.bind(statement, &bound).await.map_err(|error| failed(&error))?;
        let found = transaction.query_portal(&portal, ROWS_MAX).await;
        let found = found.map_err(|error| failed(&error))?;
        if statement.columns().is_empty() {
            continue;
        }
        rows = found
            .iter()
            .map(read_row)
            .collect::<Result<Vec<_>, Error>>()
            .map_err(|error| failed(&error))?;
        for (at, column) in statement.columns().iter().enumerate() {
            let cell = rows.first().and_then(|row| row.columns[at].1.as_ref());
            earlier.insert(column.name().to_owned(), cell.map(|cell| cell.text.clone()));
        }
    }
    Ok(rows)
}

fn read_row(row: &Row) -> Result<ResultRow, Error> {
    let columns = row.columns().iter().enumerate();
    let columns = columns.map(|(at, column)| Ok((column.name().to_owned(), row.try_get(at)?)));
    Ok(ResultRow { columns: columns.collect::<Result<_, Error>>()? })
}

/// The grant in the only row. A value that is NULL is no grant.
pub(super) fn grant_in(rows: &[ResultRow]) -> Result<Option<Grant>, String> {
    let row = match rows {
        [] => return Ok(None),
        [row] => row,
        more => return Err(format!("the result has {} rows instead of one", more.len())),
    };
    let Some(cell) = row.value()? else { return Ok(None) };
    check_value(&cell.text)?;
    Ok(Some(Grant {
        value: cell.text.clone(),
        handle: row.text("handle"),
        version: row.text("version"),
    }))
}

impl SqlParameters<'_> {
    /// The value of a parameter. Precedence: what allod has set, columns of earlier statements, parameters of the claim.
    fn get(&self, name: &str, earlier: &HashMap<String, Option<String>>) -> Option<TextParameter> {
        if let Some(Some(own)) = self.own.get(name) {
            return Some(TextParameter(Some(own.clone())));
        }
        if let Some(column) = earlier.get(name) {
            return Some(TextParameter(column.clone()));
        }
        if self.own.contains_key(name) {
            return Some(TextParameter(None));
        }
        Some(TextParameter(match self.params?.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }))
    }
}

impl ResultRow {
    /// The text of a column.
    pub fn text(&self, name: &str) -> Option<String> {
        let (_, cell) = self.columns.iter().find(|(known, _)| known == name)?;
        cell.as_ref().map(|cell| cell.text.clone())
    }

    /// The column `value`, or the only one that has no other meaning. `Ok(None)`: it is NULL.
    pub fn value(&self) -> Result<Option<&Cell>, String> {
        let mut others = self
            .columns
            .iter()
            .filter(|(name, _)| !["ref", "handle", "version"].contains(&name.as_str()));
        let named = self.columns.iter().find(|(name, _)| name == "value");
        match (named, others.next(), others.next()) {
            (Some((_, cell)), ..) | (None, Some((_, cell)), None) => Ok(cell.as_ref()),
            (None, None, _) => Err("the result has no column".into()),
            (None, Some(_), Some(_)) => {
                Err("the result has several columns; name one of them value".into())
            }
        }
    }
}

impl SqlFailure {
    /// The database asks to run the transaction again.
    pub fn is_conflict(&self) -> bool {
        let conflicts = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        self.code.as_ref().is_some_and(|code| conflicts.contains(code))
    }

    pub fn is_duplicate(&self) -> bool {
        self.code == Some(SqlState::UNIQUE_VIOLATION)
    }
}

pub(super) fn failure(name: &str, error: &Error, in_commit: bool) -> SqlFailure {
    let message = match (error.as_db_error(), error.source()) {
        (Some(said), _) => format!("{} (SQLSTATE {})", said.message(), said.code().code()),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    };
    SqlFailure { code: error.code().cloned(), message: format!("{name}: {message}"), in_commit }
}
