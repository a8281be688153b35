//! The address of a journal: `postgres://user:password@host:port/database?schema=allod`, with the driver's other parameters.
//!
//! Only this type has the password. Its `Display` and `Debug` omit it.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use allod_outbound::postgres::PostgresTls;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};

use crate::contract::JournalError;

/// The schemes of an address.
pub const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

const SCHEMA_USUAL: &str = "allod";
/// PostgreSQL's names have at most 63 bytes, and the name of the channel has a prefix.
const SCHEMA_BYTES_MAX: usize = 50;
/// For each host, until it has answered that it can be written.
const CONNECT_WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct PostgresAddress {
    pub(super) config: Box<Config>,
    /// Letters, digits and `_` only, so that it needs no quoting.
    pub(super) schema: String,
    pub(super) tls: PostgresTls,
}

/// The parameters that the driver does not know, or must not see.
struct OwnParameters {
    schema: String,
    sslmode: String,
    sslrootcert: Option<String>,
}

impl PostgresAddress {
    pub fn parse(url: &str) -> Result<PostgresAddress, JournalError> {
        let (url, ours) = take_ours(url)?;
        let schema = ours.schema;
        let roots = ours.sslrootcert.as_deref().map(Path::new);
        let (mode, tls) = PostgresTls::for_mode(&ours.sslmode, roots).map_err(unusable)?;
        // The driver's message names the wrong parameter but never its value.
        let mut config = url.parse::<Config>().map_err(|error| unusable(detail(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(unusable("it names no host, as in postgres://host/database".into()));
        }
        config.ssl_mode(mode);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_WAIT_MAX);
        }
        if config.get_application_name().is_none() {
            config.application_name("allod");
        }
        if config.get_hosts().len() > 1 {
            // Of several hosts, only the primary can be used.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        config.keepalives_idle(Duration::from_secs(15));
        config.tcp_user_timeout(Duration::from_secs(20));
        Ok(PostgresAddress { config: Box::new(config), schema, tls })
    }

    /// The settings of a connection to one of the hosts. The driver cannot remove a host from its own.
    pub(super) fn config_of(&self, place: usize) -> Config {
        let whole = &self.config;
        let mut one = Config::new();
        match whole.get_hosts().get(place) {
            Some(Host::Tcp(name)) => {
                one.host(name);
            }
            Some(Host::Unix(path)) => {
                one.host_path(path);
            }
            None => {}
        }
        if let Some(ip) = whole.get_hostaddrs().get(place) {
            one.hostaddr(*ip);
        }
        if let Some(port) = whole.get_ports().get(place).or(whole.get_ports().first()) {
            one.port(*port);
        }
        if let Some(user) = whole.get_user() {
            one.user(user);
        }
        if let Some(name) = whole.get_dbname() {
            one.dbname(name);
        }
        if let Some(options) = whole.get_options() {
            one.options(options);
        }
        if let Some(name) = whole.get_application_name() {
            one.application_name(name);
        }
        if let Some(password) = whole.get_password() {
            one.password(password);
        }
        if let Some(wait_max) = whole.get_connect_timeout() {
            one.connect_timeout(*wait_max);
        }
        if let Some(wait_max) = whole.get_tcp_user_timeout() {
            one.tcp_user_timeout(*wait_max);
        }
        if let Some(interval) = whole.get_keepalives_interval() {
            one.keepalives_interval(interval);
        }
        if let Some(retries) = whole.get_keepalives_retries() {
            one.keepalives_retries(retries);
        }
        one.keepalives(whole.get_keepalives())
            .keepalives_idle(whole.get_keepalives_idle())
            .ssl_mode(whole.get_ssl_mode())
            .ssl_negotiation(whole.get_ssl_negotiation())
            .channel_binding(whole.get_channel_binding())
            .target_session_attrs(whole.get_target_session_attrs());
        one
    }

    /// The channel of notifications about new records.
    pub(super) fn channel(&self) -> String {
        format!("allod_{}", self.schema)
    }
}

fn unusable(what: String) -> JournalError {
    JournalError::Unusable { what: format!("the address is invalid: {what}") }
}

fn detail(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

fn take_ours(url: &str) -> Result<(String, OwnParameters), JournalError> {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let mut ours = OwnParameters {
        schema: SCHEMA_USUAL.to_owned(),
        sslmode: "disable".to_owned(),
        sslrootcert: None,
    };
    let mut rest = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("schema", name)) => name.clone_into(&mut ours.schema),
            Some(("sslmode", mode)) => mode.clone_into(&mut ours.sslmode),
            Some(("sslrootcert", path)) => ours.sslrootcert = Some(path.replace("%2F", "/")),
            _ => rest.push(part),
        }
    }
    let schema = &ours.schema;
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    let fits = schema.starts_with(first)
        && schema.len() <= SCHEMA_BYTES_MAX
        && !schema.starts_with("pg_")
        && schema.chars().all(|c| first(c) || c.is_ascii_digit());
    if !fits {
        return Err(unusable(format!(
            "schema '{schema}' is not allowed: use at most {SCHEMA_BYTES_MAX} lower-case letters, digits and '_'"
        )));
    }
    let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
    Ok((url, ours))
}

impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = &self.config;
        f.write_str(SCHEMES[0])?;
        if let Some(user) = config.get_user() {
            write!(f, "{user}@")?;
        }
        for (n, host) in config.get_hosts().iter().enumerate() {
            f.write_str(if n > 0 { "," } else { "" })?;
            match host {
                Host::Tcp(name) => f.write_str(name)?,
                // Escaped as in the address.
                Host::Unix(path) => {
                    f.write_str(&path.display().to_string().replace('/', "%2F"))?;
                }
            }
            let ports = config.get_ports();
            if let Some(port) = ports.get(n).or(ports.first()).filter(|port| **port != 5432) {
                write!(f, ":{port}")?;
            }
        }
        let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
        write!(f, "/{database}?schema={}", self.schema)
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_omits_the_password() {
        let url = "postgres://me:s3cret@one:5433,two:5434/db?schema=blue&application_name=x";
        let address = PostgresAddress::parse(url).expect("it parses");
        assert_eq!(address.to_string(), "postgres://me@one:5433,two:5434/db?schema=blue");
        assert!(!format!("{address:?}").contains("s3cret"));
        assert_eq!(address.config.get_application_name(), Some("x"));
        assert_eq!(address.config.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        let plain = PostgresAddress::parse("postgresql://me@%2Ftmp%2Fpg").expect("it parses");
        assert_eq!(plain.to_string(), "postgres://me@%2Ftmp%2Fpg/me?schema=allod");
    }

    #[test]
    fn the_settings_of_one_host_have_all_parameters() {
        let url = "postgres://me:s3cret@one:5433,%2Ftmp%2Fpg:5434/db?hostaddr=10.0.0.1,10.0.0.2&options=-c%20x%3Dy\
            &application_name=x&connect_timeout=7&tcp_user_timeout=8&keepalives=0&keepalives_idle=9\
            &keepalives_interval=10&keepalives_retries=11&sslnegotiation=direct&channel_binding=require";
        let address = PostgresAddress::parse(url).expect("it parses");
        let (whole, second) = (format!("{:?}", address.config), address.config_of(1));
        // Hosts, addresses and ports are lists; the configuration of one host has one element in each.
        let lists = |text: &str| {
            let text = text.replace(r#"Tcp("one"), "#, "").replace("10.0.0.1, ", "");
            text.replace("5433, ", "")
        };
        assert_eq!(format!("{second:?}"), lists(&whole));
        assert_eq!(address.config_of(0).get_hosts(), [Host::Tcp("one".to_owned())]);
        assert_eq!(second.get_password(), Some(b"s3cret".as_slice()));
    }

    #[test]
    fn errors_name_the_parameter_and_omit_the_password() {
        for (url, words) in [
            ("postgres://me:s3cret@host/db?schema=Blue", "schema 'Blue'"),
            ("postgres://me:s3cret@host/db?schema=pg_catalog", "schema 'pg_catalog'"),
            ("postgres://me:s3cret@host/db?schema=a;drop", "schema 'a;drop'"),
            ("postgres://me:s3cret@host:port/db", "port"),
            ("postgres://me:s3cret@host/db?colour=red", "colour"),
            ("postgres:///db", "names no host"),
            ("postgres://me:s3cret@host/db?sslmode=prefer", "sslmode is 'prefer'"),
            (
                "postgres://h/db?sslmode=require&sslrootcert=/no/such",
                "sslrootcert: the certificates in /no/such",
            ),
        ] {
            let error = PostgresAddress::parse(url).expect_err(url).to_string();
            assert!(error.contains(words), "{url}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
