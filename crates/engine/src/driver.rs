//! The engine's thread: takes what has queued, has it decided, and answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use allod_core::command::Command;
use allod_journal::Journal;
use allod_journal::checkpoint::CheckpointStore;
use tracing::{error, info, warn};

use crate::checkpoint;
use crate::config::Config;
use crate::handle::{EngineError, Handle, SharedState};
use crate::history::{HistoryReader, Indexer};
use crate::metrics::EngineMetrics;
use crate::queue::{CommandQueue, Job, Wakeup};
use crate::reader::JournalReader;
use crate::replay::{Halt, Replayed, recover};
use crate::retention::Retention;
use crate::stamp::{Clock, SystemClock};
use crate::writer::{BatchWriter, Pause};

/// How long the thread sleeps when nothing happens.
const IDLE: Duration = Duration::from_millis(500);

/// Others' records are taken in together when they come thick and fast.
const HINT_PAUSE: Duration = Duration::from_millis(10);

/// How long a server that does not lead leaves to the one that does what time brings about.
const FOLLOWER_GRACE_MS: u64 = 700;

/// The least journal that makes a checkpoint worth its while when the server stops.
const STOP_CHECKPOINT_BYTES: u64 = 1 << 20;

/// A running engine. Dropping it stops it.
#[derive(Debug)]
pub struct Engine {
    handle: Handle,
    thread: Option<JoinHandle<Result<(), Halt>>>,
    stop: Arc<AtomicBool>,
    /// Stopped after the thread, by being dropped.
    _indexer: Option<Indexer>,
}

impl Engine {
    /// Starts the engine's thread, which first replays the journal; until that is done, the handle answers that it is
    /// not ready.
    pub fn start(
        journal: Arc<dyn Journal>,
        checkpoints: Arc<dyn CheckpointStore>,
        config: Config,
    ) -> std::io::Result<Engine> {
        Engine::start_with_clock(journal, checkpoints, config, Arc::new(SystemClock))
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
            meter: EngineMetrics::new(),
        };
        let thread =
            std::thread::Builder::new().name("allod-engine".into()).spawn(move || driver.run())?;
        Ok(Engine { handle, thread: Some(thread), stop, _indexer: indexer })
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether the thread has ended, by itself or because it was told to.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Finishes what is queued, then ends; says how it went. Blocks.
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
    /// For the thread that waits for records of others.
    ended: Arc<AtomicBool>,
    retention: Arc<Retention>,
    /// Writes a checkpoint, or tidies up.
    background: Option<JoinHandle<()>>,
    checkpointed: Checkpointed,
    enforced_ms: u64,
    meter: EngineMetrics,
}

/// The last checkpoint that was begun here: of which record, and when.
#[derive(Debug, Clone, Copy, Default)]
struct Checkpointed {
    seq: u64,
    at_ms: u64,
}

impl Driver {
    fn run(mut self) -> Result<(), Halt> {
        let ended = self.write_loop();
        self.ended.store(true, Ordering::Release);
        let failure = match &ended {
            Ok(()) => EngineError::Stopping,
            Err(halt) => {
                error!(%halt, "the engine cannot go on");
                self.shared.degrade(Some(halt.to_string()));
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
        let mut probed = Instant::now();
        loop {
            let degraded = self.shared.degraded().is_some();
            let conflicts = writer.conflicts;
            match self.queue.take(self.config.batch_commands_max, self.until_due(&writer)) {
                Wakeup::Jobs(jobs) => self.serve(&mut writer, jobs)?,
                // News of others is no reason to ask again in a hurry.
                Wakeup::Idle if degraded && probed.elapsed() < IDLE => {}
                Wakeup::Idle if degraded => {
                    writer.probe()?;
                    probed = Instant::now();
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
            self.meter.conflicts.increment(writer.conflicts - conflicts);
            self.maintain(&mut writer);
        }
        if writer.bytes >= STOP_CHECKPOINT_BYTES {
            self.checkpoint(&mut writer);
        }
        info!(position = writer.tail().position, "the engine has stopped");
        Ok(())
    }

    /// How long until time itself changes something; no longer than the thread may sleep.
    fn until_due(&self, writer: &BatchWriter) -> Duration {
        // What is due must wait, too, while the journal takes nothing.
        let due = writer.next_due_ms().filter(|_| self.shared.degraded().is_none());
        let now_ms = self.shared.now_ms();
        let grace_ms = if writer.is_leading() { 0 } else { FOLLOWER_GRACE_MS };
        let wait_ms = |due: u64| due.saturating_add(grace_ms).saturating_sub(now_ms);
        due.map_or(IDLE, |due| Duration::from_millis(wait_ms(due))).min(IDLE)
    }

    /// Replays the journal, for as long as it takes to reach it. `None`: told to stop meanwhile.
    fn recover(&self) -> Result<Option<Replayed>, Halt> {
        let mut pause = self.pause();
        for attempt in 0.. {
            match self.replay() {
                Err(halt) if halt.is_transient() => {
                    // Once in a while is often enough.
                    if attempt % 16 == 0 {
                        warn!(%halt, "the journal cannot be read at present; asking again");
                    }
                    self.shared.degrade(Some(halt.to_string()));
                    if !pause(attempt) {
                        break;
                    }
                }
                replayed => {
                    self.shared.degrade(None);
                    return replayed.map(Some);
                }
            }
        }
        Ok(None)
    }

    fn replay(&self) -> Result<Replayed, Halt> {
        let replayed = recover(&*self.journal, &*self.checkpoints)?;
        if let Some(newest) = self.checkpoints.list()?.first() {
            self.shared.checkpoint_position.store(newest.position, Ordering::Relaxed);
            self.shared.checkpoint_ms.store(newest.at_ms, Ordering::Relaxed);
        }
        Ok(replayed)
    }

    /// Has a thread wait for records of other servers, and wake this one.
    fn spawn_follower(&self) {
        let (journal, shared) = (self.journal.clone(), self.shared.clone());
        let (queue, ended) = (self.queue.clone(), self.ended.clone());
        let wait = move || {
            while !ended.load(Ordering::Acquire) {
                let seq = shared.seq();
                journal.watch(seq, IDLE);
                // What we wrote ourselves is no news.
                if shared.seq() == seq {
                    queue.wake();
                }
                std::thread::sleep(HINT_PAUSE);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("allod-follow".into()).spawn(wait) {
            warn!(%error, "records of other servers are only looked for now and then");
        }
    }

    /// What to do between two attempts to reach a journal that does not answer: tell those who wait, and wait.
    fn pause(&self) -> Pause {
        let (queue, stop, shared) = (self.queue.clone(), self.stop.clone(), self.shared.clone());
        Box::new(move |attempt| {
            let what = shared.degraded().unwrap_or_else(|| "the journal does not answer".into());
            queue.fail_all(&EngineError::Unavailable { what });
            std::thread::sleep(Duration::from_millis(10 << attempt.min(6)));
            !stop.load(Ordering::Acquire)
        })
    }

    fn serve(&self, writer: &mut BatchWriter, jobs: Vec<Job>) -> Result<(), Halt> {
        self.meter.queue_commands.set(self.queue.len() as f64);
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
        self.meter.commands.increment(commands.len() as u64);
        let mut replies = replies.into_iter();
        let mut left: Vec<&Command> = commands.iter().collect();
        let before = writer.tail().seq;
        while !left.is_empty() {
            let started = Instant::now();
            let answers = match writer.write_batch(&left) {
                Ok(answers) => answers,
                Err(halt) => {
                    let what = format!("it is not known whether this was carried out: {halt}");
                    let failure = EngineError::Unavailable { what };
                    replies.for_each(|reply| drop(reply.send(Err(failure.clone()))));
                    barriers.into_iter().for_each(|reply| drop(reply.send(Err(failure.clone()))));
                    return Err(halt);
                }
            };
            self.shared.counts.batch(answers.len());
            self.meter.batch_commands.record(answers.len() as f64);
            self.meter.batch_seconds.record(started.elapsed().as_secs_f64());
            left.drain(..answers.len());
            for (answer, reply) in answers.into_iter().zip(replies.by_ref()) {
                // Whoever asked may have gone; the command stands all the same.
                drop(reply.send(answer));
            }
        }
        if !barriers.is_empty() {
            // A record of ours that was committed after the barrier came in proves that we know all that was written
            // before; and where we followed others, we had asked for the end since.
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

    /// Writes a checkpoint or tidies up, if it is time.
    fn maintain(&mut self, writer: &mut BatchWriter) {
        let now_ms = self.shared.now_ms();
        let age_ms = now_ms.saturating_sub(self.checkpointed.at_ms);
        let wanted = writer.tail().seq > self.checkpointed.seq
            && self.retention.wants_checkpoint(writer.bytes, age_ms);
        // One checkpoint will do for all who share a journal; a leader that makes none is not waited for for ever.
        let patience = if writer.is_leading() { 1 } else { 2 };
        if writer.bytes >= self.config.checkpoint_bytes.saturating_mul(patience) || wanted {
            return self.checkpoint(writer);
        }
        let every_ms = self.retention.enforce_interval_ms();
        if every_ms.is_some_and(|ms| now_ms.saturating_sub(self.enforced_ms) >= ms) {
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
            Err(error) => warn!(%error, "a thread for checkpoints could not be started"),
        }
    }

    /// Starts a checkpoint of what is committed now, unless one is still being written.
    fn checkpoint(&mut self, writer: &mut BatchWriter) {
        if self.is_busy() {
            return;
        }
        writer.bytes = 0;
        let now_ms = self.shared.now_ms();
        self.checkpointed = Checkpointed { seq: writer.tail().seq, at_ms: now_ms };
        let (frozen, at_ms) =
            self.shared.read(|snapshot| (snapshot.state.freeze(), snapshot.state.now_ms));
        let (tail, level) = (*writer.tail(), writer.level());
        let (retention, store, shared) =
            (self.retention.clone(), self.checkpoints.clone(), self.shared.clone());
        let written = self.meter.checkpoints.clone();
        let work = move || {
            let started = Instant::now();
            if let Err(error) = checkpoint::write(&*store, &frozen, &tail, level) {
                return warn!(%error, "a checkpoint could not be written; the journal is complete without it");
            }
            let seconds = started.elapsed().as_secs_f64();
            info!(
                record = tail.seq,
                position = tail.position,
                seconds,
                "a checkpoint has been written"
            );
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
        warn!(%error, "what is no longer needed could not be removed");
    }
}
