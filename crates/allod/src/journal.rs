//! `allod journal …`: tools for a journal that no server has open, for backups and for archive segments.

mod show;

use std::path::{Path, PathBuf};

use allod_edge::time::rfc3339;
use allod_engine::{RestoreError, RestoreSummary, Verification};
use allod_journal::segment::SegmentKind;
use anyhow::anyhow;
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::Failed;
use crate::cli::print;
use crate::cli::progress::Progress;
use crate::place::{Place, PlaceArguments, Source, open_file};

#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    /// Read a whole journal, backup or archive segment and check everything that can be checked
    Verify {
        /// A backup or an archive segment, - for standard input; the journal itself when none is named
        file: Option<PathBuf>,
        #[command(flatten)]
        place: PlaceArguments,
        #[arg(long, default_value = "text")]
        output: Output,
    },
    /// Show what a journal, a backup or an archive segment says, record by record
    #[command(after_help = show::EXAMPLES)]
    Show(show::ShowArguments),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Text,
    Json,
}

pub fn run(command: JournalCommand) -> Result<(), Failed> {
    match command {
        JournalCommand::Verify { file, place, output } => match place.or_file(file)? {
            Source::Journal(place) => verify(&place, output),
            Source::File(path) => verify_file(&path, output),
        },
        JournalCommand::Show(arguments) => show::run(arguments),
    }
}

fn verify(place: &Place, output: Output) -> Result<(), Failed> {
    let opened = place.look()?;
    let whole = opened.journal.tail().map_err(|error| place.failed(error))?.seq;
    let mut progress = Progress::new("verifying", |n| format!("{n} records"), Some(whole));
    let mut at = |tail: &allod_journal::Tail| progress.at(tail.seq);
    let verified = allod_engine::verify(&*opened.journal, &*opened.checkpoints, &mut at);
    drop(progress);
    let verified = verified.map_err(|halt| place.halted(halt))?;
    told(&summary(&verified, true), output)?;
    if verified.violations.is_empty() {
        return Ok(());
    }
    let violations = verified.violations.join("\n  ");
    Err(Failed::Unsound(anyhow!("the state that the journal leads to is wrong:\n  {violations}")))
}

fn verify_file(path: &Path, output: Output) -> Result<(), Failed> {
    let mut bar = Bar::new("verifying");
    let found = allod_engine::verify_segment(open_file(path)?, &mut |at, of| bar.at(at, of));
    drop(bar);
    told(&about(&found.map_err(|error| restore_failed(error, path))?), output)
}

/// What is wrong with a file is a finding; anything else kept us from looking.
pub fn restore_failed(error: RestoreError, path: &Path) -> Failed {
    let kind = match &error {
        RestoreError::Segment(allod_journal::SegmentError::Io(_)) => Failed::Running,
        RestoreError::Segment(_)
        | RestoreError::Contents(_)
        | RestoreError::Differs { .. }
        | RestoreError::Violations(_) => Failed::Unsound,
        RestoreError::NotABackup { .. } | RestoreError::Archive(_) => Failed::Asked,
        RestoreError::NotEmpty { .. } => Failed::Refused,
        RestoreError::Target(_) | RestoreError::ReadBack => Failed::Running,
    };
    let name =
        if path == Path::new("-") { "standard input".into() } else { path.display().to_string() };
    kind(anyhow::Error::from(error).context(name))
}

/// A bar whose end is known only once it has begun.
#[derive(Debug)]
pub struct Bar {
    what: &'static str,
    progress: Option<Progress>,
}

impl Bar {
    pub fn new(what: &'static str) -> Bar {
        Bar { what, progress: None }
    }

    pub fn at(&mut self, record: u64, last: u64) {
        let what = self.what;
        let begin = || Progress::new(what, |n| format!("{n} records"), Some(last));
        self.progress.get_or_insert_with(begin).at(record);
    }
}

/// Rows of a name and what is to be said, for people and for scripts.
pub type Summary = Vec<(&'static str, Value)>;

/// What a verified journal adds up to. Records without what came before them lead to no state.
fn summary(verified: &Verification, has_state: bool) -> Summary {
    let Verification { records, from, tail, state_hash, violations, state } = verified;
    let mut rows: Summary = vec![
        ("records", json!(records)),
        ("from", json!(from)),
        ("position", json!(tail.position)),
        ("epoch", json!(tail.epoch)),
        ("hash", json!(tail.hash.to_string())),
    ];
    if has_state {
        rows.push(("state_hash", json!(state_hash.to_string())));
        rows.push(("pools", json!(state.pool_count())));
        rows.push(("violations", json!(violations)));
    }
    rows
}

/// What a backup or an archive segment has in it, or what was restored from one.
pub fn about(found: &RestoreSummary) -> Summary {
    let kind = found.header.kind;
    let mut rows: Summary =
        vec![("kind", json!(kind.name())), ("created", json!(rfc3339(found.header.created_ms)))];
    if let Some((from_ms, to_ms)) = found.between_ms {
        rows.push(("first_at", json!(rfc3339(from_ms))));
        rows.push(("last_at", json!(rfc3339(to_ms))));
    }
    rows.extend(summary(&found.verified, kind == SegmentKind::Backup));
    rows
}

/// Says it on stdout.
pub fn told(rows: &Summary, output: Output) -> Result<(), Failed> {
    let text = match output {
        Output::Json => {
            let object: serde_json::Map<String, Value> =
                rows.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            format!("{}\n", Value::Object(object))
        }
        Output::Text => text(rows),
    };
    print(&text)
}

pub fn text(rows: &Summary) -> String {
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.len().to_string(),
        other => other.to_string(),
    };
    rows.iter().map(|(name, value)| format!("{name:<10} {}\n", cell(value))).collect()
}
