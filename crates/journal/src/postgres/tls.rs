//! TLS for connections: either none, or with a verified certificate. TLS without verification is not supported, because it
//! does not protect against an impostor.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Verifies the server's certificate and its host name.
#[derive(Clone)]
pub struct PostgresTls {
    config: Arc<ClientConfig>,
}

impl std::fmt::Debug for PostgresTls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl PostgresTls {
    /// Trusts no certificate; for connections without TLS.
    pub fn none() -> Result<PostgresTls, String> {
        PostgresTls::trusting(RootCertStore::empty())
    }

    /// Trusts the authorities in this file, or those of the operating system.
    pub fn new(authorities: Option<&Path>) -> Result<PostgresTls, String> {
        let mut roots = RootCertStore::empty();
        match authorities {
            Some(path) => {
                let unreadable = |error: &dyn std::fmt::Display| {
                    format!("sslrootcert {}: {error}", path.display())
                };
                let found = CertificateDer::pem_file_iter(path);
                for certificate in found.map_err(|error| unreadable(&error))? {
                    let certificate = certificate.map_err(|error| unreadable(&error))?;
                    roots.add(certificate).map_err(|error| unreadable(&error))?;
                }
                if roots.is_empty() {
                    return Err(unreadable(&"it contains no certificate"));
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        PostgresTls::trusting(roots)
    }

    fn trusting(roots: RootCertStore) -> Result<PostgresTls, String> {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(PostgresTls { config: Arc::new(config) })
    }
}

impl MakeTlsConnect<Socket> for PostgresTls {
    type Stream = TlsSocket;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        Ok(Handshake { config: self.config.clone(), host: host.to_owned() })
    }
}

pub struct Handshake {
    config: Arc<ClientConfig>,
    /// Empty for a Unix socket, which does not use TLS.
    host: String,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = TlsSocket;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsSocket>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            TlsConnector::from(self.config).connect(name, socket).await.map(TlsSocket)
        })
    }
}

pub struct TlsSocket(client::TlsStream<Socket>);

impl TlsStream for TlsSocket {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for TlsSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for TlsSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
