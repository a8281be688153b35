//! What an authority is asked, what it can answer, and the connector for each kind of authority.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::allod::AllodConnector;
use super::http::HttpConnector;
use super::sql::SqlConnector;

/// What an authority has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityAnswer<T> {
    Yes(T),
    /// A definite no: nothing was or will be granted for this reference.
    No {
        code: RefusalCode,
        message: String,
    },
    /// Not done; try again after this time at the earliest.
    NotNow {
        after: Option<Duration>,
        message: String,
    },
    /// It has accepted the request and has not finished; ask again after this time.
    Working {
        after: Duration,
        message: String,
    },
    /// It may have been done.
    Unknown {
        message: String,
    },
    /// The connector or the authority cannot do this at all.
    Unsupported,
}

/// The reason of a definite no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalCode {
    /// Another holder has the value.
    Taken,
    /// No value is free.
    Exhausted,
    /// The reference has a grant for another request, or the authority cannot serve the wish.
    Differs,
}

/// Which value to grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Any,
    /// This value, as text: `42`, `10.0.0.1` or `10.0.0.0/24`.
    Value(String),
    /// A prefix of this length.
    Length(u8),
}

/// A request for a grant.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// A UUID in text, unique for ever, the same in all attempts for one claim.
    pub reference: String,
    pub pool: String,
    pub key: String,
    pub owner: String,
    pub wish: Wish,
    pub params: Map<String, Value>,
}

/// A value that an authority has granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// As text: `42`, `10.0.0.1` or `10.0.0.0/24`.
    pub value: String,
    /// The authority's own name for the grant.
    pub handle: Option<String>,
    pub version: Option<String>,
}

/// What is known about a grant that is to be found or released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub reference: String,
    pub pool: String,
    pub key: String,
    pub value: Option<String>,
    pub handle: Option<String>,
}

/// How an authority finds a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finds {
    ByReference,
    ByValue,
    No,
}

/// What an authority can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    pub finds: Finds,
    pub list: bool,
    pub lookup: bool,
    /// A repeated request with the same reference returns the same grant.
    pub repeats: bool,
    /// How many requests it accepts at a time. `None`: as the settings say.
    pub parallel: Option<u16>,
}

/// A grant in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub reference: String,
    pub value: String,
    pub handle: Option<String>,
    pub version: Option<String>,
}

/// A part of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub grants: Vec<Listed>,
    /// Where the next page starts. `None`: this is the last one.
    pub next: Option<String>,
}

/// The result of a look-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub value: Value,
    pub version: Option<String>,
}

/// A password or token. Its `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The protocol of an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthorityKind {
    Http,
    /// This pool of another allod server.
    Allod {
        pool: String,
    },
    Sql(Statements),
}

/// The operator's SQL. An operation without a statement is unsupported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statements {
    pub find: Option<String>,
    pub take: Option<String>,
    pub release: Option<String>,
    pub list: Option<String>,
    pub lookup: Option<String>,
}

/// How to reach an authority, and the limits of its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub kind: AuthorityKind,
    /// Without a password.
    pub url: String,
    pub secret: Option<Secret>,
    /// A PEM file with the CA certificates to trust instead of those of the system. For `sql`, `sslrootcert` in the URL
    /// has precedence.
    pub ca: Option<PathBuf>,
    /// The time limit of one operation, with all its retries inside the connector.
    pub timeout: Duration,
    /// The most operations at a time.
    pub parallel: u16,
    pub answer_bytes_max: usize,
}

impl Settings {
    pub const TIMEOUT: Duration = Duration::from_secs(10);
    pub const ANSWER_BYTES_MAX: usize = 1 << 20;

    /// Settings with the default limits.
    pub fn new(kind: AuthorityKind, url: impl Into<String>) -> Settings {
        Settings {
            kind,
            url: url.into(),
            secret: None,
            ca: None,
            timeout: Settings::TIMEOUT,
            parallel: 1,
            answer_bytes_max: Settings::ANSWER_BYTES_MAX,
        }
    }
}

/// A client of one authority. Every method makes one attempt and ends within the time limit of the settings.
#[derive(Debug)]
pub enum Connector {
    Http(HttpConnector),
    Allod(AllodConnector),
    Sql(SqlConnector),
}

impl Connector {
    /// Checks the settings. Contacts nothing. The error never contains the secret.
    pub fn new(settings: Settings) -> Result<Connector, String> {
        Ok(match &settings.kind {
            AuthorityKind::Http => Connector::Http(HttpConnector::new(&settings)?),
            AuthorityKind::Allod { pool } => {
                Connector::Allod(AllodConnector::new(&settings, pool.clone())?)
            }
            AuthorityKind::Sql(statements) => {
                Connector::Sql(SqlConnector::new(&settings, statements)?)
            }
        })
    }

    pub async fn abilities(&self) -> AuthorityAnswer<Abilities> {
        match self {
            Connector::Http(http) => http.abilities().await,
            Connector::Allod(allod) => allod.abilities(),
            Connector::Sql(sql) => sql.abilities(),
        }
    }

    pub async fn grant(&self, ask: &Ask) -> AuthorityAnswer<Grant> {
        match self {
            Connector::Http(http) => http.grant(ask).await,
            Connector::Allod(allod) => allod.grant(ask).await,
            Connector::Sql(sql) => sql.grant(ask).await,
        }
    }

    /// `Yes(None)`: the authority has no such grant.
    pub async fn find(&self, known: &Known) -> AuthorityAnswer<Option<Grant>> {
        match self {
            Connector::Http(http) => http.find(known).await,
            Connector::Allod(allod) => allod.find(known).await,
            Connector::Sql(sql) => sql.find(known).await,
        }
    }

    /// `Yes`: the grant does not exist any more, or never existed.
    pub async fn release(&self, known: &Known) -> AuthorityAnswer<()> {
        match self {
            Connector::Http(http) => http.release(known).await,
            Connector::Allod(allod) => allod.release(known).await,
            Connector::Sql(sql) => sql.release(known).await,
        }
    }

    /// One page of the grants; `after` is the `next` of the previous page.
    pub async fn list(&self, after: Option<&str>) -> AuthorityAnswer<Page> {
        match self {
            Connector::Http(http) => http.list(after).await,
            Connector::Allod(allod) => allod.list(after).await,
            Connector::Sql(sql) => sql.list(after).await,
        }
    }

    /// `Yes(None)`: the authority does not know the name.
    pub async fn look_up(&self, name: &str) -> AuthorityAnswer<Option<Fact>> {
        match self {
            Connector::Http(http) => http.look_up(name).await,
            Connector::Allod(allod) => allod.look_up(),
            Connector::Sql(sql) => sql.look_up(name).await,
        }
    }
}
