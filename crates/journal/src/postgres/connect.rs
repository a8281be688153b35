//! Connects to the host of an address that can be written.
//!
//! A host that accepts connections and never answers must not keep the others from being tried. So each host has the whole
//! time limit for itself, and the next one is tried soon, while the one before is still given its time. The host that
//! answered last is tried first.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use allod_outbound::postgres::{PostgresTls, Secured};
use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, Connection, Error, Socket};

use super::address::PostgresAddress;
use super::errors::{describe, is_permanent};
use super::session::CALL_WAIT_MAX;

/// How long the next host waits for the one before it.
const NEXT_AFTER: Duration = Duration::from_millis(250);
/// How soon a host that answered with an error is tried again while another one does not answer: it may be promoted.
const AGAIN_AFTER: Duration = Duration::from_millis(300);

/// A host by its place in the address, and by its IP address if its name has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostId {
    place: usize,
    ip: Option<IpAddr>,
}

/// Which host to try first, and which one last.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostOrder {
    /// It answered last, and could be written.
    pub preferred: Option<HostId>,
    /// It did not answer in time.
    pub avoided: Option<HostId>,
}

impl HostOrder {
    /// Hosts are tried in the order of their ranks. The addresses of a name are known only after its lookup, so a name has
    /// the rank of any of them.
    fn rank(&self, host: HostId) -> u8 {
        let is = |other: Option<HostId>| {
            other.is_some_and(|other| {
                other.place == host.place && (host.ip.is_none() || host.ip == other.ip)
            })
        };
        match (is(self.preferred), is(self.avoided)) {
            (true, false) => 0,
            (false, true) => 2,
            _ => 1,
        }
    }
}

/// A connection that can be written, as far as the server said.
pub struct HostConnection {
    pub client: Client,
    pub connection: Connection<Socket, Secured>,
    pub host: HostId,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum ConnectError {
    /// No host can be used at present.
    Unreachable(String),
    /// Every host refuses the connection, and retrying is useless.
    Refused(Error),
}

#[derive(Clone)]
struct CandidateHost {
    host: HostId,
    /// As in the address.
    name: String,
    /// With this host only.
    config: Config,
    wait_max: Duration,
}

enum TryOutcome {
    Connected(Box<HostConnection>),
    /// The name has these addresses.
    Several(Vec<IpAddr>),
    Refused(Error),
    NoAnswer,
}

/// A finished attempt at one host.
struct Tried {
    candidate: CandidateHost,
    /// Not the first attempt at this host.
    again: bool,
    outcome: TryOutcome,
}

struct HostFailure {
    name: String,
    /// `None`: it did not answer in time.
    error: Option<Error>,
}

/// Connects to the first host that can be written. Ends when every host has had its time.
pub async fn connect(
    address: &PostgresAddress,
    order: HostOrder,
) -> Result<HostConnection, ConnectError> {
    let mut waiting = VecDeque::from(candidates(address));
    waiting.make_contiguous().sort_by_key(|candidate| order.rank(candidate.host));
    let mut tries = JoinSet::new();
    let mut open = 0_usize;
    let mut failures = Vec::new();
    let mut start = true;
    let ended = loop {
        if (start || open == 0)
            && let Some(candidate) = waiting.pop_front()
        {
            tries.spawn(try_host(candidate, address.tls.clone(), None));
            open += 1;
        }
        start = false;
        if open == 0 {
            break Err(summary(failures));
        }
        let wait_max = if waiting.is_empty() { Duration::MAX } else { NEXT_AFTER };
        let Ok(Some(tried)) = timeout(wait_max, tries.join_next()).await else {
            start = true;
            continue;
        };
        let Ok(Tried { candidate, again, outcome }) = tried else {
            // It panicked, which the runtime has logged.
            open -= 1;
            continue;
        };
        open -= usize::from(!again);
        let name = candidate.name.clone();
        match outcome {
            TryOutcome::Connected(connected) => break Ok(*connected),
            TryOutcome::Several(ips) => {
                let mut each: Vec<CandidateHost> = ips.iter().map(|&ip| candidate.at(ip)).collect();
                each.sort_by_key(|candidate| order.rank(candidate.host));
                each.into_iter().rev().for_each(|candidate| waiting.push_front(candidate));
            }
            TryOutcome::Refused(error) => {
                tries.spawn(try_host(candidate, address.tls.clone(), Some(AGAIN_AFTER)));
                if !again {
                    failures.push(HostFailure { name, error: Some(error) });
                }
            }
            TryOutcome::NoAnswer if !again => failures.push(HostFailure { name, error: None }),
            TryOutcome::NoAnswer => {}
        }
        start = !again;
    };
    // Closes the connections to the other hosts.
    tries.shutdown().await;
    ended
}

/// One candidate for each host of the address.
fn candidates(address: &PostgresAddress) -> Vec<CandidateHost> {
    let config = &address.config;
    let wait_max = *config.get_connect_timeout().unwrap_or(&CALL_WAIT_MAX);
    let hosts = config.get_hosts().iter().enumerate();
    let each = hosts.map(|(place, host)| CandidateHost {
        host: HostId { place, ip: None },
        name: match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        },
        config: address.config_of(place),
        wait_max,
    });
    each.collect()
}

impl CandidateHost {
    /// One of several addresses of its name.
    fn at(&self, ip: IpAddr) -> CandidateHost {
        let mut config = self.config.clone();
        config.hostaddr(ip);
        let host = HostId { ip: Some(ip), ..self.host };
        CandidateHost {
            host,
            name: format!("{} ({ip})", self.name),
            config,
            wait_max: self.wait_max,
        }
    }

    /// The addresses of its name, if there are several to choose from.
    async fn several(&self) -> Option<Vec<IpAddr>> {
        let Host::Tcp(name) = self.config.get_hosts().first()? else { return None };
        if !self.config.get_hostaddrs().is_empty() {
            return None;
        }
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        // A failed lookup is repeated, and reported, by the driver.
        let found = lookup_host((name.as_str(), port)).await.ok()?;
        let mut ips: Vec<IpAddr> = Vec::new();
        for ip in found.map(|address| address.ip()) {
            if !ips.contains(&ip) {
                ips.push(ip);
            }
        }
        (ips.len() > 1).then_some(ips)
    }
}

/// Tries one host, from the lookup of its name to the check that it can be written, within its time limit.
async fn try_host(candidate: CandidateHost, tls: PostgresTls, after: Option<Duration>) -> Tried {
    if let Some(after) = after {
        sleep(after).await;
    }
    let attempt = async {
        if let Some(ips) = candidate.several().await {
            return TryOutcome::Several(ips);
        }
        match candidate.config.connect(tls).await {
            Ok((client, connection)) => {
                let host = candidate.host;
                TryOutcome::Connected(Box::new(HostConnection { client, connection, host }))
            }
            Err(error) => TryOutcome::Refused(error),
        }
    };
    let outcome = timeout(candidate.wait_max, attempt).await.unwrap_or(TryOutcome::NoAnswer);
    Tried { candidate, again: after.is_some(), outcome }
}

/// A refusal is permanent only if no host may answer otherwise later.
fn summary(mut failures: Vec<HostFailure>) -> ConnectError {
    let permanent = |failure: &HostFailure| {
        failure.error.as_ref().and_then(Error::code).is_some_and(is_permanent)
    };
    if failures.iter().all(permanent)
        && let Some(error) = failures.pop().and_then(|failure| failure.error)
    {
        return ConnectError::Refused(error);
    }
    let alone = failures.len() == 1;
    let texts = failures.iter().map(|HostFailure { name, error }| {
        let what = match error {
            Some(error) => describe(error),
            None => "it accepts no connection, or does not answer".to_owned(),
        };
        if alone { what } else { format!("{name}: {what}") }
    });
    ConnectError::Unreachable(texts.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_that_answered_last_is_first_and_a_silent_one_is_last() {
        let host = |place, ip: Option<&str>| HostId { place, ip: ip.map(|ip| ip.parse().unwrap()) };
        let order =
            HostOrder { preferred: Some(host(1, Some("10.0.0.2"))), avoided: Some(host(0, None)) };
        let mut hosts = vec![
            host(0, None),
            host(1, Some("10.0.0.1")),
            host(1, Some("10.0.0.2")),
            host(1, None),
            host(2, None),
        ];
        hosts.sort_by_key(|host| order.rank(*host));
        assert_eq!(
            hosts,
            [
                host(1, Some("10.0.0.2")),
                host(1, None),
                host(1, Some("10.0.0.1")),
                host(2, None),
                host(0, None),
            ]
        );
    }
}
