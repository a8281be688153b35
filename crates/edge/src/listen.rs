//! The listening socket: bind address check, connection limit, graceful stop.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::{App, Auth, Exporter, Problem, Tls, connection, tls};

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(
        "cannot listen on {address} with --auth {auth}, because every client could change everything: \
         listen on 127.0.0.1 or [::1], or use --auth tokens"
    )]
    Exposed { address: SocketAddr, auth: Auth },
    #[error("cannot listen on {address}: {error}")]
    Bind { address: SocketAddr, error: std::io::Error },
}

/// A bound socket that does not accept connections yet.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
}

/// How many refused connections get an error reply at one time; others are closed without one.
const REFUSALS_MAX: usize = 64;

impl Listener {
    /// `accept_queue`: how many connections may wait to be accepted; the kernel may have a smaller limit.
    pub async fn bind(
        address: SocketAddr,
        auth: Auth,
        accept_queue: u64,
    ) -> Result<Listener, ListenError> {
        match auth {
            Auth::None | Auth::NoAuth2 if !address.ip().to_canonical().is_loopback() => {
                return Err(ListenError::Exposed { address, auth });
            }
            Auth::None | Auth::NoAuth2 | Auth::Tokens => {}
        }
        let failed = |error| ListenError::Bind { address, error };
        let tcp = listen(address, accept_queue).map_err(failed)?;
        let address = tcp.local_addr().map_err(failed)?;
        Ok(Listener { tcp, address, tls: None })
    }

    /// Accepts only TLS on this socket.
    pub fn with_tls(self, tls: Arc<Tls>) -> Listener {
        Listener { tls: Some(tls), ..self }
    }

    /// Whether clients on other machines can connect without TLS.
    pub fn is_unencrypted_beyond_loopback(&self) -> bool {
        self.tls.is_none() && !self.address.ip().to_canonical().is_loopback()
    }

    /// The bound address; if port 0 was requested, it has the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` completes, then waits up to `stop_ms_max` for the requests in flight. Returns the number of
    /// connections that were still open after that.
    pub async fn serve(
        self,
        app: Arc<App>,
        exporter: Exporter,
        stop: impl Future<Output = ()>,
    ) -> usize {
        let upkeep = tokio::spawn(exporter.keep_up());
        let max = usize::try_from(app.limits.connections_max).unwrap_or(usize::MAX);
        let max = max.min(Semaphore::MAX_PERMITS);
        let slots = Arc::new(Semaphore::new(max));
        let (stopping, stopped) = watch::channel(());
        {
            let mut stop = std::pin::pin!(stop);
            let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
            loop {
                let accepted = tokio::select! {
                    accepted = self.tcp.accept() => accepted,
                    () = &mut stop => break,
                };
                match accepted {
                    Ok((tcp, peer)) => {
                        let tls = self.tls.as_ref();
                        admit(&app, tcp, peer.ip(), tls, &slots, &refusals, &stopped)
                    }
                    Err(error) => {
                        // Most likely the process is out of file descriptors; some close soon.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        }
        drop(self.tcp);
        drop(stopped);
        app.stop();
        stopping.send_replace(());
        let wait = Duration::from_millis(app.limits.stop_ms_max);
        let _ = tokio::time::timeout(wait, stopping.closed()).await;
        upkeep.abort();
        stopping.receiver_count()
    }
}

fn listen(address: SocketAddr, accept_queue: u64) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted server can bind while connections of the previous one are still closing.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    // The system call takes a signed number.
    socket.listen(accept_queue.min(i32::MAX as u64) as u32)
}

/// Starts a task for the connection unless `connections_max` is reached.
fn admit(
    app: &Arc<App>,
    tcp: TcpStream,
    peer: IpAddr,
    tls: Option<&Arc<Tls>>,
    slots: &Arc<Semaphore>,
    refusals: &Arc<Semaphore>,
    stopped: &watch::Receiver<()>,
) {
    // Replies are written whole, so waiting for more data would only delay them.
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(%error, "connection closed before it was served");
        return;
    }
    let Ok(slot) = slots.clone().try_acquire_owned() else {
        app.meter.connections_refused.increment(1);
        // With TLS a reply would need a handshake first.
        if tls.is_none()
            && let Ok(permit) = refusals.clone().try_acquire_owned()
        {
            let problem = too_many(app.limits.connections_max);
            tokio::spawn(async move {
                connection::send_and_close(tcp, &problem).await;
                drop(permit);
            });
        }
        return;
    };
    let (app, stopped) = (app.clone(), stopped.clone());
    // Two futures, so that a connection without TLS does not need the memory of one with TLS.
    match tls.cloned() {
        None => drop(tokio::spawn(async move {
            let _open = OpenConnection::new(app.clone(), slot);
            connection::serve(app, tcp, peer, stopped).await;
        })),
        Some(tls) => drop(tokio::spawn(async move {
            let _open = OpenConnection::new(app.clone(), slot);
            tls::serve(app, tls, tcp, peer, stopped).await;
        })),
    }
}

/// Occupies a connection slot and counts the connection while it is open.
struct OpenConnection {
    app: Arc<App>,
    _slot: OwnedSemaphorePermit,
}

impl OpenConnection {
    fn new(app: Arc<App>, slot: OwnedSemaphorePermit) -> OpenConnection {
        app.meter.connections.increment(1);
        OpenConnection { app, _slot: slot }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.app.meter.connections.decrement(1);
    }
}

fn too_many(max: u64) -> Problem {
    Problem::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "connections_exceeded",
        "too many connections",
        format!("all connections are in use; connections_max is {max}"),
    )
    .retry_after(1)
}

/// Catches SIGTERM and SIGINT. The future completes when one arrives.
pub fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
