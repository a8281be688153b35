//! A server and how to connect to it: TCP, with TLS for `https`.

use std::fmt;
use std::io;
use std::time::Duration;

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::http_client::OutboundError;
use crate::tls::{TlsSetupError, TrustedRoots, client_config};

/// Scheme, host and port of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: Scheme,
    authority: Authority,
}

impl Origin {
    /// The origin of an `http` or `https` URL. `None` for other schemes, without a host, and with user information.
    pub fn of(uri: &Uri) -> Option<Origin> {
        let scheme = uri.scheme().filter(|s| **s == Scheme::HTTP || **s == Scheme::HTTPS)?;
        let authority = uri.authority()?;
        if authority.host().is_empty() || authority.as_str().contains('@') {
            return None;
        }
        Some(Origin { scheme: scheme.clone(), authority: authority.clone() })
    }

    /// The host, without the brackets that an IPv6 address has in a URL.
    pub fn host(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    pub fn port(&self) -> u16 {
        self.authority.port_u16().unwrap_or(if self.is_https() { 443 } else { 80 })
    }

    fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

/// An origin with its TLS set-up.
#[derive(Clone)]
pub struct Endpoint {
    origin: Origin,
    host_header: HeaderValue,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.origin.host(), self.origin.port())
    }
}

/// A connection, with TLS or without.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

impl Endpoint {
    /// Reads the CA certificates, if the origin is `https`.
    pub fn new(origin: Origin, trusted: TrustedRoots<'_>) -> Result<Endpoint, TlsSetupError> {
        let invalid = || TlsSetupError::ServerName(origin.host().to_owned());
        let tls = if origin.is_https() {
            let name = ServerName::try_from(origin.host().to_owned()).map_err(|_| invalid())?;
            Some((TlsConnector::from(client_config(trusted)?), name))
        } else {
            None
        };
        let host_header =
            HeaderValue::try_from(origin.authority.as_str()).map_err(|_| invalid())?;
        Ok(Endpoint { origin, host_header, tls })
    }

    /// The value of the `Host` header.
    pub fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    pub(crate) async fn connect(
        &self,
        wait_max: Duration,
    ) -> Result<Box<dyn ByteStream>, OutboundError> {
        let connecting = TcpStream::connect((self.origin.host(), self.origin.port()));
        let tcp = tokio::time::timeout(wait_max, connecting).await.unwrap_or_else(|_| {
            let why = format!("no answer within {} s", wait_max.as_secs_f64());
            Err(io::Error::new(io::ErrorKind::TimedOut, why))
        });
        let tcp = tcp.map_err(OutboundError::Unreachable)?;
        tcp.set_nodelay(true).map_err(OutboundError::Unreachable)?;
        match &self.tls {
            None => Ok(Box::new(tcp)),
            Some((connector, name)) => match connector.connect(name.clone(), tcp).await {
                Ok(stream) => Ok(Box::new(stream)),
                Err(error) => Err(OutboundError::Untrusted(error)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_host_has_no_brackets() {
        let origin = Origin::of(&"https://[::1]:8/x".parse().unwrap()).unwrap();
        assert_eq!((origin.host(), origin.port()), ("::1", 8));
        assert_eq!(origin.to_string(), "https://[::1]:8");
        assert_eq!(Origin::of(&"https://h/".parse().unwrap()).unwrap().port(), 443);
    }
}
