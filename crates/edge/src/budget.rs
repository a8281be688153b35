//! The memory of request bodies and replies in flight, limited for each client and for all clients together.
//!
//! A body or a reply of at most [`SMALL_BYTES_MAX`] is not counted, so that small requests are answered while the budget is
//! exhausted; their number is limited by the number of connections. Not here: what a handler needs while it runs.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::StatusCode;
use metrics::Gauge;

use crate::{HttpLimits, Identity, Problem};

/// Bodies and replies up to this length are not counted.
pub const SMALL_BYTES_MAX: u64 = 64 * 1024;

/// To whom bytes are counted: the name of the token or user, else the address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ClientKey {
    Named(Box<str>),
    /// IPv6 addresses without their lower half, which a client can choose.
    Address(IpAddr),
    Unknown,
}

impl ClientKey {
    pub(crate) fn of(identity: &Identity, peer: Option<IpAddr>) -> ClientKey {
        match (identity.name(), peer.map(|peer| peer.to_canonical())) {
            (Some(name), _) => ClientKey::Named(name.into()),
            (None, Some(IpAddr::V6(peer))) => {
                ClientKey::Address(Ipv6Addr::from_bits(peer.to_bits() >> 64 << 64).into())
            }
            (None, Some(peer)) => ClientKey::Address(peer),
            (None, None) => ClientKey::Unknown,
        }
    }
}

/// The bytes in flight of one server.
#[derive(Clone)]
pub(crate) struct ByteBudget(Arc<BudgetState>);

struct BudgetState {
    total_max: u64,
    client_max: u64,
    used: Mutex<UsedBytes>,
    gauge: Gauge,
}

#[derive(Default)]
struct UsedBytes {
    total: u64,
    /// Clients without counted bytes are absent.
    clients: HashMap<ClientKey, u64>,
}

/// The limit that is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetExceeded {
    Client { max: u64 },
    Total { max: u64 },
}

impl ByteBudget {
    pub(crate) fn new(limits: &HttpLimits, gauge: Gauge) -> ByteBudget {
        ByteBudget(Arc::new(BudgetState {
            total_max: limits.in_flight_bytes_max,
            client_max: limits.in_flight_bytes_per_client_max,
            used: Mutex::default(),
            gauge,
        }))
    }

    /// A share of no bytes yet.
    pub(crate) fn share(&self, client: ClientKey) -> ByteShare {
        ByteShare { budget: self.0.clone(), client, bytes: 0 }
    }
}

impl BudgetState {
    fn used(&self) -> MutexGuard<'_, UsedBytes> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that are counted until the share is dropped.
pub(crate) struct ByteShare {
    budget: Arc<BudgetState>,
    client: ClientKey,
    bytes: u64,
}

impl ByteShare {
    /// Counts `bytes` in all, if the budget has room. A share that is alone, of its client or of the server, may be
    /// larger than the limit: otherwise a reply above the limit could never be sent.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> Result<(), BudgetExceeded> {
        let more = bytes.saturating_sub(self.bytes);
        let mut used = self.budget.used();
        let of_client = used.clients.get(&self.client).copied().unwrap_or(0);
        let others_of_client = of_client - self.bytes;
        if others_of_client > 0 && of_client + more > self.budget.client_max {
            return Err(BudgetExceeded::Client { max: self.budget.client_max });
        }
        if used.total > self.bytes && used.total + more > self.budget.total_max {
            return Err(BudgetExceeded::Total { max: self.budget.total_max });
        }
        self.add(&mut used, more);
        drop(used);
        self.bytes += more;
        Ok(())
    }

    /// Counts `bytes` in all, even beyond the limits: for a reply that cannot be refused any more.
    pub(crate) fn force_to(&mut self, bytes: u64) {
        let more = bytes.saturating_sub(self.bytes);
        self.add(&mut self.budget.used(), more);
        self.bytes += more;
    }

    fn add(&self, used: &mut UsedBytes, more: u64) {
        if more > 0 {
            used.total += more;
            *used.clients.entry(self.client.clone()).or_default() += more;
            self.budget.gauge.set(used.total as f64);
        }
    }
}

impl Drop for ByteShare {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut used = self.budget.used();
        used.total -= self.bytes;
        if let Some(of_client) = used.clients.get_mut(&self.client) {
            *of_client -= self.bytes;
            if *of_client == 0 {
                used.clients.remove(&self.client);
            }
        }
        self.budget.gauge.set(used.total as f64);
    }
}

impl BudgetExceeded {
    pub(crate) fn problem(self) -> Problem {
        match self {
            BudgetExceeded::Client { max } => Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "client_bytes_exceeded",
                "too many bytes in flight",
                format!(
                    "the large requests and replies of this client that are not finished have {max} bytes together; in_flight_bytes_per_client_max is {max}; read the replies, or send fewer requests at a time"
                ),
            ),
            BudgetExceeded::Total { max } => Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "bytes_exceeded",
                "too many bytes in flight",
                format!(
                    "the large requests and replies that are not finished have {max} bytes together; in_flight_bytes_max is {max}; retry"
                ),
            ),
        }
        .retry_after(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> ByteBudget {
        let limits = HttpLimits {
            in_flight_bytes_max: 100,
            in_flight_bytes_per_client_max: 60,
            ..HttpLimits::default()
        };
        ByteBudget::new(&limits, Gauge::noop())
    }

    fn named(name: &str) -> ClientKey {
        ClientKey::Named(name.into())
    }

    #[test]
    fn shares_are_limited_by_client_and_in_total_and_return_when_dropped() {
        let budget = budget();
        let (mut a, mut a2) = (budget.share(named("a")), budget.share(named("a")));
        let (mut b, mut c) = (budget.share(named("b")), budget.share(named("c")));
        a.grow_to(40).unwrap();
        assert_eq!(a2.grow_to(21), Err(BudgetExceeded::Client { max: 60 }));
        a2.grow_to(20).unwrap();
        b.grow_to(40).unwrap();
        assert_eq!(c.grow_to(1), Err(BudgetExceeded::Total { max: 100 }));
        drop(a);
        c.grow_to(1).unwrap();
        a2.grow_to(59).unwrap();
        assert_eq!(c.grow_to(2), Err(BudgetExceeded::Total { max: 100 }));
        drop((a2, b, c));
        let used = budget.0.used();
        assert_eq!((used.total, used.clients.len()), (0, 0));
    }

    #[test]
    fn share_that_is_alone_may_exceed_the_limits() {
        let budget = budget();
        let mut alone = budget.share(named("a"));
        alone.grow_to(80).unwrap();
        alone.grow_to(1000).unwrap();
        assert!(budget.share(named("a")).grow_to(1).is_err());
        assert!(budget.share(named("b")).grow_to(1).is_err());
        let mut forced = budget.share(named("b"));
        forced.force_to(7);
        assert_eq!(budget.0.used().total, 1007);
    }

    #[test]
    fn client_is_the_name_or_else_the_address() {
        let of = |peer: &str| ClientKey::of(&Identity::Anonymous, Some(peer.parse().unwrap()));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_eq!(ClientKey::of(&Identity::Unrestricted, None), ClientKey::Unknown);
    }
}
