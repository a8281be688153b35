//! Connections to the database of an authority: at most one for each parallel operation, reused between operations.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use allod_outbound::postgres::PostgresTls;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, Error, Statement};

use super::script::ScriptStatement;
use crate::authority::connector::{Secret, Settings};

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

pub(super) struct SessionPool {
    config: Box<Config>,
    tls: PostgresTls,
    statement_ms_max: u128,
    slots: Semaphore,
    idle: Mutex<Vec<Session>>,
}

impl std::fmt::Debug for SessionPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The configuration of the driver has the password.
        f.debug_struct("SessionPool").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// An open connection.
pub(super) struct Session {
    pub client: Client,
    prepared: HashMap<String, Statement>,
    _task: ConnectionTask,
}

/// The task that reads and writes the connection. Dropping it closes the connection.
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl SessionPool {
    pub fn new(settings: &Settings) -> Result<SessionPool, String> {
        let (config, tls) = parse(&settings.url, settings.ca.as_deref(), settings.secret.as_ref())?;
        let mut config = config;
        config.connect_timeout(settings.timeout / 2);
        Ok(SessionPool {
            config: Box::new(config),
            tls,
            statement_ms_max: settings.timeout.as_millis().max(1),
            slots: Semaphore::new(usize::from(settings.parallel.max(1))),
            idle: Mutex::default(),
        })
    }

    /// Waits for the right to use a connection.
    pub async fn slot(&self) -> Option<SemaphorePermit<'_>> {
        self.slots.acquire().await.ok()
    }

    /// An idle connection that is still open, or a new one.
    pub async fn session(&self) -> Result<Session, Error> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some(session) if !session.client.is_closed() => return Ok(session),
                Some(_) => {}
                None => break,
            }
        }
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        let task = ConnectionTask(tokio::spawn(async {
            // Its error is also the error of the pending call.
            drop(connection.await);
        }));
        // The server ends a statement even if this process is gone.
        let limit = format!("SET statement_timeout = {}", self.statement_ms_max);
        client.batch_execute(&limit).await?;
        Ok(Session { client, prepared: HashMap::new(), _task: task })
    }

    /// Keeps a connection for the next operation.
    pub fn put_back(&self, session: Session) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }
}

impl Session {
    /// Prepares a statement on first use. The server infers the types of its parameters; those without a type are texts.
    pub async fn prepare(&mut self, statement: &ScriptStatement) -> Result<Statement, Error> {
        if let Some(prepared) = self.prepared.get(&statement.text) {
            return Ok(prepared.clone());
        }
        let mut types = vec![Type::UNKNOWN; statement.names.len()];
        let prepared = loop {
            let error = match self.client.prepare_typed(&statement.text, &types).await {
                Ok(prepared) => break prepared,
                Err(error) => error,
            };
            let without_type = parameter_without_type(&error)
                .and_then(|number| types.get_mut(number - 1))
                .filter(|known| **known == Type::UNKNOWN);
            match without_type {
                Some(without_type) => *without_type = Type::TEXT,
                None => return Err(error),
            }
        };
        self.prepared.insert(statement.text.clone(), prepared.clone());
        Ok(prepared)
    }
}

/// The number in "could not determine data type of parameter $1", in any language.
fn parameter_without_type(error: &Error) -> Option<usize> {
    let said = error.as_db_error()?;
    if *said.code() != SqlState::INDETERMINATE_DATATYPE {
        return None;
    }
    let after = said.message().split('$').nth(1)?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|number| *number > 0)
}

/// Reads `postgres://user@host:port/database?sslmode=…&sslrootcert=…`, with the driver's other parameters.
fn parse(
    url: &str,
    ca: Option<&Path>,
    secret: Option<&Secret>,
) -> Result<(Config, PostgresTls), String> {
    if !SCHEMES.iter().any(|scheme| url.starts_with(scheme)) {
        return Err("the URL of a database starts with postgres://".into());
    }
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut mode, mut roots) = ("disable", ca.map(Path::to_owned));
    let mut rest = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("sslmode", given)) => mode = given,
            Some(("sslrootcert", path)) => roots = Some(path.replace("%2F", "/").into()),
            _ => rest.push(part),
        }
    }
    let (mode, tls) = PostgresTls::for_mode(mode, roots.as_deref())?;
    let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    // The driver's message names the wrong parameter but never its value.
    let mut config: Config = url.parse().map_err(|error: Error| {
        use std::error::Error as _;
        let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        format!("the URL of the database is invalid: {why}")
    })?;
    if config.get_password().is_some() {
        return Err("the URL has a password; name a secret instead".into());
    }
    if config.get_hosts().is_empty() {
        return Err("the URL names no host, as in postgres://host/database".into());
    }
    if config.get_hosts().len() > 1 {
        // Of several hosts, only the primary can be used.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    if config.get_application_name().is_none() {
        config.application_name("allod");
    }
    config.ssl_mode(mode);
    config.keepalives_idle(Duration::from_secs(15));
    if let Some(secret) = secret {
        config.password(&secret.0);
    }
    Ok((config, tls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_urls_are_refused() {
        for (url, words) in [
            ("http://host/db", "starts with postgres://"),
            ("postgres://me:s3cret@host/db", "has a password"),
            ("postgres://me@host/db?password=s3cret", "has a password"),
            ("postgres:///db", "names no host"),
            ("postgres://host/db?sslmode=prefer", "sslmode is 'prefer'"),
            ("postgres://host/db?colour=red", "colour"),
        ] {
            let error = parse(url, None, None).unwrap_err();
            assert!(error.contains(words) && !error.contains("s3cret"), "{url}: {error}");
        }
    }
}
