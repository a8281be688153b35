//! What must hold after each step and at the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use allod_core::invariant;
use allod_engine::{EngineError, Halt, state_hash};
use allod_journal::JournalError;
use allod_testkit::Chain;

use crate::node::Running;
use crate::world::{Answers, World};

impl World<'_> {
    pub fn check_answers(
        &mut self,
        node: usize,
        new: usize,
        answers: Answers,
        doomed: bool,
    ) -> Result<(), String> {
        let answers = match answers {
            Ok(answers) => answers,
            Err(halt) => {
                self.nodes[node].running = None;
                return self.halted(&halt, doomed);
            }
        };
        let Some(running) = &mut self.nodes[node].running else { return Ok(()) };
        let (name, tail) = (&running.name, running.writer.tail());
        let mut asked: BTreeSet<u64> = self.contents.records[new..]
            .iter()
            .filter(|record| record.writer == *name)
            .flat_map(|record| record.asked.iter().copied())
            .collect();
        for answer in &answers {
            let reply = match answer {
                Ok(reply) => reply,
                Err(EngineError::Internal) => return Err(format!("{name} panicked")),
                Err(EngineError::Unavailable { what }) if self.calm => {
                    return Err(format!(
                        "{name} cannot write although there are no faults: {what}"
                    ));
                }
                Err(_) => {
                    self.report.failed += 1;
                    continue;
                }
            };
            let at = reply.at;
            if at.position < running.answered || at.position > tail.position {
                return Err(format!(
                    "{name} answers at {} after {}",
                    at.position, running.answered
                ));
            }
            running.answered = at.position;
            if at.hash != tail.hash {
                return Err(format!("{name} answers with a hash that is not its journal's end"));
            }
            match &reply.answer {
                Ok(_) => {
                    self.report.accepted += 1;
                    asked.remove(&at.position);
                }
                Err(_) => self.report.refused += 1,
            }
        }
        if !asked.is_empty() {
            return Err(format!("{name} wrote {asked:?} and acknowledged none of it"));
        }
        if !doomed && self.contents.find(tail).is_none() && tail.seq > 0 {
            return Err(format!("{name} is at {tail:?}, which the journal does not have"));
        }
        Ok(())
    }

    /// Only the writer whose turn it is may append a record with changes, or a writer that ended without knowing the
    /// outcome of its last append.
    pub fn check_authors(&self, new: usize, turn: Option<&Arc<str>>) -> Result<(), String> {
        for record in &self.contents.records[new..] {
            let known = turn == Some(&record.writer) || self.unsure.contains(&record.writer);
            if !known && !record.asked.is_empty() {
                let (seq, writer) = (record.tail.seq, &record.writer);
                return Err(format!(
                    "record {seq} of {writer} was appended when its writer had no turn"
                ));
            }
        }
        Ok(())
    }

    /// Checks that the engine had a valid reason to stop.
    pub fn halted(&mut self, halt: &Halt, doomed: bool) -> Result<(), String> {
        self.report.halts += 1;
        match halt {
            Halt::Forked(_) if self.contents.lost.is_empty() => {
                Err(format!("a fork is reported although no records were lost: {halt}"))
            }
            Halt::Forked(_) => {
                self.report.forks_seen += u64::from(doomed);
                Ok(())
            }
            Halt::Stopped => Ok(()),
            Halt::Journal(JournalError::Trimmed { .. }) => Ok(()),
            _ => Err(format!("the engine stopped for an invalid reason: {halt}")),
        }
    }

    pub fn check_all(&mut self) -> Result<(), String> {
        let new = self.contents.sync(&self.storage)?;
        self.check_authors(new, None)?;
        for node in &self.nodes {
            if let Some(running) = &node.running {
                self.check_node(running)?;
            }
        }
        Ok(())
    }

    /// Checks that both copies of the state of a node match the journal at its position.
    pub fn check_node(&self, running: &Running) -> Result<(), String> {
        let (name, tail) = (&running.name, running.writer.tail());
        let level = running.writer.level();
        let speculative = running.writer.state();
        let expected = state_hash(speculative, level);
        running.shared.read(|snapshot| {
            let wrong = [invariant::check(speculative), invariant::check(snapshot.state)].concat();
            if !wrong.is_empty() {
                return Err(format!("{name}: {wrong:?}"));
            }
            if state_hash(snapshot.state, level) != expected {
                return Err(format!("{name}: its two copies differ"));
            }
            if snapshot.at.position != tail.position || snapshot.state.position != tail.position {
                return Err(format!("{name}: it shows a position other than {}", tail.position));
            }
            match self.contents.find(tail) {
                Some(record) if record.state_hash != expected => {
                    Err(format!("{name}: its state does not match its journal"))
                }
                None if !self.contents.lost.contains(&tail.hash) => {
                    Err(format!("{name}: it is at {tail:?}, which the journal never had"))
                }
                _ => Ok(()),
            }
        })
    }

    /// Lets the external checker verify every answer, except those whose records were lost.
    pub fn check_history(&mut self) -> Result<(), String> {
        let mut chain = Chain::default();
        for record in &self.contents.records {
            chain.take_in(&record.frame)?;
        }
        self.history.calls.retain(|call| !self.contents.lost.contains(&call.hash));
        // In the order of time across nodes: no node may answer from before what another one has acknowledged.
        let verdict = allod_testkit::check(&chain, &self.history, true);
        self.report.judged += verdict.right;
        self.report.open += verdict.open;
        match verdict.problems.first() {
            Some(problem) => Err(format!("the checker found: {problem}")),
            None => Ok(()),
        }
    }
}
