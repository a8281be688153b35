//! The engine's thread: the write loop, which takes commands from the queue, writes them, and answers; and the maintenance
//! between batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use allod_core::command::Command;
use allod_journal::Journal;
use allod_journal::checkpoint::CheckpointStore;
use tracing::{error, info, warn};

use crate::availability::Availability;
use crate::checkpoint;
use crate::config::Config;
use crate::handle::{EngineError, Handle, SharedState};
use crate::history::{HistoryReader, Indexer};
use crate::long_reads::LongReads;
use crate::metrics::EngineMetrics;
use crate::queue::{CommandQueue, Job, Wakeup};
use crate::reader::JournalReader;
use crate::replay::{Halt, Replica, recover};
use crate::retention::Retention;
use crate::stamp::{Clock, SystemClock};
use crate::witness;
use crate::writer::{BatchWriter, Pause};

/// How long the thread sleeps when nothing happens.
const IDLE: Duration = Duration::from_millis(500);

/// The first and the longest pause before a check whether the journal can be written again.
const PROBE_FIRST: Duration = Duration::from_millis(20);
const PROBE_MAX: Duration = IDLE;

/// How long a call of a shared journal may take before further commands are refused instead of queued.
const CALL_WAIT_MAX: Duration = Duration::from_secs(2);

/// The shortest interval at which a follower reads new records, so that it reads several at once on a busy journal.
const HINT_PAUSE: Duration = Duration::from_millis(10);

/// How long a follower leaves due expiries to the leader before it processes them itself.
const FOLLOWER_GRACE_MS: u64 = 700;

/// The pause between two parts of the clean-up after removed pools, if there are no commands.
const CLEAN_UP_PAUSE: Duration = Duration::from_millis(5);

/// A server that stops writes a checkpoint only after this much journal.
const STOP_CHECKPOINT_BYTES: u64 = 1 << 20;

/// A running engine. Dropping it stops it.
#[derive(Debug)]
pub struct Engine {
    handle: Handle,
    thread: Option<JoinHandle<Result<(), Halt>>>,
    stop: Arc<AtomicBool>,
    /// Stopped by drop, after the thread.
    _indexer: Option<Indexer>,
}

impl Engine {
    /// Starts the engine's thread, which first replays the journal. Until that is done, calls of the handle fail with
    /// `Unavailable`.
    pub fn start(
        journal: Arc<dyn Journal>,
        checkpoints: Arc<dyn CheckpointStore>,
        config: Config,
    ) -> std::io::Result<Engine> {
        Engine::start_with_clock(journal, checkpoints, config, Arc::new(SystemClock::default()))
    }

    pub fn start_with_clock(
        journal: Arc<dyn Journal>,
        checkpoints: Arc<dyn CheckpointStore>,
        config: Config,
        clock: Arc<dyn Clock>,
    ) -> std::io::Result<Engine> {
        let shared = Arc::new(SharedState::new(clock));
        let queue = Arc::new(CommandQueue::new(config.queue_commands_max));
        let history = Arc::new(HistoryReader::new(journal.clone(), shared.clone(), &config));
        let indexer = match &config.index {
            Some(folder) => {
                Some(Indexer::start(history.clone(), folder.clone(), config.index_postings_max)?)
            }
            None => None,
        };
        let history = indexer.is_some().then_some(history);
        let reader = Arc::new(JournalReader::new(journal.clone()));
        let stop = Arc::new(AtomicBool::new(false));
        let retention =
            Arc::new(Retention::new(journal.clone(), checkpoints.clone(), &config, stop.clone()));
        let handle = Handle {
            shared: shared.clone(),
            queue: queue.clone(),
            reader,
            retention: retention.clone(),
            history,
            journal: journal.clone(),
            long_reads: Arc::new(LongReads::new(
                config.long_reads_max,
                config.long_reads_queue_max,
            )),
        };
        let driver = Driver {
            journal,
            checkpoints,
            config,
            shared,
            queue,
            stop: stop.clone(),
            ended: Arc::default(),
            retention,
            background: None,
            checkpointed: Checkpointed::default(),
            enforced_ms: 0,
            metrics: EngineMetrics::new(),
        };
        let thread =
            std::thread::Builder::new().name("allod-engine".into()).spawn(move || driver.run())?;
        Ok(Engine { handle, thread: Some(thread), stop, _indexer: indexer })
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether the thread has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Finishes the queued commands and stops. Blocks.
    pub fn stop(mut self) -> Result<(), Halt> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Halt> {
        self.handle.queue.close(EngineError::Stopping);
        self.stop.store(true, Ordering::Release);
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(Halt::Stopped),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Err(halt) = self.end() {
            error!(%halt, "the engine ended with an error");
        }
    }
}

struct Driver {
    journal: Arc<dyn Journal>,
    checkpoints: Arc<dyn CheckpointStore>,
    config: Config,
    shared: Arc<SharedState>,
    queue: Arc<CommandQueue>,
    stop: Arc<AtomicBool>,
    /// Stops the thread that waits for records of other servers.
    ended: Arc<AtomicBool>,
    retention: Arc<Retention>,
    /// Writes a checkpoint, or enforces retention.
    background: Option<JoinHandle<()>>,
    checkpointed: Checkpointed,
    enforced_ms: u64,
    metrics: EngineMetrics,
}

/// The last checkpoint that this server began: its record, and when.
#[derive(Debug, Clone, Copy, Default)]
struct Checkpointed {
    seq: u64,
    at_ms: u64,
}

/// When to check whether the journal can be written again: soon at first, then less and less often.
#[derive(Debug, Default)]
struct ProbeSchedule {
    next: Option<(Instant, Duration)>,
}

impl ProbeSchedule {
    /// How long to sleep at most. Starts the schedule, or ends it.
    fn wait_max(&mut self, availability: &Availability) -> Duration {
        if availability.reason().is_none() {
            self.next = None;
            return IDLE;
        }
        // On a full disk, commands are checks too.
        let first = if availability.refusal().is_some() { PROBE_FIRST } else { PROBE_MAX };
        let (at, _) = *self.next.get_or_insert_with(|| (Instant::now() + first, first));
        at.saturating_duration_since(Instant::now())
    }

    fn is_due(&self) -> bool {
        self.next.is_none_or(|(at, _)| at <= Instant::now())
    }

    fn done(&mut self) {
        if let Some((at, pause)) = &mut self.next {
            *pause = (*pause * 2).min(PROBE_MAX);
            *at = Instant::now() + *pause;
        }
    }
}

impl Driver {
    fn run(mut self) -> Result<(), Halt> {
        let ended = self.write_loop();
        self.ended.store(true, Ordering::Release);
        let failure = match &ended {
            Ok(()) => EngineError::Stopping,
            Err(halt) => {
                error!(%halt, "the engine has stopped with an error");
                self.shared.availability.unreachable(halt.to_string());
                EngineError::Unavailable { what: halt.to_string() }
            }
        };
        self.queue.abort(&failure);
        self.shared.feed.close();
        if let Some(thread) = self.background.take() {
            drop(thread.join());
        }
        ended
    }

    fn write_loop(&mut self) -> Result<(), Halt> {
        let Some(replayed) = self.recover()? else { return Ok(()) };
        let pause = self.pause();
        let (journal, shared) = (self.journal.clone(), self.shared.clone());
        let mut writer =
            match BatchWriter::lead(journal, shared, replayed, &self.config, None, pause) {
                Err(Halt::Stopped) if self.stop.load(Ordering::Acquire) => return Ok(()),
                led => led?,
            };
        let is_shared = self.journal.guarantees().shared;
        if is_shared {
            self.spawn_follower();
        }
        let mut probes = ProbeSchedule::default();
        loop {
            let degraded = self.shared.availability.reason().is_some();
            let mut wait_max =
                self.until_due(&writer).min(probes.wait_max(&self.shared.availability));
            if writer.needs_clean_up() {
                wait_max = wait_max.min(CLEAN_UP_PAUSE);
            }
            let conflicts = writer.conflicts;
            match self.queue.take(self.config.batch_commands_max, wait_max) {
                Wakeup::Jobs(jobs) => self.serve(&mut writer, jobs)?,
                // A new record of another server is no reason to probe sooner.
                Wakeup::Idle if degraded && !probes.is_due() => {}
                Wakeup::Idle if degraded => {
                    writer.probe()?;
                    probes.done();
                }
                Wakeup::Idle => {
                    if is_shared {
                        writer.catch_up()?;
                    }
                    if self.until_due(&writer).is_zero() {
                        drop(writer.write_batch(&[])?);
                    }
                }
                Wakeup::Closed => break,
            }
            self.metrics.conflicts.increment(writer.conflicts - conflicts);
            writer.clean_up();
            self.maintain(&mut writer);
        }
        if writer.replica.bytes >= STOP_CHECKPOINT_BYTES {
            self.checkpoint(&mut writer);
        }
        info!(position = writer.tail().position, "engine stopped");
        Ok(())
    }

    /// How long until the next expiry is due, at most `IDLE`.
    fn until_due(&self, writer: &BatchWriter) -> Duration {
        // Expiries wait too while the journal cannot be written.
        let due = writer.next_due_ms().filter(|_| self.shared.availability.reason().is_none());
        let now_ms = self.shared.now_ms();
        let grace_ms = if writer.is_leading() { 0 } else { FOLLOWER_GRACE_MS };
        let wait_ms = |due: u64| due.saturating_add(grace_ms).saturating_sub(now_ms);
        due.map_or(IDLE, |due| Duration::from_millis(wait_ms(due))).min(IDLE)
    }

    /// Replays the journal; retries while it is unavailable. `None`: the engine was stopped meanwhile.
    fn recover(&self) -> Result<Option<Replica>, Halt> {
        let mut pause = self.pause();
        for attempt in 0.. {
            match self.replay() {
                Err(halt) if halt.is_transient() => {
                    if attempt % 16 == 0 {
                        warn!(%halt, "the journal cannot be read; retrying");
                    }
                    self.shared.availability.unreachable(halt.to_string());
                    if !pause(attempt) {
                        break;
                    }
                }
                replayed => {
                    self.shared.availability.restored();
                    return replayed.map(Some);
                }
            }
        }
        Ok(None)
    }

    fn replay(&self) -> Result<Replica, Halt> {
        let replayed = recover(&*self.journal, &*self.checkpoints)?;
        // A shared journal can lose records in a fail-over, which it reports itself.
        if let Some(index) =
            self.config.index.as_ref().filter(|_| !self.journal.guarantees().shared)
        {
            witness::ensure_not_beyond(index, &replayed.tail)?;
        }
        if let Some(newest) = self.checkpoints.list()?.first() {
            self.shared.checkpoint_position.store(newest.position, Ordering::Relaxed);
            self.shared.checkpoint_ms.store(newest.at_ms, Ordering::Relaxed);
        }
        Ok(replayed)
    }

    /// Starts a thread that waits for records of other servers and wakes the write loop. While the write loop is blocked
    /// because the journal does not answer, it answers the queued commands instead.
    fn spawn_follower(&self) {
        let (journal, shared) = (self.journal.clone(), self.shared.clone());
        let (queue, ended) = (self.queue.clone(), self.ended.clone());
        let wait = move || {
            while !ended.load(Ordering::Acquire) {
                let seq = shared.seq();
                journal.watch(seq, IDLE);
                // Otherwise the new record is our own.
                if shared.seq() == seq {
                    queue.wake();
                }
                shared.availability.check_call(CALL_WAIT_MAX);
                if let Some(what) = shared.availability.refusal() {
                    queue.fail_all(&EngineError::Unavailable { what });
                }
                std::thread::sleep(HINT_PAUSE);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("allod-follow".into()).spawn(wait) {
            warn!(%error, "cannot start the follower thread; records of other servers are only polled");
        }
    }

    /// Called between two attempts to reach the journal: fails the queued commands and waits.
    fn pause(&self) -> Pause {
        let (queue, stop, shared) = (self.queue.clone(), self.stop.clone(), self.shared.clone());
        Box::new(move |attempt| {
            let what = shared.availability.reason();
            let what = what.unwrap_or_else(|| "the journal does not answer".into());
            queue.fail_all(&EngineError::Unavailable { what });
            std::thread::sleep(Duration::from_millis(10 << attempt.min(6)));
            !stop.load(Ordering::Acquire)
        })
    }

    fn serve(&self, writer: &mut BatchWriter, jobs: Vec<Job>) -> Result<(), Halt> {
        self.metrics.queue_commands.set(self.queue.len() as f64);
        let mut barriers = Vec::new();
        let mut replies = Vec::with_capacity(jobs.len());
        let mut commands = Vec::with_capacity(jobs.len());
        for job in jobs {
            match job {
                Job::Command { command, reply } => {
                    commands.push(command);
                    replies.push(reply);
                }
                Job::Barrier { reply } => barriers.push(reply),
            }
        }
        self.metrics.commands.increment(commands.len() as u64);
        let mut replies = replies.into_iter();
        let mut left: Vec<&Command> = commands.iter().collect();
        let before = writer.tail().seq;
        while !left.is_empty() {
            let started = Instant::now();
            let answers = match writer.write_batch(&left) {
                Ok(answers) => answers,
                Err(halt) => {
                    let what = format!("the outcome of the command is not known: {halt}");
                    let failure = EngineError::Unavailable { what };
                    replies.for_each(|reply| drop(reply.send(Err(failure.clone()))));
                    barriers.into_iter().for_each(|reply| drop(reply.send(Err(failure.clone()))));
                    return Err(halt);
                }
            };
            self.shared.counts.batch(answers.len());
            self.metrics.batch_commands.record(answers.len() as f64);
            self.metrics.batch_seconds.record(started.elapsed().as_secs_f64());
            left.drain(..answers.len());
            for (answer, reply) in answers.into_iter().zip(replies.by_ref()) {
                // The client may have disconnected; the command is committed all the same.
                drop(reply.send(answer));
            }
        }
        if !barriers.is_empty() {
            // If the tail has moved, we have appended or read the tail since the barrier was queued, so the state has
            // everything that was committed before it.
            let moved = writer.tail().seq > before;
            let confirmed = if moved { Ok(Ok(())) } else { writer.confirm_tail() };
            let answer = match &confirmed {
                Ok(answer) => answer.clone(),
                Err(halt) => Err(EngineError::Unavailable { what: halt.to_string() }),
            };
            barriers.into_iter().for_each(|reply| drop(reply.send(answer.clone())));
            confirmed.map(drop)?;
        }
        Ok(())
    }

    /// Writes a checkpoint or enforces retention, if due.
    fn maintain(&mut self, writer: &mut BatchWriter) {
        let now_ms = self.shared.now_ms();
        let age_ms = now_ms.saturating_sub(self.checkpointed.at_ms);
        let wanted = writer.tail().seq > self.checkpointed.seq
            && self.retention.wants_checkpoint(writer.replica.bytes, age_ms);
        // One checkpoint is enough for all servers that share a journal; followers write one only if the leader does not.
        let patience = if writer.is_leading() { 1 } else { 2 };
        if writer.replica.bytes >= self.config.checkpoint_bytes.saturating_mul(patience) || wanted {
            return self.checkpoint(writer);
        }
        let every_ms = self.retention.enforce_interval_ms();
        let is_due = every_ms.is_some_and(|ms| now_ms.saturating_sub(self.enforced_ms) >= ms);
        // While the background is busy the run stays due; it is not skipped.
        if is_due && !self.is_busy() {
            self.enforced_ms = now_ms;
            let retention = self.retention.clone();
            self.in_background(move || enforce(&retention, now_ms));
        }
    }

    fn is_busy(&self) -> bool {
        self.background.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn in_background(&mut self, work: impl FnOnce() + Send + 'static) {
        if self.is_busy() {
            return;
        }
        match std::thread::Builder::new().name("allod-retention".into()).spawn(work) {
            Ok(thread) => self.background = Some(thread),
            Err(error) => warn!(%error, "cannot start the thread for checkpoints and retention"),
        }
    }

    /// Starts a checkpoint of the committed state, unless background work is still in progress.
    fn checkpoint(&mut self, writer: &mut BatchWriter) {
        if self.is_busy() {
            return;
        }
        writer.replica.bytes = 0;
        let now_ms = self.shared.now_ms();
        self.checkpointed = Checkpointed { seq: writer.tail().seq, at_ms: now_ms };
        let (frozen, at_ms) =
            self.shared.read(|snapshot| (snapshot.state.freeze(), snapshot.state.now_ms));
        let (tail, level) = (*writer.tail(), writer.level());
        let (retention, store, shared) =
            (self.retention.clone(), self.checkpoints.clone(), self.shared.clone());
        let written = self.metrics.checkpoints.clone();
        let work = move || {
            let started = Instant::now();
            if let Err(error) = checkpoint::write(&*store, &frozen, &tail, level) {
                return warn!(%error, "cannot write a checkpoint; the journal is complete without it");
            }
            let seconds = started.elapsed().as_secs_f64();
            info!(record = tail.seq, position = tail.position, seconds, "checkpoint written");
            written.increment(1);
            shared.counts.checkpoint();
            shared.checkpoint_position.store(tail.position, Ordering::Relaxed);
            shared.checkpoint_ms.store(at_ms, Ordering::Relaxed);
            enforce(&retention, now_ms);
        };
        self.in_background(work);
    }
}

fn enforce(retention: &Retention, now_ms: u64) {
    if let Err(error) = retention.enforce(now_ms) {
        warn!(%error, "cannot enforce retention");
    }
}
