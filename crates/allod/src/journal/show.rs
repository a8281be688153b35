//! `allod journal show`: what stands in a journal, record by record.
//!
//! As JSON it is one change on each line, in the form that `allod watch` has; for people, each record has a line above its
//! events, and what changes nothing but the journal itself is shown, too.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use allod_core::event::Event;
use allod_core::value::Kind;
use allod_edge::time::rfc3339;
use allod_face_native::change;
use allod_journal::RecordFrame;
use allod_journal::segment::{SegmentPart, SegmentReader};
use allod_record::{Item, with_positions};
use anyhow::{Context, anyhow};
use clap::Args;

use super::Output;
use crate::Failed;
use crate::cli::change::{Change, lines};
use crate::cli::format;
use crate::cli::style::plain;
use crate::place::{Place, PlaceArguments, Source, open_file};

pub const EXAMPLES: &str = "\
Examples:
  allod journal show --data ./allod-data --from 17    from position 17 on
  allod journal show monday.backup --output json      one change on each line";

/// How much is read at a time.
const READ_BYTES: usize = 1 << 20;

#[derive(Debug, Args)]
pub struct ShowArguments {
    /// A backup or an archive segment, - for standard input; the journal itself when none is named
    file: Option<PathBuf>,

    #[command(flatten)]
    place: PlaceArguments,

    /// From this position on
    #[arg(long, value_name = "POSITION", default_value_t = 0)]
    from: u64,

    /// Up to this position
    #[arg(long, value_name = "POSITION", default_value_t = u64::MAX, hide_default_value = true)]
    to: u64,

    /// Lines for people, or a JSON object on each line
    #[arg(long, default_value = "text")]
    output: Output,
}

pub fn run(arguments: ShowArguments) -> Result<(), Failed> {
    let ShowArguments { file, place, from, to, output } = arguments;
    let out = BufWriter::new(io::stdout().lock());
    let mut show = Show { from, to, output, kinds: RefCell::default(), out };
    match place.or_file(file)? {
        Source::Journal(place) => show.journal(&place)?,
        Source::File(path) => show.file(&path)?,
    }
    show.out.flush().map_err(Failed::writing)
}

struct Show<W> {
    from: u64,
    to: u64,
    output: Output,
    /// The kinds of the pools that were met, for very old events that do not say how their values are written.
    kinds: RefCell<HashMap<Arc<str>, Kind>>,
    out: W,
}

impl<W: Write> Show<W> {
    fn journal(&mut self, place: &Place) -> Result<(), Failed> {
        let journal = place.look()?.journal;
        let failed = |error| place.failed(error);
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

    fn file(&mut self, path: &Path) -> Result<(), Failed> {
        let name = || path.display().to_string();
        let unsound =
            |error: allod_journal::SegmentError| Failed::Unsound(anyhow!(error).context(name()));
        let mut reader = SegmentReader::open(open_file(path)?).map_err(unsound)?;
        loop {
            match reader.next_part().map_err(unsound)? {
                SegmentPart::Checkpoint(meta) if self.output == Output::Text => {
                    let (seq, position) = (meta.seq, meta.position);
                    writeln!(self.out, "checkpoint of record {seq}, position {position}")
                        .map_err(Failed::writing)?;
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

    /// Shows what is asked for of these records; false when nothing that follows is.
    fn frames(&mut self, frames: &[RecordFrame]) -> Result<bool, Failed> {
        for frame in frames {
            let items = allod_record::decode(&frame.body)
                .with_context(|| format!("record {}", frame.seq))
                .map_err(Failed::Unsound)?;
            let before = items.iter().filter(|item| item.takes_position()).count() as u64;
            if frame.position.saturating_sub(before) >= self.to {
                return Ok(false);
            }
            self.frame(frame, &items)?;
        }
        Ok(true)
    }

    fn frame(&mut self, frame: &RecordFrame, items: &[Item]) -> Result<(), Failed> {
        let placed = with_positions(items, frame.position).ok_or_else(|| {
            Failed::Unsound(anyhow!("record {} has more entries than positions", frame.seq))
        })?;
        let mut text = String::new();
        for (position, item) in placed {
            if let Item::Entry(entry) = item {
                entry.events.iter().for_each(|event| self.learn(event));
            }
            if (self.from..=self.to).contains(&position) {
                self.item(&mut text, position, item)?;
            }
        }
        if self.output == Output::Text && !text.is_empty() {
            let RecordFrame { seq, epoch, at_ms, .. } = frame;
            let at = format::time(&rfc3339(*at_ms));
            writeln!(self.out, "record {seq}, epoch {epoch}, {at}").map_err(Failed::writing)?;
        }
        self.out.write_all(text.as_bytes()).map_err(Failed::writing)
    }

    fn learn(&self, event: &Event) {
        if let Event::PoolDefined(defined) = event {
            self.kinds.borrow_mut().insert(defined.pool.clone(), defined.spec.kind);
        }
    }

    fn item(&self, text: &mut String, position: u64, item: &Item) -> Result<(), Failed> {
        let entry = match (item, self.output) {
            (Item::Entry(entry), _) => entry,
            (Item::Epoch { writer }, Output::Text) => {
                text.push_str(&format!("          an epoch begins, of {}\n", plain(writer)));
                return Ok(());
            }
            (Item::Level { level }, Output::Text) => {
                text.push_str(&format!(
                    "{position:>8}  the feature level is {level} from here on\n"
                ));
                return Ok(());
            }
            (Item::Epoch { .. } | Item::Level { .. }, Output::Json) => return Ok(()),
        };
        let kind_of = |pool: &str| self.kinds.borrow().get(pool).copied();
        let Some(shown) = change(position, entry.at_ms, &entry.events, &kind_of) else {
            if self.output == Output::Text {
                text.push_str(&format!("{position:>8}  {}\n", entry.cause.name()));
            }
            return Ok(());
        };
        let unwritable = |error: serde_json::Error| Failed::Running(error.into());
        let json = serde_json::to_string(&shown).map_err(unwritable)?;
        match self.output {
            Output::Json => {
                text.push_str(&json);
                text.push('\n');
            }
            Output::Text => {
                let change: Change = serde_json::from_str(&json).map_err(unwritable)?;
                text.push_str(&lines(&change));
            }
        }
        Ok(())
    }
}
