//! Where the server is, and how it is reached.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::failed::{Failed, advised};

const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A server by its URL. A path in it is put before every path that is asked for, for servers behind a proxy.
#[derive(Debug, Clone)]
pub struct Server {
    secure: bool,
    authority: Authority,
    before: String,
    /// Certificates that vouch for the server, instead of those that this machine trusts.
    pub ca: Option<PathBuf>,
}

/// A connection, with TLS or without.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority, self.before)
    }
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Server, String> {
        let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let expected = || format!("'{text}' is no server; one is http://127.0.0.1:8778");
        let uri: Uri = whole.parse().map_err(|_| expected())?;
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(expected()),
        };
        let authority = uri.authority().cloned().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(expected)?;
        if uri.query().is_some() || authority.as_str().contains('@') {
            return Err(expected());
        }
        let before = uri.path().trim_end_matches('/').to_owned();
        Ok(Server { secure, authority, before, ca: None })
    }
}

impl Server {
    /// The target of a request for `path`.
    pub(super) fn target(&self, path: &str) -> Result<Uri> {
        format!("{}{path}", self.before).parse().with_context(|| format!("the path {path}"))
    }

    pub(super) fn host_header(&self) -> Result<HeaderValue> {
        Ok(HeaderValue::try_from(self.authority.as_str())?)
    }

    /// The host without the brackets that an IPv6 address has in a URL.
    fn host(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    pub(super) async fn connect(&self) -> Result<Box<dyn Io>, Failed> {
        let port = self.authority.port_u16().unwrap_or(if self.secure { 443 } else { 80 });
        let connecting = TcpStream::connect((self.host(), port));
        let tcp = match tokio::time::timeout(CONNECT_MAX, connecting).await {
            Ok(Ok(tcp)) => tcp,
            Ok(Err(error)) => return Err(self.unreachable(&error.to_string())),
            Err(_) => {
                let seconds = CONNECT_MAX.as_secs();
                return Err(self.unreachable(&format!("no answer within {seconds} s")));
            }
        };
        tcp.set_nodelay(true).map_err(|error| self.unreachable(&error.to_string()))?;
        if self.secure { self.secured(tcp).await } else { Ok(Box::new(tcp)) }
    }

    fn unreachable(&self, why: &str) -> Failed {
        Failed::Running(advised(
            format!("no server answers at {self}: {why}"),
            "start one with `allod serve`, or name another with --server or ALLOD_SERVER",
        ))
    }

    /// Everything about TLS: whom to trust, and the handshake.
    async fn secured(&self, tcp: TcpStream) -> Result<Box<dyn Io>, Failed> {
        let roots = roots(self.ca.as_deref()).map_err(Failed::Asked)?;
        // Named, because a process that has several providers of cryptography chooses none by itself.
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Failed::Running(error.into()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(self.host().to_owned())
            .map_err(|error| Failed::Asked(anyhow!("'{}': {error}", self.host())))?;
        let secured = TlsConnector::from(Arc::new(config)).connect(name, tcp).await;
        match secured {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(Failed::Running(advised(
                format!("{self} cannot be trusted: {error}"),
                "name the certificate that vouches for it with --ca, or use http:// if it does not speak TLS",
            ))),
        }
    }
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = ca {
        let unreadable = || format!("the certificates in {} cannot be read", path.display());
        for certificate in CertificateDer::pem_file_iter(path).with_context(unreadable)? {
            roots.add(certificate.with_context(unreadable)?).with_context(unreadable)?;
        }
        if roots.is_empty() {
            return Err(anyhow!("there is no certificate in {}", path.display()));
        }
    } else {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            return Err(advised(
                "this machine has no certificates that it trusts",
                "name the one that vouches for the server with --ca",
            ));
        }
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_from_its_url() {
        for (text, shown, target) in [
            ("http://127.0.0.1:8778", "http://127.0.0.1:8778", "/v1/pools"),
            ("127.0.0.1:8778", "http://127.0.0.1:8778", "/v1/pools"),
            ("https://[::1]/allod/", "https://[::1]/allod", "/allod/v1/pools"),
            ("https://host", "https://host", "/v1/pools"),
        ] {
            let server: Server = text.parse().unwrap();
            assert_eq!(server.to_string(), shown);
            assert_eq!(server.target("/v1/pools").unwrap(), target);
        }
        assert_eq!("https://[::1]:8".parse::<Server>().unwrap().host(), "::1");
        for text in ["", "ftp://host", "http://", "http://a b", "http://user:pw@host", "http://h?q"]
        {
            let error = text.parse::<Server>().unwrap_err();
            assert!(error.contains("is no server; one is http://127.0.0.1:8778"), "{error}");
        }
    }
}
