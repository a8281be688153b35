//! `allod journal show`: prints the records of a journal.
//!
//! As JSON, one change per line, as `allod watch` prints it. As text, each record has a line above its events, and entries
//! without events, such as the start of an epoch, are shown, too.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use allod_core::event::{Event, PoolEvent};
use allod_core::value::Kind;
use allod_edge::time::rfc3339;
use allod_face_native::{ReasonDetail, change};
use allod_journal::RecordFrame;
use allod_journal::segment::{SegmentPart, SegmentReader};
use allod_record::{Item, with_positions};
use anyhow::{Context, anyhow};
use clap::Args;

use super::ReportFormat;
use crate::error::{CommandError, Result};
use crate::journal_location::{JournalArguments, JournalLocation, JournalOrFile, open_file};
use crate::output::changes::{ChangeRow, lines};
use crate::output::format;
use crate::output::style::escape_controls;

pub const EXAMPLES: &str = "\
Examples:
  allod journal show --data ./allod-data --from 17    from position 17
  allod journal show monday.backup --output json      one change per line";

const READ_BYTES: usize = 1 << 20;

#[derive(Debug, Args)]
pub struct JournalShowArguments {
    /// Backup or archive segment; - for stdin [default: the journal]
    file: Option<PathBuf>,

    #[command(flatten)]
    location: JournalArguments,

    /// First position
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    from: u64,

    /// Last position
    #[arg(long, value_name = "POSITION", default_value_t = u64::MAX, hide_default_value = true)]
    to: u64,

    /// Output format: text for people, or one JSON object per line
    #[arg(long, default_value = "text")]
    output: ReportFormat,
}

pub fn run(arguments: JournalShowArguments) -> Result<()> {
    let JournalShowArguments { file, location, from, to, output } = arguments;
    let out = BufWriter::new(io::stdout().lock());
    let mut show = JournalPrinter { from, to, output, kinds: RefCell::default(), out };
    match location.or_file(file)? {
        JournalOrFile::Journal(location) => show.journal(&location)?,
        JournalOrFile::File(path) => show.file(&path)?,
    }
    show.out.flush().map_err(CommandError::output)
}

struct JournalPrinter<W> {
    from: u64,
    to: u64,
    output: ReportFormat,
    /// The kinds of the pools so far. Events of old versions do not have the kind, which is needed to format values.
    kinds: RefCell<HashMap<Arc<str>, Kind>>,
    out: W,
}

impl<W: Write> JournalPrinter<W> {
    fn journal(&mut self, location: &JournalLocation) -> Result<()> {
        let journal = location.open_existing()?.journal;
        let failed = |error| location.error(error);
        let mut next = journal.seq_of_position(self.from).map_err(failed)?;
        loop {
            let frames = journal.read(next, READ_BYTES).map_err(failed)?;
            let Some(last) = frames.last() else { return Ok(()) };
            next = last.seq + 1;
            if !self.frames(&frames)? {
                return Ok(());
            }
        }
    }

    fn file(&mut self, path: &Path) -> Result<()> {
        let name = || path.display().to_string();
        let unsound = |error: allod_journal::SegmentError| {
            CommandError::Unsound(anyhow!(error).context(name()))
        };
        let mut reader = SegmentReader::open(open_file(path)?).map_err(unsound)?;
        loop {
            match reader.next_part().map_err(unsound)? {
                SegmentPart::Checkpoint(meta) if self.output == ReportFormat::Text => {
                    let (seq, position) = (meta.seq, meta.position);
                    writeln!(self.out, "checkpoint of record {seq}, position {position}")
                        .map_err(CommandError::output)?;
                }
                SegmentPart::Checkpoint(_) => {}
                SegmentPart::Frames(frames) => {
                    if !self.frames(&frames)? {
                        return Ok(());
                    }
                }
                SegmentPart::End(_) => return Ok(()),
            }
        }
    }

    /// Prints the positions in the range. Returns `false` after the last one.
    fn frames(&mut self, frames: &[RecordFrame]) -> Result<bool> {
        for frame in frames {
            let items = allod_record::decode(&frame.body)
                .with_context(|| format!("record {}", frame.seq))
                .map_err(CommandError::Unsound)?;
            let before = items.iter().filter(|item| item.takes_position()).count() as u64;
            if frame.position.saturating_sub(before) >= self.to {
                return Ok(false);
            }
            self.frame(frame, &items)?;
        }
        Ok(true)
    }

    fn frame(&mut self, frame: &RecordFrame, items: &[Item]) -> Result<()> {
        let placed = with_positions(items, frame.position).ok_or_else(|| {
            CommandError::Unsound(anyhow!("record {} has more entries than positions", frame.seq))
        })?;
        let mut text = String::new();
        for (position, item) in placed {
            if let Item::Entry(entry) = item {
                entry.events.iter().for_each(|event| self.remember_kind(event));
            }
            if (self.from..=self.to).contains(&position) {
                self.item(&mut text, position, item)?;
            }
        }
        if self.output == ReportFormat::Text && !text.is_empty() {
            let RecordFrame { seq, epoch, at_ms, .. } = frame;
            let at = format::time(&rfc3339(*at_ms));
            writeln!(self.out, "record {seq}, epoch {epoch}, {at}")
                .map_err(CommandError::output)?;
        }
        self.out.write_all(text.as_bytes()).map_err(CommandError::output)
    }

    fn remember_kind(&self, event: &Event) {
        if let Event::Pool(PoolEvent::Defined(defined)) = event {
            self.kinds.borrow_mut().insert(defined.pool.clone(), defined.spec.kind);
        }
    }

    fn item(&self, text: &mut String, position: u64, item: &Item) -> Result<()> {
        let entry = match (item, self.output) {
            (Item::Entry(entry), _) => entry,
            (Item::Epoch { writer }, ReportFormat::Text) => {
                text.push_str(&format!("          epoch of {}\n", escape_controls(writer)));
                return Ok(());
            }
            (Item::Level { level }, ReportFormat::Text) => {
                text.push_str(&format!("{position:>8}  feature level {level}\n"));
                return Ok(());
            }
            (Item::Epoch { .. } | Item::Level { .. }, ReportFormat::Json) => return Ok(()),
        };
        let kind_of = |pool: &str| self.kinds.borrow().get(pool).copied();
        let Some(shown) =
            change(position, entry.at_ms, &entry.events, &kind_of, ReasonDetail::Full)
        else {
            if self.output == ReportFormat::Text {
                text.push_str(&format!("{position:>8}  {}\n", entry.cause.name()));
            }
            return Ok(());
        };
        let json_error = |error: serde_json::Error| CommandError::Failed(error.into());
        let json = serde_json::to_string(&shown).map_err(json_error)?;
        match self.output {
            ReportFormat::Json => {
                text.push_str(&json);
                text.push('\n');
            }
            ReportFormat::Text => {
                let change: ChangeRow = serde_json::from_str(&json).map_err(json_error)?;
                text.push_str(&lines(&change));
            }
        }
        Ok(())
    }
}
