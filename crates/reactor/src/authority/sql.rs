//! Tables in a PostgreSQL database as an authority, with the operator's statements.
//!
//! Every operation is one SERIALIZABLE transaction. A conflict with another transaction is retried within the time limit.
//! An error before COMMIT was sent has changed nothing. An error after it leaves the outcome unknown.

mod cell;
mod script;
mod session;
mod transaction;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{sleep, timeout};

use self::script::Script;
use self::session::SessionPool;
use self::transaction::{ROWS_MAX, ResultRow, SqlFailure, SqlParameters, failure, grant_in, run};
use super::connector::{
    Abilities, Ask, AuthorityAnswer, Fact, Finds, Grant, Known, Listed, Page, RefusalCode,
    Settings, Statements, Wish,
};
use super::message::Messages;
use super::value::check_value;

/// How often a transaction is tried again after a conflict. The time limit usually ends it earlier.
const CONFLICTS_MAX: u32 = 100;
const BACK_OFF_MIN: Duration = Duration::from_millis(2);
const BACK_OFF_DOUBLINGS_MAX: u32 = 6;

/// The parameters of a grant that has been asked for before.
const KNOWN_NAMES: [&str; 5] = ["ref", "pool", "key", "value", "handle"];

#[derive(Debug)]
pub struct SqlConnector {
    pool: SessionPool,
    find: Option<Script>,
    take: Option<Script>,
    release: Option<Script>,
    list: Option<Script>,
    lookup: Option<Script>,
    timeout: Duration,
    bytes_max: usize,
    messages: Messages,
}

impl SqlConnector {
    pub(super) fn new(settings: &Settings, sql: &Statements) -> Result<SqlConnector, String> {
        let parse = |name, text: &Option<String>| {
            text.as_deref().map(|text| Script::parse(name, text)).transpose()
        };
        let (find, release) = (parse("find", &sql.find)?, parse("release", &sql.release)?);
        let (list, lookup) = (parse("list", &sql.list)?, parse("lookup", &sql.lookup)?);
        for script in find.iter().chain(&release) {
            script.ensure_names(&KNOWN_NAMES)?;
        }
        list.as_ref().map_or(Ok(()), |script| script.ensure_names(&["after"]))?;
        lookup.as_ref().map_or(Ok(()), |script| script.ensure_names(&["name"]))?;
        Ok(SqlConnector {
            pool: SessionPool::new(settings)?,
            find,
            take: parse("take", &sql.take)?,
            release,
            list,
            lookup,
            timeout: settings.timeout,
            bytes_max: settings.answer_bytes_max,
            messages: Messages::new(settings.secret.as_ref()),
        })
    }

    fn finds(&self) -> Finds {
        match &self.find {
            None => Finds::No,
            Some(find) if find.uses("value") && !find.uses("ref") => Finds::ByValue,
            Some(_) => Finds::ByReference,
        }
    }

    pub(super) fn abilities(&self) -> AuthorityAnswer<Abilities> {
        AuthorityAnswer::Yes(Abilities {
            finds: self.finds(),
            list: self.list.is_some(),
            lookup: self.lookup.is_some(),
            // A grant looks for the reference first, in the same transaction.
            repeats: self.finds() == Finds::ByReference,
            parallel: None,
        })
    }

    pub(super) async fn grant(&self, ask: &Ask) -> AuthorityAnswer<Grant> {
        let Some(take) = &self.take else { return AuthorityAnswer::Unsupported };
        let (value, length) = match &ask.wish {
            Wish::Any => (None, None),
            Wish::Value(value) => (Some(value.clone()), None),
            Wish::Length(length) => (None, Some(length.to_string())),
        };
        for (name, is_wished) in [("value", value.is_some()), ("length", length.is_some())] {
            if is_wished && !take.uses(name) {
                let message = format!("take: the statement does not use :{name}");
                return AuthorityAnswer::No { code: RefusalCode::Differs, message };
            }
        }
        let is_value_wished = value.is_some();
        let own = HashMap::from([
            ("ref", Some(ask.reference.clone())),
            ("pool", Some(ask.pool.clone())),
            ("key", Some(ask.key.clone())),
            ("owner", Some(ask.owner.clone())),
            ("value", value),
            ("length", length),
            ("handle", None),
        ]);
        let first_names = take.statements.first().into_iter().flat_map(|first| &first.names);
        for name in first_names {
            if !own.contains_key(name.as_str()) && !ask.params.contains_key(name) {
                let message = format!("take: the claim has no parameter '{name}'");
                return AuthorityAnswer::No { code: RefusalCode::Differs, message };
            }
        }
        let find = self.find.as_ref().filter(|_| self.finds() == Finds::ByReference);
        let parameters = SqlParameters { own, params: Some(&ask.params) };
        match self.transact(find, take, &parameters).await {
            Ok(rows) => match grant_in(&rows) {
                Ok(Some(grant)) => AuthorityAnswer::Yes(grant),
                Ok(None) if is_value_wished => AuthorityAnswer::No {
                    code: RefusalCode::Taken,
                    message: "take: no row, so the value is not free".into(),
                },
                Ok(None) => AuthorityAnswer::No {
                    code: RefusalCode::Exhausted,
                    message: "take: no row, so no value is free".into(),
                },
                Err(why) => self.unknown(&format!("take: {why}")),
            },
            Err(failed) => failed,
        }
    }

    pub(super) async fn find(&self, known: &Known) -> AuthorityAnswer<Option<Grant>> {
        let Some(find) = &self.find else { return AuthorityAnswer::Unsupported };
        if self.finds() == Finds::ByValue && known.value.is_none() {
            return self.unknown("find: it needs a value, and none is known");
        }
        match self.transact(None, find, &known_parameters(known)).await {
            Ok(rows) => match grant_in(&rows) {
                Ok(grant) => AuthorityAnswer::Yes(grant),
                Err(why) => self.unknown(&format!("find: {why}")),
            },
            Err(failed) => failed,
        }
    }

    pub(super) async fn release(&self, known: &Known) -> AuthorityAnswer<()> {
        let Some(release) = &self.release else { return AuthorityAnswer::Unsupported };
        match self.transact(None, release, &known_parameters(known)).await {
            Ok(_) => AuthorityAnswer::Yes(()),
            Err(failed) => failed,
        }
    }

    pub(super) async fn list(&self, after: Option<&str>) -> AuthorityAnswer<Page> {
        let Some(list) = &self.list else { return AuthorityAnswer::Unsupported };
        let own = HashMap::from([("after", after.map(str::to_owned))]);
        let rows = match self.transact(None, list, &SqlParameters { own, params: None }).await {
            Ok(rows) => rows,
            Err(failed) => return failed,
        };
        if rows.len() >= ROWS_MAX as usize {
            return self.unknown("list: too many rows; use :after and LIMIT");
        }
        match self.page(&rows) {
            Ok(grants) => {
                let last = grants.last().map(|listed| listed.reference.clone());
                let next = last.filter(|last| list.uses("after") && after != Some(last.as_str()));
                AuthorityAnswer::Yes(Page { grants, next })
            }
            Err(why) => self.unknown(&format!("list: {why}")),
        }
    }

    pub(super) async fn look_up(&self, name: &str) -> AuthorityAnswer<Option<Fact>> {
        let Some(lookup) = &self.lookup else { return AuthorityAnswer::Unsupported };
        let own = HashMap::from([("name", Some(name.to_owned()))]);
        let rows = match self.transact(None, lookup, &SqlParameters { own, params: None }).await {
            Ok(rows) => rows,
            Err(failed) => return failed,
        };
        match rows.as_slice() {
            [] => AuthorityAnswer::Yes(None),
            [row] => AuthorityAnswer::Yes(fact(row)),
            more => self.unknown(&format!("lookup: {} rows for one name", more.len())),
        }
    }

    /// The rows with a reference and a value. Others are not grants.
    fn page(&self, rows: &[ResultRow]) -> Result<Vec<Listed>, String> {
        let (mut grants, mut bytes) = (Vec::new(), 0);
        for row in rows {
            if !row.columns.iter().any(|(name, _)| name == "ref") {
                return Err("the result has no column ref".into());
            }
            let (Some(reference), Some(value)) = (row.text("ref"), row.value()?) else { continue };
            check_value(&value.text)?;
            let (handle, version) = (row.text("handle"), row.text("version"));
            let optional = [&handle, &version].into_iter().flatten().map(String::len);
            bytes += reference.len() + value.text.len() + optional.sum::<usize>();
            if bytes > self.bytes_max {
                let max = self.bytes_max;
                return Err(format!("the result has more than {max} bytes; use :after and LIMIT"));
            }
            grants.push(Listed { reference, value: value.text.clone(), handle, version });
        }
        Ok(grants)
    }

    fn unknown<T>(&self, text: &str) -> AuthorityAnswer<T> {
        AuthorityAnswer::Unknown { message: self.messages.clean(text) }
    }

    /// Runs a transaction until it is committed, fails, or the time is over.
    async fn transact<T>(
        &self,
        first: Option<&Script>,
        then: &Script,
        parameters: &SqlParameters<'_>,
    ) -> Result<Vec<ResultRow>, AuthorityAnswer<T>> {
        let committing = AtomicBool::new(false);
        let attempts = self.attempts(first, then, parameters, &committing);
        let failed = match timeout(self.timeout, attempts).await {
            Ok(Ok(rows)) => return Ok(rows),
            Ok(Err(failed)) => failed,
            Err(_) => SqlFailure {
                code: None,
                message: format!("{}: not done within {} s", then.name, self.timeout.as_secs_f64()),
                in_commit: committing.load(Ordering::SeqCst),
            },
        };
        let message = self.messages.clean(&failed.message);
        Err(if failed.in_commit {
            AuthorityAnswer::Unknown { message }
        } else {
            AuthorityAnswer::NotNow { after: None, message }
        })
    }

    async fn attempts(
        &self,
        first: Option<&Script>,
        then: &Script,
        parameters: &SqlParameters<'_>,
        committing: &AtomicBool,
    ) -> Result<Vec<ResultRow>, SqlFailure> {
        let _slot = self.pool.slot().await;
        let (mut conflicts, mut is_repeated) = (0, false);
        loop {
            let session = self.pool.session().await;
            let mut session = session.map_err(|error| failure("connect", &error, false))?;
            committing.store(false, Ordering::SeqCst);
            let failed = match run(&mut session, first, then, parameters, committing).await {
                Ok(rows) => {
                    self.pool.put_back(session);
                    return Ok(rows);
                }
                Err(failed) => failed,
            };
            if failed.is_conflict() && conflicts < CONFLICTS_MAX {
                // The transaction was rolled back, and the connection can be used again.
                self.pool.put_back(session);
                sleep(back_off(conflicts)).await;
                conflicts += 1;
            } else if failed.is_duplicate() && then.name == "take" && !is_repeated {
                // Another transaction took the same value at the same time.
                is_repeated = true;
            } else if failed.is_conflict() || failed.is_duplicate() {
                // The database has refused the transaction, even if COMMIT was sent.
                return Err(SqlFailure { in_commit: false, ..failed });
            } else {
                return Err(failed);
            }
        }
    }
}

/// Doubles with each conflict. It is random, so that transactions that conflicted do not meet again.
fn back_off(conflicts: u32) -> Duration {
    let longest = BACK_OFF_MIN * (1 << conflicts.min(BACK_OFF_DOUBLINGS_MAX));
    let random = RandomState::new().hash_one(conflicts) % 1000;
    longest.mul_f64(0.2 + 0.8 * random as f64 / 1000.0)
}

fn known_parameters(known: &Known) -> SqlParameters<'static> {
    let own = HashMap::from([
        ("ref", Some(known.reference.clone())),
        ("pool", Some(known.pool.clone())),
        ("key", Some(known.key.clone())),
        ("value", known.value.clone()),
        ("handle", known.handle.clone()),
    ]);
    SqlParameters { own, params: None }
}

/// The value of a look-up. Several columns become an object. `None`: the value is NULL.
fn fact(row: &ResultRow) -> Option<Fact> {
    let version = row.text("version");
    let value = match row.value() {
        Ok(cell) => cell?.json.clone(),
        Err(_) => {
            let columns = row.columns.iter().filter(|(name, _)| name != "version");
            let json = |cell: &Option<cell::Cell>| {
                cell.as_ref().map_or(Value::Null, |cell| cell.json.clone())
            };
            Value::Object(
                columns.map(|(name, cell)| (name.clone(), json(cell))).collect::<Map<_, _>>(),
            )
        }
    };
    Some(Fact { value, version })
}
