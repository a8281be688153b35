//! TLS: the server's certificate and the handshake.
//!
//! rustls with ring, TLS 1.2 and 1.3, ALPN offers only HTTP/1.1. A handshake counts as a connection and has a time limit.
//! When the files change, new connections get the new certificate and open ones continue.
//!
//! Not here: client certificates. Clients authenticate with tokens.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use http::StatusCode;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, InconsistentKeys, ServerConfig, version};
use tokio_rustls::server::TlsStream;

use crate::reload::{self, Reload, SourceFile};
use crate::{App, Problem, connection};

/// The certificate chain and key from the last valid pair of files.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    acceptor: RwLock<TlsAcceptor>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads both PEM files; the server's own certificate comes first in its file.
    pub fn open(certificate: &Path, key: &Path) -> Result<Arc<Tls>, String> {
        let paths = (certificate.to_owned(), key.to_owned());
        let empty = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::server::ResolvesServerCertUsingSni::new()));
        let acceptor = RwLock::new(TlsAcceptor::from(Arc::new(empty)));
        let tls = Arc::new(Tls { certificate: paths.0, key: paths.1, acceptor });
        reload::load(&*tls)?;
        Ok(tls)
    }

    fn acceptor(&self) -> TlsAcceptor {
        self.acceptor.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Reload for Tls {
    fn name(&self) -> &'static str {
        "certificate"
    }

    fn files(&self) -> Vec<SourceFile<'_>> {
        vec![
            SourceFile { path: &self.certificate, private: false },
            SourceFile { path: &self.key, private: true },
        ]
    }

    fn apply(&self, contents: Vec<Vec<u8>>) -> Result<(), String> {
        let [certificate, key] = contents.as_slice() else {
            return Err("expected a certificate and a key".to_owned());
        };
        let in_file = |path: &Path, why: String| format!("{}: {why}", path.display());
        let chain = read_chain(certificate).map_err(|why| in_file(&self.certificate, why))?;
        let key = read_key(key).map_err(|why| in_file(&self.key, why))?;
        let config = configure(chain, key).map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => format!(
                "the key in {} does not belong to the first certificate in {}",
                self.key.display(),
                self.certificate.display()
            ),
            rustls::Error::InvalidCertificate(why) => {
                in_file(&self.certificate, format!("the certificate is not valid: {why:?}"))
            }
            other => in_file(&self.key, format!("the key cannot be used: {other}")),
        })?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        *self.acceptor.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
        Ok(())
    }
}

fn read_chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err("the file has no certificate in PEM form".into()),
        Ok(chain) => Ok(chain),
        Err(error) => Err(format!("the file is not in PEM form: {error}")),
    }
}

/// Reads PKCS #8, SEC1 and PKCS #1 keys. Errors do not contain the contents of the file.
fn read_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let encrypted = pem.windows(9).any(|part| part == b"ENCRYPTED");
    PrivateKeyDer::from_pem_slice(pem).map_err(|_| {
        let why = match encrypted {
            true => "the key is encrypted; decrypt it with 'openssl pkey'",
            false => "the file has no private key in PEM form",
        };
        why.to_owned()
    })
}

fn configure(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Performs the handshake, then serves the connection like any other.
pub(crate) async fn serve(
    app: Arc<App>,
    tls: Arc<Tls>,
    tcp: TcpStream,
    peer: IpAddr,
    mut stop: watch::Receiver<()>,
) {
    let wait = Duration::from_millis(app.limits.handshake_ms_max);
    let handshaken = tokio::select! {
        handshaken = tokio::time::timeout(wait, handshake(&tls, tcp)) => handshaken,
        _ = stop.changed() => return,
    };
    match handshaken {
        Ok(Ok(stream)) => connection::serve(app, stream, peer, stop).await,
        Ok(Err(error)) => {
            app.meter.handshakes_failed.increment(1);
            tracing::debug!(%error, "TLS handshake failed");
        }
        Err(_) => {
            app.meter.handshakes_failed.increment(1);
            tracing::debug!(
                handshake_ms_max = app.limits.handshake_ms_max,
                "TLS handshake timed out"
            );
        }
    }
}

async fn handshake(tls: &Tls, tcp: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
    let mut first = [0];
    tcp.peek(&mut first).await?;
    // A TLS record starts with byte 22, an HTTP request with a letter.
    if first[0].is_ascii_alphabetic() {
        connection::send_and_close(tcp, &tls_required()).await;
        return Err(std::io::Error::other("the client sent HTTP without TLS"));
    }
    tls.acceptor().accept(tcp).await
}

fn tls_required() -> Problem {
    Problem::new(
        StatusCode::BAD_REQUEST,
        "tls_required",
        "TLS required",
        "the request was sent without TLS; use https:// in the address",
    )
}
