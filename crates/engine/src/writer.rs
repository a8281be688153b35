//! Writes batches: decides commands on the speculative copy, appends their events to the journal, and applies them to the
//! committed state.
//!
//! Blocking and single-threaded, without a clock or thread of its own, so that the simulation can drive it step by step.
//! `driver` gives it a thread and a queue.

mod clean_up;
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
use crate::log_limit::LogLimit;
use crate::replay::{Halt, Replica};
use crate::stamp::RandomSource;
use clean_up::Dropper;

/// Called between two attempts to reach the journal, with the number of the attempt. `false`: give up.
pub type Pause = Box<dyn FnMut(u32) -> bool + Send>;

/// The most bytes that the beginning of an epoch takes in a record.
const OPENING_BYTES_MAX: usize = 4096;

/// The most ticks in one batch, so that clients do not wait for many expiries.
const TICKS_MAX: usize = 4;

pub struct BatchWriter {
    journal: Arc<dyn Journal>,
    shared: Arc<SharedState>,
    /// The speculative copy: the committed state, and the batch that is being decided.
    pub(crate) replica: Replica,
    epoch: u64,
    /// This writer wrote the last record. If not, its next record begins an epoch.
    leading: bool,
    /// Other servers may append to the same journal.
    is_shared: bool,
    /// Appends that failed because another writer had appended.
    pub(crate) conflicts: u64,
    name: Arc<str>,
    limits: Limits,
    bytes_max: usize,
    random: RandomSource,
    writer_log: LogLimit,
    pause: Pause,
    /// Drops pools that were removed.
    dropper: Dropper,
}

impl std::fmt::Debug for BatchWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BatchWriter")
            .field("tail", &self.replica.tail)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

/// A decided batch that is not yet durable.
#[derive(Default)]
struct Batch {
    entries: Vec<Entry>,
    /// Their hash is set once it is known.
    answers: Vec<Result<CommandReply, EngineError>>,
    body: BodyWriter,
    /// How to undo it. `None` after a panic: then the speculative copy must be rebuilt.
    undo: Option<Vec<Undo>>,
}

/// The certain outcome of an append.
enum CommitOutcome {
    Committed(Tail),
    /// The record is not in the journal and never will be.
    NotCommitted(JournalError),
    /// Another writer has appended. The new tail, if known.
    Conflict(Option<Tail>),
}

impl BatchWriter {
    /// Takes over the journal at the end of what was replayed. Appends an epoch record; nothing is decided before it is
    /// durable.
    pub fn lead(
        journal: Arc<dyn Journal>,
        shared: Arc<SharedState>,
        replayed: Replica,
        config: &Config,
        seed: Option<u64>,
        pause: Pause,
    ) -> Result<BatchWriter, Halt> {
        shared.feed.limit(config.feed_bytes_max);
        shared.install(replayed.state.clone(), &replayed.tail);
        let guarantees = journal.guarantees();
        let bytes_max = config.batch_bytes_max.min(guarantees.body_bytes_max - OPENING_BYTES_MAX);
        let mut writer = BatchWriter {
            journal,
            shared,
            epoch: replayed.tail.epoch,
            replica: replayed,
            leading: false,
            is_shared: guarantees.shared,
            conflicts: 0,
            name: config.writer.as_str().into(),
            limits: config.limits,
            bytes_max,
            random: seed.map_or_else(RandomSource::new, RandomSource::seeded),
            writer_log: LogLimit::default(),
            pause,
            dropper: Dropper::default(),
        };
        writer.begin_epoch()?;
        Ok(writer)
    }

    pub fn tail(&self) -> &Tail {
        &self.replica.tail
    }

    pub fn state(&self) -> &State {
        &self.replica.state
    }

    pub fn level(&self) -> u32 {
        self.replica.level
    }

    /// When the next expiry is due.
    pub fn next_due_ms(&self) -> Option<u64> {
        self.replica.state.next_due_ms()
    }

    /// Whether this writer wrote the last record, as far as it knows.
    pub fn is_leading(&self) -> bool {
        self.leading
    }

    /// Decides the commands in order and appends their events as one record. Returns the answers in the order of the
    /// commands; fewer than commands if not all fit into the record. `Err` means that the engine must stop.
    pub fn write_batch(
        &mut self,
        commands: &[&Command],
    ) -> Result<Vec<Result<CommandReply, EngineError>>, Halt> {
        // Whether the state includes everything that was acknowledged before the commands arrived. A successful append
        // proves it. Refusals append nothing, so the tail must be checked before they are answered.
        let mut current = !self.is_shared;
        let conflicts_before = self.conflicts;
        loop {
            let batch = self.decide_batch(commands);
            if batch.entries.is_empty() {
                if !current && !batch.answers.is_empty() {
                    current = true;
                    match self.ask(|journal| journal.tail()) {
                        Ok(end) if end == self.replica.tail => {}
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
                    self.replica.bytes += frame.body.len() as u64;
                    self.replica.tail = tail;
                    self.set_leading(frame.epoch);
                    let events = |entry: &Entry| entry.events.len();
                    self.shared.apply(&tail, &batch.entries, events, |state, entry| {
                        state.apply_entry(entry.at_ms, &entry.events);
                    });
                    self.shared.note_authority_changes(&batch.entries);
                    self.shared.feed.push(&tail, batch.entries);
                    self.shared.availability.restored();
                    return Ok(self.answers(batch.answers));
                }
                CommitOutcome::NotCommitted(error) => {
                    self.undo_batch(batch.undo);
                    warn!(%error, commands = commands.len(), "commands failed because the journal cannot be written");
                    return Ok(self.refuse(batch.answers.len(), &error));
                }
                CommitOutcome::Conflict(end) => {
                    self.undo_batch(batch.undo);
                    self.follow(end)?;
                    current = true;
                }
            }
        }
    }

    /// The answers if the journal cannot be written.
    fn refuse(&self, count: usize, error: &JournalError) -> Vec<Result<CommandReply, EngineError>> {
        self.shared.availability.failed(error);
        vec![Err(EngineError::Unavailable { what: error.to_string() }); count]
    }

    fn answers(
        &self,
        mut answers: Vec<Result<CommandReply, EngineError>>,
    ) -> Vec<Result<CommandReply, EngineError>> {
        answers.iter_mut().flatten().for_each(|reply| reply.at.hash = self.replica.tail.hash);
        answers
    }

    /// A reply at the current position of the speculative copy.
    fn reply(&self, answer: Result<Receipt, Refused>) -> Result<CommandReply, EngineError> {
        Ok(CommandReply {
            answer,
            at: CommitPoint { position: self.replica.state.position, hash: Hash::default() },
        })
    }

    fn decide_batch(&mut self, commands: &[&Command]) -> Batch {
        let now_ms = self.shared.now_ms_after(&self.replica.state);
        let mut batch = Batch { undo: Some(Vec::new()), ..Batch::default() };
        if !self.leading {
            batch.body.push(&Item::Epoch { writer: self.name.clone() });
        }
        let opening = batch.body.len();
        for _ in 0..TICKS_MAX {
            if self.replica.state.next_due_ms().is_none_or(|due| due > now_ms) {
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

    /// Decides one command and adds it to the batch. Adds no answer if the batch is full. `opening` is the size of the
    /// epoch item, which does not count.
    fn decide_one(&mut self, batch: &mut Batch, opening: usize, now_ms: u64, command: &Command) {
        let stamp = Stamp { now_ms, seed: self.random.next() };
        let bytes = command.bytes_min();
        if bytes > self.bytes_max {
            let max = self.bytes_max;
            return batch.answers.push(Err(EngineError::TooLarge { bytes, max }));
        }
        let decided = catch_unwind(AssertUnwindSafe(|| {
            decide(&mut self.replica.state, &stamp, command, &self.limits)
        }));
        let Ok(decided) = decided else {
            error!(?command, "deciding a command panicked; it was undone");
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
        let item = Item::Entry(Entry {
            at_ms: self.replica.state.now_ms,
            cause: Cause::of(command),
            events,
        });
        if !batch.body.push_within(&item, opening + self.bytes_max) {
            self.replica.state.undo(undo);
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

    /// Undoes a batch that was not committed.
    fn undo_batch(&mut self, undo: Option<Vec<Undo>>) {
        match undo {
            Some(undo) => undo.into_iter().rev().for_each(|undo| self.replica.state.undo(undo)),
            None => self.replica.state = self.shared.read(|committed| committed.state.clone()),
        }
    }

    /// Rebuilds the speculative copy after a panic has left it in an unknown state.
    fn rebuild(&mut self, batch: &mut Batch) {
        self.replica.state = self.shared.read(|committed| committed.state.clone());
        for entry in &batch.entries {
            self.replica.state.apply_entry(entry.at_ms, &entry.events);
        }
        batch.undo = None;
    }

    fn frame(&mut self, positions: u64, level: u32, body: Vec<u8>) -> RecordFrame {
        RecordFrame {
            seq: self.replica.tail.seq + 1,
            epoch: if self.leading { self.epoch } else { self.replica.tail.epoch + 1 },
            batch: self.random.batch(),
            prev: self.replica.tail.hash,
            level,
            position: self.replica.tail.position + positions,
            at_ms: self.replica.state.now_ms,
            body,
        }
    }

    /// Calls the journal.
    fn ask<T>(&self, call: impl FnOnce(&dyn Journal) -> T) -> T {
        self.shared.availability.during(|| call(&*self.journal))
    }

    fn append(&self, frame: &RecordFrame) -> AppendOutcome {
        self.ask(|journal| self.shared.counts.append(journal, &self.replica.tail, frame))
    }

    /// Appends a record and determines the outcome with certainty.
    fn commit(&mut self, frame: &RecordFrame) -> Result<CommitOutcome, Halt> {
        let error = match self.append(frame) {
            AppendOutcome::Committed(tail) => return Ok(CommitOutcome::Committed(tail)),
            AppendOutcome::Conflict(end) => {
                self.conflicts += 1;
                return Ok(CommitOutcome::Conflict(Some(end)));
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
        warn!(%error, seq = frame.seq, "the outcome of an append is unknown; reading back");
        // Before the first read, which may take as long as the append.
        self.shared.availability.failed(&error);
        self.resolve(frame, error)
    }

    /// Determines whether a record was appended. If there is no record with its number, appends an epoch record there, so
    /// that the first one can never be appended later.
    fn resolve(
        &mut self,
        frame: &RecordFrame,
        mut error: JournalError,
    ) -> Result<CommitOutcome, Halt> {
        let fence = self.epoch_frame(frame.epoch + 1);
        for attempt in 0.. {
            match self.ask(|journal| journal.read(frame.seq, 0)).map(first) {
                Ok(Some(found)) if found.batch == frame.batch => {
                    return Ok(CommitOutcome::Committed(found.tail(found.hash())));
                }
                Ok(Some(found)) if found.batch == fence.batch => {
                    self.enter_epoch(&found);
                    return Ok(CommitOutcome::NotCommitted(error));
                }
                Ok(Some(_)) => return Ok(CommitOutcome::Conflict(None)),
                Ok(None) => match self.ask(|journal| journal.append(&self.replica.tail, &fence)) {
                    AppendOutcome::Committed(_) => {
                        self.enter_epoch(&fence);
                        return Ok(CommitOutcome::NotCommitted(error));
                    }
                    // The journal has lost records that we had read.
                    AppendOutcome::Conflict(end) if end.seq < frame.seq => {
                        return Ok(CommitOutcome::Conflict(Some(end)));
                    }
                    // There is a record now; read it in the next round.
                    AppendOutcome::Conflict(_) => continue,
                    AppendOutcome::Unknown(again) => error = ensure_transient(again)?,
                },
                // Other writers have appended so much that it has been trimmed.
                Err(JournalError::Trimmed { .. }) => return Ok(CommitOutcome::Conflict(None)),
                Err(again) => error = ensure_transient(again)?,
            }
            self.shared.availability.failed(&error);
            if !(self.pause)(attempt) {
                return Err(Halt::Stopped);
            }
        }
        Err(Halt::Stopped)
    }

    fn epoch_frame(&mut self, epoch: u64) -> RecordFrame {
        let mut body = BodyWriter::new();
        body.push(&Item::Epoch { writer: self.name.clone() });
        if self.replica.level < allod_record::LEVEL {
            body.push(&Item::Level { level: allod_record::LEVEL });
        }
        let (positions, level) = (body.positions(), body.level());
        RecordFrame { epoch, ..self.frame(positions, level, body.into_bytes()) }
    }

    /// Our epoch record has been committed.
    fn enter_epoch(&mut self, frame: &RecordFrame) {
        let before = self.replica.tail.position;
        self.replica.tail = frame.tail(frame.hash());
        self.set_leading(frame.epoch);
        self.replica.level = allod_record::LEVEL;
        // A raised level has a position and changes nothing else.
        self.replica.state.position = self.replica.state.position.max(frame.position);
        self.shared.skip_to(&self.replica.tail, frame.position);
        // The feed needs one entry for each position.
        let nothing = Entry { at_ms: frame.at_ms, cause: Cause::Tick, events: Vec::new() };
        self.shared
            .feed
            .push(&self.replica.tail, vec![nothing; (frame.position - before) as usize]);
        self.shared.availability.restored();
    }

    /// Our record of this epoch is the last one.
    fn set_leading(&mut self, epoch: u64) {
        if !self.leading {
            // Servers that write at the same time take turns, hundreds of times a second.
            if let Some(changes) = self.writer_log.count(self.shared.now_ms()) {
                let position = self.replica.tail.position;
                info!(epoch, position, changes, "this server is now the writer");
            }
        }
        (self.leading, self.epoch) = (true, epoch);
        self.shared.leading.store(true, Ordering::Relaxed);
        self.shared.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Checks whether the journal can be written again, by beginning an epoch.
    pub fn probe(&mut self) -> Result<(), Halt> {
        let frame = self.epoch_frame(self.replica.tail.epoch + 1);
        match self.commit(&frame)? {
            CommitOutcome::Committed(_) => self.enter_epoch(&frame),
            CommitOutcome::Conflict(end) => {
                self.journal.yield_turn();
                self.follow(end)?;
                self.shared.availability.restored();
            }
            CommitOutcome::NotCommitted(error) => self.shared.availability.failed(&error),
        }
        Ok(())
    }

    fn begin_epoch(&mut self) -> Result<(), Halt> {
        for attempt in 0.. {
            let frame = self.epoch_frame(self.replica.tail.epoch + 1);
            match self.commit(&frame)? {
                CommitOutcome::Committed(_) => {
                    self.enter_epoch(&frame);
                    return Ok(());
                }
                CommitOutcome::Conflict(end) => self.follow(end)?,
                // Another record took its place, or there was no room. Retry in both cases.
                CommitOutcome::NotCommitted(error) => {
                    self.shared.availability.failed(&error);
                    if !(self.pause)(attempt) {
                        return Err(Halt::Stopped);
                    }
                }
            }
        }
        Err(Halt::Stopped)
    }
}

fn first(frames: Vec<RecordFrame>) -> Option<RecordFrame> {
    frames.into_iter().next()
}

/// Passes on an error after which a retry may help; any other one stops the engine.
fn ensure_transient(error: JournalError) -> Result<JournalError, Halt> {
    match error {
        JournalError::Unavailable { .. }
        | JournalError::Untried { .. }
        | JournalError::Full { .. } => Ok(error),
        JournalError::Chain(broken) => Err(Halt::Forked(broken)),
        other => Err(other.into()),
    }
}
