//! Webhooks over TLS: the certificate must be valid.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::outbox::world::{World, hasty, webhooks};

/// A server that answers everything with 204, and its CA certificate.
async fn secure() -> (std::net::SocketAddr, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(tcp).await else { continue };
            let mut some = [0; 4096];
            drop(stream.read(&mut some).await);
            drop(stream.write_all(b"HTTP/1.1 204 X\r\n\r\n").await);
            drop(stream.shutdown().await);
        }
    });
    (address, made.cert.pem())
}

#[tokio::test]
async fn webhook_with_an_unknown_certificate_gets_nothing() {
    let world = World::new().await;
    world.pool("p").await;
    let (address, certificate) = secure().await;
    let (_, stranger) = secure().await;
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("ca.pem", certificate), ("stranger.pem", stranger)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let settings = |ca: &str| {
        let ca = folder.path().join(ca);
        let ca = ca.display();
        webhooks(&format!("[[webhook]]\nurl = \"https://{address}/\"\nca = \"{ca}\"\n"))
    };
    world.ask("p", &[("a", "/s")]).await;
    let reactor = world.react(&settings("stranger.pem"), hasty());
    world.until("it is not given up", |all| all[0].due_ms.is_none()).await;
    let dead = world.outbox().remove(0);
    assert!(dead.error.as_ref().unwrap().contains("cannot be trusted"), "{dead:?}");
    reactor.stop().await;
    let reactor = world.react(&settings("ca.pem"), hasty());
    world.ask("p", &[("b", "/s")]).await;
    world.until("it is not delivered", |all| all.len() == 1).await;
    reactor.stop().await;
}
