//! Which servers authorities may be at.

use std::str::FromStr;

use allod_outbound::BaseUrl;
use tokio_postgres::config::Host;

use super::connector::AuthorityKind;

const POSTGRES_PORT: u16 = 5432;

/// The allowed hosts: all, or those in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedTargets(Vec<TargetRule>);

/// `host`, `host:port`, or `*.example.org` for all hosts below a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TargetRule {
    host: String,
    port: Option<u16>,
}

impl FromStr for AllowedTargets {
    type Err = String;

    /// A list with commas. An empty one allows all.
    fn from_str(text: &str) -> Result<AllowedTargets, String> {
        let rules = text.split(',').map(str::trim).filter(|rule| !rule.is_empty());
        rules.map(str::parse).collect::<Result<_, _>>().map(AllowedTargets)
    }
}

impl FromStr for TargetRule {
    type Err = String;

    fn from_str(text: &str) -> Result<TargetRule, String> {
        let invalid = || {
            format!("'{text}' is not a host; write host, host:port or *.example.org without scheme")
        };
        let is_bracketed = text.starts_with('[');
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !is_bracketed || host.ends_with(']') => {
                (host, Some(port.parse().map_err(|_| invalid())?))
            }
            _ => (text, None),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let domain = host.strip_prefix("*.").unwrap_or(&host);
        if domain.is_empty() || domain.contains(['/', '*', '@']) {
            return Err(invalid());
        }
        Ok(TargetRule { host, port })
    }
}

impl TargetRule {
    fn matches(&self, host: &str, port: u16) -> bool {
        let is_host = match self.host.strip_prefix('*') {
            Some(domain) => host.len() > domain.len() && host.ends_with(domain),
            None => host == self.host,
        };
        is_host && self.port.is_none_or(|only| only == port)
    }
}

impl AllowedTargets {
    /// Refuses an authority that is at another server. An invalid URL is left to the connector.
    pub fn ensure_allowed(&self, kind: &AuthorityKind, url: &str) -> Result<(), String> {
        if self.0.is_empty() {
            return Ok(());
        }
        for (host, port) in hosts(kind, url) {
            let name = host.trim_end_matches('.').to_ascii_lowercase();
            if !self.0.iter().any(|rule| rule.matches(&name, port)) {
                return Err(format!("{host}:{port} is not one of the authority_targets"));
            }
        }
        Ok(())
    }
}

fn hosts(kind: &AuthorityKind, url: &str) -> Vec<(String, u16)> {
    match kind {
        AuthorityKind::Http | AuthorityKind::Allod { .. } => {
            let base: Option<BaseUrl> = url.parse().ok();
            base.map(|base| (base.origin.host().to_owned(), base.origin.port()))
                .into_iter()
                .collect()
        }
        AuthorityKind::Sql(_) => {
            // The parameters for TLS are not known to the driver.
            let base = url.split_once('?').map_or(url, |(base, _)| base);
            let config: tokio_postgres::Config = base.parse().unwrap_or_default();
            // `host=` and `hostaddr=` in the query name other servers than the one in front of it.
            let query = url.split_once('?').map_or("", |(_, query)| query);
            let named = query.split('&').filter_map(|part| {
                let (name, host) = part.split_once('=')?;
                matches!(name, "host" | "hostaddr").then_some(host)
            });
            let named = named.flat_map(|hosts| hosts.split(','));
            let named = named.map(|host| (host.to_owned(), POSTGRES_PORT));
            let ports = config.get_ports();
            let hosts = config.get_hosts().iter().enumerate().map(|(n, host)| {
                let port = ports.get(n).or(ports.first()).copied().unwrap_or(POSTGRES_PORT);
                match host {
                    Host::Tcp(host) => (host.clone(), port),
                    Host::Unix(path) => (path.display().to_string(), port),
                }
            });
            hosts.chain(named).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::connector::Statements;

    #[test]
    fn only_listed_hosts_are_allowed() {
        let all = AllowedTargets::default();
        assert!(all.ensure_allowed(&AuthorityKind::Http, "http://anywhere").is_ok());
        let rules = "ipam, db:5433, *.Example.org,[fd00::1]:80";
        let rules: AllowedTargets = rules.parse().unwrap();
        let sql = AuthorityKind::Sql(Statements::default());
        for (kind, url, is_allowed) in [
            (&AuthorityKind::Http, "http://ipam/x", true),
            (&AuthorityKind::Http, "https://IPAM.:8443", true),
            (&AuthorityKind::Http, "http://ipam.org", false),
            (&AuthorityKind::Http, "http://a.b.example.org", true),
            (&AuthorityKind::Http, "http://example.org", false),
            (&AuthorityKind::Http, "http://badexample.org", false),
            (&AuthorityKind::Http, "http://[fd00::1]/", true),
            (&AuthorityKind::Http, "http://[fd00::1]:81/", false),
            (&sql, "postgres://me@db:5433/x", true),
            (&sql, "postgres://me@db/x", false),
            (&sql, "postgres://me@db:5433,other:5433/x", false),
            (&sql, "postgres://me@db:5433/x?hostaddr=10.0.0.1", false),
            (&sql, "postgres://me@db:5433/x?sslmode=disable", true),
        ] {
            assert_eq!(rules.ensure_allowed(kind, url).is_ok(), is_allowed, "{url}");
        }
        for wrong in ["http://ipam", "ipam:x", "a*b", "*."] {
            assert!(wrong.parse::<AllowedTargets>().is_err(), "{wrong}");
        }
    }
}
