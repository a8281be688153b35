//! The simulation: nodes take turns on one journal, and everything is checked after each step.

use std::collections::BTreeSet;
use std::sync::Arc;

use allod_core::command::Command;
use allod_engine::{
    BatchWriter, Clock, CommandReply, Config, EngineError, Halt, Hash, SharedState, recover,
    state_hash, verify, write_checkpoint,
};
use allod_journal::checkpoint::MemoryCheckpoints;
use allod_journal::memory::MemoryStorage;
use allod_journal::{CheckpointStore, Journal, JournalError};
use allod_testkit::{Call, CallAnswer, History, Request};
use parking_lot::Mutex;

use crate::chaos::{self, Chaos, LostRecords};
use crate::clock::SimClock;
use crate::journal_contents::JournalContents;
use crate::node::{Running, SimNode};
use crate::random::SimRandom;
use crate::workload;

/// The counts of one run, which show whether it exercised anything.
#[derive(Debug, Default, Clone)]
pub struct SimReport {
    pub trace: Vec<String>,
    pub records: u64,
    pub entries: u64,
    pub accepted: u64,
    pub refused: u64,
    pub failed: u64,
    pub halts: u64,
    pub crashes: u64,
    pub forks: u64,
    pub forks_seen: u64,
    pub checkpoints: u64,
    /// Answers that the external checker verified, and those that it cannot judge.
    pub judged: u64,
    pub open: u64,
}

pub(crate) type Answers = Result<Vec<Result<CommandReply, EngineError>>, Halt>;

pub(crate) struct World<'a> {
    pub random: SimRandom,
    pub storage: MemoryStorage,
    pub checkpoints: MemoryCheckpoints,
    /// Damaged checkpoints.
    pub damaged: BTreeSet<u64>,
    pub chaos: Arc<Mutex<Chaos>>,
    pub clock: Arc<SimClock>,
    pub nodes: Vec<SimNode>,
    pub contents: JournalContents,
    /// Writers that ended without knowing the outcome of their last append.
    pub unsure: BTreeSet<Arc<str>>,
    pub forks: bool,
    /// Faults have stopped.
    pub calm: bool,
    /// The number of turns, which serves as the time of the history.
    pub steps: u64,
    /// All answers, for the external checker.
    pub history: History,
    pub report: SimReport,
    pub trace: &'a mut Vec<String>,
}

pub fn run(seed: u64, steps: u32, trace: &mut Vec<String>) -> Result<SimReport, String> {
    let mut random = SimRandom::new(seed);
    let forks = random.percent(30);
    let chaos = Chaos::new(random.fork(), forks);
    let nodes = random.between(1, 3) as usize;
    let mut world = World {
        storage: MemoryStorage::new(),
        checkpoints: MemoryCheckpoints::new(),
        damaged: BTreeSet::new(),
        chaos: Arc::new(Mutex::new(chaos)),
        clock: Arc::new(SimClock::new()),
        nodes: (0..nodes).map(SimNode::new).collect(),
        contents: JournalContents::default(),
        unsure: BTreeSet::new(),
        forks,
        calm: false,
        steps: 0,
        history: History::default(),
        report: SimReport::default(),
        random,
        trace,
    };
    let pools = workload::pools(&mut world.random);
    world.step(0, &pools)?;
    for _ in 0..steps {
        world.chaos.lock().next_step();
        world.anything()?;
    }
    world.calm_down()?;
    world.check_history()?;
    world.report.records = world.contents.records.len() as u64;
    world.report.entries = world.contents.state.position;
    Ok(world.report)
}

impl World<'_> {
    fn anything(&mut self) -> Result<(), String> {
        self.clock.step(self.random.below(150));
        let node = self.random.below(self.nodes.len() as u64) as usize;
        match self.random.below(100) {
            0..4 => {
                let ms = self.random.between(1_000, 100_000);
                if self.random.percent(50) {
                    self.clock.step(ms)
                } else {
                    self.clock.step_back(ms)
                }
                self.note(format!("the clock steps about {ms} ms"));
            }
            4..10 => {
                if self.nodes[node].running.take().is_some() {
                    self.report.crashes += 1;
                    self.note(format!("node {node} crashes"));
                }
            }
            10..16 => self.checkpoint(node)?,
            16..18 => self.damage(),
            18..20 if self.forks => {
                self.chaos.lock().fork(&self.storage, None);
                self.settle_forks()?;
            }
            20..24 => self.confirm(node)?,
            _ => {
                let commands = workload::batch(&mut self.random);
                self.step(node, &commands)?;
            }
        }
        self.check_all()
    }

    fn note(&mut self, what: String) {
        self.trace.push(what);
        self.trace.append(&mut self.chaos.lock().notes);
    }

    // --- starting ----------------------------------------------------------------------------------------------

    /// Recovers a node from checkpoint and journal, and makes it a leader.
    fn start(&mut self, node: usize) -> Result<(), String> {
        self.nodes[node].life += 1;
        let name = self.nodes[node].name();
        let journal: Arc<dyn Journal> =
            Arc::new(self.storage.open_with(chaos::plan(&self.chaos, &self.clock)));
        let shared = Arc::new(SharedState::new(self.clock.clone()));
        let pause = chaos::pause(&self.chaos, &self.clock, &self.storage, &shared);
        let config = Config {
            limits: workload::limits(),
            batch_bytes_max: *self.random.one_of(&[250, 600, 4_000, 100_000]),
            writer: name.to_string(),
            ..Config::default()
        };
        let seed = Some(self.random.next_u64());
        let newest = self.checkpoints.list().map_err(|error| error.to_string())?;
        let ahead = newest.first().is_some_and(|meta| self.contents.lost.contains(&meta.hash));
        let led = recover(&*journal, &self.checkpoints).and_then(|replayed| {
            BatchWriter::lead(journal, shared.clone(), replayed, &config, seed, pause)
        });
        self.settle_forks()?;
        match led {
            Ok(_) if ahead => {
                return Err(format!(
                    "{name} starts although the journal lost records of its checkpoint"
                ));
            }
            Ok(writer) => {
                self.note(format!("{name} leads from {:?}", writer.tail()));
                let running = Running { name, shared, writer, answered: 0 };
                self.nodes[node].running = Some(running);
            }
            Err(halt @ (Halt::JournalTruncated { .. } | Halt::CheckpointMismatch { .. })) => {
                self.note(format!("{name} does not start: {halt}"));
                // The operator decides to continue without the lost records.
                self.checkpoints = MemoryCheckpoints::new();
                if self.contents.lost.is_empty() {
                    return Err(format!("nothing was lost: {halt}"));
                }
                self.report.forks_seen += 1;
            }
            // A start does not retry; the next step starts the node again.
            Err(halt @ Halt::Journal(JournalError::Unavailable { .. })) => {
                self.note(format!("{name} does not start: {halt}"));
            }
            Err(halt) => {
                self.note(format!("{name} does not start: {halt}"));
                self.halted(&halt, false)?;
            }
        }
        let new = self.contents.sync(&self.storage)?;
        self.check_authors(new, None)
    }

    // --- one turn ----------------------------------------------------------------------------------------------

    fn step(&mut self, node: usize, commands: &[Command]) -> Result<(), String> {
        if self.nodes[node].running.is_none() {
            self.start(node)?;
        }
        let Some(running) = &mut self.nodes[node].running else { return Ok(()) };
        let before = *running.writer.tail();
        let doomed = self.contents.lost.contains(&before.hash);
        let name = running.name.clone();
        let commands: Vec<&Command> = commands.iter().collect();
        self.steps += 1;
        let earliest_ms = self.clock.now_ms();
        let answers = running.writer.write_batch(&commands);
        running.writer.clean_up();
        let doomed_now = self.settle_forks()?;
        let new = self.contents.sync(&self.storage)?;
        self.trace.push(format!("{name} after {before:?}: {commands:?}"));
        self.note(format!("  {answers:?}"));
        if answers.is_err() {
            self.unsure.insert(name.clone());
        }
        self.check_authors(new, Some(&name))?;
        if answers.is_ok() && doomed_now {
            return Err(format!(
                "{name} continues although the journal lost what it had published"
            ));
        }
        let written = self.contents.records[new..].iter().any(|record| record.writer == name);
        if doomed && written {
            return Err(format!("{name} writes although the journal lost what it had seen"));
        }
        for (command, answer) in commands.iter().zip(answers.iter().flatten()) {
            if let Ok(reply) = answer {
                self.history.calls.push(Call {
                    request: Request::Command((*command).clone()),
                    answer: CallAnswer::of(&reply.answer),
                    position: reply.at.position,
                    hash: reply.at.hash,
                    began_ns: 2 * self.steps,
                    ended_ns: 2 * self.steps + 1,
                    earliest_ms,
                    connection: node as u64,
                });
            }
        }
        self.check_answers(node, new, answers, doomed || doomed_now)
    }

    fn confirm(&mut self, node: usize) -> Result<(), String> {
        // A record in flight may land meanwhile; it was not acknowledged before.
        let end = self.contents.tail();
        let Some(running) = &mut self.nodes[node].running else { return Ok(()) };
        let name = running.name.clone();
        let confirmed = running.writer.confirm_tail();
        let doomed = self.settle_forks()?;
        let end = self.contents.find(&end).map_or(self.contents.tail(), |record| record.tail);
        let new = self.contents.sync(&self.storage)?;
        self.note(format!("{name} confirms: {confirmed:?}"));
        self.check_authors(new, None)?;
        match confirmed {
            Ok(_) if doomed => Err(format!("{name} confirms a journal that has forked")),
            Ok(Err(_)) => Ok(()),
            Ok(Ok(())) => {
                let running = self.nodes[node].running.as_ref();
                let tail = running.map(|running| *running.writer.tail()).unwrap_or_default();
                if tail.seq >= end.seq { Ok(()) } else { Err(format!("{name} is not at {end:?}")) }
            }
            Err(halt) => {
                self.nodes[node].running = None;
                self.halted(&halt, true)
            }
        }
    }

    // --- forks, checkpoints ------------------------------------------------------------------------------------

    /// Processes lost records. Returns whether the active node had already published some of them.
    fn settle_forks(&mut self) -> Result<bool, String> {
        let lost_records: Vec<LostRecords> = std::mem::take(&mut self.chaos.lock().lost_records);
        for lost in &lost_records {
            self.report.forks += 1;
            self.contents.drop_lost(lost)?;
        }
        Ok(lost_records.iter().any(|lost| lost.seen))
    }

    fn checkpoint(&mut self, node: usize) -> Result<(), String> {
        let Some(running) = &self.nodes[node].running else { return Ok(()) };
        let (tail, level) = (*running.writer.tail(), running.writer.level());
        let frozen = running.shared.read(|snapshot| snapshot.state.freeze());
        write_checkpoint(&self.checkpoints, &frozen, &tail, level)
            .map_err(|error| error.to_string())?;
        self.damaged.remove(&tail.seq);
        self.report.checkpoints += 1;
        let begins = self.storage.open().oldest().unwrap_or(1);
        let sound = |seq: &u64| !self.damaged.contains(seq) && seq + 1 >= begins;
        let list = || self.checkpoints.list().unwrap_or_default();
        if self.random.percent(40) && list().iter().take(2).all(|meta| sound(&meta.seq)) {
            self.checkpoints.keep_newest(2).map_err(|error| error.to_string())?;
        }
        let oldest = list().iter().map(|meta| meta.seq).filter(sound).min();
        let trim = !self.forks && self.random.percent(30);
        if let Some(oldest) = oldest.filter(|_| trim) {
            self.storage.open().trim(oldest).map_err(|error| error.to_string())?;
            self.note(format!("the journal is trimmed up to {oldest}"));
        }
        self.note(format!("a checkpoint of node {node} at {tail:?}"));
        Ok(())
    }

    /// Damages a checkpoint, but never the last usable one.
    fn damage(&mut self) {
        let list = self.checkpoints.list().unwrap_or_default();
        let oldest = self.storage.open().oldest().unwrap_or(1);
        let of_use = |seq: &u64| !self.damaged.contains(seq) && seq + 1 >= oldest;
        let sound: Vec<u64> = list.iter().map(|meta| meta.seq).filter(of_use).collect();
        let spare = if oldest > 1 { sound.len().saturating_sub(1) } else { sound.len() };
        if spare == 0 {
            return;
        }
        let seq = sound[self.random.below(spare as u64) as usize];
        let (at, bit) = (self.random.next_u64(), self.random.below(8));
        let truncate = self.random.percent(50);
        self.checkpoints.alter(seq, |bytes| {
            let at = (at % bytes.len() as u64) as usize;
            if truncate { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
        });
        self.damaged.insert(seq);
        self.note(format!("the checkpoint of record {seq} is damaged"));
    }

    // --- the end -----------------------------------------------------------------------------------------------

    /// Stops all faults. All nodes must reach the same state and be able to write.
    fn calm_down(&mut self) -> Result<(), String> {
        self.storage.land_all();
        self.calm = true;
        self.note("calm".into());
        for node in 0..self.nodes.len() {
            // A node that had seen lost records stops once; a node whose checkpoint has them fails to start once.
            for attempt in 0.. {
                self.chaos.lock().calm();
                let commands = workload::pools(&mut self.random);
                self.step(node, &commands)?;
                self.confirm(node)?;
                self.check_all()?;
                if self.nodes[node].running.is_some() {
                    break;
                }
                if attempt == 3 {
                    return Err(format!("node {node} does not restart"));
                }
            }
        }
        for node in 0..self.nodes.len() {
            self.confirm(node)?;
        }
        let hashes: Vec<Hash> = self
            .nodes
            .iter()
            .filter_map(|node| node.running.as_ref())
            .map(|running| state_hash(running.writer.state(), running.writer.level()))
            .collect();
        let journal = self.storage.open();
        let fresh = verify(&journal, &self.checkpoints, &mut |_| {}).map_err(|e| e.to_string())?;
        if !fresh.violations.is_empty() {
            return Err(format!("a new replay: {:?}", fresh.violations));
        }
        let truth = self.contents.state_hash();
        if hashes.len() != self.nodes.len() || hashes.iter().any(|hash| *hash != truth) {
            return Err(format!("the nodes end at {hashes:?}, the journal at {truth:?}"));
        }
        if fresh.state_hash != truth {
            return Err("a new replay reaches a different state".into());
        }
        self.note(format!("the end: {:?}, state {truth:?}", self.contents.tail()));
        Ok(())
    }
}
