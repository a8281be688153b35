//! `allod journal`: verifies and shows journals, backups and archive segments, without a server, and accepts losses.

mod accept_loss;
mod show;

use std::path::{Path, PathBuf};

use allod_edge::time::rfc3339;
use allod_engine::{RestoreError, RestoreSummary, Verification};
use allod_journal::segment::SegmentKind;
use anyhow::anyhow;
use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::commands::pool::input_name;
use crate::error::{CommandError, Result};
use crate::journal_location::{JournalArguments, JournalLocation, JournalOrFile, open_file};
use crate::output::print;
use crate::output::progress::Progress;

#[derive(Debug, Subcommand)]
pub enum JournalCommand {
    /// Verify a whole journal, backup or archive segment
    Verify {
        /// Backup or archive segment; - for stdin [default: the journal]
        file: Option<PathBuf>,
        #[command(flatten)]
        location: JournalArguments,
        #[arg(long, default_value = "text")]
        output: ReportFormat,
    },
    /// Show the records of a journal, backup or archive segment
    #[command(after_help = show::EXAMPLES)]
    Show(show::JournalShowArguments),
    /// Accept that acknowledged writes at the end of a journal are lost, so that its server can start
    #[command(after_help = accept_loss::EXAMPLES)]
    AcceptLoss(accept_loss::AcceptLossArguments),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Text,
    Json,
}

pub fn run(command: JournalCommand) -> Result<()> {
    match command {
        JournalCommand::Verify { file, location, output } => match location.or_file(file)? {
            JournalOrFile::Journal(location) => verify(&location, output),
            JournalOrFile::File(path) => verify_file(&path, output),
        },
        JournalCommand::Show(arguments) => show::run(arguments),
        JournalCommand::AcceptLoss(arguments) => accept_loss::run(&arguments),
    }
}

fn verify(location: &JournalLocation, output: ReportFormat) -> Result<()> {
    let opened = location.open_existing()?;
    location.ensure_complete(&opened)?;
    let whole = opened.journal.tail().map_err(|error| location.error(error))?.seq;
    let mut progress = Progress::new("verifying", |n| format!("{n} records"), Some(whole));
    let mut at = |tail: &allod_journal::Tail| progress.at(tail.seq);
    let verified = allod_engine::verify(&*opened.journal, &*opened.checkpoints, &mut at);
    drop(progress);
    let verified = verified.map_err(|halt| location.replay_error(halt))?;
    print_summary(&summary(&verified, true), output)?;
    if verified.violations.is_empty() {
        return Ok(());
    }
    let violations = verified.violations.join("\n  ");
    Err(CommandError::Unsound(anyhow!("the journal leads to an invalid state:\n  {violations}")))
}

fn verify_file(path: &Path, output: ReportFormat) -> Result<()> {
    let mut bar = RecordProgress::new("verifying");
    let found = allod_engine::verify_segment(open_file(path)?, &mut |at, of| bar.at(at, of));
    drop(bar);
    print_summary(&describe(&found.map_err(|error| restore_error(error, path))?), output)
}

/// A damaged file is `Unsound`; other errors mean that it could not be checked.
pub fn restore_error(error: RestoreError, path: &Path) -> CommandError {
    let kind = match &error {
        RestoreError::Segment(allod_journal::SegmentError::Io(_)) => CommandError::Failed,
        RestoreError::Segment(_)
        | RestoreError::Contents(_)
        | RestoreError::Differs { .. }
        | RestoreError::Violations(_) => CommandError::Unsound,
        RestoreError::NotABackup { .. } | RestoreError::Archive(_) => CommandError::Usage,
        RestoreError::NotEmpty { .. } => CommandError::Refused,
        RestoreError::Target(_) | RestoreError::ReadBack => CommandError::Failed,
    };
    kind(anyhow::Error::from(error).context(input_name(path)))
}

/// Progress in records, whose total is known only after the start.
#[derive(Debug)]
pub struct RecordProgress {
    what: &'static str,
    progress: Option<Progress>,
}

impl RecordProgress {
    pub fn new(what: &'static str) -> RecordProgress {
        RecordProgress { what, progress: None }
    }

    pub fn at(&mut self, record: u64, last: u64) {
        let what = self.what;
        let begin = || Progress::new(what, |n| format!("{n} records"), Some(last));
        self.progress.get_or_insert_with(begin).at(record);
    }
}

/// Names and values, printed as text or JSON.
pub type SummaryRows = Vec<(&'static str, Value)>;

/// The result of a verification. Records of an archive segment alone lead to no state.
fn summary(verified: &Verification, has_state: bool) -> SummaryRows {
    let Verification { records, from, tail, state_hash, violations, state } = verified;
    let mut rows: SummaryRows = vec![
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

/// The contents of a backup or an archive segment.
pub fn describe(found: &RestoreSummary) -> SummaryRows {
    let kind = found.header.kind;
    let mut rows: SummaryRows =
        vec![("kind", json!(kind.name())), ("created", json!(rfc3339(found.header.created_ms)))];
    if let Some((from_ms, to_ms)) = found.between_ms {
        rows.push(("first_at", json!(rfc3339(from_ms))));
        rows.push(("last_at", json!(rfc3339(to_ms))));
    }
    rows.extend(summary(&found.verified, kind == SegmentKind::Backup));
    rows
}

pub fn print_summary(rows: &SummaryRows, output: ReportFormat) -> Result<()> {
    let text = match output {
        ReportFormat::Json => {
            let object: serde_json::Map<String, Value> =
                rows.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            format!("{}\n", Value::Object(object))
        }
        ReportFormat::Text => text(rows),
    };
    print(&text)
}

pub fn text(rows: &SummaryRows) -> String {
    let cell = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.len().to_string(),
        other => other.to_string(),
    };
    rows.iter().map(|(name, value)| format!("{name:<10} {}\n", cell(value))).collect()
}
