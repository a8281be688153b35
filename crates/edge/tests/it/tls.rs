//! TLS with real clients: trust, certificate reload, and handshakes that fail or do not end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use allod_edge::{Access, App, Auth, Exporter, HttpLimits, Listener, Reload, Reply, Route, Tls};
use http::Method;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ProtocolVersion, RootCertStore, version};

type Versions = &'static [&'static tokio_rustls::rustls::SupportedProtocolVersion];

const ANY_VERSION: Versions = &[&version::TLS13, &version::TLS12];
const OLD_VERSION: Versions = &[&version::TLS12];

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for `localhost` and its key, both in PEM form.
    fn sign(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// A client that trusts only this authority.
    fn client(&self, versions: Versions, protocols: &[&str]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).unwrap();
        let mut config = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }
}

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new((certificate, key): (String, String)) -> Files {
        let files = Files { folder: tempfile::tempdir().unwrap() };
        std::fs::write(files.certificate(), certificate).unwrap();
        std::fs::write(files.key(), key).unwrap();
        files
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    fn open(&self) -> Result<Arc<Tls>, String> {
        Tls::open(&self.certificate(), &self.key())
    }

    fn read(&self) -> Vec<Vec<u8>> {
        [self.certificate(), self.key()].map(|path| std::fs::read(path).unwrap()).into()
    }
}

async fn serve(tls: Arc<Tls>, limits: HttpLimits) -> SocketAddr {
    let hello =
        Route::new(Method::GET, "/hello", Access::Open, |_| async { Reply::new("hello\n".into()) });
    let app = Arc::new(App::new(vec![hello], limits).unwrap());
    let anywhere = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(anywhere, Auth::None, 16).await.unwrap().with_tls(tls);
    let address = listener.address();
    tokio::spawn(listener.serve(app, Exporter::install(), std::future::pending()));
    address
}

async fn connect(
    client: &TlsConnector,
    address: SocketAddr,
) -> std::io::Result<TlsStream<TcpStream>> {
    let tcp = TcpStream::connect(address).await?;
    client.connect(ServerName::try_from("localhost").unwrap(), tcp).await
}

/// Sends a request on a connection that stays open.
async fn hello(stream: &mut TlsStream<TcpStream>) -> String {
    stream.write_all(b"GET /hello HTTP/1.1\r\n\r\n").await.unwrap();
    let mut reply = Vec::new();
    while !reply.ends_with(b"hello\n") {
        assert!(stream.read_buf(&mut reply).await.unwrap() > 0, "closed");
    }
    String::from_utf8(reply).unwrap()
}

fn shown_certificate(stream: &TlsStream<TcpStream>) -> Vec<u8> {
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

#[tokio::test]
async fn client_that_trusts_the_authority_is_served() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let address = serve(Files::new(ours.sign()).open().unwrap(), HttpLimits::default()).await;
    for (versions, agreed) in
        [(ANY_VERSION, ProtocolVersion::TLSv1_3), (OLD_VERSION, ProtocolVersion::TLSv1_2)]
    {
        let mut stream = connect(&ours.client(versions, &["http/1.1"]), address).await.unwrap();
        assert_eq!(stream.get_ref().1.protocol_version(), Some(agreed));
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        assert!(hello(&mut stream).await.starts_with("HTTP/1.1 200 "));
        assert!(hello(&mut stream).await.starts_with("HTTP/1.1 200 "));
    }
    // Without ALPN it is HTTP/1.1. A client that offers only HTTP/2 is refused in the handshake.
    let mut stream = connect(&ours.client(ANY_VERSION, &[]), address).await.unwrap();
    hello(&mut stream).await;
    assert!(connect(&ours.client(ANY_VERSION, &["h2"]), address).await.is_err());
    let error = connect(&theirs.client(ANY_VERSION, &[]), address).await.unwrap_err();
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
}

#[tokio::test]
async fn new_certificate_is_used_for_new_connections_and_an_invalid_pair_is_not() {
    let authority = Authority::new();
    let files = Files::new(authority.sign());
    let tls = files.open().unwrap();
    let address = serve(tls.clone(), HttpLimits::default()).await;
    let client = authority.client(ANY_VERSION, &[]);
    let mut old = connect(&client, address).await.unwrap();
    let first = shown_certificate(&old);
    hello(&mut old).await;

    // Only one of the two files has been replaced.
    let (certificate, key) = authority.sign();
    std::fs::write(files.certificate(), certificate).unwrap();
    let error = tls.apply(files.read()).unwrap_err();
    assert!(error.contains("does not belong to the first certificate"), "{error}");
    let mut between = connect(&client, address).await.unwrap();
    assert_eq!(shown_certificate(&between), first);
    hello(&mut between).await;

    std::fs::write(files.key(), key).unwrap();
    tls.apply(files.read()).unwrap();
    let mut new = connect(&client, address).await.unwrap();
    assert_ne!(shown_certificate(&new), first);
    hello(&mut new).await;
    hello(&mut old).await;
}

#[tokio::test]
async fn handshake_that_does_not_end_times_out_and_frees_its_slot() {
    let authority = Authority::new();
    let limits = HttpLimits { handshake_ms_max: 200, connections_max: 3, ..HttpLimits::default() };
    let address = serve(Files::new(authority.sign()).open().unwrap(), limits).await;
    let mut stalled = Vec::new();
    for bytes in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01"] {
        let mut tcp = TcpStream::connect(address).await.unwrap();
        tcp.write_all(bytes).await.unwrap();
        stalled.push(tcp);
    }
    let began = Instant::now();
    for tcp in &mut stalled {
        let _ = tcp.read_to_end(&mut Vec::new()).await;
    }
    assert!(began.elapsed() < Duration::from_secs(10));
    // Their slots are free again.
    let client = authority.client(ANY_VERSION, &[]);
    loop {
        match connect(&client, address).await {
            Ok(mut stream) => break drop(hello(&mut stream).await),
            Err(_) if began.elapsed() < Duration::from_secs(10) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Sends bytes without TLS and reads until the server closes the connection.
async fn send(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(bytes).await.unwrap();
    let mut reply = Vec::new();
    let _ = tcp.read_to_end(&mut reply).await;
    reply
}

#[tokio::test]
async fn plain_http_and_tls_1_1_are_refused() {
    let authority = Authority::new();
    let address = serve(Files::new(authority.sign()).open().unwrap(), HttpLimits::default()).await;
    let plain = send(address, b"GET /hello HTTP/1.1\r\n\r\n").await;
    let plain = String::from_utf8(plain).unwrap();
    assert!(plain.starts_with("HTTP/1.1 400 ") && plain.contains("use https://"), "{plain}");
    assert!(!plain.contains("hello\n"), "{plain}");
    // A handwritten TLS 1.1 hello, because rustls cannot send one. The reply is an alert (21).
    let ciphers = b"\x00\x02\x00\x2f";
    let body = [&b"\x03\x02"[..], &[7; 32], b"\x00", ciphers, b"\x01\x00"].concat();
    let message = [&[1, 0, 0, body.len() as u8][..], &body].concat();
    let record = [&[22, 3, 1, 0, message.len() as u8][..], &message].concat();
    let reply = send(address, &record).await;
    assert_eq!(reply.first(), Some(&21), "{reply:?}");
    // Garbage after the first byte of a handshake.
    let reply = send(address, &[22; 600]).await;
    assert!(!reply.starts_with(b"HTTP"), "{reply:?}");
    let mut stream = connect(&authority.client(ANY_VERSION, &[]), address).await.unwrap();
    hello(&mut stream).await;
}

#[test]
fn each_unusable_file_has_its_own_error() {
    let authority = Authority::new();
    let (certificate, key) = authority.sign();
    let (_, other_key) = authority.sign();
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let hollow = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (certificate, key, words) in [
        ("", key.as_str(), "certificate.pem: the file has no certificate"),
        (&key, &key, "certificate.pem: the file has no certificate"),
        (no_certificate, &key, "certificate.pem: the certificate is not valid"),
        (&certificate, "", "key.pem: the file has no private key"),
        (&certificate, &certificate, "key.pem: the file has no private key"),
        (&certificate, &encrypted, "key.pem: the key is encrypted"),
        (&certificate, hollow, "key.pem: the key cannot be used"),
        (&certificate, &other_key, "does not belong to the first certificate"),
    ] {
        let files = Files::new((certificate.to_owned(), key.to_owned()));
        let error = files.open().unwrap_err();
        assert!(error.contains(words), "{error}");
    }
    let error = Tls::open(Path::new("/nowhere.pem"), Path::new("/nowhere.key")).unwrap_err();
    assert!(error.contains("cannot read /nowhere.pem"), "{error}");
}
