//! TLS for client connections: which CA certificates to trust, and the rustls configuration. Servers are always verified;
//! client certificates are not supported.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The CA certificates to trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrustedRoots<'a> {
    /// Those of the operating system.
    System,
    /// Those in a PEM file, and no others.
    File(&'a Path),
    /// None: every handshake fails.
    Nothing,
}

impl<'a> TrustedRoots<'a> {
    pub fn file_or_system(file: Option<&'a Path>) -> TrustedRoots<'a> {
        file.map_or(TrustedRoots::System, TrustedRoots::File)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    #[error("the certificates in {} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("there is no certificate in {}", path.display())]
    NoCertificate { path: PathBuf },
    #[error("this machine has no trusted CA certificates")]
    NoSystemCertificates,
    #[error("'{0}' is not a valid TLS server name")]
    ServerName(String),
    #[error("TLS cannot be set up: {0}")]
    Configuration(String),
}

/// The configuration of a TLS client that trusts these CA certificates.
pub fn client_config(trusted: TrustedRoots<'_>) -> Result<Arc<ClientConfig>, TlsSetupError> {
    // The provider is named because rustls panics when several are compiled in and none is chosen.
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsSetupError::Configuration(error.to_string()))?
        .with_root_certificates(load_roots(trusted)?)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn load_roots(trusted: TrustedRoots<'_>) -> Result<RootCertStore, TlsSetupError> {
    let mut roots = RootCertStore::empty();
    match trusted {
        TrustedRoots::Nothing => {}
        TrustedRoots::System => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(TlsSetupError::NoSystemCertificates);
            }
        }
        TrustedRoots::File(path) => {
            let unreadable = |why: String| TlsSetupError::Unreadable { path: path.into(), why };
            let found = CertificateDer::pem_file_iter(path);
            for certificate in found.map_err(|error| unreadable(error.to_string()))? {
                let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(TlsSetupError::NoCertificate { path: path.into() });
            }
        }
    }
    Ok(roots)
}
