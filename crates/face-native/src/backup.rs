//! `GET /v1/backup`: a backup of the journal, produced while it is sent.
//!
//! A separate thread produces it, because it blocks; it is no faster than the client reads. If the connection closes, its
//! next send fails and the thread ends.

use std::io::{self, Write};
use std::sync::Arc;

use allod_edge::{Body, Call, Problem, Reply, StreamError};
use allod_engine::{BackupError, Halt};
use bytes::{Bytes, BytesMut};
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use tokio::sync::{mpsc, oneshot};

use crate::Native;
use crate::query::QueryParams;

/// The size of a piece, and how many pieces are buffered.
const PIECE_BYTES: usize = 128 << 10;
const PIECES_MAX: usize = 2;

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[])?;
    let (sender, mut pieces) = mpsc::channel(PIECES_MAX);
    let (end, ended) = oneshot::channel();
    let handle = native.handle.clone();
    let make = move || {
        let made = handle.backup(Pieces { sender, piece: BytesMut::new() });
        // Fails only if the client has disconnected.
        drop(end.send(made.map(drop)));
    };
    let started = std::thread::Builder::new().name("allod-backup".into()).spawn(make);
    started.map_err(|error| unmade(&error.to_string()))?;
    // Until the first piece is sent, an error can still be a regular reply.
    let Some(first) = pieces.recv().await else {
        return match ended.await {
            Ok(Err(error)) => Err(refused(&error).reply()),
            Ok(Ok(())) | Err(_) => Err(unmade("the backup thread ended unexpectedly").reply()),
        };
    };
    let body = Body::stream(|sink| async move {
        sink.send(first).await;
        while let Some(piece) = pieces.recv().await {
            sink.send(piece).await;
        }
        match ended.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(StreamError::new(error.to_string())),
            Err(_) => Err(StreamError::new("the backup thread ended unexpectedly")),
        }
    });
    let mut reply = Reply::new(body);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(
        CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment; filename=\"allod.backup\""),
    );
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(reply)
}

/// Collects the output into pieces and sends them; blocks while the buffer is full.
struct Pieces {
    sender: mpsc::Sender<Bytes>,
    piece: BytesMut,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = self.piece.split().freeze();
        self.sender
            .blocking_send(piece)
            .map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the client disconnected"))
    }
}

fn refused(error: &BackupError) -> Problem {
    let unavailable = |code, title| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Problem::new(status, code, title, error.to_string()).retry_after(10)
    };
    match error {
        BackupError::Busy { .. } => unavailable("backups_busy", "too many concurrent backups"),
        BackupError::NotReady { .. } | BackupError::Source(Halt::Journal(_)) => {
            unavailable("unavailable", "temporarily unavailable")
        }
        BackupError::Source(_) | BackupError::Writing(_) => unmade(&error.to_string()),
    }
}

fn unmade(what: &str) -> Problem {
    tracing::error!(what, "backup failed");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "backup failed", what.to_owned())
}
