//! The connection to one authority: the connector for its definition and secret, and what the authority can do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_core::authority::{Authority, AuthoritySpec, Protocol, SqlStatements};

use super::metrics::{AuthorityMetrics, Operation};
use crate::authority::connector::{
    Abilities, AuthorityAnswer, AuthorityKind, Connector, Secret, Settings, Statements,
};
use crate::authority::secrets::Secrets;
use crate::authority::targets::AllowedTargets;

/// How long the abilities that an adapter has reported are used.
const ABILITIES_AGE_MAX: Duration = Duration::from_secs(60);
/// How long a secret is used before its file is read again.
const SECRET_AGE_MAX: Duration = Duration::from_secs(2);

/// What the configuration of a server says about authorities.
#[derive(Debug, Clone, Default)]
pub struct AuthoritySettings {
    pub secrets: Secrets,
    pub targets: AllowedTargets,
    /// The largest answer of an authority.
    pub answer_bytes_max: usize,
}

/// A connector that can be used.
#[derive(Debug)]
pub(super) struct Remote {
    pub connector: Arc<Connector>,
    pub abilities: Abilities,
    generation: u64,
    secret: Option<Secret>,
    /// When the abilities were read.
    read_at: Instant,
    /// When the secret was compared.
    checked_at: Instant,
}

/// Why an authority cannot be used at present.
#[derive(Debug)]
pub(super) struct NotReady {
    pub message: String,
    pub after: Option<Duration>,
}

impl NotReady {
    fn new(message: String) -> NotReady {
        NotReady { message, after: None }
    }
}

/// Sets up the connection of an authority at this generation. `before` is used again if its definition and secret are the
/// same. `again`: its abilities are read again even if they are new.
pub(super) async fn prepare(
    settings: &AuthoritySettings,
    metrics: &AuthorityMetrics,
    authority: &Authority,
    before: Option<Arc<Remote>>,
    again: bool,
) -> Result<Arc<Remote>, NotReady> {
    let Authority { generation, spec, .. } = authority;
    let secret = spec.secret.as_ref().map(|name| settings.secrets.read(name)).transpose();
    let secret = secret.map_err(NotReady::new)?;
    let same = before.filter(|same| (same.generation, &same.secret) == (*generation, &secret));
    if let Some(same) = same.clone().filter(|same| !again && same.is_recent()) {
        let Remote { connector, abilities, generation, secret, read_at, .. } = &*same;
        return Ok(Arc::new(Remote {
            connector: connector.clone(),
            abilities: *abilities,
            generation: *generation,
            secret: secret.clone(),
            read_at: *read_at,
            checked_at: Instant::now(),
        }));
    }
    let connector = match same {
        Some(same) => same.connector.clone(),
        None => Arc::new(connect(settings, spec, secret.clone()).map_err(NotReady::new)?),
    };
    let began = Instant::now();
    let answer = connector.abilities().await;
    if matches!(*connector, Connector::Http(_)) {
        metrics.called(Operation::Abilities, (&answer).into(), began.elapsed());
    }
    let not_ready = |message, after| {
        let message = format!("its abilities cannot be read: {message}");
        Err(NotReady { message, after })
    };
    match answer {
        AuthorityAnswer::Yes(abilities) => {
            let (generation, read_at) = (*generation, Instant::now());
            let checked_at = read_at;
            Ok(Arc::new(Remote { connector, abilities, generation, secret, read_at, checked_at }))
        }
        AuthorityAnswer::NotNow { after, message } => not_ready(message, after),
        AuthorityAnswer::Working { after, message } => not_ready(message, Some(after)),
        AuthorityAnswer::Unknown { message } | AuthorityAnswer::No { message, .. } => {
            not_ready(message, None)
        }
        AuthorityAnswer::Unsupported => not_ready("unsupported".into(), None),
    }
}

/// The connector for a definition. Contacts nothing.
pub fn connect(
    settings: &AuthoritySettings,
    spec: &AuthoritySpec,
    secret: Option<Secret>,
) -> Result<Connector, String> {
    let kind = match &spec.protocol {
        Protocol::Http => AuthorityKind::Http,
        Protocol::Allod { pool } => AuthorityKind::Allod { pool: pool.to_string() },
        Protocol::Sql(sql) => AuthorityKind::Sql(statements(sql)),
    };
    settings.targets.ensure_allowed(&kind, &spec.url)?;
    Connector::new(Settings {
        kind,
        url: spec.url.to_string(),
        secret,
        ca: spec.ca.as_deref().map(PathBuf::from),
        timeout: Duration::from_millis(spec.timeout_ms),
        parallel: u16::try_from(spec.parallel).unwrap_or(u16::MAX),
        answer_bytes_max: settings.answer_bytes_max,
    })
}

fn statements(sql: &SqlStatements) -> Statements {
    let text = |statement: &Option<Arc<str>>| statement.as_deref().map(str::to_owned);
    Statements {
        find: text(&sql.find),
        take: text(&sql.take),
        release: text(&sql.release),
        list: text(&sql.list),
        lookup: text(&sql.lookup),
    }
}

impl Remote {
    fn is_recent(&self) -> bool {
        let can_change = matches!(*self.connector, Connector::Http(_));
        !can_change || self.read_at.elapsed() < ABILITIES_AGE_MAX
    }

    pub fn is_for(&self, authority: &Authority) -> bool {
        self.generation == authority.generation
    }

    /// Whether the secret or the abilities may have changed.
    pub fn needs_check(&self, now: Instant) -> bool {
        self.secret.is_some() && now.saturating_duration_since(self.checked_at) > SECRET_AGE_MAX
            || !self.is_recent()
    }

    /// How many requests it may get at a time.
    pub fn parallel(&self, spec: &AuthoritySpec) -> usize {
        let own = usize::try_from(spec.parallel).unwrap_or(usize::MAX);
        own.min(self.abilities.parallel.map_or(usize::MAX, usize::from)).max(1)
    }
}
