//! `allod backup`: writes all data of a server into one file, for `allod restore`.
//!
//! The file is written as `….partial`, and gets its name when it is complete, verified and synced.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use allod_journal::segment::{SegmentHeader, SegmentKind, SegmentPart, SegmentReader, Trailer};
use allod_journal::{SegmentError, private};
use allod_outbound::HttpAnswer;
use anyhow::{Context, anyhow};
use bytes::{Buf, Bytes};
use clap::Args;
use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::client::ApiRequest;
use crate::commands::journal::{RecordProgress, ReportFormat, SummaryRows, print_summary, text};
use crate::connection::ConnectionArguments;
use crate::error::{CommandError, Result, with_advice};
use crate::journal_location::{JournalLocation, OpenedJournal};

pub const EXAMPLES: &str = "\
Examples:
  allod backup --to monday.backup                         of a running server
  allod backup --to - | ssh vault 'cat > monday.backup'   without a local file
  allod backup --to monday.backup --data ./allod-data     of a stopped server";

#[derive(Debug, Args)]
pub struct BackupArguments {
    /// Backup file to write; - for stdout
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// Data folder of a stopped server, instead of a running server
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// Address of a journal in PostgreSQL, instead of a running server
    #[arg(long, value_name = "ADDRESS", conflicts_with = "data")]
    journal: Option<String>,

    /// Output format of the summary
    #[arg(long, default_value = "text")]
    output: ReportFormat,

    #[command(flatten)]
    connection: ConnectionArguments,
}

pub fn run(arguments: BackupArguments) -> Result<()> {
    let BackupArguments { to, data, journal, output, connection } = arguments;
    let location = match (journal, data) {
        (Some(text), _) => Some(JournalLocation::postgres(&text)?),
        (None, data) => data.map(JournalLocation::Folder),
    };
    if to == Path::new("-") {
        if io::stdout().is_terminal() {
            return Err(CommandError::Usage(with_advice(
                "a backup is binary and cannot be written to a terminal",
                "give a file with --to, or pipe the output",
            )));
        }
        let mut out = io::stdout().lock();
        let made = make(location.as_ref(), connection, &mut out)?;
        out.flush().map_err(write_error)?;
        drop(io::stderr().write_all(text(&summary(&made)).as_bytes()));
        return Ok(());
    }
    let mut partial = PartialFile::create(&to)?;
    let made = make(location.as_ref(), connection, &mut partial.out)?;
    partial.finish(location.is_some())?;
    print_summary(&summary(&made), output)
}

struct WrittenBackup {
    header: SegmentHeader,
    trailer: Trailer,
    bytes: u64,
}

fn summary(made: &WrittenBackup) -> SummaryRows {
    let WrittenBackup { header, trailer, bytes } = made;
    vec![
        ("records", json!(trailer.records)),
        ("from", json!(header.after.seq + 1)),
        ("position", json!(header.end.position)),
        ("hash", json!(header.end.hash.to_string())),
        ("bytes", json!(bytes)),
    ]
}

fn make(
    location: Option<&JournalLocation>,
    connection: ConnectionArguments,
    out: &mut dyn Write,
) -> Result<WrittenBackup> {
    match location {
        Some(location) => from_journal(location, out),
        None => from_server(connection, out),
    }
}

fn write_error(error: io::Error) -> CommandError {
    CommandError::Failed(anyhow::Error::from(error).context("cannot write the backup"))
}

fn from_journal(location: &JournalLocation, out: &mut dyn Write) -> Result<WrittenBackup> {
    let OpenedJournal { journal, checkpoints, .. } = location.open_existing()?;
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    let mut bar = RecordProgress::new("backing up");
    let counted = CountingWriter { to: out, bytes: 0 };
    let made = allod_engine::backup(&*journal, &*checkpoints, now_ms, counted, &mut |at, of| {
        bar.at(at, of);
    });
    let (counted, made) = made.map_err(|error| match error {
        allod_engine::BackupError::Source(halt) => location.replay_error(halt),
        other => CommandError::Failed(other.into()),
    })?;
    Ok(WrittenBackup { header: made.header, trailer: made.trailer, bytes: counted.bytes })
}

struct CountingWriter<'a> {
    to: &'a mut dyn Write,
    bytes: u64,
}

impl Write for CountingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn from_server(connection: ConnectionArguments, out: &mut dyn Write) -> Result<WrittenBackup> {
    let client = connection.client()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(CommandError::failed)?;
    let request = ApiRequest::get("/v1/backup")
        .header(ACCEPT, "application/octet-stream, application/problem+json")?;
    let answer = runtime.block_on(client.begin(&request))?;
    if answer.headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/octet-stream") {
        return Err(CommandError::Failed(with_advice(
            format!("{} did not answer with a backup", client.server),
            "the server may be older than this program, or a proxy answered",
        )));
    }
    let wait_max = client.timeout;
    let mut received = ReceivedBackup {
        runtime,
        answer,
        chunk: Bytes::new(),
        wait_max,
        to: out,
        bytes: 0,
        write_error: None,
    };
    let read = verify(&mut received, "receiving");
    let bytes = received.bytes;
    if let Some(error) = received.write_error {
        return Err(write_error(error));
    }
    let (header, trailer) = read.map_err(|error| {
        CommandError::Failed(with_advice(
            format!("the backup from {} is incomplete: {error}", client.server),
            "no file was written; try again, and check the log of the server",
        ))
    })?;
    Ok(WrittenBackup { header, trailer, bytes })
}

/// Reads the backup from the server, and writes it to `to` at the same time.
struct ReceivedBackup<'a> {
    runtime: Runtime,
    answer: HttpAnswer,
    chunk: Bytes,
    wait_max: Duration,
    to: &'a mut dyn Write,
    bytes: u64,
    write_error: Option<io::Error>,
}

impl Read for ReceivedBackup<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.runtime.block_on(self.answer.chunk(self.wait_max)) {
                Ok(Some(chunk)) => self.chunk = chunk,
                Ok(None) => return Ok(0),
                Err(error) => return Err(io::Error::other(error)),
            }
            if let Err(error) = self.to.write_all(&self.chunk) {
                self.write_error = Some(error);
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.bytes += self.chunk.len() as u64;
        }
        let read = self.chunk.len().min(out.len());
        self.chunk.copy_to_slice(&mut out[..read]);
        Ok(read)
    }
}

/// Reads a whole backup and verifies its structure and checksums, but not the contents of its records.
fn verify(input: impl Read, what: &'static str) -> Result<(SegmentHeader, Trailer), SegmentError> {
    let mut reader = SegmentReader::open(input)?;
    let header = *reader.header();
    if header.kind != SegmentKind::Backup {
        return Err(SegmentError::Foreign);
    }
    let mut bar = RecordProgress::new(what);
    loop {
        match reader.next_part()? {
            SegmentPart::Checkpoint(_) => {}
            SegmentPart::Frames(_) => bar.at(reader.records(), header.end.seq - header.after.seq),
            SegmentPart::End(trailer) => return Ok((header, trailer)),
        }
    }
}

/// An incomplete backup file. It is deleted when dropped, unless it was finished.
struct PartialFile {
    out: BufWriter<File>,
    path: PathBuf,
    to: PathBuf,
    finished: bool,
}

impl PartialFile {
    fn create(to: &Path) -> Result<PartialFile> {
        if fs::metadata(to).is_ok_and(|found| !found.is_file()) {
            return Err(CommandError::Usage(anyhow!("{} is not a regular file", to.display())));
        }
        let mut name = to.as_os_str().to_owned();
        name.push(".partial");
        let path = PathBuf::from(name);
        let file = private::create_file(&path)
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(CommandError::Failed)?;
        let out = BufWriter::with_capacity(1 << 18, file);
        Ok(PartialFile { out, path, to: to.to_owned(), finished: false })
    }

    /// Syncs the file and gives it its name. With `verifying`, it is read back first.
    fn finish(mut self, verifying: bool) -> Result<()> {
        self.out.flush().and_then(|()| self.out.get_ref().sync_all()).map_err(write_error)?;
        if verifying {
            let file = File::open(&self.path).map_err(write_error)?;
            verify(BufReader::with_capacity(1 << 18, file), "verifying")
                .with_context(|| format!("{} reads back differently", self.path.display()))
                .map_err(CommandError::Failed)?;
        }
        fs::rename(&self.path, &self.to).map_err(write_error)?;
        self.finished = true;
        let folder = self.to.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(write_error)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.finished {
            // The error is reported already, and the next backup overwrites the file.
            drop(fs::remove_file(&self.path));
        }
    }
}
