//! An engine on a journal in memory, with a history index in a folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use allod_core::command::{Command, Expect, Op, ReleaseOp, Transact};
use allod_engine::history::{ChangeQuery, HistoricalValue, HistoryError, HistoryPage, Moment};
use allod_engine::{Clock, CommandReply, Config, Engine};
use allod_journal::Journal;
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::{InjectedFault, JournalOperation, MemoryStorage};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::history::story::{self, Dice, Whole};

pub struct Steps(AtomicU64);

impl Clock for Steps {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub struct World {
    engine: Option<Engine>,
    storage: MemoryStorage,
    clock: Arc<Steps>,
    folder: TempDir,
    runtime: Runtime,
    pub config: Config,
    /// Whether to use capacity commands.
    pub capacity: bool,
    /// While set, the journal is unavailable to the indexer.
    pub silent: Arc<AtomicBool>,
    /// Calls that failed because of `silent`.
    pub refused: Arc<AtomicU64>,
}

impl World {
    pub fn new(index_postings_max: usize) -> World {
        World::on(MemoryStorage::new(), 1000, index_postings_max)
    }

    /// On an existing journal.
    pub fn on(storage: MemoryStorage, now_ms: u64, index_postings_max: usize) -> World {
        let folder = TempDir::new().unwrap();
        let config = Config {
            index: Some(folder.path().join("index")),
            index_postings_max,
            // Low, so that some pages end early.
            history_records_max: 40,
            ..Config::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut world = World {
            engine: None,
            storage,
            clock: Arc::new(Steps(AtomicU64::new(now_ms))),
            folder,
            runtime,
            config,
            capacity: true,
            silent: Arc::default(),
            refused: Arc::default(),
        };
        world.start();
        world
    }

    fn start(&mut self) {
        let (silent, refused, mut replayed) = (self.silent.clone(), self.refused.clone(), false);
        let journal = self.storage.open_with(Box::new(move |attempt| {
            let asked = matches!(attempt.operation, JournalOperation::Oldest);
            // The first such call is from the replay.
            let first = asked && !std::mem::replace(&mut replayed, true);
            match asked && !first && silent.load(Ordering::Relaxed) {
                true => {
                    refused.fetch_add(1, Ordering::Relaxed);
                    InjectedFault::Unavailable
                }
                false => InjectedFault::None,
            }
        }));
        let (journal, checkpoints) = (Arc::new(journal), Arc::new(MemoryCheckpoints::default()));
        let (config, clock) = (self.config.clone(), self.clock.clone());
        let engine = Engine::start_with_clock(journal, checkpoints, config, clock).unwrap();
        while !engine.handle().status().ready {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        self.engine = Some(engine);
    }

    /// Stops, calls `meddle` with the folder of the index, and starts again.
    pub fn restart(&mut self, meddle: impl FnOnce(&Path)) {
        self.stop();
        meddle(&self.index());
        self.start();
    }

    pub fn stop(&mut self) {
        self.engine.take().unwrap().stop().unwrap();
    }

    /// The folder of the index.
    pub fn index(&self) -> PathBuf {
        self.folder.path().join("index")
    }

    pub fn journal(&self) -> Arc<dyn Journal> {
        Arc::new(self.storage.open())
    }

    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub fn submit(&self, command: Command) -> CommandReply {
        let handle = self.engine.as_ref().unwrap().handle();
        self.runtime.block_on(handle.submit(command)).unwrap()
    }

    pub fn play(&mut self, dice: &mut Dice, commands: usize) {
        let handle = self.engine.as_ref().unwrap().handle();
        for _ in 0..commands {
            self.clock.0.fetch_add(dice.below(900), Ordering::Relaxed);
            let kind = |pool: &str| {
                let kind = |snapshot: &allod_engine::Snapshot<'_>| {
                    snapshot.state.pool(pool).map(|pool| pool.spec.kind)
                };
                handle.read(kind).unwrap()
            };
            let command = match dice.below(16) {
                0..=3 if self.capacity => story::of_capacity(dice),
                4 | 5 if self.capacity => story::of_resources(dice),
                _ => story::command(dice, kind),
            };
            self.submit(command);
        }
        // Processes due expiries, so that nothing changes until the clock advances.
        let (pool, key) = ("nowhere".into(), "absent".into());
        let nothing = Op::Release(ReleaseOp { pool, key, expect: Expect::Any });
        self.submit(Command::Transact(Transact::one(nothing)));
    }

    pub fn changes(&self, ask: ChangeQuery) -> Result<HistoryPage, HistoryError> {
        let handle = self.engine.as_ref().unwrap().handle();
        self.runtime.block_on(handle.history().unwrap().changes(ask))
    }

    pub fn value(
        &self,
        pool: &str,
        text: &str,
        moment: Moment,
    ) -> Result<HistoricalValue, HistoryError> {
        let handle = self.engine.as_ref().unwrap().handle();
        let history = handle.history().unwrap();
        self.runtime.block_on(history.value(pool.into(), text.into(), moment))
    }

    /// A segment of another journal's index.
    pub fn foreign_segment(mut self) -> (OsString, Vec<u8>) {
        self.play(&mut Dice(99), 60);
        // A query waits for the index.
        drop(self.value("p", "1", Moment::Position(1)));
        self.stop();
        let file = crate::history::files::segments(&self.index()).remove(0);
        (file.file_name().unwrap().to_owned(), std::fs::read(file).unwrap())
    }

    /// The first available position.
    pub fn oldest_position(&self, _: &Whole) -> u64 {
        let journal = self.journal();
        let frame = journal.read(journal.oldest().unwrap(), 0).unwrap().remove(0);
        let items = allod_record::decode(&frame.body).unwrap();
        let taken = items.iter().filter(|item| item.takes_position()).count() as u64;
        frame.position - taken + 1
    }
}
