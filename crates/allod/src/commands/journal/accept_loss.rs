//! `allod journal accept-loss`: lets a server start on a journal that has lost acknowledged writes at its end.
//!
//! Nothing is guessed: the operator names the folder and the position at which the journal ends now, which the refusal to
//! start has reported. What proves the loss is removed, because it would contradict the records that are written next.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use allod_edge::time::rfc3339;
use allod_engine::{discard_witnesses, loss_witnesses};
use allod_journal::checkpoint::FileCheckpoints;
use allod_journal::embedded::{Embedded, IncompleteJournal, LOSSES_FILE, add_accepted_loss};
use allod_journal::{Journal, LostRecords};
use anyhow::{Context, anyhow};
use clap::Args;

use crate::error::{CommandError, Result, with_advice};
use crate::index_folder;
use crate::journal_location::JournalLocation;
use crate::output::print;

pub const EXAMPLES: &str = "\
Examples:
  allod journal accept-loss --data ./allod-data --at 1200    the journal ends at position 1200";

#[derive(Debug, Args)]
pub struct AcceptLossArguments {
    /// Folder of the journal; its server must be stopped
    #[arg(long)]
    data: PathBuf,

    /// Position at which the journal ends now, as the refusal to start reports it
    #[arg(long, value_name = "POSITION")]
    at: u64,
}

pub fn run(arguments: &AcceptLossArguments) -> Result<()> {
    let AcceptLossArguments { data, at } = arguments;
    let location = JournalLocation::Folder(data.clone());
    let replay_error = |halt| location.replay_error(halt);
    let IncompleteJournal { journal, lost } =
        Embedded::open_incomplete(data).map_err(|error| location.error(error))?;
    let end = journal.tail().map_err(|error| location.error(error))?;
    let checkpoints = FileCheckpoints::open(data)
        .with_context(|| format!("cannot open the checkpoints of {location}"))
        .map_err(CommandError::Failed)?;
    let index = index_folder::in_data(data);
    let mut witnesses: Vec<LostRecords> = lost.into_iter().collect();
    witnesses.extend(loss_witnesses(&journal, &checkpoints, Some(&index)).map_err(replay_error)?);
    let Some(furthest) = witnesses.iter().max_by_key(|lost| lost.known) else {
        return Err(CommandError::Refused(anyhow!(
            "nothing is missing in {location}: the journal ends at position {} (record {}), and nothing proves that it had \
             more",
            end.position,
            end.seq
        )));
    };
    if *at != end.position {
        return Err(CommandError::Usage(with_advice(
            format!("the journal in {location} ends at position {}, not {at}", end.position),
            format!("nothing was changed; start the server to see what is lost: {furthest}"),
        )));
    }
    let names: Vec<&str> = witnesses.iter().map(|lost| lost.witness.as_str()).collect();
    let line = format!(
        "{}: accepted that the journal continues after position {at} (record {}), although it had {} according to {}",
        rfc3339(now_ms()),
        end.seq,
        furthest.known_text(),
        names.join(", ")
    );
    // First, so that it is on record even if the rest is interrupted; the mark last, because it ends the refusal to start.
    add_accepted_loss(data, &line)
        .with_context(|| format!("cannot write {}", data.join(LOSSES_FILE).display()))
        .map_err(CommandError::Failed)?;
    let discarded =
        discard_witnesses(&journal, &checkpoints, Some(&index)).map_err(replay_error)?;
    journal.accept_end().map_err(|error| location.error(error))?;
    let discarded = discarded.iter().map(|what| format!("discarded {what}\n"));
    print(&format!("{line}\n{}", discarded.collect::<String>()))
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
