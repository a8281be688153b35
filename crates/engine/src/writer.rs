//! One turn of the wheel: decide a batch on the speculative copy, make it durable, apply it to the committed one.
//!
//! Blocking and single-threaded on purpose, with no clock and no thread of its own, so that the simulation can drive it
//! step by step. `driver` gives it a thread and a queue.

mod follow;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use allod_core::command::{Command, Stamp};
use allod_core::limits::Limits;
use allod_core::receipt::Receipt;
use allod_core::refusal::Refused;
use allod_core::state::State;
use allod_core::state::undo::Undo;
use allod_core::{Decision, decide};
use allod_journal::{AppendOutcome, Hash, Journal, JournalError, RecordFrame, Tail};
use allod_record::{BodyWriter, Cause, Entry, Item};
use tracing::{error, info, warn};

use crate::config::Config;
use crate::handle::{CommandReply, CommitPoint, EngineError, SharedState};
use crate::replay::{Halt, Replayed};
use crate::stamp::Dice;

/// Called between two attempts to reach the journal with the number of the attempt; `false` gives up.
pub type Pause = Box<dyn FnMut(u32) -> bool + Send>;

/// What the beginning of an epoch takes in a record, at the most.
const OPENING_BYTES_MAX: usize = 4096;

/// How many ticks one turn makes at the most, so that clients do not wait behind a crowd of expiries.
const TICKS_MAX: usize = 4;

pub struct BatchWriter {
    journal: Arc<dyn Journal>,
    shared: Arc<SharedState>,
    /// The speculative copy: what is committed, and what is being decided.
    state: State,
    tail: Tail,
    level: u32,
    epoch: u64,
    /// The last record is one of ours. If it is not, the next one of ours begins an epoch.
    leading: bool,
    /// Others may append to the same journal.
    is_shared: bool,
    /// How often another writer was faster.
    pub(crate) conflicts: u64,
    name: Arc<str>,
    limits: Limits,
    bytes_max: usize,
    dice: Dice,
    pause: Pause,
    /// Journal bytes written or replayed since the last checkpoint.
    pub(crate) bytes: u64,
}

impl std::fmt::Debug for BatchWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchWriter")
            .field("tail", &self.tail)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// A batch that has been decided and is not yet durable.
#[derive(Default)]
struct Batch {
    entries: Vec<Entry>,
    /// The hash in them is filled in once it is known.
    answers: Vec<Result<CommandReply, EngineError>>,
    body: BodyWriter,
    /// How to take it back; `None` once that is no longer possible and the copy must be made anew.
    undo: Option<Vec<Undo>>,
}

/// How an attempt to make a record durable ended.
enum CommitOutcome {
    Committed(Tail),
    /// It is not in the journal and never will be.
    NotCommitted(JournalError),
    /// Another writer has appended; where the journal ends now, if that is known.
    Overtaken(Option<Tail>),
}

impl BatchWriter {
    /// Takes over the journal at the end of what was replayed: the first append is the epoch record, and only when it
    /// is durable may anything be decided.
    pub fn lead(
        journal: Arc<dyn Journal>,
        shared: Arc<SharedState>,
        replayed: Replayed,
        config: &Config,
        seed: Option<u64>,
        pause: Pause,
    ) -> Result<BatchWriter, Halt> {
        let Replayed { state, tail, level, bytes } = replayed;
        shared.feed.limit(config.feed_bytes_max);
        shared.install(state.clone(), &tail);
        let guarantees = journal.guarantees();
        let bytes_max = config.batch_bytes_max.min(guarantees.body_bytes_max - OPENING_BYTES_MAX);
        let mut writer = BatchWriter {
            journal,
            shared,
            state,
            tail,
            level,
            epoch: tail.epoch,
            leading: false,
            is_shared: guarantees.shared,
            conflicts: 0,
            name: config.writer.as_str().into(),
            limits: config.limits,
            bytes_max,
            dice: seed.map_or_else(Dice::new, Dice::seeded),
            pause,
            bytes,
        };
        writer.begin_epoch()?;
        Ok(writer)
    }

    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn level(&self) -> u32 {
        self.level
    }

    /// When time itself will next change something.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.state.next_due_ms()
    }

    /// Whether the journal's last record is ours: nobody else writes, as far as we know.
    pub fn is_leading(&self) -> bool {
        self.leading
    }

    /// Decides the commands in order and makes what they change durable, all in one record as far as it fits. The
    /// answers are in the order of the commands; there may be fewer than commands, when not all fitted: the rest is for
    /// the next turn. `Err` means that nothing more can be written.
    pub fn write_batch(
        &mut self,
        commands: &[&Command],
    ) -> Result<Vec<Result<CommandReply, EngineError>>, Halt> {
        // Whether what we decide on has everything that anybody had acknowledged when the commands came in. A record of
        // ours proves it; a refusal writes none, and must not be given from the past.
        let mut current = !self.is_shared;
        let conflicts_before = self.conflicts;
        loop {
            let batch = self.decide_batch(commands);
            if batch.entries.is_empty() {
                if !current && !batch.answers.is_empty() {
                    current = true;
                    match self.journal.tail() {
                        Ok(end) if end == self.tail => {}
                        Ok(end) => {
                            self.follow(Some(end))?;
                            continue;
                        }
                        Err(error) => {
                            return Ok(self.refuse(batch.answers.len(), &ensure_transient(error)?));
                        }
                    }
                }
                if self.conflicts > conflicts_before {
                    self.journal.yield_turn();
                }
                return Ok(self.answers(batch.answers));
            }
            let (positions, level) = (batch.body.positions(), batch.body.level());
            let frame = self.frame(positions, level, batch.body.into_bytes());
            match self.commit(&frame)? {
                CommitOutcome::Committed(tail) => {
                    self.bytes += frame.body.len() as u64;
                    self.tail = tail;
                    self.set_leading(frame.epoch);
                    let entries = batch.entries.iter().map(|entry| (entry.at_ms, &*entry.events));
                    self.shared.apply(&tail, entries);
                    self.shared.feed.push(&tail, batch.entries);
                    self.shared.degrade(None);
                    return Ok(self.answers(batch.answers));
                }
                CommitOutcome::NotCommitted(error) => {
                    self.undo_batch(batch.undo);
                    warn!(%error, commands = commands.len(), "commands were refused because the journal did not take them");
                    return Ok(self.refuse(batch.answers.len(), &error));
                }
                CommitOutcome::Overtaken(end) => {
                    self.undo_batch(batch.undo);
                    self.follow(end)?;
                    current = true;
                }
            }
        }
    }

    /// The answers when nothing can be written.
    fn refuse(&self, count: usize, error: &JournalError) -> Vec<Result<CommandReply, EngineError>> {
        self.shared.degrade(Some(error.to_string()));
        vec![Err(EngineError::Unavailable { what: error.to_string() }); count]
    }

    fn answers(
        &self,
        mut answers: Vec<Result<CommandReply, EngineError>>,
    ) -> Vec<Result<CommandReply, EngineError>> {
        answers.iter_mut().flatten().for_each(|reply| reply.at.hash = self.tail.hash);
        answers
    }

    /// What is answered at the position that the speculative copy has now.
    fn reply(&self, answer: Result<Receipt, Refused>) -> Result<CommandReply, EngineError> {
        Ok(CommandReply {
            answer,
            at: CommitPoint { position: self.state.position, hash: Hash::default() },
        })
    }

    fn decide_batch(&mut self, commands: &[&Command]) -> Batch {
        let now_ms = self.shared.now_ms().max(self.state.now_ms);
        let mut batch = Batch { undo: Some(Vec::new()), ..Batch::default() };
        if !self.leading {
            batch.body.push(&Item::Epoch { writer: self.name.clone() });
        }
        let opening = batch.body.len();
        for _ in 0..TICKS_MAX {
            if self.state.next_due_ms().is_none_or(|due| due > now_ms) {
                break;
            }
            self.decide_one(&mut batch, opening, now_ms, &Command::Tick);
            batch.answers.clear();
        }
        for (n, command) in commands.iter().enumerate() {
            self.decide_one(&mut batch, opening, now_ms, command);
            if batch.answers.len() <= n {
                break;
            }
        }
        batch
    }

    /// Decides one command into the batch, whose beginning does not count. Leaves no answer when the batch is full.
    fn decide_one(&mut self, batch: &mut Batch, opening: usize, now_ms: u64, command: &Command) {
        let stamp = Stamp { now_ms, seed: self.dice.roll() };
        let decided = catch_unwind(AssertUnwindSafe(|| {
            decide(&mut self.state, &stamp, command, &self.limits)
        }));
        let Ok(decided) = decided else {
            error!(?command, "deciding a command panicked; it has been taken back");
            self.rebuild(batch);
            return batch.answers.push(Err(EngineError::Internal));
        };
        let Decision { events, receipt, undo } = match decided {
            Ok(decision) => decision,
            Err(refused) => return batch.answers.push(self.reply(Err(refused))),
        };
        if events.is_empty() {
            return batch.answers.push(self.reply(Ok(receipt)));
        }
        let item =
            Item::Entry(Entry { at_ms: self.state.now_ms, cause: Cause::of(command), events });
        if !batch.body.push_within(&item, opening + self.bytes_max) {
            self.state.undo(undo);
            if batch.entries.is_empty() {
                let mut alone = BodyWriter::new();
                alone.push(&item);
                batch
                    .answers
                    .push(Err(EngineError::TooLarge { bytes: alone.len(), max: self.bytes_max }));
            }
            return;
        }
        if let Item::Entry(entry) = item {
            batch.entries.push(entry);
        }
        if let Some(all) = &mut batch.undo {
            all.push(undo);
        }
        batch.answers.push(self.reply(Ok(receipt)));
    }

    /// Takes back a batch that did not become durable.
    fn undo_batch(&mut self, undo: Option<Vec<Undo>>) {
        match undo {
            Some(undo) => undo.into_iter().rev().for_each(|undo| self.state.undo(undo)),
            None => self.state = self.shared.read(|committed| committed.state.clone()),
        }
    }

    /// Makes the speculative copy anew after a panic has left it in an unknown state.
    fn rebuild(&mut self, batch: &mut Batch) {
        self.state = self.shared.read(|committed| committed.state.clone());
        for entry in &batch.entries {
            self.state.apply_entry(entry.at_ms, &entry.events);
        }
        batch.undo = None;
    }

    fn frame(&mut self, positions: u64, level: u32, body: Vec<u8>) -> RecordFrame {
        RecordFrame {
            seq: self.tail.seq + 1,
            epoch: if self.leading { self.epoch } else { self.tail.epoch + 1 },
            batch: self.dice.batch(),
            prev: self.tail.hash,
            level,
            position: self.tail.position + positions,
            at_ms: self.state.now_ms,
            body,
        }
    }

    /// Appends a record and finds out for certain whether it is there.
    fn commit(&mut self, frame: &RecordFrame) -> Result<CommitOutcome, Halt> {
        let error = match self.shared.counts.append(&*self.journal, &self.tail, frame) {
            AppendOutcome::Committed(tail) => return Ok(CommitOutcome::Committed(tail)),
            AppendOutcome::Conflict(end) => {
                self.conflicts += 1;
                return Ok(CommitOutcome::Overtaken(Some(end)));
            }
            AppendOutcome::Unknown(
                error @ (JournalError::Fatal { .. } | JournalError::Damaged { .. }),
            ) => {
                return Err(error.into());
            }
            AppendOutcome::Unknown(error) if error.changed_nothing() => {
                return Ok(CommitOutcome::NotCommitted(error));
            }
            AppendOutcome::Unknown(error) => error,
        };
        warn!(%error, seq = frame.seq, "it is not known whether a record was appended; reading back");
        self.resolve(frame, error)
    }

    /// Reads back whether a record is there. If its place is still empty, puts an epoch record there, so that it can
    /// never come late.
    fn resolve(
        &mut self,
        frame: &RecordFrame,
        mut error: JournalError,
    ) -> Result<CommitOutcome, Halt> {
        let fence = self.epoch_frame(frame.epoch + 1);
        for attempt in 0.. {
            match self.journal.read(frame.seq, 0).map(|frames| frames.into_iter().next()) {
                Ok(Some(found)) if found.batch == frame.batch => {
                    return Ok(CommitOutcome::Committed(found.tail(found.hash())));
                }
                Ok(Some(found)) if found.batch == fence.batch => {
                    self.enter_epoch(&found);
                    return Ok(CommitOutcome::NotCommitted(error));
                }
                Ok(Some(_)) => return Ok(CommitOutcome::Overtaken(None)),
                Ok(None) => match self.journal.append(&self.tail, &fence) {
                    AppendOutcome::Committed(_) => {
                        self.enter_epoch(&fence);
                        return Ok(CommitOutcome::NotCommitted(error));
                    }
                    // The journal ends before the place where it was when we last looked: it has lost records.
                    AppendOutcome::Conflict(end) if end.seq < frame.seq => {
                        return Ok(CommitOutcome::Overtaken(Some(end)));
                    }
                    // Something is there now; the next look tells what.
                    AppendOutcome::Conflict(_) => continue,
                    AppendOutcome::Unknown(again) => error = ensure_transient(again)?,
                },
                // Others have written so much that its place is no longer kept.
                Err(JournalError::Trimmed { .. }) => return Ok(CommitOutcome::Overtaken(None)),
                Err(again) => error = ensure_transient(again)?,
            }
            self.shared.degrade(Some(error.to_string()));
            if !(self.pause)(attempt) {
                return Err(Halt::Stopped);
            }
        }
        Err(Halt::Stopped)
    }

    fn epoch_frame(&mut self, epoch: u64) -> RecordFrame {
        let mut body = BodyWriter::new();
        body.push(&Item::Epoch { writer: self.name.clone() });
        if self.level < allod_record::LEVEL {
            body.push(&Item::Level { level: allod_record::LEVEL });
        }
        let (positions, level) = (body.positions(), body.level());
        RecordFrame { epoch, ..self.frame(positions, level, body.into_bytes()) }
    }

    /// An epoch record of ours is in the journal.
    fn enter_epoch(&mut self, frame: &RecordFrame) {
        let before = self.tail.position;
        self.tail = frame.tail(frame.hash());
        self.set_leading(frame.epoch);
        self.level = allod_record::LEVEL;
        // A raised level takes a position without changing anything.
        self.state.position = self.state.position.max(frame.position);
        self.shared.skip_to(&self.tail, frame.position);
        // There are as many entries as positions, and they say nothing.
        let nothing = Entry { at_ms: frame.at_ms, cause: Cause::Tick, events: Vec::new() };
        self.shared.feed.push(&self.tail, vec![nothing; (frame.position - before) as usize]);
        self.shared.degrade(None);
    }

    /// The last record is one of ours, of this epoch.
    fn set_leading(&mut self, epoch: u64) {
        if !self.leading {
            info!(epoch, position = self.tail.position, "writing from here on");
        }
        (self.leading, self.epoch) = (true, epoch);
        self.shared.leading.store(true, Ordering::Relaxed);
        self.shared.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Finds out whether a journal that did not take records does so again, by beginning an epoch.
    pub fn probe(&mut self) -> Result<(), Halt> {
        let frame = self.epoch_frame(self.tail.epoch + 1);
        match self.commit(&frame)? {
            CommitOutcome::Committed(_) => self.enter_epoch(&frame),
            CommitOutcome::Overtaken(end) => {
                self.journal.yield_turn();
                self.follow(end)?;
                self.shared.degrade(None);
            }
            CommitOutcome::NotCommitted(error) => self.shared.degrade(Some(error.to_string())),
        }
        Ok(())
    }

    fn begin_epoch(&mut self) -> Result<(), Halt> {
        for attempt in 0.. {
            let frame = self.epoch_frame(self.tail.epoch + 1);
            match self.commit(&frame)? {
                CommitOutcome::Committed(_) => {
                    self.enter_epoch(&frame);
                    return Ok(());
                }
                CommitOutcome::Overtaken(end) => self.follow(end)?,
                // A fence took its place, or there was no room; either way, try again.
                CommitOutcome::NotCommitted(error) => {
                    self.shared.degrade(Some(error.to_string()));
                    if !(self.pause)(attempt) {
                        return Err(Halt::Stopped);
                    }
                }
            }
        }
        Err(Halt::Stopped)
    }
}

/// An error after which asking again may help; any other ends the writer.
fn ensure_transient(error: JournalError) -> Result<JournalError, Halt> {
    match error {
        JournalError::Unavailable { .. }
        | JournalError::Untried { .. }
        | JournalError::Full { .. } => Ok(error),
        JournalError::Chain(broken) => Err(Halt::Forked(broken)),
        other => Err(other.into()),
    }
}
