//! `GET /v1/backup`: everything that the journal holds, as one stream that is made while it is sent.
//!
//! The backup is made by a thread of its own, because it blocks; it goes no faster than its client reads. When the client
//! goes away, or the server cuts it off, the thread finds nobody to send to, and ends.

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

/// What is sent at a time, and how many of these may wait for the client.
const PIECE_BYTES: usize = 128 << 10;
const PIECES_MAX: usize = 2;

pub(crate) async fn get(native: Arc<Native>, call: Call) -> Result<Reply, Reply> {
    QueryParams::read(&call, &[]).map_err(|problem| problem.reply())?;
    let (sender, mut pieces) = mpsc::channel(PIECES_MAX);
    let (end, ended) = oneshot::channel();
    let handle = native.handle.clone();
    let make = move || {
        let made = handle.backup(Pieces { sender, piece: BytesMut::new() });
        // Whoever asked may have gone; then there is nobody to tell.
        drop(end.send(made.map(drop)));
    };
    let started = std::thread::Builder::new().name("allod-backup".into()).spawn(make);
    started.map_err(|error| unmade(&error.to_string()).reply())?;
    // As long as nothing has been sent, what goes wrong can still be said in good order.
    let Some(first) = pieces.recv().await else {
        return match ended.await {
            Ok(Err(error)) => Err(refused(&error).reply()),
            Ok(Ok(())) | Err(_) => Err(unmade("it ended without a word").reply()),
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
            Err(_) => Err(StreamError::new("the backup ended without a word")),
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

/// Collects what is written into pieces, and waits until there is room for each.
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
            .map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone"))
    }
}

fn refused(error: &BackupError) -> Problem {
    let unavailable = |code, title| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Problem::new(status, code, title, error.to_string()).retry_after(10)
    };
    match error {
        BackupError::Busy { .. } => {
            unavailable("backups_busy", "enough backups are being made already")
        }
        BackupError::NotReady { .. } | BackupError::Source(Halt::Journal(_)) => {
            unavailable("unavailable", "the server cannot do this at present")
        }
        BackupError::Source(_) | BackupError::Writing(_) => unmade(&error.to_string()),
    }
}

fn unmade(what: &str) -> Problem {
    tracing::error!(what, "a backup could not be made");
    Problem::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the backup could not be made",
        what.to_owned(),
    )
}
