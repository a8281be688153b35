//! `allod backup`: everything that a server holds, as one file that `allod restore` takes.
//!
//! The file has its name only once all of it is there, verified and synced; until then it is called `….partial`.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use allod_journal::SegmentError;
use allod_journal::segment::{SegmentHeader, SegmentKind, SegmentPart, SegmentReader, Trailer};
use anyhow::{Context, anyhow};
use bytes::{Buf, Bytes};
use clap::Args;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::cli::Connection;
use crate::client::{Ask, Stream};
use crate::failed::{Failed, advised};
use crate::journal::{Bar, Output, Summary, text, told};
use crate::place::{Opened, Place};

pub const EXAMPLES: &str = "\
Examples:
  allod backup --to monday.backup                         of the running server
  allod backup --to - | ssh vault 'cat > monday.backup'   without a file of its own
  allod backup --to monday.backup --data ./allod-data     of a server that is stopped";

#[derive(Debug, Args)]
pub struct BackupArguments {
    /// The file to write; - is standard output
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// The folder of a server that is stopped, instead of asking one that runs
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// The address of a journal in PostgreSQL, instead of asking a server
    #[arg(long, value_name = "ADDRESS", conflicts_with = "data")]
    journal: Option<String>,

    /// How to say what was backed up
    #[arg(long, default_value = "text")]
    output: Output,

    #[command(flatten)]
    connection: Connection,
}

pub fn run(arguments: BackupArguments) -> Result<(), Failed> {
    let BackupArguments { to, data, journal, output, connection } = arguments;
    let place = match (journal, data) {
        (Some(text), _) => Some(Place::postgres(&text)?),
        (None, data) => data.map(Place::Folder),
    };
    if to == Path::new("-") {
        if io::stdout().is_terminal() {
            return Err(Failed::Asked(advised(
                "a backup is nothing to look at",
                "name a file with --to, or pipe it somewhere",
            )));
        }
        let mut out = io::stdout().lock();
        let made = make(place.as_ref(), connection, &mut out)?;
        out.flush().map_err(unwritten)?;
        // The data went to stdout; this is talk.
        drop(io::stderr().write_all(text(&summary(&made)).as_bytes()));
        return Ok(());
    }
    let mut partial = Partial::create(&to)?;
    let made = make(place.as_ref(), connection, &mut partial.out)?;
    partial.finish(place.is_some())?;
    told(&summary(&made), output)
}

/// What was written.
struct Made {
    header: SegmentHeader,
    trailer: Trailer,
    bytes: u64,
}

fn summary(made: &Made) -> Summary {
    let Made { header, trailer, bytes } = made;
    vec![
        ("records", json!(trailer.records)),
        ("from", json!(header.after.seq + 1)),
        ("position", json!(header.end.position)),
        ("hash", json!(header.end.hash.to_string())),
        ("bytes", json!(bytes)),
    ]
}

fn make(
    place: Option<&Place>,
    connection: Connection,
    out: &mut dyn Write,
) -> Result<Made, Failed> {
    match place {
        Some(place) => from_journal(place, out),
        None => from_server(connection, out),
    }
}

fn unwritten(error: io::Error) -> Failed {
    Failed::Running(anyhow::Error::from(error).context("the backup cannot be written"))
}

fn from_journal(place: &Place, out: &mut dyn Write) -> Result<Made, Failed> {
    let Opened { journal, checkpoints, .. } = place.look()?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let mut bar = Bar::new("backing up");
    let counted = Counted { to: out, bytes: 0 };
    let made = allod_engine::backup(&*journal, &*checkpoints, now_ms, counted, &mut |at, of| {
        bar.at(at, of);
    });
    let (counted, made) = made.map_err(|error| match error {
        allod_engine::BackupError::Source(halt) => place.halted(halt),
        other => Failed::Running(other.into()),
    })?;
    Ok(Made { header: made.header, trailer: made.trailer, bytes: counted.bytes })
}

struct Counted<'a> {
    to: &'a mut dyn Write,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn from_server(connection: Connection, out: &mut dyn Write) -> Result<Made, Failed> {
    let client = connection.client()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failed::Running(error.into()))?;
    let ask = Ask::get("/v1/backup")
        .header(ACCEPT, "application/octet-stream, application/problem+json")?;
    let stream = runtime.block_on(client.get_stream(&ask))?;
    if stream.headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/octet-stream") {
        return Err(Failed::Running(advised(
            format!("{} answered with something else than a backup", client.server),
            "is the server as new as this program, or is there a proxy in between?",
        )));
    }
    let silence_max = client.timeout;
    let mut received = Received {
        runtime,
        stream,
        piece: Bytes::new(),
        silence_max,
        to: out,
        bytes: 0,
        unwritten: None,
    };
    let read = verify(&mut received, "receiving");
    let bytes = received.bytes;
    if let Some(error) = received.unwritten {
        return Err(unwritten(error));
    }
    let (header, trailer) = read.map_err(|error| {
        Failed::Running(advised(
            format!("the backup from {} is not whole: {error}", client.server),
            "nothing was kept of it; make it again, and look at the log of the server",
        ))
    })?;
    Ok(Made { header, trailer, bytes })
}

/// What the server sends, which is written on as it is read.
struct Received<'a> {
    runtime: Runtime,
    stream: Stream,
    piece: Bytes,
    silence_max: Duration,
    to: &'a mut dyn Write,
    bytes: u64,
    unwritten: Option<io::Error>,
}

impl Read for Received<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let next = async { tokio::time::timeout(self.silence_max, self.stream.chunk()).await };
            match self.runtime.block_on(next) {
                Ok(Ok(Some(piece))) => self.piece = piece,
                Ok(Ok(None)) => return Ok(0),
                Ok(Err(error)) => return Err(io::Error::other(error)),
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
            if let Err(error) = self.to.write_all(&self.piece) {
                self.unwritten = Some(error);
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.bytes += self.piece.len() as u64;
        }
        let read = self.piece.len().min(out.len());
        self.piece.copy_to_slice(&mut out[..read]);
        Ok(read)
    }
}

/// Reads a backup to its end and checks all of it but what its records mean.
fn verify(input: impl Read, what: &'static str) -> Result<(SegmentHeader, Trailer), SegmentError> {
    let mut reader = SegmentReader::open(input)?;
    let header = *reader.header();
    if header.kind != SegmentKind::Backup {
        return Err(SegmentError::Foreign);
    }
    let mut bar = Bar::new(what);
    loop {
        match reader.next_part()? {
            SegmentPart::Checkpoint(_) => {}
            SegmentPart::Frames(_) => bar.at(reader.records(), header.end.seq - header.after.seq),
            SegmentPart::End(trailer) => return Ok((header, trailer)),
        }
    }
}

/// A file that is not whole yet. It goes away unless it is finished.
struct Partial {
    out: BufWriter<File>,
    path: PathBuf,
    to: PathBuf,
    finished: bool,
}

impl Partial {
    fn create(to: &Path) -> Result<Partial, Failed> {
        if fs::metadata(to).is_ok_and(|found| !found.is_file()) {
            return Err(Failed::Asked(anyhow!("{} is not a file", to.display())));
        }
        let mut name = to.as_os_str().to_owned();
        name.push(".partial");
        let path = PathBuf::from(name);
        let file = File::create(&path)
            .with_context(|| format!("{} cannot be written", path.display()))
            .map_err(Failed::Running)?;
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok(Partial { out, path, to: to.to_owned(), finished: false })
    }

    /// Gives it its name, once it is on the disk. `verifying`: nobody has read it yet.
    fn finish(mut self, verifying: bool) -> Result<(), Failed> {
        self.out.flush().and_then(|()| self.out.get_ref().sync_all()).map_err(unwritten)?;
        if verifying {
            let file = File::open(&self.path).map_err(unwritten)?;
            verify(BufReader::with_capacity(1 << 18, file), "verifying")
                .with_context(|| format!("{} reads back as something else", self.path.display()))
                .map_err(Failed::Running)?;
        }
        fs::rename(&self.path, &self.to).map_err(unwritten)?;
        self.finished = true;
        let folder = self.to.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(unwritten)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.finished {
            // What went wrong was said; a file that stays is overwritten next time.
            drop(fs::remove_file(&self.path));
        }
    }
}
