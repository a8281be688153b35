//! TLS for connections to PostgreSQL. With TLS, the server's certificate is always verified.
//!
//! Only the set-up is here. The connections and their statements belong to the journal and to the reactor.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::tls::{TlsSetupError, TrustedRoots, client_config};

/// Verifies the certificate of the server, and that it is for the host in the address.
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
    /// The set-up for an `sslmode` of a connection URL, and the driver's own mode for it. There is no mode with TLS that
    /// does not verify the server.
    pub fn for_mode(mode: &str, roots: Option<&Path>) -> Result<(SslMode, PostgresTls), String> {
        match mode {
            "disable" => Ok((SslMode::Disable, PostgresTls::none()?)),
            "require" | "verify-full" => Ok((SslMode::Require, PostgresTls::new(roots)?)),
            other => Err(format!(
                "sslmode is '{other}'; known are disable and verify-full, and require, which also verifies"
            )),
        }
    }

    /// Trusts no certificate, for connections without TLS.
    pub fn none() -> Result<PostgresTls, String> {
        let config = client_config(TrustedRoots::Nothing).map_err(|error| error.to_string())?;
        Ok(PostgresTls { config })
    }

    /// Trusts the CA certificates in this file, or those of the system.
    pub fn new(file: Option<&Path>) -> Result<PostgresTls, String> {
        match client_config(TrustedRoots::file_or_system(file)) {
            Ok(config) => Ok(PostgresTls { config }),
            // Reported by the handshake, which says which server is not trusted.
            Err(TlsSetupError::NoSystemCertificates) => PostgresTls::none(),
            Err(error) => Err(format!("sslrootcert: {error}")),
        }
    }
}

impl MakeTlsConnect<Socket> for PostgresTls {
    type Stream = Secured;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        Ok(Handshake { config: self.config.clone(), host: host.to_owned() })
    }
}

/// A TLS handshake with one server.
pub struct Handshake {
    config: Arc<ClientConfig>,
    /// Empty for a Unix socket, which has no TLS.
    host: String,
}

impl std::fmt::Debug for Handshake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handshake({})", self.host)
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Secured;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host).map_err(io::Error::other)?;
            TlsConnector::from(self.config).connect(name, socket).await.map(Secured)
        })
    }
}

/// A connection with TLS.
pub struct Secured(client::TlsStream<Socket>);

impl std::fmt::Debug for Secured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secured")
    }
}

impl TlsStream for Secured {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Secured {
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
