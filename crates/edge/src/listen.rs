//! The listening socket: who may reach it, how many at once, and how it stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::{App, Auth, Exporter, Problem, Tls, connection, tls};

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(
        "with --auth {auth} anybody who reaches the server may change everything, so it does not listen on {address}: \
         listen on 127.0.0.1 or [::1], or use --auth tokens"
    )]
    Exposed { address: SocketAddr, auth: Auth },
    #[error("cannot listen on {address}: {error}")]
    Bind { address: SocketAddr, error: std::io::Error },
}

/// A bound socket that does not accept yet.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
    tls: Option<Arc<Tls>>,
}

/// Connections that are told that there are too many, at one time; beyond that they are closed without a word.
const REFUSALS_MAX: usize = 64;

impl Listener {
    pub async fn bind(address: SocketAddr, auth: Auth) -> Result<Listener, ListenError> {
        match auth {
            Auth::None | Auth::NoAuth2 if !address.ip().to_canonical().is_loopback() => {
                return Err(ListenError::Exposed { address, auth });
            }
            Auth::None | Auth::NoAuth2 | Auth::Tokens => {}
        }
        let failed = |error| ListenError::Bind { address, error };
        let tcp = TcpListener::bind(address).await.map_err(failed)?;
        let address = tcp.local_addr().map_err(failed)?;
        Ok(Listener { tcp, address, tls: None })
    }

    /// Speaks TLS, and nothing else, on this socket.
    pub fn with_tls(self, tls: Arc<Tls>) -> Listener {
        Listener { tls: Some(tls), ..self }
    }

    /// Whether what is sent can be read on the way: there is no TLS, and somebody may come from another machine.
    pub fn is_readable_on_the_way(&self) -> bool {
        self.tls.is_none() && !self.address.ip().to_canonical().is_loopback()
    }

    /// Where it listens, with the real port when port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is done, then until what is in flight is answered, at most `stop_ms_max`. Says how many
    /// connections were cut off.
    pub async fn serve(
        self,
        app: Arc<App>,
        exporter: Exporter,
        stop: impl Future<Output = ()>,
    ) -> usize {
        let upkeep = tokio::spawn(exporter.keep_up());
        let max = usize::try_from(app.limits.connections_max).unwrap_or(usize::MAX);
        let max = max.min(Semaphore::MAX_PERMITS);
        let places = Arc::new(Semaphore::new(max));
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
                    Ok((tcp, _)) => {
                        admit(&app, tcp, self.tls.as_ref(), &places, &refusals, &stopped)
                    }
                    Err(error) => {
                        // Out of file descriptors, most likely: some close soon.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                }
            }
        }
        drop(self.tcp);
        drop(stopped);
        stopping.send_replace(());
        let wait = Duration::from_millis(app.limits.stop_ms_max);
        let _ = tokio::time::timeout(wait, stopping.closed()).await;
        upkeep.abort();
        stopping.receiver_count()
    }
}

/// Starts a task for the connection if there is a place for it.
fn admit(
    app: &Arc<App>,
    tcp: TcpStream,
    tls: Option<&Arc<Tls>>,
    places: &Arc<Semaphore>,
    refusals: &Arc<Semaphore>,
    stopped: &watch::Receiver<()>,
) {
    // A reply is written whole; waiting for more to send with it would only delay it.
    if let Err(error) = tcp.set_nodelay(true) {
        tracing::debug!(%error, "a connection was gone before it was served");
        return;
    }
    let Ok(place) = places.clone().try_acquire_owned() else {
        app.meter.connections_refused.increment(1);
        // Through TLS nothing can be said before a handshake, and there is no place for one.
        if tls.is_none()
            && let Ok(turn) = refusals.clone().try_acquire_owned()
        {
            let problem = too_many(app.limits.connections_max);
            tokio::spawn(async move {
                connection::say_and_close(tcp, &problem).await;
                drop(turn);
            });
        }
        return;
    };
    let (app, stopped) = (app.clone(), stopped.clone());
    // Two tasks, each as large as it needs to be: a connection without TLS does not pay for the other kind.
    match tls.cloned() {
        None => drop(tokio::spawn(async move {
            let _open = OpenConnection::new(app.clone(), place);
            connection::serve(app, tcp, stopped).await;
        })),
        Some(tls) => drop(tokio::spawn(async move {
            let _open = OpenConnection::new(app.clone(), place);
            tls::serve(app, tls, tcp, stopped).await;
        })),
    }
}

/// Holds a connection's place, and counts it while it is open.
struct OpenConnection {
    app: Arc<App>,
    _place: OwnedSemaphorePermit,
}

impl OpenConnection {
    fn new(app: Arc<App>, place: OwnedSemaphorePermit) -> OpenConnection {
        app.meter.connections.increment(1);
        OpenConnection { app, _place: place }
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
        "the server has too many connections",
        format!("connections_max is {max}, and all are in use"),
    )
    .retry_after(1)
}

/// From now on SIGTERM and SIGINT do not end the process; the future that comes back is done when one arrives.
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
