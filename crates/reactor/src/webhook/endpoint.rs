//! The server of a webhook, and how to connect to it: TCP or TLS.
//!
//! The settings determine the server; the contents of a notification cannot change it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use http::uri::{Authority, Scheme};
use http::{HeaderValue, Uri};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub(super) struct Endpoint {
    host: String,
    port: u16,
    host_header: HeaderValue,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A connection, with TLS or without.
pub(super) trait AsyncIo: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> AsyncIo for T {}

impl Endpoint {
    /// The server of a URL. What follows the server may be a template.
    pub fn new(url: &str, ca: Option<&Path>) -> Result<Endpoint, String> {
        let wrong = || format!("'{url}' is not a valid address; use http://host:8080/path");
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let server = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let uri: Uri = format!("{scheme}://{server}/").parse().map_err(|_| wrong())?;
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(wrong()),
        };
        let authority: &Authority = uri.authority().ok_or_else(wrong)?;
        if authority.host().is_empty() || authority.as_str().contains(['@', '{', '}']) {
            return Err(wrong());
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = if secure { Some(tls(&host, ca)?) } else { None };
        let host_header = HeaderValue::try_from(authority.as_str()).map_err(|_| wrong())?;
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Endpoint { host, port, host_header, tls })
    }

    pub fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    pub async fn connect(&self) -> Result<Box<dyn AsyncIo>, String> {
        let tcp = TcpStream::connect((&*self.host, self.port)).await;
        let tcp = tcp.map_err(|error| format!("{self:?} cannot be reached: {error}"))?;
        // Only an optimisation, so an error does not matter.
        drop(tcp.set_nodelay(true));
        match &self.tls {
            None => Ok(Box::new(tcp)),
            Some((connector, name)) => match connector.connect(name.clone(), tcp).await {
                Ok(stream) => Ok(Box::new(stream)),
                Err(error) => Err(format!("TLS with {self:?} failed: {error}")),
            },
        }
    }
}

fn tls(host: &str, ca: Option<&Path>) -> Result<(TlsConnector, ServerName<'static>), String> {
    let name =
        ServerName::try_from(host.to_owned()).map_err(|error| format!("'{host}': {error}"))?;
    // Explicit, because rustls chooses no default if several crypto providers are compiled in.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots(ca)?)
        .with_no_client_auth();
    Ok((TlsConnector::from(Arc::new(config)), name))
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            let path_shown = path.display();
            let unreadable = |error: &dyn fmt::Display| {
                format!("the certificates in {path_shown} cannot be read: {error}")
            };
            for certificate in CertificateDer::pem_file_iter(path).map_err(|e| unreadable(&e))? {
                let certificate = certificate.map_err(|error| unreadable(&error))?;
                roots.add(certificate).map_err(|error| unreadable(&error))?;
            }
            if roots.is_empty() {
                return Err(format!("{path_shown} contains no certificate"));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err("this machine has no trusted certificates; name a file with ca".into());
            }
        }
    }
    Ok(roots)
}
